"""Definitions: parameters, requirements, identity, and what an engine asks of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import exception
from heatlite.language import definition as definitions
from heatlite.language import describe, nested, template
from heatlite.language.definition import Facade, StackIdentity
from heatlite.language.environment import Environment
from heatlite.language.expression import PLACEHOLDERS, UNKNOWNS
from heatlite.language.parameters import HIDDEN_TEXT
from heatlite.language.unknown import UNKNOWN

TEXT = '''
heat_template_version: 2018-08-31
description: a web tier
parameters:
  secret: {type: string, hidden: true, default: s3cret}
  count: {type: number, default: 2}
  names: {type: comma_delimited_list, default: 'a,b'}
  more: {type: json, default: {k: [1]}}
  flag: {type: boolean, default: 'yes'}
conditions: {many: {not: {equals: [{get_param: count}, 1]}}}
resources:
  spare: {type: T, condition: {not: many}}
  web:
    type: T
    depends_on: [base, spare]
    metadata: {of: {get_attr: [db, host]}}
    properties:
      ports: [{get_attr: [net, ports, 0]}, {get_attr: [net, ports, 1]}]
      text: {str_replace: {template: x, params: {x: {get_resource: base}}}}
      plain: {a: [1]}
    update_policy: {pause: {get_param: count}}
    deletion_policy: {if: [many, retain, delete]}
  base: {type: T}
  net: {type: T, description: the net}
  db: {type: T}
outputs:
  all: {value: {get_attr: [db]}}
  port: {value: {get_attr: [net, ports, 1]}, description: 5}
  gone: {value: {list_join: 5}, condition: {not: many}}
'''


def build(text=TEXT, environment=None, **options):
    return definitions.build(template.load(text), Environment(environment), {},
                             StackIdentity('web', 'id1', 'project1'), **options)


class Runtime:
    """A scope in which everything exists."""

    def reference(self, resource_name):
        return f'id-of-{resource_name}'

    def attribute(self, resource_name, attribute, path):
        return [resource_name, attribute, *path]

    def all_attributes(self, resource_name):
        return {'host': resource_name}


def test_parameters():
    made = build(environment={'parameters': {'count': '3'}, 'parameter_defaults': {'names': ['x', 1]}})
    assert made.parameters['count'] == 3
    assert made.parameters['names'] == ['x', '1']
    assert made.parameters.shown() == {
        'OS::stack_id': 'id1', 'OS::stack_name': 'web', 'OS::project_id': 'project1', 'secret': HIDDEN_TEXT,
            'count': '3',
        'names': 'x,1', 'more': '{"k": [1]}', 'flag': 'True'}
    assert made.parameters.hidden == {'secret'}
    assert made.parameters.default('names') == ['x', 1]


@pytest.mark.parametrize('values, error', [
    ({'nope': 1}, exception.UnknownUserParameter), ({'OS::stack_id': 'x'}, exception.UnknownUserParameter),
    ({'count': 'two'}, exception.StackValidationFailed), ({'flag': 'perhaps'}, exception.StackValidationFailed)])
def test_wrong_values(values, error):
    with pytest.raises(error):
        build(environment={'parameters': values}).parameters.check()


def test_missing_values():
    text = 'heat_template_version: rocky\nparameters: {a: {type: number}}\noutputs: {o: {value: {get_param: a}}}'
    with pytest.raises(exception.UserParameterMissing, match=r'The Parameter \(a\) was not provided.'):
        build(text).parameters.check()
    assumed = build(text, assume_unknown=True)
    assumed.parameters.check()
    assert assumed.outputs['o'].resolve(PLACEHOLDERS) is UNKNOWN


def test_immutable_parameters():
    def given(value):
        return build('heat_template_version: rocky\nparameters: {a: {type: number, default: 5, immutable: true}}',
                     {'parameters': {} if value is None else {'a': value}}).parameters
    assert given(5).changed_immutables(given(None)) == []
    assert given('5').changed_immutables(given(5)) == ['a']
    assert given(None).changed_immutables(given(6)) == ['a']


def test_disabled_resources_do_not_exist():
    made = build()
    assert list(made.resources) == ['web', 'base', 'net', 'db']
    assert made.resources['web'].depends_on == ('base', 'spare')


def test_requirements_are_explicit_and_implicit():
    made = build()
    assert made.resources['web'].requires == {'base', 'net', 'db'}
    assert made.resources['web'].referring == {'ports': {'net'}, 'text': {'base'}}
    assert made.resources['base'].requires == set()


def test_referenced_attributes():
    made = build()
    assert made.referenced_attributes('net') == {('ports', 0), ('ports', 1)}
    assert made.referenced_attributes('db') == {('host',), ()}
    assert made.referenced_attributes('base') == set()


def test_a_resource_resolved():
    made = build().resources['web']
    assert made.resolved(Runtime()) == {
        'type': 'T', 'properties': {
            'ports': [['net', 'ports', 0], ['net', 'ports', 1]], 'text': 'id-of-base', 'plain': {'a': [1]}},
        'metadata': {'of': ['db', 'host']}, 'update_policy': {'pause': 2}, 'deletion_policy': 'Retain',
        'depends_on': ['base', 'spare'], 'description': '', 'external_id': None}
    assert made.properties(PLACEHOLDERS)['ports'] == [None, None]
    assert made.properties(UNKNOWNS) == {'ports': [UNKNOWN, UNKNOWN], 'text': UNKNOWN, 'plain': {'a': [1]}}


def test_equal_definitions_resolve_to_equal_data():
    assert build().resources['web'].resolved(Runtime()) == build().resources['web'].resolved(Runtime())
    changed = build(TEXT.replace('plain: {a: [1]}', 'plain: {a: [2]}'))
    assert changed.resources['web'].resolved(Runtime()) != build().resources['web'].resolved(Runtime())


def test_outputs():
    made = build()
    assert {key: output.resolve(Runtime()) for key, output in made.outputs.items()} == {
        'all': {'host': 'db'}, 'port': ['net', 'ports', 1], 'gone': None}
    assert [output.description for output in made.outputs.values()] == [
        'No description given', '5', 'No description given']


@pytest.mark.parametrize('version', [
    'heat_template_version: 2018-08-31\ndescription', 'heat_template_version: 2013-05-23\ndescription',
    "AWSTemplateFormatVersion: '2010-09-09'\nDescription", "HeatTemplateFormatVersion: '2012-12-12'\nDescription"])
@pytest.mark.parametrize('text, shown', [
    ('a', 'a'), ('5', 5), ('', 'No description'), ("''", 'No description'), ('null', 'No description'),
    ('[]', 'No description'), ('0', 'No description'), ('false', 'No description')])
def test_an_empty_description_is_none(version, text, shown):
    made = build(f'{version}: {text}\n')
    assert made.description == shown
    assert describe.described(made)['Description'] == shown


@pytest.mark.parametrize('groups', ['', 'parameter_groups: []', 'parameter_groups: null'])
def test_no_groups_are_not_described(groups):
    assert 'ParameterGroups' not in describe.described(build(f'heat_template_version: 2018-08-31\n{groups}\n'))


def test_an_error_in_a_property_has_its_path():
    made = build('heat_template_version: rocky\nresources: {r: {type: T, properties: {p: {get_param: nope}}}}')
    with pytest.raises(exception.StackValidationFailed) as caught:
        made.resources['r'].properties(PLACEHOLDERS)
    assert str(caught.value) == 'Property error: resources.r.properties.p: The Parameter (nope) was not provided.'


CHILD = '''
heat_template_version: rocky
parameters: {a: {type: comma_delimited_list}, b: {type: json, default: {}}, c: {type: number, default: 1}}
outputs: {o: {value: [{get_param: a}, {get_param: b}, {get_param: c}, {resource_facade: metadata}]}}
'''


def test_nested_stacks_receive_properties_as_parameters():
    parent = build()
    inside = template.load(CHILD)
    schemas = nested.template_schemas(inside, {'c': 5})
    assert {name: (schema.type, schema.required) for name, schema in schemas.items()} == {
        'a': ('List', True), 'b': ('Map', False), 'c': ('Number', False)}
    received = nested.child_parameters(schemas, {'a': ['x', None], 'b': '{"k": 1}'}, {'a': ['x', None],
        'b': '{"k": 1}'})
    assert received == {'a': 'x,', 'b': '{"k": 1}'}
    child = nested.child_definition(parent, parent.resources['web'], inside, received, scope=Runtime())
    assert child.identity.name == 'web-web'
    assert child.outputs['o'].resolve(PLACEHOLDERS) == [['x', ''], {'k': 1}, 1, {'of': ['db', 'host']}]


def test_facades():
    made = build()
    outer = Facade(made.resources['web'], Runtime())
    assert outer.part('deletion_policy') == 'Retain'
    assert outer.part('update_policy') == {'pause': 2}


REFERENCES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20)


@given(REFERENCES)
def test_every_reference_is_a_requirement(edges):
    resources = {f'r{n}': {'type': 'T', 'properties': {}} for n in range(8)}
    for place, (needing, needed) in enumerate(edges):
        expression = [{'get_resource': f'r{needed}'}, {'get_attr': [f'r{needed}', 'x', place]},
                      {'list_join': [',', [{'get_attr': [f'r{needed}', 'x']}]]}][place % 3]
        resources[f'r{needing}']['properties'][f'p{place}'] = {'deep': [expression]}
    made = definitions.build(
        template.from_mapping({'heat_template_version': 'rocky', 'resources': resources}), Environment(), {},
        StackIdentity('s', None, 'p'))
    assert {name: resource.requires for name, resource in made.resources.items()} == {
        f'r{n}': {f'r{needed}' for needing, needed in edges if needing == n} for n in range(8)}


def test_a_facade_that_was_stored_hides_what_the_environment_names():
    """A nested stack read from the database has no definition of the stack around it."""
    class Stored(Facade):
        def __init__(self):
            pass

        def masked(self, text):
            return text

    text = 'heat_template_version: 2018-08-31\nparameters: {p: {type: string}}'
    document = template.parse(text)
    environment = Environment({'parameters': {'p': 'hush hush'}, 'encrypted_param_names': ['p']})
    child = definitions.build(template.Template(document), environment, {}, StackIdentity('inner', 'i1', 'p1'),
                              facade=Stored())
    assert child.masked('it said: hush hush') == f'it said: {HIDDEN_TEXT}'
