"""What types write in a signal is stored as what they write in an action."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from heatlite.common import exception
from heatlite.common.green_threads import GreenRuntime
from heatlite.db.leases import Lease
from heatlite.engine.clients import answers
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_writer import JournalWriter, SignalWriter
from heatlite.engine.reconcile.step_context import StepContext
from heatlite.engine.reconcile.step_waits import StepWaits
from heatlite.engine.reconcile.stored_resource_cache import StoredResourceCache
from heatlite.engine.resource_state import State
from heatlite.planning.states import Action, Change, ResourceState, Status
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


def writing(row: ResourceState) -> tuple[Kept, LeasedStack, JournalWriter]:
    """A writer of a stack with that row alone, and its journal."""
    leased = LeasedStack(stack(), Lease('s1', 'e1', 1), NOTHING, NOTHING, Traversal(
        Target(row.action, {}, 'template', NOTHING), [row], next_row=9, random=NOTHING, retry_limit=5))
    journal, forgotten = Kept(), cast('StoredResourceCache', SimpleNamespace(forget=lambda number: None))
    return journal, leased, JournalWriter(journal, leased, GreenRuntime(), StepContext(), forgotten)


def resource_of(row: ResourceState, *, idempotent: bool = False) -> State:
    return cast('State', SimpleNamespace(id=row.id, name=row.name, idempotent_create=idempotent,
                                         take_state=lambda state: None))


@pytest.mark.parametrize('status', [Status.IN_PROGRESS, Status.COMPLETE])
def test_data_are_stored_before_a_request_in_one_write_with_an_unchanged_row(status: Status) -> None:
    row = state(action=Action.UPDATE, status=status, physical_id='ph1')
    journal, _leased, writer = writing(row)
    resource = resource_of(row)
    writer.data(resource, 'begun', '[1]', redact=False)
    writer.data(resource, 'former', None, redact=False)
    assert journal.changes == []
    writer.store_data(resource)
    writer.store_data(resource)
    change, = journal.changes                   # what is stored is not stored once more
    assert change.row == row and [(datum.key, datum.value) for datum in change.data] == [
        ('begun', '[1]'), ('former', None)]


def test_data_of_a_create_that_is_safe_to_repeat_wait_for_its_end() -> None:
    row = state(action=Action.CREATE, status=Status.IN_PROGRESS, physical_id=None)
    journal, _leased, writer = writing(row)
    resource = resource_of(row, idempotent=True)
    writer.data(resource, 'begun', '[1]', redact=False)
    writer.store_data(resource)
    assert journal.changes == []


def test_a_signal_handler_that_stores_data_of_a_deleted_resource_is_stopped() -> None:
    row = state(action=Action.CREATE, status=Status.COMPLETE, physical_id='ph1')
    _journal, leased, _writer = writing(row)
    writer = SignalWriter(leased, GreenRuntime())
    writer.store_data(resource_of(row))
    assert writer.take(row.id) == row and writer.data_noted == []
    with pytest.raises(exception.EntityNotFound):
        writer.store_data(resource_of(row._replace(id=row.id + 1)))


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
