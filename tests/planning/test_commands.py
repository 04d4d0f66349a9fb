"""Which commands of a traversal store what has happened, and which begin something."""

from __future__ import annotations

import pytest

from heatlite.planning import commands as c
from heatlite.planning.states import Action, ResourceState, Status
from heatlite.planning.steps import Step, StepKind

STEP = Step(1, StepKind.APPLY, 'r')
ROW = ResourceState(1, 'r', 'uuid-1', 'OS::Heat::None')
REPLACED = ROW._replace(replaced_by=2)
BEGUN = c.Persist(STEP, ROW._replace(id=2, replaces=1), wait=True)


@pytest.mark.parametrize('command, following, answer', [
    (c.Persist(STEP, ROW), None, True),
    (c.Persist(STEP, ROW), BEGUN, True),
    (c.Persist(STEP, ROW, wait=True), None, False),
    (c.Persist(STEP, REPLACED, event=False), BEGUN, False),
    (c.Persist(STEP, REPLACED), c.Poll(STEP, ROW, Action.DELETE, None, 1), True),       # replaced before
    (c.Remove(STEP, ROW), None, True),
    (c.Note(STEP, ROW), None, True),
    (c.ReleaseHook(STEP, ROW, 'pre-create'), None, True),
    (c.ReportFailure('why', rollback=True), None, True),
    (c.Finish(Status.COMPLETE, 'done'), None, True),
    (c.Inspect(STEP, ROW), None, False),
    (c.CallHandler(STEP, ROW, Action.CREATE), None, False),
    (c.Poll(STEP, ROW, Action.CREATE, None, 1), None, False),
    (c.Recover(STEP, ROW), None, False),
    (c.Abort(STEP, ROW, 'why'), None, False),
    (c.Preempt(STEP, ROW), None, False),
    (c.Pause(STEP, ROW, 'pre-create'), None, False),
    (c.StartTimer(STEP, ROW, 1.0), None, False)])
def test_stores_only(command, following, answer):
    assert c.stores_only(command, following) is answer
