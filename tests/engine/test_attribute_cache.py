"""The cached values of one stack's rows: what is cached and stored of them, and what is dropped."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from heatlite.engine.reconcile.attribute_cache import AttributeCache, is_worth_storing, key

KEPT = {'': 'x'}
ERROR = ValueError('not yet')


def cache_of(values: Mapping[int, Mapping[str, object]]) -> AttributeCache:
    cache = AttributeCache()
    cache.fill(values)
    return cache


@pytest.mark.parametrize('before, values, cached, stored', [
    (None,          {'': 'id'},                    None,                           None),
    ({},            {'': 'id'},                    None,                           None),
    (KEPT,          {'': 'id'},                    None,                           {}),
    (None,          {'': 'name'},                  {'': 'name'},                   {'': 'name'}),
    (KEPT,          {'': 'id', 'size': 1},         {'': 'id', 'size': 1},          {'': 'id', 'size': 1}),
    (None,          {'': 'id', 'size': ERROR},     {'': 'id', 'size': ERROR},      {'': 'id'}),
])
def test_what_is_cached_and_stored_of_the_values_of_a_row(
        before: Mapping[str, object] | None, values: Mapping[str, object], cached: Mapping[str, object] | None,
        stored: Mapping[str, object] | None) -> None:
    cache = cache_of({7: before} if before is not None else {})
    assert cache.keep(7, 'id', values) == stored
    assert (cache.has(7), cache.of(7)) == (cached is not None, cached or {})


@pytest.mark.parametrize('values, worth', [
    ({}, False), ({'': 'id'}, False), ({'': 'name'}, True), ({'size': 1}, True), ({'': 'id', 'size': 1}, True)])
def test_the_physical_id_alone_is_not_worth_storing(values: Mapping[str, object], worth: bool) -> None:
    assert is_worth_storing(values, 'id') is worth


def test_stored_values_do_not_replace_newer_ones() -> None:
    cache = cache_of({1: {'': 'new'}})
    cache.fill({1: {'': 'old'}, 2: {'': 'b'}})
    assert [cache.of(number) for number in cache.numbers()] == [{'': 'new'}, {'': 'b'}]


def test_values_of_a_row_are_the_same_object_until_they_change() -> None:
    """A reader sees by that whether its values are still those of the row."""
    cache = cache_of({1: {'': 'a', 'size': 1}})
    for number in (1, 2):
        assert cache.of(number) is cache.of(number)
    before = cache.of(1)
    assert not cache.drop_attributes(1, lambda attribute: attribute == 'other')
    assert cache.of(1) is before
    cache.replace_reference(1, 'b')
    assert (before, cache.of(1)) == ({'': 'a', 'size': 1}, {'': 'b', 'size': 1})
    cache.replace_reference(2, 'c')
    cache.put(1, {'size': 2})
    assert [cache.of(1), cache.of(2)] == [{'size': 2}, {'': 'c'}]
    cache.put_reference(1, 'd')
    assert cache.of(1) == {'': 'd'}


@pytest.mark.parametrize('before, dropped, after, changed', [
    ({'': 'a', 'size': 1, key('size', ('x',)): 2, 'name': 'n'},    'size',     {'': 'a', 'name': 'n'},     True),
    ({'': 'a', 'size': 1},                                         '',         {'': 'a', 'size': 1},       False),
    ({'': 'a'},                                                    None,       {'': 'a'},                  False),
    ({'': 'a', 'size': 1, 'name': 'n'},                            None,       {'': 'a'},                  True),
    ({'size': 1},                                                  None,       {},                         True),
    ({},                                                           None,       {},                         False),
])
def test_attributes_are_dropped_but_not_the_reference(
        before: Mapping[str, object], dropped: str | None, after: Mapping[str, object], changed: bool) -> None:
    cache = cache_of({1: before})
    found = cache.drop_attributes(1) if dropped is None else cache.drop_attributes(1, lambda name: name == dropped)
    assert (found, cache.of(1), cache.has(1)) == (changed, after, True)


def test_a_row_is_dropped() -> None:
    cache = cache_of({1: KEPT, 2: {}})
    assert [cache.drop(1), cache.drop(1), cache.drop(2)] == [True, False, False]
    assert (cache.has(1), cache.of(1), cache.numbers()) == (False, {}, [])
