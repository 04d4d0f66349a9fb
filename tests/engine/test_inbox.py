"""What the thread of a runner is handed: in order, and an error as it was met."""

from __future__ import annotations

import contextlib
import gc
import weakref
from typing import Any, cast

import pytest

from heatlite.common.green_threads import GreenRuntime
from heatlite.engine.durability.journal import LeaseLost, NotStored, StopsDriving
from heatlite.engine.reconcile.inbox import RunnerInbox

NOTHING = cast('Any', None)


@pytest.mark.parametrize('why', [LeaseLost('s1'), NotStored('s1', ValueError('no such column'))])
def test_the_runner_meets_the_reason_that_another_thread_has_met(why: StopsDriving) -> None:
    inbox = RunnerInbox(GreenRuntime(), NOTHING)
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

    inbox = RunnerInbox(GreenRuntime(), NOTHING)
    gc.disable()
    try:
        reason = meet(inbox)
        run(inbox)
        assert reason() is None
    finally:
        gc.enable()
