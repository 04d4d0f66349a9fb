"""Rows that are filled in when they are needed answer as rows that are all in memory at the start."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import turns
from heatlite.planning.rows import NotRead, Rows
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Desired

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COUNT = 6
NAMES = [f'r{number}' for number in range(1, COUNT + 3)]     # two more than there are rows
QUESTIONS = {
    'current': lambda rows, name, number: rows.current(name),
    'requirements': lambda rows, name, number: rows.requirements(Desired('T', frozenset({name, 'r1'}))),
    'get': lambda rows, name, number: rows.get(number),
    'count': lambda rows, name, number: len(rows.by_number),
    'all': lambda rows, name, number: sorted(rows.by_number.values()),
}


def stored():
    return [ResourceState(number, f'r{number}', '', 'T', Action.CREATE, template_id='t') for number in
            range(1, COUNT + 1)]


def part(taken):
    """Arguments of `fill`, with the rows of these numbers only."""
    rows = stored()
    return ([row for row in rows if row.id in taken], {row.name for row in rows if row.id not in taken}, COUNT + 1)


def partial():
    rows = Rows((), 1, is_partial=True)
    rows.choose_current('t', None)
    return rows


def complete():
    rows = Rows(stored(), 1)
    rows.choose_current('t', None)
    return rows


def asked(rows, question):
    """The answer, as the owner of the rows gets it."""
    try:
        return question(rows)
    except NotRead:
        rows.fill(stored())
        return question(rows)


def change(rows, kind, name, number):
    row = rows.current(name)
    if kind == 'add':
        return rows.add(name, 'T', '', 't', row.id if row else None, NOW)
    if row is None or number != row.id:
        return None
    if kind == 'remove':
        return rows.remove(row)
    return rows.set(row._replace(reason='changed'))


@st.composite
def lives(draw):
    steps = st.tuples(st.sampled_from([*QUESTIONS, 'add', 'remove', 'set', 'fill']), st.sampled_from(NAMES),
                      st.integers(1, COUNT + 3))
    return draw(st.none() | st.sets(st.integers(1, COUNT))), draw(st.lists(steps, max_size=12))


@given(lives())
def test_what_is_not_in_memory_makes_no_difference(life):
    taken, steps = life
    everything, lazy = complete(), partial()
    lazy.fill(stored()) if taken is None else lazy.fill(*part(taken))
    for kind, name, number in steps:
        if kind in QUESTIONS:
            assert asked(lazy, lambda rows: QUESTIONS[kind](rows, name, number)) == QUESTIONS[kind](     # noqa: B023
                everything, name, number)
        elif kind == 'fill':                        # by another thread
            lazy.fill(stored())
        else:
            assert asked(lazy, lambda rows: change(rows, kind, name, number)) == change(     # noqa: B023
                everything, kind, name, number)


def test_rows_in_memory_are_found_without_the_others():
    rows = partial()
    rows.fill(*part({1, 2}))
    assert rows.current('r1').id == rows.row(1).id == 1
    assert rows.current('new') is None
    assert rows.requirements(Desired('T', frozenset({'r2', 'new'}))) == {'r2': 2}
    assert rows.add('new', 'T', '', 't', None, NOW).id == COUNT + 1
    rows.remove(rows.current('r2'))
    assert rows.get(2) is rows.current('r2') is None


@pytest.mark.parametrize('question', QUESTIONS.values(), ids=QUESTIONS)
def test_a_row_that_is_not_in_memory_is_not_taken_for_one_that_does_not_exist(question):
    rows = partial()
    rows.fill(*part({1, 2}))
    with pytest.raises(NotRead):
        question(rows, 'r3', 3)
    rows.fill(stored())
    assert question(rows, 'r3', 3) == question(complete(), 'r3', 3)


@pytest.fixture
def in_turn(monkeypatch):
    """A function: call another one in the turn of that number, of which each row that is looked at has one."""
    monkeypatch.setattr(turns, 'EVERY', 1)

    def use(number, function):
        left = iter(range(1, number))

        def turn(*_owners):
            if next(left, None) is None:
                turns.use(None)
                function()

        turns.use(turn)

    yield use
    turns.use(None)


@pytest.mark.parametrize('first', [part({1, 2, 5}), (stored(),)], ids=['some', 'all'])
@pytest.mark.parametrize('second', [part({1, 2, 5}), (stored(),)], ids=['some', 'all'])
@pytest.mark.parametrize('number', [1, 2, 3])
def test_two_threads_fill_in_at_once(in_turn, first, second, number):
    rows, added = partial(), []
    in_turn(number, lambda: added.extend(rows.fill(*second)))
    added.extend(rows.fill(*first))
    assert sorted(added) == sorted(set(added)), 'only one of them has added a row'
    rows.fill(stored())
    assert rows.by_number == complete().by_number
    assert rows.current_numbers == complete().current_numbers
    assert rows.add('new', 'T', '', 't', None, NOW).id == COUNT + 1


@pytest.mark.parametrize('number', range(1, COUNT + 1))
@pytest.mark.parametrize('kind', ['add', 'remove', 'set'])
def test_rows_that_change_while_the_others_are_filled_in_stay_as_they_are(in_turn, kind, number):
    rows, everything = partial(), complete()
    rows.fill(*part({1, 2}))
    in_turn(number, lambda: change(rows, kind, 'r2', 2))
    assert rows.fill(stored()) == {3, 4, 5, 6}
    change(everything, kind, 'r2', 2)
    assert rows.by_number == everything.by_number and rows.current_numbers == everything.current_numbers
