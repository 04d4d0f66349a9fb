"""A check that leaves out what was right before, and needs no other look, finds the same as a check of all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heatlite.engine.resources import packed_types
from heatlite.language import constraints, lint, plain
from heatlite.language import definition as definitions
from heatlite.language.definition import StackIdentity
from heatlite.language.environment import Environment
from heatlite.language.facts import TypeFacts
from heatlite.language.schema import Schema
from heatlite.language.template import Template

TYPES = packed_types.PackedTypes()
OPERATOR = packed_types.operator_registry()
NONE, VALUE = 'OS::Heat::None', 'OS::Heat::Value'
NAMES = ['a', 'b', 'c', 'd', 'e']


def value(given, **more):
    return {'type': VALUE, 'properties': {'value': given}, **more}


RIGHT = [{'type': NONE}, value('x'), value(['x', {'y': 1}]), value({'get_param': 'p'}),
         value({'list_join': [',', ['x', 'y']]}), {'type': NONE, 'metadata': {'x': 'y'}}]
WRONG = [{'type': 'No::Such::Type'}, {'type': NONE, 'propertys': {}}, value('x', depends_on='nowhere'), {},
         {'type': VALUE, 'properties': {'valu': 'x'}}, value({'get_resource': 'nowhere'}), value({'get_param': 'q'}),
         value({'get_attr': ['a', 'nothing']}), {'type': VALUE}]


def build(resources, environment=None):
    return definitions.build(Template({
        'heat_template_version': '2018-08-31', 'parameters': {'p': {'type': 'string', 'default': 'x'}},
        'resources': resources}), Environment(environment, OPERATOR), {}, StackIdentity('s', None, 'p'))


def is_plain(type_name):
    return type_name in (NONE, VALUE)               # as the catalog of the engine has it


def found(before, after):
    definition = build(after)
    return plain.find(definition, definition.shared_with(build(before)).same, is_plain)


def texts(definition, **options):
    return [(str(each.error), each.path, each.hint) for each in lint.check(definition, TYPES, **options)]


@st.composite
def resources(draw, kinds, names=NAMES):
    made = {}
    for name in draw(st.lists(st.sampled_from(names), unique=True, max_size=len(names))):
        each = dict(draw(st.sampled_from(kinds)))
        others = draw(st.lists(st.sampled_from(names), unique=True, max_size=2))
        if others and 'type' in each:
            use = draw(st.sampled_from(['none', 'none', 'depends_on', 'value']))
            if use == 'depends_on':
                each['depends_on'] = others
            elif use == 'value' and each['type'] == VALUE:
                each['properties'] = {'value': draw(st.sampled_from([
                    {'get_resource': others[0]}, {'get_attr': [others[0], 'value']}]))}
        made[name] = each
    return made


@settings(max_examples=300, deadline=None)
@given(resources(RIGHT), resources(RIGHT + WRONG, NAMES[:3]), st.booleans())
def test_the_same_diagnostics_in_the_same_order(before, changes, removes):
    for name in [name for name in before if texts(build(before))]:      # until it is right
        before = {other: each for other, each in before.items() if other != name}
    after = {**before, **changes}
    if removes and after:
        del after[min(after)]
    right = found(before, after)
    assert texts(build(after), right=right) == texts(build(after))


def test_what_was_right_and_uses_nothing_is_left_out():
    before = {name: value('x') for name in 'abcd'}
    after = {**before, 'b': value('y'), 'c': value('x', depends_on='a'), 'e': {'type': NONE}}
    assert found(before, after) == {'a', 'd'}


@pytest.mark.parametrize('each', [
    value({'get_param': 'p'}), value({'x': [{'str_replace': {}}]}), value('x', depends_on=['b', 'z']),
    value('x', condition='c'), value('x' * (plain.LARGEST + 1)), {'type': 'OS::Nova::Server'}, {'type': ['x']}, None],
    ids=['function', 'function-inside', 'missing', 'condition', 'large', 'service', 'no-type', 'nothing'])
def test_what_may_be_wrong_now_is_checked(each):
    assert 'a' not in found({'a': each, 'b': value('x')}, {'a': each, 'b': value('y')})


@pytest.mark.parametrize('facts, plainly', [
    ({}, True), ({'own_check': list}, False), ({'own_check': list, 'own_check_is_pure': True}, True),
    ({'available': list}, False), ({'nested': list}, False), ({'strict_dependency': False}, False),
    ({'properties': {'x': Schema('Map', schema={'y': Schema('String', constraints=[
        constraints.CustomConstraint('nova.flavor')])})}}, False),
    ({'properties': {'x': Schema('Integer', constraints=[constraints.Range(1, 2)])}}, True)],
    ids=['nothing', 'own-check', 'pure-check', 'service', 'group', 'alarm', 'constraint-inside', 'range'])
def test_types_that_ask_more_than_their_schemas_are_not_plain(facts, plainly):
    assert plain.is_plain_type(TypeFacts('T', **{'properties': {}, **facts})) is plainly


def test_nothing_is_left_out_with_entries_for_single_resources():
    definition = build({'a': value('x')}, {'resource_registry': {'resources': {'a': {VALUE: NONE}}}})
    assert plain.find(definition, ['a'], is_plain) == frozenset()
