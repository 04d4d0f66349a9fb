"""What a resource type stores: during an action in the journal, in order; during a signal together with its end.

The contract is `engine.stored_resource.ResourceWriter`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from heatlite.common import exception
from heatlite.common.runtime import Runtime
from heatlite.engine.reconcile import stack_events
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.step_context import StepContext
from heatlite.engine.reconcile.stored_resource_cache import StoredResources
from heatlite.engine.resource_state import State
from heatlite.planning import marks
from heatlite.planning.states import Action, Change, Datum, Event, ResourceState, Status


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


class _Writer:
    """What both writers of a resource type share: rows, data and events of one stack."""

    def __init__(self, leased: LeasedStack, runtime: Runtime) -> None:
        self._leased = leased
        self._runtime = runtime

    def _row(self, resource: State) -> ResourceState:
        """Raise EntityNotFound if the resource was deleted meanwhile."""
        row = self._leased.row_numbered(stored_number(resource))
        if row is None:
            raise exception.EntityNotFound(entity='Resource', name=resource.name)
        return row

    def _datum(self, key: str, value: str | None, redact: bool) -> Datum:
        if redact and value:
            self._leased.hide(value)
        return Datum(key, value, redact)

    def _event(self, resource: State, action: str, status: str, reason: str) -> Event:
        row = self._row(resource)
        made = stack_events.of_resource(self._runtime, row, row.physical_id or resource.physical_resource_name())
        return made._replace(action=action, status=status, reason=reason)


class JournalWriter(_Writer):
    """Stores the writes of a resource type. A write is durable when it returns, except in a create that is safe to
    repeat (`idempotent_create`): its physical id is stored when the call returns. Data are stored with the next change,
    or by `store_data`.
    """

    def __init__(self, journal: ChangeLog, leased: LeasedStack, runtime: Runtime, work: StepContext,
                 stored_resources: StoredResources) -> None:
        super().__init__(leased, runtime)
        self._stored_resources = stored_resources
        self._journal = journal
        self._work = work

    def physical_id(self, resource: State, value: str | None) -> None:
        row = self._row(resource)
        if value is None and row.physical_id is not None:
            row = _released(row)                        # removed before it is replaced
        row = row._replace(physical_id=value)
        if row.in_progress and _is_repeatable(resource, row):
            self._take(resource, row)
        else:
            self._store(resource, row)

    def data(self, resource: State, key: str, value: str | None, redact: bool) -> None:
        self._work.data.append(self._datum(key, value, redact))

    def store_data(self, resource: State) -> None:
        row = self._row(resource)
        if self._work.data and not (row.in_progress and _is_repeatable(resource, row)):
            self._store(resource, row)

    def release(self, resource: State) -> None:
        row = _released(self._row(resource))
        self._take(resource, row)
        self._journal.write(self._leased.make_change(row=row, data=self._work.take_data()))

    def metadata(self, resource: State, value: Mapping[str, object]) -> None:
        self._store(resource, self._row(resource), {'metadata': value})

    def state(self, resource: State, action: str, status: str, reason: str) -> None:
        row = self._row(resource)
        row = row._replace(action=Action(action), status=type(row.status)(status), reason=reason,
                           updated_at=row.updated_at if action == Action.CREATE else self._runtime.now())
        self._store(resource, row)

    def event(self, resource: State, action: str, status: str, reason: str) -> None:
        self._journal.submit(self._leased.make_change(events=(self._event(resource, action, status, reason),)))

    def _store(self, resource: State, row: ResourceState, columns: Mapping[str, object] | None = None) -> None:
        self._take(resource, row)
        change = self._leased.make_change(row=row, columns=columns or {}, data=self._work.take_data())
        if _is_repeatable(resource, row):
            self._journal.submit(change)
        else:
            self._journal.write(change)

    def _take(self, resource: State, row: ResourceState) -> None:
        self._leased.record(row)
        resource.take_state(row)
        self._stored_resources.forget(row.id)


class SignalWriter(_Writer):
    """Collects the writes of a signalled resource, to be stored together with the end of the signal. A handler that
    ends early, since the database is away, leaves nothing behind."""

    def __init__(self, leased: LeasedStack, runtime: Runtime) -> None:
        super().__init__(leased, runtime)
        self.columns: dict[str, object] = {}
        self.data_noted: list[Datum] = []
        self.events: list[Event] = []
        self._edits: list[Callable[[ResourceState], ResourceState]] = []        # of the row

    def take(self, number: int) -> ResourceState | None:
        """Return the row as it is to be stored, which the stack has from now on; None if it was deleted meanwhile."""
        row = self._leased.row_numbered(number)
        if row is not None and self._edits:
            row = self._edited(row)
            self._leased.record(row)
        return row

    def has(self, resource: State) -> bool:
        """Whether the resource was not deleted while its signal was being handled."""
        return stored_number(resource) in self._leased.rows

    def physical_id(self, resource: State, value: str | None) -> None:
        self._edit(resource, lambda row: row._replace(physical_id=value))

    def data(self, resource: State, key: str, value: str | None, redact: bool) -> None:
        self.data_noted.append(self._datum(key, value, redact))

    def store_data(self, resource: State) -> None:
        """Leave the data to the end of the signal. Raise EntityNotFound if the resource was deleted meanwhile."""
        self._row(resource)

    def release(self, resource: State) -> None:
        self._edit(resource, _released)

    def metadata(self, resource: State, value: Mapping[str, object]) -> None:
        self.columns['metadata'] = value

    def state(self, resource: State, action: str, status: str, reason: str) -> None:
        new = Action(action), Status(status)
        self._edit(resource, lambda row: row._replace(action=new[0], status=new[1], reason=reason))

    def event(self, resource: State, action: str, status: str, reason: str) -> None:
        self.events.append(self._event(resource, action, status, reason))

    def _edit(self, resource: State, edit: Callable[[ResourceState], ResourceState]) -> None:
        """Raise EntityNotFound if the resource was deleted meanwhile."""
        self._row(resource)
        self._edits.append(edit)

    def _edited(self, row: ResourceState) -> ResourceState:
        for edit in self._edits:
            row = edit(row)
        return row

    def _row(self, resource: State) -> ResourceState:
        return self._edited(super()._row(resource))


def _released(row: ResourceState) -> ResourceState:
    """Return the row of a resource of which something is released or removed for a replacement: the next update has to
    look at it. A row that is not COMPLETE says so already."""
    return row._replace(fingerprint=marks.uncertain(row.fingerprint)) if row.status is Status.COMPLETE else row


def _is_repeatable(resource: State, row: ResourceState) -> bool:
    return row.action is Action.CREATE and resource.idempotent_create


def stored_number(resource: State) -> int:
    """Return the number of the resource's row: every resource with a writer has one."""
    assert resource.id is not None
    return resource.id
