"""Counts by key: keys without a count are not stored, and the total is that of all keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common.keyed_count import KeyedCount, LimitedCount


def test_several_at_once():
    counts = KeyedCount()
    counts.add('a', 5)
    counts.add('b', 2)
    counts.remove('a', 3)
    assert (counts.count('a'), counts.total()) == (2, 4)
    counts.remove('a', 2)
    assert (len(counts), counts.total()) == (1, 2)


@given(st.lists(st.tuples(st.sampled_from('abc'), st.booleans())))
def test_it_counts_as_a_list_of_keys_does(changes):
    counts, expected = KeyedCount(), []
    for key, is_added in changes:
        if is_added:
            counts.add(key)
            expected.append(key)
        elif key in expected:
            counts.remove(key)
            expected.remove(key)
        else:
            with pytest.raises(KeyError):
                counts.remove(key)
        assert [counts.count(each) for each in 'abc'] == [expected.count(each) for each in 'abc']
        assert counts.total() == len(expected)
        assert len(counts) == len(set(expected))


def test_what_is_held_counts_until_the_block_ends_however_it_ends():
    counts = KeyedCount()
    with pytest.raises(ZeroDivisionError), counts.held('a'), counts.held('a'):
        assert counts.count('a') == 2
        raise ZeroDivisionError
    assert not len(counts)


def test_a_limited_count_refuses_more_of_a_key_and_in_all():
    counts, full = LimitedCount(), OSError('full')
    with counts.held('a', 2, full), counts.held('a', 2, full):
        with pytest.raises(OSError, match='full'), counts.held('a', 2, full):
            pass
        with counts.held('b', 2, full, in_all=3), pytest.raises(OSError, match='full'), counts.held(
                'c', 2, full, in_all=3):
            pass
        assert [counts.count(each) for each in 'abc'] == [2, 0, 0]
    assert counts.count('a') == 0
