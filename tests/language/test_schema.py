"""Schemas, constraints and translation beyond the case file: the contract plug-ins see, and what always holds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import exception
from heatlite.engine.resources import packed
from heatlite.language import patterns, translation
from heatlite.language.constraints import (
    AllowedPattern,
    AllowedValues,
    BaseCustomConstraint,
    CustomConstraint,
    Length,
    Modulo,
    Range,
)
from heatlite.language.schema import ERASED, Reader, Schema
from heatlite.language.translation import TranslationRule
from heatlite.language.unknown import UNKNOWN


def test_a_schema_reads_like_a_mapping():
    schema = Schema(Schema.LIST, 'Ports.', schema=Schema(Schema.INTEGER, constraints=[Range(1, 9, 'one digit')]),
                    default=[1], update_allowed=True, constraints=[Length(max=3)])
    assert dict(schema) == {
        'type': 'list', 'description': 'Ports.', 'default': [1], 'required': False, 'update_allowed': True,
        'immutable': False, 'constraints': [{'length': {'max': 3}}],
        'schema': {'*': {'type': 'integer', 'required': False, 'update_allowed': False, 'immutable': False,
                         'constraints': [{'range': {'min': 1, 'max': 9}, 'description': 'one digit'}]}}}


@pytest.mark.parametrize('arguments, text', [
    ({'data_type': 'Text'}, 'Invalid type (Text)'),
    ({'data_type': 'String', 'update_allowed': True, 'immutable': True}, 'cannot both be True'),
    ({'data_type': 'String', 'schema': {}}, 'Schema valid only for List or Map, not String'),
    ({'data_type': 'String', 'constraints': [Range(1)]}, 'Range constraint invalid for String'),
    ({'data_type': 'Map', 'constraints': [AllowedValues([1])]}, 'AllowedValues constraint invalid for Map'),
    ({'data_type': 'Integer', 'default': 5, 'constraints': [Range(max=4)]}, 'Invalid default 5 (5 is out of range'),
    ({'data_type': 'Map', 'schema': Schema('String')}, 'a Map one for each name')])
def test_contradictions_are_refused(arguments, text):
    with pytest.raises(exception.InvalidSchemaError, match=re.escape(text)):
        Schema(**arguments)


@pytest.mark.parametrize('make, text', [
    (lambda: Range(), 'A range constraint must have a min value'), (lambda: Length(min=1.5), 'must be integral'),
    (lambda: Modulo(step=0, offset=0), 'step cannot be 0.'), (lambda: Modulo(step=2, offset=2),
        'offset must be smaller'),
    (lambda: Modulo(step=2, offset=-1), 'both positive or both negative'), (lambda: Modulo(2), 'a step value and an'),
    (lambda: AllowedValues('abc'), 'AllowedValues must be a list'), (lambda: AllowedPattern('['), 'not a regular'),
    (lambda: AllowedPattern(5), 'AllowedPattern must be a string')])
def test_wrong_constraints_are_refused(make, text):
    with pytest.raises(exception.InvalidSchemaError, match=re.escape(text)):
        make()


def test_old_dictionaries():
    schema = Schema.from_legacy({'Type': 'Map', 'Required': True, 'Schema': {
        'a': {'Type': 'List', 'Schema': {'Type': 'String', 'AllowedValues': ['x'], 'MaxLength': '3'}},
        'n': {'Type': 'Number', 'MinValue': 1, 'Default': 2, 'UpdateAllowed': True}}})
    assert schema.required
    assert schema.schema['n'].update_allowed
    read = Reader().read({'m': schema}, {'m': {'a': ['x']}}, ())
    assert read == {'m': {'a': ['x'], 'n': 2}}
    assert Schema.from_legacy(schema) is schema
    with pytest.raises(exception.InvalidSchemaError, match=r"Unknown key\(s\) \['Typ'\]"):
        Schema.from_legacy({'Typ': 'String'})


class Even(BaseCustomConstraint):
    expected_exceptions = (KeyError,)

    def validate_with_client(self, client, value):
        if value % 2:
            raise KeyError('odd')


class Context:
    clients = None


def test_custom_constraints():
    lookup = {'even': Even}.get
    CustomConstraint('even').validate(4, None, Context, lookup)
    with pytest.raises(ValueError, match=r"Error validating value '3': 'odd'"):
        CustomConstraint('even').validate([2, 3], None, Context, lookup)
    with pytest.raises(ValueError, match=r'"3" does not validate nope \(constraint not found\)'):
        CustomConstraint('nope').validate(3, None, Context, lookup)
    with pytest.raises(ValueError, match='^my words$'):
        CustomConstraint('even', 'my words').validate(3, None, Context, lookup)
    CustomConstraint('even').validate(3)            # nobody to ask


def test_all_errors_can_be_had_at_once():
    errors = []
    schemas = {'a': Schema('Integer'), 'b': Schema('String', required=True), 'c': Schema('Map', schema={
        'd': Schema('Boolean')})}
    Reader(errors.append).read(schemas, {'a': 'x', 'c': {'d': 'y', 'e': 1}, 'z': 1}, ('Properties',))
    assert [str(error) for error in errors] == [
        'Property error: Properties: Unknown Property z', "Property error: Properties.a: Value 'x' is not an integer",
        'Property error: Properties: Property b not assigned', 'Property error: Properties.c: Unknown Property e',
        'Property error: Properties.c.d: "y" is not a valid boolean']


def test_unknown_values_pass_and_stay():
    schemas = {'n': Schema('Integer', constraints=[Range(1)]), 'l': Schema(
        'List', schema=Schema('Map', schema={'k': Schema('String', required=True)}), constraints=[Length(max=1)])}
    given = {'n': UNKNOWN, 'l': [{'k': UNKNOWN}, UNKNOWN]}
    assert Reader().read(schemas, given, ()) == given


def test_deferred_values_are_not_looked_into():
    schemas = {'m': Schema('Map', schema={'k': Schema('Integer')}), 's': Schema('String', constraints=[Length(max=1)])}
    given = {'m': {'nope': 'x'}, 's': 'long'}
    assert Reader().read(schemas, given, (), frozenset(given)) == given


SIMPLE = st.none() | st.booleans() | st.integers(-99, 99) | st.floats(allow_nan=False, allow_infinity=False) | st.text(
    max_size=5)
VALUES = st.recursive(SIMPLE, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
    st.sampled_from('ab'), inner, max_size=2), max_leaves=6)
SCHEMAS = st.recursive(
    st.builds(Schema, st.sampled_from(['String', 'Integer', 'Number', 'Boolean', 'Any', 'List', 'Map'])),
    lambda inner: st.builds(lambda item: Schema('List', schema=item), inner)
    | st.builds(lambda children: Schema('Map', schema=children), st.dictionaries(
        st.sampled_from('ab'), inner, max_size=2)), max_leaves=4)


@given(SCHEMAS, VALUES)
def test_reading_settles(schema, value):
    """What was read is right; read again, null children get their empty values, one level at a time."""
    errors = []
    read = Reader(errors.append).read({'p': schema}, {'p': value}, ())
    if not errors:
        for _level in range(6):
            read = Reader().read({'p': schema}, read, ())
        assert Reader().read({'p': schema}, read, ()) == read




@given(SCHEMAS, VALUES)
def test_reading_never_changes_what_was_given(schema, value):
    before = repr(value)
    Reader(lambda error: None).read({'p': schema}, {'p': value}, ())
    assert repr(value) == before


@given(st.lists(st.sampled_from(['a', 'b', '(', ')', '|', '*', '+', '?', '{1,3}', '.', '[ab]', '^', '$', '(?:', '\\w'
                                 ]), max_size=8).map(''.join), st.text('ab', max_size=8))
def test_patterns_mean_what_python_says(pattern, text):
    try:
        compiled = re.compile(pattern)
    except re.error:
        with pytest.raises(exception.InvalidSchemaError):
            AllowedPattern(pattern)
        return
    found = compiled.match(text)
    assert patterns.match_end(pattern, text) == (found.end() if found else -1)


@pytest.mark.parametrize('pattern, text', [
    ('(a+)+b', 'a' * 40), ('(a|a)*b', 'a' * 40), ('a?' * 40 + 'a' * 40, 'a' * 39), ('(.*)*(.*)*(.*)*x', 'y' * 100)])
def test_patterns_that_may_try_for_ever_are_watched(pattern, text):
    assert not patterns.Pattern(pattern)._is_cheap(len(text), 1)
    with pytest.raises(ValueError, match='does not match pattern|took longer than'):
        AllowedPattern(pattern).validate(text)


@pytest.mark.parametrize('rule', [
    {'rule': 'Rename', 'translation_path': ['a']}, {'rule': 'Delete', 'translation_path': []},
    {'rule': 'Add', 'translation_path': ['a'], 'value': 'x'},
    {'rule': 'Replace', 'translation_path': ['a'], 'value': 1, 'value_name': 'b'},
    {'rule': 'Resolve', 'translation_path': ['a']}])
def test_contradictory_rules_are_refused(rule):
    with pytest.raises(ValueError, match='.'):
        TranslationRule(None, **rule)


def test_sources_are_the_properties_whose_values_are_moved():
    rules = [TranslationRule(None, 'Replace', ['masters'], value_name='primaries'),
             TranslationRule(None, 'Replace', ['net'], value_path=['old_net']),
             TranslationRule(None, 'Replace', ['part'], value_name='whole', custom_value_path=['part']),
             TranslationRule(None, 'Replace', ['nets', 'id'], value_name='name'),
             TranslationRule(None, 'Add', ['masters'], value_name='more')]
    assert translation.sources(rules, {'masters', 'part', 'nets', 'id'}) == {'primaries'}
    assert translation.sources(rules, {'net': 'x'}) == {'old_net'}


def test_rules_of_one_path_run_in_their_order():
    rules = [TranslationRule(None, 'Resolve', ['nets', 'id'], client_plugin='neutron', finder='find', entity='network'),
             TranslationRule(None, 'Replace', ['nets', 'id'], value_name='name'),
             TranslationRule(None, 'Delete', ['old']), TranslationRule(None, 'Add', ['nets'], value_path=['more'])]
    given = {'nets': [{'name': 'a'}, {'id': UNKNOWN}], 'more': [{'id': 'b'}], 'old': 1}
    made = translation.apply(rules, given, resolver=lambda rule, value: f'{rule.entity}-{value}')
    assert made == {'nets': [{'name': ERASED, 'id': 'network-a'}, {'id': UNKNOWN, 'name': ERASED},
                             {'id': 'network-b', 'name': ERASED}], 'more': [{'id': 'b'}], 'old': ERASED}
    assert given['nets'][0] == {'name': 'a'}


def test_every_packed_type_has_sound_schemas():
    names = list(packed.names())
    assert len(names) > 200
    for name in names:
        schemas = packed.properties(name)
        errors = []
        Reader(errors.append, constraints=True).read(schemas, {}, ())
        assert all('not assigned' in str(error) for error in errors), name
    assert packed.properties('OS::Heat::RandomString')['length'].default == 32
    assert packed.aliases()['OS::Quantum*'] == 'OS::Neutron*'
    with pytest.raises(KeyError):
        packed.facts('No::Such')


@pytest.mark.parametrize('kind', ['String', 'Integer', 'Boolean', 'Map'])
def test_messages_do_not_repeat_long_values(kind):
    errors = []
    Reader(errors.append).read({'p': Schema(kind)}, {'p': ['x' * 100_000]}, ())
    assert 1 < len(str(errors[0])) < 2000


class NotedRange(Range):
    """Notes the values that it checks."""

    def __init__(self) -> None:
        self.checked = []
        super().__init__(1, 9)

    def is_valid(self, value, schema):
        self.checked.append(value)
        return super().is_valid(value, schema)


class SmallEnough(BaseCustomConstraint):
    def validate(self, value, context):
        return value < 9


def of_list(default, *constraints):
    return Schema(Schema.LIST, default=default, schema=Schema(Schema.MAP, schema={
        'least': Schema(Schema.INTEGER, default=1), 'most': Schema(Schema.INTEGER, constraints=constraints)}))


def test_a_container_default_is_read_once_and_may_be_changed():
    noted = NotedRange()
    schema = of_list([{'most': '5'}], noted)
    for _ in range(3):
        found = Reader().read({'p': schema}, {}, ())['p']
        assert found == [{'least': 1, 'most': 5}]
        found[0]['most'] = 100
        found.append(found[0])
    assert noted.checked == [5]
    assert schema.default == [{'most': '5'}]


def test_a_wrong_container_default_is_reported_each_time():
    schema = of_list([{'most': 10}], Range(1, 9))
    for _ in range(2):
        errors = []
        Reader(errors.append).read({'p': schema}, {}, ())
        assert [error.path for error in errors] == [['p', 0, 'most']]


def test_what_was_not_checked_is_checked_later():
    schema = of_list([{'most': 10}], Range(1, 9))
    Reader(constraints=False).read({'p': schema}, {}, ())
    with pytest.raises(exception.StackValidationFailed):
        Reader().read({'p': schema}, {}, ())


def test_a_default_is_asked_about_each_time():
    asked = []
    schema = of_list([{'most': 5}], CustomConstraint('small'))

    def lookup(name):
        asked.append(name)
        return SmallEnough()

    for _ in range(2):
        assert Reader(lookup=lookup).read({'p': schema}, {}, ()) == {'p': [{'least': 1, 'most': 5}]}
    assert asked == ['small', 'small']
