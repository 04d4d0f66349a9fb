"""Writes to the journal what a resource type stores during an action, in order (`engine.stored_resource`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from heatlite.common import exception
from heatlite.common.runtime import Runtime
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.step_context import StepContext
from heatlite.engine.reconcile.stored_resource_cache import StoredResourceCache
from heatlite.engine.resource_state import State
from heatlite.planning.states import Action, Change, Datum, Event, ResourceState


class ChangeLog(Protocol):
    """The part of `engine.durability.journal.Journal` that writes of types use."""

    def submit(self, change: Change) -> None: ...

    def write(self, change: Change) -> None: ...


class NothingStored:
    """Takes the place of the journal for a stack that is only read: discards what its types write."""

    def submit(self, change: Change) -> None:
        pass

    def write(self, change: Change) -> None:
        pass


class JournalWriter:
    """Stores the writes of a resource type. A write is durable when it returns, except in a create that is safe to
    repeat (`idempotent_create`): its physical id is stored when the call returns. Data are stored with the next change.
    """

    def __init__(self, journal: ChangeLog, leased: LeasedStack, runtime: Runtime, work: StepContext,
                 records: StoredResourceCache) -> None:
        self._records = records
        self._journal = journal
        self._leased = leased
        self._runtime = runtime
        self._work = work

    def physical_id(self, resource: State, value: str | None) -> None:
        row = self._row(resource)._replace(physical_id=value)
        if row.in_progress and _is_repeatable(resource, row):
            self._take(resource, row)
        else:
            self._store(resource, row)

    def data(self, resource: State, key: str, value: str | None, redact: bool) -> None:
        self._work.data.append(Datum(key, value, redact))
        if redact and value:
            self._leased.secrets.add(value)

    def metadata(self, resource: State, value: Mapping[str, object]) -> None:
        self._store(resource, self._row(resource), {'metadata': value})

    def state(self, resource: State, action: str, status: str, reason: str) -> None:
        row = self._row(resource)
        row = row._replace(action=Action(action), status=type(row.status)(status), reason=reason,
                           updated_at=row.updated_at if action == Action.CREATE else self._runtime.now())
        self._store(resource, row)

    def event(self, resource: State, action: str, status: str, reason: str) -> None:
        row = self._row(resource)
        self._journal.submit(Change(
            self._leased.id, self._leased.lease.epoch,
            events=(Event(self._runtime.uuid(), self._runtime.now(), row.name, row.type,
                          row.physical_id or resource.physical_resource_name(), action, status, reason,
                          resource_id=row.id),)))

    def _row(self, resource: State) -> ResourceState:
        row = self._leased.rows.get(stored_number(resource))
        if row is None:
            raise exception.EntityNotFound(entity='Resource', name=resource.name)
        return row

    def _store(self, resource: State, row: ResourceState, columns: Mapping[str, object] | None = None) -> None:
        self._take(resource, row)
        change = Change(self._leased.id, self._leased.lease.epoch, row=row, columns=columns or {},
                        data=self._work.take_data())
        if _is_repeatable(resource, row):
            self._journal.submit(change)
        else:
            self._journal.write(change)

    def _take(self, resource: State, row: ResourceState) -> None:
        self._leased.record(row)
        resource.take_state(row)
        self._records.forget(row.id)


def _is_repeatable(resource: State, row: ResourceState) -> bool:
    return row.action is Action.CREATE and resource.idempotent_create


def stored_number(resource: State) -> int:
    """Return the number of the resource's row: every resource with a writer has one."""
    assert resource.id is not None
    return resource.id
