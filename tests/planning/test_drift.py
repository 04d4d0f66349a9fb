"""Drift as values: what is the same in another spelling, what differs, and since when."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.planning import drift
from heatlite.planning.drift import Denial, DriftFinding, DriftPolicy, PropertyDrift, ResourceDrift

LEAVES = st.none() | st.booleans() | st.integers() | st.text('ab0', max_size=3)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
    st.text('ab', min_size=1, max_size=1), inner, max_size=2), max_leaves=8)


@pytest.mark.parametrize(('expected', 'actual', 'is_same'), [
    (1, '1', True), (1.0, 1, True), (True, 'True', True), ('yes', True, False), (0, None, False), (False, None, False),
    (None, 'chosen by the service', True), ('', None, True), ([], None, True), (None, {}, True), ({}, [], True),
    ([1, 2], [2, 1], True), ([1, 1], [1, 2], False), ([1], [1, 1], False), (['a'], None, False),
    ({'a': 1}, {'a': '1'}, True), ({'a': 1}, {'a': 1, 'b': None}, True), ({'a': 1}, {'a': 1, 'b': 2}, False),
    ({'a': 1, 'b': None}, {'a': 1, 'b': 2}, True), ({'a': 1}, {}, False), ('a', ['a'], False),
    ([{'a': 1, 'b': None}, {'a': 1, 'b': 2}], [{'a': 1, 'b': 2}, {'a': 1, 'b': 3}], True),
    ([{'a': 1}, {'a': 2}], [{'a': 2}, {'a': '1'}], True), ({}, {'a': None}, True), ({'a': None}, {}, True),
    ({}, {'a': {'b': None}}, True), ({}, {'a': 1}, False),
    ('2001:DB8::0:1', '2001:db8::1', True), ('10.0.0.1', '10.0.0.1/32', True), ('FA:16:3E:00:00:0A',
    'fa:16:3e:00:00:0a', True), ('10.0.0.1', '10.0.0.2', False), ('10.0.0.1/24', '10.0.0.1/32', False),
    ([{'ip': '2001:DB8::1'}], [{'ip': '2001:db8::1'}], True), ('AB', 'ab', False), ('80', '80/32', False)])
def test_same(expected, actual, is_same):
    assert drift.same(expected, actual) == is_same


@given(VALUES)
def test_a_value_is_the_same_as_itself_and_as_its_json(value):
    assert drift.same(value, value) and drift.same(value, json.loads(json.dumps(value)))
    assert list(drift.differences('p', value, value)) == []


@given(VALUES, VALUES)
def test_there_are_differences_unless_values_are_the_same(expected, actual):
    found = list(drift.differences('p', expected, actual))
    assert bool(found) != drift.same(expected, actual)
    assert all(each.path[0] == 'p' for each in found)


def test_maps_differ_by_key():
    found = list(drift.differences('m', {'a': {'x': 1, 'y': 2}, 'b': 1}, {'a': {'x': 1, 'y': 3}, 'c': 4}))
    assert [(each.path, each.expected, each.actual) for each in found] == [
        (('m', 'a', 'y'), 2, 3), (('m', 'b'), 1, None), (('m', 'c'), None, 4)]


def changed(name, value, **more):
    return ResourceDrift((name,), 'T', DriftFinding.CHANGED, properties=(PropertyDrift(('p',), 1, value),), **more)


def test_what_stays_keeps_its_time_and_what_changes_again_is_news():
    first = drift.report('t1', 'request', [changed('a', 2), ResourceDrift(('b',), 'T', DriftFinding.SAME)])
    assert first.counts['changed'] == first.counts['same'] == 1 and len(first.resources) == 1
    assert drift.news(first, None) == first.drifted
    second = drift.report('t2', 'schedule', [changed('a', '2')], first)
    assert second.resources[0].properties[0].noticed_at == 't1' and not drift.news(second, first)
    third = drift.report('t3', 'schedule', [changed('a', 3)], second)
    assert third.resources[0].properties[0].noticed_at == 't3' and third.resources[0].noticed_at == 't1'
    assert drift.news(third, second) == third.drifted
    gone = drift.report('t4', 'schedule', [ResourceDrift(('a',), 'T', DriftFinding.GONE)], third)
    assert gone.resources[0].noticed_at == 't4' and drift.news(gone, third) == gone.drifted


def test_a_report_is_stored_and_read():
    found = drift.report('t', 'request', [changed('a', 2, policy=DriftPolicy.REPAIR, physical_id='i', reason='locked'),
                                          ResourceDrift(('g', '0'), 'T', DriftFinding.UNREADABLE, reason='503')])
    assert drift.from_json(json.loads(json.dumps(drift.to_json(found)))) == found


def test_what_is_to_be_repaired():
    found = drift.report('t', 'schedule', [
        changed('a', 2, policy=DriftPolicy.REPAIR), changed('b', 2), changed('c', 2, policy=DriftPolicy.REPLACE),
        changed('d', 2, policy=DriftPolicy.REPAIR, reason='restricted'),
        ResourceDrift(('e',), 'T', DriftFinding.GONE, DriftPolicy.REPAIR),
        ResourceDrift(('f',), 'T', DriftFinding.UNREADABLE, DriftPolicy.REPAIR)])
    assert [(each.path[0], each.repair) for each in found.to_repair] == [
        ('a', Denial.UPDATE), ('c', Denial.REPLACE), ('e', Denial.REPLACE)]
    assert [each.path[0] for each in found.refused({('a',): 'no'}).to_repair] == ['c', 'e']


def test_a_sentence_names_a_few_properties():
    many = ResourceDrift(('a',), 'T', DriftFinding.CHANGED, properties=tuple(
        PropertyDrift((f'p{number}',), 1, 2) for number in range(12)))
    assert str(many).endswith('p9, and 2 more')
