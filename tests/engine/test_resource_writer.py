"""What types write in a signal is stored as what they write in an action."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from heatlite.common.green_threads import GreenRuntime
from heatlite.db.leases import Lease
from heatlite.engine.clients import answers
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_writer import JournalWriter, SignalWriter
from heatlite.engine.reconcile.step_context import StepContext
from heatlite.engine.reconcile.step_waits import StepWaits
from heatlite.engine.reconcile.stored_resource_cache import StoredResourceCache
from heatlite.engine.resource_state import State
from heatlite.planning.states import Action, Change, Status
from heatlite.planning.target import Target
from heatlite.planning.traversal import Traversal
from tests.db.rows import stack, state

NOTHING = cast('Any', None)


class Kept:
    """A journal in a list."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def submit(self, change: Change) -> None:
        self.changes.append(change)

    write = submit


@pytest.mark.parametrize('is_signal', [False, True])
def test_secrets_are_known_and_the_state_of_an_event_is_the_one_given(is_signal: bool) -> None:
    row = state(action=Action.CREATE, status=Status.COMPLETE, physical_id='ph1')
    leased = LeasedStack(stack(), Lease('s1', 'e1', 1), NOTHING, NOTHING, Traversal(
        Target(Action.CREATE, {}, 'template', NOTHING), [row], next_row=9, random=NOTHING, retry_limit=5))
    journal, work = Kept(), StepContext()
    writer = SignalWriter(leased, GreenRuntime()) if is_signal else JournalWriter(
        journal, leased, GreenRuntime(), work, cast('StoredResourceCache', NOTHING))
    resource = cast('State', SimpleNamespace(id=row.id, name=row.name))
    writer.data(resource, 'password', 's3cret', redact=True)
    writer.data(resource, 'colour', 'red', redact=False)
    writer.event(resource, 'SIGNAL', 'FAILED', 'no reason')
    assert leased.secrets == {'s3cret'}
    data = writer.data_noted if isinstance(writer, SignalWriter) else work.data
    assert [(datum.key, datum.value, datum.redact) for datum in data] == [
        ('password', 's3cret', True), ('colour', 'red', False)]
    event, = writer.events if isinstance(writer, SignalWriter) else journal.changes[0].events
    assert (event.resource_name, event.physical_id, event.action, event.status) == ('r1', 'ph1', 'SIGNAL', 'FAILED')


def test_a_wait_is_stored_with_the_row_as_it_is_after_its_texts_were_masked() -> None:
    """Masks may switch to the handler of a signal, which changes the row."""
    row = state(action=Action.CREATE, status=Status.IN_PROGRESS, physical_id='before')
    runtime, journal, work = GreenRuntime(), Kept(), StepContext()

    def text(value: str) -> str:
        leased.record(leased.rows[row.id]._replace(physical_id='after'))
        return value

    leased = LeasedStack(stack(), Lease('s1', 'e1', 1), cast('Any', SimpleNamespace(mask=SimpleNamespace(text=text))),
                         NOTHING, Traversal(Target(Action.CREATE, {}, 'template', NOTHING), [row], next_row=9,
                                            random=NOTHING, retry_limit=5))
    work.first_check = runtime.now() - timedelta(minutes=1)
    answers.note(answers.Answer('compute', 'GET', '/servers', error='it builds'))
    try:
        StepWaits(runtime, leased, cast('Any', journal), 1.0).note_check(row, work, Action.CREATE, 1)
    finally:
        answers.note(None)
    change, = journal.changes
    assert change.row is not None and change.row.physical_id == 'after'
