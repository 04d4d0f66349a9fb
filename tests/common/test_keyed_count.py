"""Counts by key: keys without a count are not stored, and the total is that of all keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common.keyed_count import KeyedCount


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
