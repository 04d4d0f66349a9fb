"""What an update need not visit is the greatest closed set of resources that stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.planning import unvisited
from heatlite.planning.marks import DIRTY
from heatlite.planning.states import Action, ResourceState, Status

CREATED = {'action': Action.CREATE, 'fingerprint': 'print'}


def row(number, requires=(), **more):
    return ResourceState(**{'id': number, 'name': f'r{number}', 'uuid': '', 'type': 'T', 'requires': {
        f'r{each}': each for each in requires}, **CREATED, **more})


@st.composite
def graphs(draw):
    """(number -> numbers that it requires, the numbers of the resources that change)."""
    count = draw(st.integers(1, 8))
    requires = {number: draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
                for number in range(count)}
    return requires, draw(st.sets(st.integers(0, count - 1)))


@given(graphs())
def test_it_is_what_requires_no_change_directly_or_indirectly(graph):
    requires, changed = graph
    touched = set(changed)
    for number in requires:                         # in an order in which required ones come first
        if requires[number] & touched:
            touched.add(number)
    rows = [row(number, needed) for number, needed in requires.items()]
    same = {f'r{number}' for number in requires if number not in changed}
    assert unvisited.find(same, rows, lambda each: True) == {f'r{number}' for number in requires.keys() - touched}


@pytest.mark.parametrize('state', [
    {'status': Status.FAILED}, {'status': Status.IN_PROGRESS}, {'replaced_by': 9}, {'fingerprint': DIRTY},
    {'fingerprint': '^~unhealthyabc'}, {'fingerprint': '^'}, {'fingerprint': ''}, {'action': Action.INIT},
    {'action': Action.DELETE}],
    ids=['failed', 'in-progress', 'replaced', 'dirty',
         'unhealthy', 'suspended', 'never-applied', 'not-created', 'deleted'])
def test_a_row_that_is_not_as_applied_is_visited_with_what_requires_it(state):
    rows = [row(1, **state), row(2, [1]), row(3)]
    assert unvisited.find({'r1', 'r2', 'r3'}, rows, lambda each: True) == {'r3'}


def test_a_name_with_a_row_left_by_a_replacement_is_visited():
    rows = [row(1), row(2, [1]), row(3), row(4, name='r1', replaces=1)]
    assert unvisited.find({'r1', 'r2', 'r3'}, rows, lambda each: True) == {'r3'}


def test_what_does_not_stay_by_its_type_is_visited():
    assert unvisited.find({'r1', 'r2'}, [row(1), row(2)], lambda each: each.name == 'r2') == {'r2'}
