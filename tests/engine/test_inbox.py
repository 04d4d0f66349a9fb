"""What the thread of a runner is handed: in order, and an error as it was met."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable
from typing import Any, cast

import pytest

from heatlite.common.green_threads import GreenRuntime
from heatlite.engine.durability.journal import LeaseLost, NotStored, StopsDriving
from heatlite.engine.reconcile.active_steps import ActiveSteps
from heatlite.engine.reconcile.inbox import RunnerInbox
from heatlite.engine.reconcile.runner_phase import RunnerPhase
from heatlite.planning import commands
from heatlite.planning.steps import Step, StepKind

STEP = Step(0, StepKind.APPLY, 'a')
REQUEST, RESULT = commands.TimerFired(STEP), commands.HandlerReturned(STEP, None, done=True)


class Place:
    """An inbox with the phase of its runner, whose traversal notes the events."""

    def __init__(self) -> None:
        runtime, self.handled = GreenRuntime(), list[commands.Event]()
        self.news = runtime.flag()
        self.phase = RunnerPhase(runtime, self.news)
        self.steps = ActiveSteps()
        self.inbox = RunnerInbox(runtime, cast('Any', self), self.phase, self.steps, self.news)

    @property
    def traversal(self) -> Place:
        return self

    def handle(self, event: commands.Event, now: object) -> list[commands.Command]:
        self.handled.append(event)
        return []

    def work(self) -> list[commands.Event]:
        """Do all that waits; return the events that were handled."""
        while not self.inbox.is_empty:
            work = self.inbox.take()
            assert work is not None
            work()
        return self.handled


@pytest.mark.parametrize('change, taken', [
    (lambda phase: None, [REQUEST, RESULT]),
    (lambda phase: phase.drain(0.0), [RESULT]),
    (lambda phase: phase.stop(), []),
    (lambda phase: phase.end(), [])])
def test_what_comes_is_taken_as_the_phase_says(change: Callable[[RunnerPhase], None],
                                               taken: list[commands.Event]) -> None:
    place = Place()
    change(place.phase)
    place.inbox.ask(lambda: place.handle(REQUEST, None))
    place.inbox.post(RESULT)
    assert place.work() == taken


def test_what_has_come_is_dropped_but_for_results() -> None:
    place = Place()
    for event in (REQUEST, RESULT):
        place.inbox.post(event)
    place.phase.drain(0.0)
    place.inbox.keep_results()
    assert place.work() == [RESULT]
    assert place.steps.take_touched() == [STEP]


def test_news_of_others_ends_the_wait_for_work() -> None:
    place = Place()
    place.news.set()
    assert place.inbox.take() is None
    assert not place.news.is_set()


@pytest.mark.parametrize('why', [LeaseLost('s1'), NotStored('s1', ValueError('no such column'))])
def test_the_runner_meets_the_reason_that_another_thread_has_met(why: StopsDriving) -> None:
    inbox = Place().inbox
    inbox.fail(why)
    work = inbox.take()
    assert work is not None
    with pytest.raises(StopsDriving) as met:
        work()
    assert met.value is why


def test_the_reason_keeps_nothing_until_garbage_is_collected() -> None:
    class Reason(LeaseLost):
        pass

    def run(inbox: RunnerInbox) -> None:
        """As `Runner.run`, whose variable refers to the work."""
        work = inbox.take()
        assert work is not None
        with contextlib.suppress(StopsDriving):
            work()

    def meet(inbox: RunnerInbox) -> weakref.ref[Reason]:
        try:
            raise Reason('s1')
        except Reason as why:
            inbox.fail(why)
            return weakref.ref(why)

    inbox = Place().inbox
    gc.disable()
    try:
        reason = meet(inbox)
        run(inbox)
        assert reason() is None
    finally:
        gc.enable()
