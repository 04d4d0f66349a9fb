"""Where a step is, and what belongs to its phase only."""

from __future__ import annotations

from typing import Any, cast

from heatlite.engine.reconcile.active_steps import ActiveSteps, PoolCall, StepPhase
from heatlite.planning.steps import Step, StepKind

STEP, OTHER = Step(1, StepKind.APPLY, 'a'), Step(2, StepKind.DELETE, 'a', 7)


def call(step: Step) -> PoolCall:
    return PoolCall(lambda call: None, step, cast('Any', None), cast('Any', None), is_handler=True, recovers=False)


def nothing() -> None:
    pass


def test_a_phase_ends_what_belonged_to_the_one_before() -> None:
    steps, made = ActiveSteps(), call(STEP)
    active = steps.enter(STEP, StepPhase.CALLING, call=made)
    assert steps.is_making(made) and steps.calls() == [made] and steps.calling == 1
    assert steps.enter(STEP, StepPhase.WAITING, due=nothing) is active
    assert not steps.is_making(made) and steps.calls() == [] and steps.calling == 0
    assert steps.due_of('a') == [nothing]
    steps.enter(STEP, StepPhase.STORING)
    assert steps.due_of('a') == [] and active.due is None and steps.storing == 1
    steps.enter(STEP, StepPhase.REPORTED)
    assert steps.storing == 0


def test_only_what_waits_for_its_next_call_may_be_hurried() -> None:
    steps = ActiveSteps()
    steps.enter(STEP, StepPhase.PAUSING, due=nothing)
    assert steps.due_of('a') == steps.due_of('b') == []


def test_a_step_that_is_forgotten_leaves_the_others_of_its_resource() -> None:
    steps = ActiveSteps()
    for each in (STEP, OTHER):
        steps.enter(each, StepPhase.CALLING, call=call(each))
    steps.forget(STEP)
    assert steps.get(STEP) is None and steps.calling == 1 and [each.step for each in steps.calls()] == [OTHER]
    steps.forget(OTHER)
    steps.forget(OTHER)
    assert steps.calling == 0 and not steps._of_resources


def test_the_timer_of_a_step_that_is_forgotten_is_void() -> None:
    steps = ActiveSteps()
    active = steps.enter(STEP, StepPhase.PAUSING, due=nothing)
    steps.forget(STEP)
    assert active.due is None
