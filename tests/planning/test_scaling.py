"""Batches and adjustments, by tables and by properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.planning import scaling


@pytest.mark.parametrize('target, current, largest, in_service, sizes', [
    (4, 4, 2, 3, [5, 5, 4]),                    # seen: a spare member, taken away by the last batch
    (4, 4, 2, 0, [4, 4]),
    (4, 4, 1, 4, [5, 5, 5, 5, 5, 4]),
    (4, 4, 9, 0, [4]),
    (2, 4, 1, 0, [2, 2]),
    (4, 2, 1, 0, [3, 4, 4, 4]),
    (0, 3, 1, 0, [0]),
    (3, 0, 2, 1, [2, 3]),
    (0, 0, 1, 1, []),
])
def test_sizes(target, current, largest, in_service, sizes):
    assert list(scaling.sizes(target, current, largest, in_service)) == sizes


@pytest.mark.parametrize('target, largest, sizes', [(5, 2, [2, 4, 5]), (4, 2, [2, 4]), (0, 3, []), (1, 9, [1])])
def test_growing(target, largest, sizes):
    assert list(scaling.growing(target, largest)) == sizes


small = st.integers(0, 12)


@given(small, small, st.integers(1, 12), small)
def test_a_rolling_update_ends_with_what_was_wanted(target, current, largest, in_service):
    sizes = list(scaling.sizes(target, current, largest, in_service))
    assert (sizes or [current])[-1] == target
    assert len(sizes) <= 2 * (target + current) + 1
    assert all(size >= min(in_service, target, current) for size in sizes)
    assert all(size <= max(target, current) + largest for size in sizes)


@given(small, small, st.integers(1, 12), small)
def test_enough_members_are_left_alone_in_each_batch(target, current, largest, in_service):
    """Those that are neither new nor being changed."""
    size, updated = current, 0
    for _ in range(100):
        batch = scaling.next_batch(target, size, updated, largest, in_service)
        if batch is None:
            return
        assert batch.count <= largest
        assert batch.size - batch.count >= min(in_service, target, size)
        size, updated = batch.size, min(updated + batch.count, target)
    raise AssertionError('no end')


def test_new_members_come_before_old_ones():
    batch = scaling.Batch(4, 2)
    assert scaling.chosen(['0', '1', '2', '3'], {'0', '1', '2'}, ['2', '1', '0'], batch) == ['3', '2']


@pytest.mark.parametrize('current, adjustment, kind, step, bounds, size', [
    (3, 1, 'change_in_capacity', None, (0, 10), 4),
    (3, -2, 'ChangeInCapacity', None, (0, 10), 1),
    (3, -5, 'change_in_capacity', None, (1, 10), 1),
    (3, 9, 'change_in_capacity', None, (1, 10), 10),
    (3, 7, 'exact_capacity', None, (1, 10), 7),
    (3, 70, 'ExactCapacity', None, (1, 10), 10),
    (10, 25, 'percent_change_in_capacity', None, (0, 99), 12),      # 2.5, cut down
    (10, -25, 'percent_change_in_capacity', None, (0, 99), 8),
    (3, 10, 'percent_change_in_capacity', None, (0, 99), 4),        # less than one counts as one
    (3, -10, 'PercentChangeInCapacity', None, (0, 99), 2),
    (3, 10, 'percent_change_in_capacity', 2, (0, 99), 5),
    (3, -10, 'percent_change_in_capacity', 2, (0, 99), 1),
    (3, -10, 'percent_change_in_capacity', 2, (2, 99), 2),
    (3, 200, 'percent_change_in_capacity', 2, (0, 99), 9),
    (0, 50, 'percent_change_in_capacity', None, (0, 99), 0),
    (3, 5, 'exact_capacity', None, (0, None), 5),
])
def test_adjustments(current, adjustment, kind, step, bounds, size):
    assert scaling.adjusted(current, adjustment, kind, step, *bounds) == size


def test_an_unknown_adjustment():
    with pytest.raises(ValueError, match='Unknown adjustment type fold'):
        scaling.adjusted(1, 1, 'fold', None, 0, 9)
