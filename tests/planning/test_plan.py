"""The values of plans, by properties."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heatlite.language.unknown import is_known
from heatlite.planning.plan import observed_changes, value_changes

values = st.recursive(st.none() | st.integers(0, 3), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
    st.sampled_from('abc'), inner, max_size=3), max_leaves=8)


@given(values, values)
def test_two_equal_values_of_three_differ_as_two(before, after):
    wanted = [(path, old, new) for path, old, new, _unknown in value_changes('p', before, after, is_known)]
    assert [(path, old, new) for path, old, live, new, _unknown in observed_changes(
        'p', before, before, after, is_known) if live == old] == wanted
    drifted = [(path, live, new) for path, _old, live, new, _unknown in observed_changes(
        'p', after, before, after, is_known)]
    assert sorted(drifted, key=repr) == sorted(wanted, key=repr)
