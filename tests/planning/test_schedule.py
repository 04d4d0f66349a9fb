"""Which steps may start: those whose requirements have completed, and on whose row no other works."""

import pytest

from heatlite.planning.schedule import MOST_UNANSWERED, Schedule
from heatlite.planning.steps import Step, StepKind
from heatlite.planning.steps_under_way import StepsUnderWay

FIRST, SECOND, DELETION = Step(1, StepKind.APPLY, 'a'), Step(1, StepKind.APPLY, 'b'), Step(1, StepKind.DELETE, 'a', 7)


def scheduled():
    """A schedule in which the second step waits for the first one, and the deletion for both."""
    under_way = StepsUnderWay()
    schedule = Schedule(under_way)
    schedule.clear()
    schedule.fill({FIRST: [], SECOND: [FIRST], DELETION: [FIRST, SECOND]})
    return schedule, under_way


def taken(schedule):
    found = list(schedule.ready)
    schedule.ready.clear()
    return found


def test_steps_become_ready_when_their_requirements_complete():
    schedule, _ = scheduled()
    order = []
    while schedule.ready:
        order.append(schedule.ready.popleft())
        schedule.complete(order[-1])
    assert order == [FIRST, SECOND, DELETION] and schedule.is_finished


def test_a_step_that_ends_without_success_releases_only_those_that_wait_for_its_row():
    schedule, under_way = scheduled()
    assert taken(schedule) == [FIRST]
    under_way.occupy(FIRST, 7)
    under_way.block(DELETION, 7)
    schedule.end(FIRST)
    assert taken(schedule) == [DELETION] and not schedule.is_finished


def test_resources_are_applied_before_former_rows_are_deleted():
    schedule, _ = scheduled()
    schedule.complete(FIRST)
    assert not schedule.has_applied
    schedule.complete(SECOND)
    assert schedule.has_applied and not schedule.is_finished


@pytest.mark.parametrize('step, is_wanted', [
    (FIRST, True), (FIRST._replace(target=0), False), (FIRST._replace(kind=StepKind.CONCLUDE, row_id=7), False)])
def test_which_steps_belong_to_the_target(step, is_wanted):
    assert scheduled()[0].is_wanted(step) is is_wanted


def test_nothing_of_a_former_target_is_ready_or_counts():
    schedule, under_way = scheduled()
    taken(schedule)
    under_way.occupy(FIRST, 7)
    schedule.clear()
    schedule.complete(FIRST)
    assert not schedule.ready and not schedule.has_applied and not schedule.is_finished


def test_there_is_room_unless_as_many_as_allowed_wait_for_their_first_call():
    schedule, under_way = scheduled()
    for number in range(MOST_UNANSWERED):
        assert schedule.has_room()
        under_way.occupy(FIRST._replace(name=f'r{number}'), number)
    assert not schedule.has_room()
    under_way.unanswered.pop()
    assert schedule.has_room()
