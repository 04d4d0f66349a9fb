"""Rows that are read when they are needed answer as rows that are all read at the start."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from heatlite.planning.rows import Rows, RowsView
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Desired

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COUNT = 6
NAMES = [f'r{number}' for number in range(1, COUNT + 3)]     # two more than there are rows
QUESTIONS = {
    'current': lambda rows, name, number: rows.current(name),
    'requirements': lambda rows, name, number: rows.requirements(Desired('T', frozenset({name, 'r1'}))),
    'get': lambda rows, name, number: RowsView(rows).get(number),
    'contains': lambda rows, name, number: number in RowsView(rows),
    'count': lambda rows, name, number: len(RowsView(rows)),
    'all': lambda rows, name, number: sorted(RowsView(rows).values()),
    'numbers': lambda rows, name, number: sorted(RowsView(rows)),
}


def stored():
    return [ResourceState(number, f'r{number}', '', 'T', Action.CREATE, template_id='t') for number in
            range(1, COUNT + 1)]


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
    steps = st.tuples(st.sampled_from([*QUESTIONS, 'add', 'remove', 'set']), st.sampled_from(NAMES),
                      st.integers(1, COUNT + 3))
    return draw(st.none() | st.sets(st.integers(1, COUNT))), draw(st.lists(steps, max_size=12))


@given(lives())
def test_what_is_unread_makes_no_difference(life):
    taken, steps = life
    everything = Rows(stored(), 1)
    lazy = Rows((), 1, stored)
    for rows in (everything, lazy):
        rows.choose_current('t', None)
    if taken is not None:
        lazy.take([row for row in stored() if row.id in taken], COUNT + 1,
                  {row.name for row in stored() if row.id not in taken})
    else:
        lazy.complete()
    for kind, name, number in steps:
        if kind in QUESTIONS:
            assert QUESTIONS[kind](lazy, name, number) == QUESTIONS[kind](everything, name, number)
        else:
            assert change(lazy, kind, name, number) == change(everything, kind, name, number)


def test_known_rows_are_found_without_reading_the_others():
    def read_all():
        raise AssertionError('not needed')

    rows = Rows((), 1, read_all)
    rows.choose_current('t', None)
    rows.take(stored()[:2], COUNT + 1, {'r3', 'r4', 'r5', 'r6'})
    assert rows.current('r1').id == RowsView(rows)[1].id == 1
    assert rows.current('new') is None
    assert rows.requirements(Desired('T', frozenset({'r2', 'new'}))) == {'r2': 2}
    assert rows.add('new', 'T', '', 't', None, NOW).id == COUNT + 1
    rows.remove(rows.current('r2'))
    assert RowsView(rows).get(2) is rows.current('r2') is None
