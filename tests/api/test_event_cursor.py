"""The cursor over committed events: whatever order transactions commit in, every event is read once."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heatlite.api import event_cursor
from heatlite.api.event_cursor import GAP_TIMEOUT, MOST_SPANS, EventCursor


def read(cursor, visible, now):
    """What a reader does with the numbers that are visible now; those it hands out, in order."""
    wanted = cursor.wanted(now)
    late = cursor.missing(number for number in sorted(visible)
                          if any(first <= number <= last for first, last in wanted))
    floors = []
    for number in late:
        cursor.fill(number)
        floors.append((number, cursor.floor))
    for number in sorted(number for number in visible if number > cursor.top):
        cursor.advance(number, now)
        floors.append((number, cursor.floor))
    return floors


def test_a_number_that_appears_late_is_read():
    cursor = EventCursor([1, 2], 0.0)
    assert read(cursor, {1, 2, 5, 6}, 1.0) == [(5, 2), (6, 2)]
    assert read(cursor, {1, 2, 4, 5, 6}, 2.0) == [(4, 2)]
    assert read(cursor, {1, 2, 3, 4, 5, 6}, 3.0) == [(3, 6)]
    assert cursor.wanted(3.0) == []


def test_a_number_that_never_appears_is_forgotten():
    cursor = EventCursor([], 0.0)
    read(cursor, {1, 3}, 0.0)
    assert (cursor.floor, cursor.wanted(GAP_TIMEOUT - 1)) == (1, [(2, 2)])
    assert (cursor.wanted(GAP_TIMEOUT), cursor.floor) == ([], 3)


def test_transactions_that_run_while_the_reader_begins_are_waited_for():
    cursor = EventCursor([3, 4, 7], 0.0)
    assert read(cursor, {3, 4, 6, 7}, 1.0) == [(6, 4)]


def test_many_spans_are_asked_for_as_one():
    cursor = EventCursor([1], 0.0)
    cursor.pass_over(range(3, 3 + 2 * MOST_SPANS + 2, 2), 0.0)
    assert cursor.wanted(1.0) == [(2, 2 * MOST_SPANS + 2)]
    assert cursor.missing([2, 3, 4]) == [2, 4]


def test_the_number_of_spans_is_bounded(monkeypatch):
    monkeypatch.setattr(event_cursor, 'MOST_MISSING', 3)
    cursor = EventCursor([1], 0.0)
    cursor.pass_over([3, 5, 7, 9, 11], 0.0)
    assert cursor.missing(range(12)) == [6, 8, 10]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2 ** 32), st.integers(1, 3))
def test_nothing_is_skipped_nothing_is_read_twice_and_every_floor_is_safe(seed, step):
    """Transactions take blocks of numbers, commit in any order, or never. A reader that stops anywhere and resumes from
    the floor that it got last, with another cursor, has seen everything."""
    randomness = random.Random(seed)
    running, visible, ever, number, now = [], set(), set(), 1, 0.0
    cursor, handed = EventCursor([], 0.0), []
    for _round in range(30):
        for _begun in range(randomness.randrange(3)):
            size = randomness.randrange(1, 4)
            running.append((list(range(number, number + size * step, step)), now))
            number += size * step
        randomness.shuffle(running)
        overdue = [each for each in running if now - each[1] > GAP_TIMEOUT / 2]
        for each in overdue + running[:randomness.randrange(3)]:
            if each in running:
                running.remove(each)
                if randomness.random() < 0.8:
                    visible.update(each[0])
                    ever.update(each[0])
        handed += read(cursor, visible, now)
        now += randomness.random() * 5
    assert sorted(number for number, _floor in handed) == sorted(visible)
    for place, (_number, floor) in enumerate(handed):
        seen = {number for number, _floor in handed[:place + 1]}
        assert {number for number, _floor in handed if number <= floor} <= seen


@pytest.mark.parametrize('number, left', [(3, [4, 5]), (4, [3, 5]), (5, [3, 4])])
def test_a_span_is_cut_where_a_number_is_read(number, left):
    cursor = EventCursor([1, 2, 6], 0.0)
    cursor.fill(number)
    assert cursor.missing(range(8)) == left
