"""Which share of the slots for stacks each project has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.db.leases import Place
from heatlite.engine.durability.stack_slots import StackSlots


def filled(slots: StackSlots, project: str, depth: int = 0) -> int:
    """How many slots a project takes that takes all it may."""
    count = 0
    while slots.take_if_room(Place(project, project, depth)):
        count += 1
    return count


@pytest.mark.parametrize('most, shares', [
    (1, [1, 0]), (2, [2, 0]), (4, [4, 0]), (5, [4, 1, 0]), (8, [6, 1, 1, 0]), (1000, [700, 140, 28, 8, 8, 7]),
])
def test_projects_that_take_all_they_may(most: int, shares: list[int]) -> None:
    slots = StackSlots(most)
    assert [filled(slots, str(number)) for number in range(len(shares))] == shares


def test_many_projects_are_needed_to_take_all_slots() -> None:
    slots, projects = StackSlots(1000), 0
    while filled(slots, str(projects)):
        projects += 1
    assert (projects, slots.left(0)) == (48, 0)


def test_each_depth_has_slots_of_its_own() -> None:
    slots = StackSlots(8)
    assert [filled(slots, 'a', depth) for depth in range(3)] == [6, 6, 6]
    assert slots.all_left() == {0: 2, 1: 2, 2: 2, 3: 8}
    assert slots.without_room() == {0: ['a'], 1: ['a'], 2: ['a']}


def test_a_stack_of_unknown_depth_counts_at_each() -> None:
    slots = StackSlots(8)
    slots.take(None)
    assert slots.all_left() == {0: 7}
    assert slots.left(5) == 7
    slots.give_back(None)
    assert slots.all_left() == {0: 8}


@given(st.integers(1, 40), st.lists(st.tuples(st.sampled_from('abcdefgh'), st.integers(0, 2), st.booleans())))
def test_a_project_without_stacks_has_room_while_a_slot_is_free(
        most: int, requests: list[tuple[str, int, bool]]) -> None:
    slots, places = StackSlots(most), []
    for project, depth, ends in requests:
        before = slots.room(project, depth)
        taken = slots.take_if_room(Place(project, project, depth))
        assert taken == (before > 0)
        if taken:
            places.append(Place(project, project, depth))
            assert slots.room(project, depth) == before - 1
        if ends and places:
            slots.give_back(places.pop(0))
        for each, left in slots.all_left().items():
            assert left >= 0
            assert (slots.room('another', each) > 0) == (left > 0)
            assert slots.room('a', each) <= left
            full = slots.without_room().get(each, ())
            assert left == 0 or {name for name in 'abcdefgh' if not slots.room(name, each)} == {*full}
            assert not full or not slots.has_room_for_any(each)
    copied = slots.copy()
    for place in places:
        copied.give_back(place)
    assert copied.all_left() == {0: most}
    assert (slots.all_left() == {0: most}) == (not places)
