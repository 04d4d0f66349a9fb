"""What plug-ins written for Heat expect of properties, schemas and translation rules."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.engine import constraints, function
from heatlite.engine.properties import Properties, Property, Schema
from heatlite.engine.rsrc_defn import ResourceDefinition
from heatlite.engine.translation import TranslationRule

WRONG = {'Integer': 'x', 'Number': 'x', 'String': [1], 'Boolean': 'yes', 'Map': 'x', 'List': 'x'}


# --- errors ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize('kind', WRONG)
def test_a_wrong_value_is_a_value_error_and_a_failed_validation(kind):
    properties = Properties({'p': Schema(kind)}, {'p': WRONG[kind]}, parent_name='r')
    for read in (lambda: properties['p'], lambda: properties.get_user_value('p'),
                 lambda: Property(Schema(kind), 'p').get_value(WRONG[kind])):
        with pytest.raises(ValueError) as caught:
            read()
        assert isinstance(caught.value, exception.StackValidationFailed)
        assert caught.value.wire_name == 'StackValidationFailed'
    with pytest.raises(exception.StackValidationFailed, match=r'r\.Properties\.p'):
        properties.validate()


def test_a_missing_value_is_a_value_error():
    properties = Properties({'p': Schema('String', required=True)}, {})
    with pytest.raises(ValueError, match='Property p not assigned'):
        _ = properties['p']
    with pytest.raises(exception.StackValidationFailed):
        properties.validate()


# --- what the user gave ----------------------------------------------------------------------------------

SCHEMA = {'plain': Schema('Integer'), 'default': Schema('Integer', default=1),
          'needed': Schema('Integer', required=True)}


@pytest.mark.parametrize('name', SCHEMA)
def test_the_users_value_has_no_default(name):
    assert Properties(SCHEMA, {}).get_user_value(name) is None
    assert Properties(SCHEMA, {name: '5'}).get_user_value(name) == 5


def test_the_users_value_of_an_unknown_name():
    with pytest.raises(KeyError, match='Invalid Property nope'):
        Properties(SCHEMA, {}).get_user_value('nope')


class Finder:
    def __init__(self):
        self.asked = []

    def find(self, name):
        self.asked.append(name)
        return f'id-{name}'


def resolving(finder):
    return TranslationRule(None, TranslationRule.RESOLVE, ['new'], client_plugin=finder, finder='find')


def test_the_users_value_is_translated():
    schema = {'old': Schema('String'), 'new': Schema('String'), 'gone': Schema('String')}
    rules = [TranslationRule(None, TranslationRule.REPLACE, ['new'], value_name='old'), resolving(Finder()),
             TranslationRule(None, TranslationRule.DELETE, ['gone'])]
    for given, found in (({'new': 'a'}, {'new': 'id-a', 'old': None}), ({'old': 'a'}, {'new': None, 'old': None}),
                         ({'gone': 'a'}, {'gone': None})):
        properties = Properties(schema, given)
        properties.update_translation(rules)
        assert {name: properties.get_user_value(name) for name in found} == found


# --- translation -----------------------------------------------------------------------------------------

def translated(schema, given, *rules):
    properties = Properties(schema, given)
    properties.update_translation(rules)
    return {name: properties[name] for name in schema}


def moving(old='old', new='new', **source):
    return TranslationRule(None, TranslationRule.REPLACE, [new], **(source or {'value_path': [old]}))


BOTH = {'old': Schema('String'), 'new': Schema('String')}


@pytest.mark.parametrize('source', [{'value_path': ['old']}, {'value_name': 'old'}])
@pytest.mark.parametrize('old, new, found', [('a', '', 'a'), ('', 'b', 'b'), ('', '', ''), ('a', None, 'a')])
def test_of_an_old_and_a_new_property_the_one_that_is_not_empty_counts(old, new, found, source):
    assert translated(BOTH, {'old': old, 'new': new}, moving(**source)) == {'old': None, 'new': found}


def test_two_values_contradict_each_other():
    with pytest.raises(exception.StackValidationFailed, match='at the same time: new, old'):
        translated(BOTH, {'old': 'a', 'new': 'b'}, moving())


@pytest.mark.parametrize('source', [{'value_path': ['old']}, {'value_name': 'old'}])
@pytest.mark.parametrize('kind, given, found', [
    ('Boolean', {'old': False}, False), ('Boolean', {'old': False, 'new': True}, True),
    ('Boolean', {'old': True, 'new': False}, True), ('Integer', {'old': 0, 'new': 5}, 5), ('Integer', {'old': 0}, 0)])
def test_a_false_source_counts_unless_the_target_has_a_value(kind, given, found, source):
    schema = {'old': Schema(kind), 'new': Schema(kind)}
    assert translated(schema, given, moving(**source))['new'] == found


def test_the_default_of_a_replaced_property_moves():
    schema = {'old': Schema('String', default='d'), 'new': Schema('String')}
    assert translated(schema, {}, moving()) == {'old': None, 'new': 'd'}
    assert translated(schema, {'new': 'n'}, moving()) == {'old': None, 'new': 'n'}
    Properties({**schema, 'new': Schema('String', required=True)}, {}, translation=[moving()]).validate()


def test_nothing_is_looked_up_for_an_empty_value():
    finder = Finder()
    schema = {'new': Schema('String')}
    assert translated(schema, {'new': ''}, resolving(finder)) == {'new': ''}
    assert translated({'new': Schema('List')}, {'new': ['a', '', None]}, resolving(finder)) == {
        'new': ['id-a', None, None]}
    assert finder.asked == ['a']


def test_an_empty_constant_is_no_value():
    rule = TranslationRule(None, TranslationRule.ADD, ['new'], value=[], value_path=['old'])
    assert (rule.value, rule.value_path) == (None, ['old'])
    assert TranslationRule(None, TranslationRule.RESOLVE, ['new'], finder='find').finder == 'find'


# --- schemas ---------------------------------------------------------------------------------------------

def test_a_property_may_get_another_schema():
    schema = {'value': Schema('Any'), 'kind': Schema('String')}
    properties = Properties(schema, {'value': '5'})
    assert properties['value'] == '5'
    properties.props['value'] = Property(Schema('Number'), 'value')
    assert properties['value'] == 5 and properties.props['value'].type() == 'Number'
    assert schema['value'].type == 'Any' and list(properties.props) == ['value', 'kind']
    properties.props['value'] = Property(Schema('Boolean'), 'value')
    with pytest.raises(exception.StackValidationFailed):
        properties.validate()
    del properties.props['kind']
    assert 'kind' not in properties


def test_the_schema_of_items_is_found_by_any_index():
    item = Schema('String')
    found = Schema('List', schema=item).schema
    assert found['*'] is found[0] is found[7] is found.value is item
    assert isinstance(found, constraints.AnyIndexDict)
    assert not isinstance(Schema('Map', schema={'a': item}).schema, constraints.AnyIndexDict)
    assert dict(Schema('List', schema=item))['schema'] == {'*': dict(item)}


def test_a_violated_constraint_is_an_error_of_both_kinds():
    with pytest.raises(ValueError, match='is out of range') as caught:
        Schema('String', constraints=[constraints.Length(1)]).validate_constraints('')
    assert isinstance(caught.value, exception.StackValidationFailed)


def test_schemas_of_old_plugins():
    with pytest.raises(exception.InvalidSchemaError, match='No Type'):
        Schema.from_legacy({})
    assert Schema.from_legacy({'Type': 'Integer', 'MinValue': '7', 'MaxValue': 9})['constraints'] == [
        {'range': {'min': 7, 'max': 9}}]


@pytest.mark.parametrize('constraint, text', [
    (constraints.Range(min=1), 'The value must be at least 1.'),
    (constraints.Range(max=7), 'The value must be at most 7.'),
    (constraints.Length(1, 4), 'The length must be from 1 to 4.'),
    (constraints.Modulo(2, 1), 'The value must be a multiple of 2 plus 1.'),
    (constraints.AllowedValues(['a', 'b']), 'Allowed values: "a", "b".'),
    (constraints.AllowedPattern('a+'), 'The value must match the pattern "a+".'),
    (constraints.CustomConstraint('nova.keypair'), 'The value must be valid for nova.keypair.'),
    (constraints.Range(1, 2, description='One or two.'), 'One or two.\nThe value must be from 1 to 2.')])
def test_constraints_as_texts(constraint, text):
    """Plug-ins have them in documentation and errors."""
    assert str(constraint) == text


def test_paths_as_texts():
    with pytest.raises(exception.StackValidationFailed, match='a.b: Value'):
        Property(Schema('Integer'), 'n', path='a.b').get_value('x')

    class Wrong(function.Function):
        def validate(self):
            raise TypeError('no')

        def result(self):
            return None

    for path in ('Properties', ['Properties']):
        with pytest.raises(exception.StackValidationFailed, match=r'^Properties\.a\[0\]\.call: no'):
            function.validate({'a': [Wrong(None, 'call', [])]}, path)


def test_definitions_without_a_description_and_of_external_resources():
    assert ResourceDefinition('r', 'T').description == ''
    external = ResourceDefinition('r', 'T', external_id='x', deletion_policy=ResourceDefinition.DELETE)
    assert external.deletion_policy() == ResourceDefinition.RETAIN
