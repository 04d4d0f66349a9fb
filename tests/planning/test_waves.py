"""Waves of stack sets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.planning import waves

REGIONS = {'a': 'one', 'b': 'two', 'c': 'one', 'd': 'three', 'e': 'two'}


@pytest.mark.parametrize('text, members, size, failures', [
    ('1', 8, 1, 1), ('3', 8, 3, 3), ('25%', 8, 2, 2), ('10%', 8, 1, 0), ('99%', 8, 7, 7), ('0', 8, 1, 0)],
    ids=['one', 'three', 'quarter', 'less-than-one', 'nearly-all', 'none'])
def test_numbers_and_per_cent(text, members, size, failures):
    assert (waves.concurrent(text, members), waves.tolerated(text, members)) == (size, failures)


@pytest.mark.parametrize('size, order, wanted', [
    (2, [], ['ab', 'cd', 'e']), (5, [], ['abcde']), (2, ['two'], ['be', 'ac', 'd']),
    (5, ['three', 'one'], ['d', 'ac', 'be']), (1, ['two', 'one'], ['b', 'e', 'a', 'c', 'd'])],
    ids=['pairs', 'all', 'first-region', 'all-regions', 'one-by-one'])
def test_waves(size, order, wanted):
    assert waves.waves(REGIONS, size, order) == [list(names) for names in wanted]


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.sampled_from('xyz')), st.integers(1, 9),
       st.lists(st.sampled_from('xyz'), unique=True))
def test_each_member_is_in_one_wave_and_no_wave_is_too_large(regions, size, order):
    found = waves.waves(regions, size, order)
    assert sorted(name for wave in found for name in wave) == sorted(regions)
    assert all(0 < len(wave) <= size for wave in found)
    places = [order.index(regions[wave[0]]) if regions[wave[0]] in order else len(order) for wave in found]
    assert places == sorted(places)
