"""Bars of the timeline: what an action on a resource took, and what it took the time before."""

from datetime import datetime, timedelta

import pytest

from heatlite.planning.explanation import Happened
from heatlite.planning.timeline import bars, longest

NOON = datetime(2026, 1, 1, 12)


def events(*found):
    """(name, action, status, seconds after noon)."""
    return [Happened((name,), 'T', action, status, '', None, NOON + timedelta(seconds=at))
            for name, action, status, at in found]


def seen(happened, earlier=(), now=100):
    return [(bar.path[0], bar.action, bar.status, bar.seconds, bar.seconds_before)
            for bar in bars(events(*happened), events(*earlier), NOON + timedelta(seconds=now))]


RUN = (('a', 'UPDATE', 'IN_PROGRESS', 50), ('a', 'UPDATE', 'COMPLETE', 58))


@pytest.mark.parametrize('earlier, before', [
    ((), None),
    ((('a', 'UPDATE', 'IN_PROGRESS', 10), ('a', 'UPDATE', 'COMPLETE', 13)), 3.0),
    ((('a', 'CREATE', 'IN_PROGRESS', 10), ('a', 'CREATE', 'COMPLETE', 13)), None),         # another action
    ((('a', 'UPDATE', 'IN_PROGRESS', 10), ('a', 'UPDATE', 'FAILED', 13)), None),           # it did not complete
    ((('b', 'UPDATE', 'IN_PROGRESS', 10), ('b', 'UPDATE', 'COMPLETE', 13)), None),         # another resource
    ((('a', 'UPDATE', 'COMPLETE', 13),), None),                                            # its beginning is gone
    ((('a', 'UPDATE', 'IN_PROGRESS', 1), ('a', 'UPDATE', 'COMPLETE', 9), ('a', 'UPDATE', 'IN_PROGRESS', 10),
      ('a', 'UPDATE', 'COMPLETE', 12)), 2.0)])                                             # the newest counts
def test_what_the_same_took_the_time_before(earlier, before):
    assert seen(RUN, earlier) == [('a', 'UPDATE', 'COMPLETE', 8.0, before)]


def test_bars_are_in_the_order_of_their_beginnings_and_go_on_until_now():
    assert seen([('b', 'CREATE', 'IN_PROGRESS', 1), ('a', 'CREATE', 'IN_PROGRESS', 2),
                 ('a', 'CREATE', 'FAILED', 5)]) == [
        ('b', 'CREATE', 'IN_PROGRESS', 99.0, None), ('a', 'CREATE', 'FAILED', 3.0, None)]


def test_a_resource_that_is_replaced_has_two_bars():
    assert seen([('a', 'CREATE', 'IN_PROGRESS', 1), ('a', 'CREATE', 'COMPLETE', 4),
                 ('a', 'DELETE', 'IN_PROGRESS', 5), ('a', 'DELETE', 'COMPLETE', 6)],
                [('a', 'CREATE', 'IN_PROGRESS', -9), ('a', 'CREATE', 'COMPLETE', -8)]) == [
        ('a', 'CREATE', 'COMPLETE', 3.0, 1.0), ('a', 'DELETE', 'COMPLETE', 1.0, None)]


def test_the_longest_are_shown_in_their_order():
    found = bars(events(('a', 'C', 'IN_PROGRESS', 0), ('a', 'C', 'COMPLETE', 5), ('b', 'C', 'IN_PROGRESS', 1),
                        ('b', 'C', 'COMPLETE', 2), ('c', 'C', 'IN_PROGRESS', 2), ('c', 'C', 'COMPLETE', 9)), (), NOON)
    assert [bar.path for bar in longest(found, 2)] == [('a',), ('c',)]
    assert longest(found, 3) == found
