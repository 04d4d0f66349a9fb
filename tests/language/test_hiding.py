"""No error quotes the value of a hidden parameter, or what a property got from one."""

import pytest

from heatlite.common import exception
from heatlite.engine.resources import packed_types
from heatlite.language import definition as definitions
from heatlite.language import environment as environments
from heatlite.language import hiding, lint, template
from heatlite.language.definition import StackIdentity
from heatlite.language.expression import PLACEHOLDERS

CANARY = 'CNRY"\'é1'
SCHEMAS = {
    'pattern': {'type': 'string', 'constraints': [{'allowed_pattern': '[a-z]+'}]},
    'values': {'type': 'string', 'constraints': [{'allowed_values': ['a', 'b']}]},
    'length': {'type': 'string', 'constraints': [{'length': {'max': 2}}]},
    'custom': {'type': 'string', 'constraints': [{'custom_constraint': 'ip_addr'}]},
    'number': {'type': 'number'}, 'boolean': {'type': 'boolean'}, 'json': {'type': 'json'},
    'range': {'type': 'number', 'constraints': [{'range': {'max': 2}}]}}


def built(document, parameters):
    return definitions.build(
        template.from_mapping({'heat_template_version': '2021-04-16', **document}),
        environments.Environment(environments.parse(None, parameters), packed_types.operator_registry()), {},
        StackIdentity('s', None, 'p'))


def texts(made):
    return '\n'.join([*(str(each) for each in lint.check(made, packed_types.PackedTypes())),
                      *(str(output.evaluated(PLACEHOLDERS)[1]) for output in made.outputs.values())])


@pytest.mark.parametrize('name', SCHEMAS)
@pytest.mark.parametrize('place', ['value', 'default'])
def test_a_wrong_value_of_a_hidden_parameter_is_not_quoted(name, place):
    schema = {**SCHEMAS[name], 'hidden': True}
    given = {} if place == 'default' else {'p': CANARY}
    if place == 'default':
        schema['default'] = CANARY
    made = built({'parameters': {'p': schema}, 'outputs': {'o': {'value': {'get_param': 'p'}}}}, given)
    found = texts(made)
    assert 'CNRY' not in found
    if name != 'custom':
        assert 'hidden parameter' in found
    shown = texts(built({'parameters': {'p': {**schema, 'hidden': False}}}, given))
    assert name in ('custom', 'length', 'json') or 'CNRY' in shown


@pytest.mark.parametrize('value', [CANARY, 'x' * 3000 + CANARY, 4711, 'ab'])
@pytest.mark.parametrize('expression', [
    {'get_param': 'p'}, {'str_replace': {'template': 'a-p-b', 'params': {'p': {'get_param': 'p'}}}},
    {'list_join': ['-', {'get_param': 'p'}]}, {'get_param': ['p', {'get_param': 'p'}]},
    {'digest': [{'get_param': 'p'}, '']},
    {'map_merge': [[{'get_param': 'p'}]]}])
def test_errors_of_properties_and_outputs_do_not_quote_it(value, expression):
    made = built({
        'parameters': {'p': {'type': 'string', 'hidden': True}},
        'resources': {'r': {'type': 'OS::Heat::RandomString', 'properties': {'length': expression}},
                      'v': {'type': 'OS::Heat::Value', 'properties': {'type': 'number', 'value': expression}}},
        'outputs': {'o': {'value': {'make_url': {'port': expression}}}}}, {'p': value})
    found = texts(made)
    for resource in made.resources.values():
        try:
            resource.properties(PLACEHOLDERS)
        except exception.StackValidationFailed as error:
            found += str(error)
    assert not any(secret in found.split() for secret in (str(value), 'ab'))
    assert len(str(value)) < 4 or str(value)[:500] not in found


def test_masking_takes_what_stands_for_itself():
    secrets = hiding.texts_of(['ab', 'secret', {'k': ['"q"']}, 7])
    found = hiding.masked('ab about "ab" secrets 7 77 "\\"q\\""', secrets)
    assert found == '****** about "******" ******s ****** 77 "******"'
