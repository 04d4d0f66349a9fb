"""Values of the wrong kind at each place of a template: messages name kinds in words of templates, not of Python."""

import copy
import json
import re

import pytest

from heatlite.common import exception
from heatlite.language import advice, kind_names, lint
from heatlite.language import definition as definitions
from heatlite.language import environment as environments
from heatlite.language import template as templates
from heatlite.language.definition import StackIdentity
from heatlite.language.expression import PLACEHOLDERS
from tests.language.test_lint import OPERATOR, TYPES

OF_PYTHON = re.compile(r"<class|NoneType|\b(dict|str|int|tuple|bool) (instead|object)|is a (dict|str|int|bool)\b|"
                       r"not (iterable|subscriptable)|unhashable|has no attribute|\(\) argument|unexpected keyword|"
                       r"<heatlite|object at 0x")
# Observed on Heat, whose text is compared by a case (out-null, out-string).
AS_IN_HEAT = re.compile(r'Output definitions must be a map\. Found a \w+ instead')
WRONG_KINDS = [None, True, 5, 1.5, 'text', '', [], ['a'], [None], [{}], {}, {'a': 1}, {'get_param': 'p'}, [['a'], 1]]

HOT = {
    'heat_template_version': '2021-04-16', 'description': 'text',
    'parameter_groups': [{'label': 'a', 'description': 'b', 'parameters': ['p']}],
    'parameters': {
        'p': {'type': 'string', 'default': 'a', 'label': 'a', 'description': 'a', 'hidden': False, 'immutable': False,
              'tags': ['a'], 'constraints': [{'length': {'min': 1, 'max': 5}, 'description': 'a'}]},
        'n': {'type': 'number', 'default': 4, 'constraints': [
            {'range': {'min': 1, 'max': 5}}, {'modulo': {'step': 2, 'offset': 0}}]},
        'l': {'type': 'comma_delimited_list', 'default': 'a,b'},
        'j': {'type': 'json', 'default': {'a': 1}},
        'w': {'type': 'string', 'default': 'a', 'constraints': [{'allowed_values': ['a']}]},
        'x': {'type': 'string', 'default': 'a', 'constraints': [{'allowed_pattern': 'a*'}]},
        'c': {'type': 'string', 'default': 'UTC', 'constraints': [{'custom_constraint': 'timezone'}]}},
    'conditions': {'c1': {'equals': [{'get_param': 'p'}, 'a']}, 'c2': {'and': ['c1', {'not': 'c1'}]}},
    'resources': {
        'a': {'type': 'OS::Heat::RandomString', 'properties': {
            'length': 8, 'character_classes': [{'class': 'digits', 'min': 1}], 'salt': 'a'},
              'metadata': {'a': 1}, 'depends_on': ['b'], 'deletion_policy': 'Delete', 'condition': 'c1',
              'description': 'a'},
        'b': {'type': 'OS::Heat::Value', 'properties': {'type': 'string', 'value': {'list_join': [',', ['a', 'b']]}}},
        'g': {'type': 'OS::Heat::AutoScalingGroup', 'update_policy': {'rolling_updates': {'max_batch_size': 1}},
              'properties': {'min_size': 1, 'max_size': 2, 'resource': {'type': 'OS::Heat::None'}}},
        'e': {'type': 'OS::Heat::None', 'external_id': 'a'}},
    'outputs': {'o': {'value': {'get_attr': ['b', 'value']}, 'description': 'a', 'condition': 'c1'},
                'i': {'value': {'if': ['c1', {'str_replace': {'template': 'a', 'params': {'a': 'b'}}}, 'b']}},
                's': {'value': {'str_split': [',', 'a,b', 0]}}, 'm': {'value': {'map_merge': [{'a': 1}]}},
                'r': {'value': {'map_replace': [{'a': 1}, {'keys': {'a': 'b'}, 'values': {'a': 'b'}}]}},
                'd': {'value': {'digest': ['md5', 'a']}}, 'f': {'value': {'filter': [['a'], ['a', 'b']]}},
                'k': {'value': {'list_concat_unique': [['a'], ['b']]}}, 'y': {'value': {'yaql': {
                    'expression': '$.data', 'data': {'a': 1}}}},
                'u': {'value': {'make_url': {'scheme': 'http', 'host': 'a', 'port': 80, 'path': '/', 'query': {'a': 1},
                                             'username': 'a', 'password': 'a', 'fragment': 'a'}}},
                't': {'value': {'repeat': {'template': 'a', 'for_each': {'a': ['b']}, 'permutations': True}}},
                'h': {'value': {'contains': ['a', ['a']]}}, 'q': {'value': {'str_replace_strict': {
                    'template': 'a', 'params': {'a': 'b'}}}}, 'z': {'value': {'get_resource': 'b'}}}}
CFN = {
    'AWSTemplateFormatVersion': '2010-09-09', 'Description': 'a', 'Mappings': {'m': {'a': {'b': 'c'}}},
    'Parameters': {'p': {'Type': 'String', 'Default': 'a', 'NoEcho': 'false', 'Description': 'a', 'MinLength': 1,
                         'MaxLength': 5, 'AllowedValues': ['a'], 'AllowedPattern': 'a', 'ConstraintDescription': 'a'},
                   'n': {'Type': 'Number', 'Default': 1, 'MinValue': 1, 'MaxValue': 5},
                   'l': {'Type': 'CommaDelimitedList', 'Default': 'a,b'}},
    'Conditions': {'c': {'Fn::Equals': [{'Ref': 'p'}, 'a']}, 'd': {'Fn::Not': ['c']}},
    'Resources': {'a': {'Type': 'OS::Heat::Value', 'Properties': {'value': {'Fn::Join': [',', ['a', 'b']]}},
                        'Metadata': {'a': 1}, 'DependsOn': 'b', 'DeletionPolicy': 'Delete', 'Condition': 'c'},
                  'b': {'Type': 'OS::Heat::None'}},
    'Outputs': {'o': {'Value': {'Fn::GetAtt': ['a', 'value']}, 'Condition': 'c'},
                'f': {'Value': {'Fn::FindInMap': ['m', 'a', 'b']}}, 's': {'Value': {'Fn::Select': [0, ['a']]}},
                'p': {'Value': {'Fn::Split': [',', 'a,b']}}, 'b': {'Value': {'Fn::Base64': 'a'}},
                'r': {'Value': {'Fn::Replace': [{'a': 'b'}, 'a']}}, 'i': {'Value': {'Fn::If': ['c', 'a', 'b']}},
                'm': {'Value': {'Fn::MemberListToMap': ['Name', 'Value', ['.member.0.Name=a']]}}}}
ENVIRONMENT = {
    'parameters': {'p': 'a', 'n': 1, 'l': 'a', 'j': '{}'}, 'parameter_defaults': {'p': 'a'},
    'encrypted_param_names': ['p'], 'event_sinks': [{'type': 'zaqar-queue', 'target': 'a', 'ttl': 1}],
    'resource_registry': {'A::B': 'OS::Heat::None', 'resources': {'a': {'hooks': 'pre-create', 'A::B': 'OS::Heat::None',
                                                                        'restricted_actions': 'update'}}}}


def places(value, path=()):
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from places(item, (*path, place))


def changed(document, path, value):
    made = copy.deepcopy(document)
    inside = made
    for part in path[:-1]:
        inside = inside[part]
    inside[path[-1]] = copy.deepcopy(value)
    return made


def said(document, environment=None):
    """All texts that a user can see of a template and an environment."""
    try:
        template = templates.from_mapping(document)
        definition = definitions.build(template, environments.Environment(environments.parse(environment), OPERATOR),
                                       {}, StackIdentity('s', None, 'p'))
        for diagnostic in lint.check(definition, TYPES):
            yield str(diagnostic)
        for hint in advice.advise(definition):
            yield hint.text
        for output in definition.outputs.values():
            yield output.evaluated(PLACEHOLDERS)[1] or ''
    except (exception.HeatException, templates.DocumentError) as error:
        yield str(error)


def wrong(texts):
    return {text for text in texts if OF_PYTHON.search(AS_IN_HEAT.sub('', text))}


@pytest.mark.parametrize('document, section', [
    (document, section) for document in (HOT, CFN) for section in document])
def test_a_value_of_the_wrong_kind_in_a_template(document, section):
    found = {}
    for path in places({section: document[section]}):
        for value in WRONG_KINDS:
            for text in wrong(said(changed(document, path, value))):
                found[text] = path, value
    assert not found, '\n'.join(f'{text}: {where}' for text, where in found.items())


@pytest.mark.parametrize('section', ENVIRONMENT)
def test_a_value_of_the_wrong_kind_in_an_environment(section):
    found = {}
    for path in places({section: ENVIRONMENT[section]}):
        for value in WRONG_KINDS:
            for text in wrong(said(HOT, changed(ENVIRONMENT, path, value))):
                found[text] = path, value
    assert not found, '\n'.join(f'{text}: {where}' for text, where in found.items())


@pytest.mark.parametrize('section, body, text', [
    ('parameters', {'p': {'type': 'number', 'constraints': [{'range': {'max': [None]}}]}},
     'A bound of a constraint must be a number, not a list'),
    ('parameters', {'p': {'type': 'number', 'constraints': [{'range': {'max': 'x'}}]}},
     'A bound of a constraint must be a number, not "x"'),
    ('outputs', {'o': {'value': {'repeat': {'template': 'a', 'for_each': {'a': [None]}}}}},
     '"repeat" replaces text by text, not by a null value')])
def test_a_value_that_is_no_text_is_named_by_its_kind(section, body, text):
    assert any(text in each for each in said({'heat_template_version': '2021-04-16', section: body}))


def test_an_entry_of_the_registry_that_is_no_text_is_named_by_its_kind():
    assert list(said(HOT, {'resource_registry': {'A::B': [None]}})) == [
        'The resource registry entry "A::B" must be text or a map, not a list']


@pytest.mark.parametrize('value, name', [
    ('null', 'null value'), ('true', 'boolean'), ('1', 'number'), ('1.5', 'number'), ('"a"', 'string'), ('[]', 'list'),
    ('{}', 'map')])
def test_the_name_of_a_kind(value, name):
    assert kind_names.kind_name(json.loads(value)) == name
