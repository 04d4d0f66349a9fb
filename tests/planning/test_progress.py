"""How far an action has come, from counts of resources."""

from datetime import timedelta

import pytest

from heatlite.planning.progress import Level, StateCount, levels, remaining


@pytest.mark.parametrize('doing, action, status, kind', [
    ('CREATE', 'INIT', 'COMPLETE', 'waiting'), ('CREATE', 'CREATE', 'IN_PROGRESS', 'in_progress'),
    ('CREATE', 'CREATE', 'COMPLETE', 'complete'), ('CREATE', 'CREATE', 'FAILED', 'failed'),
    ('UPDATE', 'CREATE', 'COMPLETE', 'complete'), ('UPDATE', 'INIT', 'COMPLETE', 'waiting'),
    ('DELETE', 'CREATE', 'COMPLETE', 'waiting'), ('DELETE', 'DELETE', 'COMPLETE', 'complete'),
    ('SUSPEND', 'CREATE', 'COMPLETE', 'waiting'), ('SUSPEND', 'SUSPEND', 'COMPLETE', 'complete')])
def test_a_resource_counts_by_what_its_stack_does(doing, action, status, kind):
    assert levels([StateCount(0, doing, action, status, 7)]) == [Level(0, **{kind: 7})]


def test_levels_are_in_order_and_added_up():
    found = levels([StateCount(1, 'CREATE', 'INIT', 'COMPLETE', 2), StateCount(0, 'CREATE', 'CREATE', 'COMPLETE', 1),
                    StateCount(1, 'CREATE', 'CREATE', 'COMPLETE', 3), StateCount(1, 'UPDATE', 'CREATE', 'COMPLETE', 4)])
    assert found == [Level(0, complete=1), Level(1, complete=7, waiting=2)]
    assert [level.total for level in found] == [1, 9]


def seconds(number):
    return timedelta(seconds=number)


def test_the_rest_is_what_the_last_time_leaves_or_in_proportion():
    half = [Level(0, complete=5, waiting=5)]
    assert remaining(half, seconds(40), seconds(100)) == seconds(60)
    assert remaining(half, seconds(40), None) == seconds(40)
    assert remaining(half, seconds(140), seconds(100)) == seconds(140)      # it takes longer than the last time
    assert remaining([Level(0, complete=1, waiting=19)], seconds(40), None) is None
    assert remaining([], seconds(40), None) is None
