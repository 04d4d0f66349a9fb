"""Marks resources as unhealthy, so that the next update replaces them.

Source: docs/spec/engine.rst, "Unhealthy resources".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.common.timeutils import isotime
from heatlite.db import current_rows, leases, resources, settled_stacks, stacks
from heatlite.db.connection import Database
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.reconcile import attribute_cache, stack_events
from heatlite.engine.reconcile.stack_reader import StackReader
from heatlite.engine.requests import guard_checks
from heatlite.engine.requests.stored_stacks import visible
from heatlite.planning import marks
from heatlite.planning.replacement import Reason, ReplacementCause
from heatlite.planning.states import Action, ResourceState, Status
from heatlite.rpc import messages

REASON = 'state changed by resource_mark_unhealthy api'


@dataclass(frozen=True)
class _Reset:
    """New metadata of one row. `version`: of the metadata that they replace."""

    row_id: int
    value: Mapping[str, object]
    version: int


class Health:
    """Serves marks as unhealthy, in threads of requests."""

    def __init__(self, runtime: Runtime, database: Database, reader: StackReader, sinks: EventSinks,
                 wake: Callable[[str, str | None], None]) -> None:
        """`wake(stack_id, engine_id)`: wakes up the engine that owns a stack, or any engine (None)."""
        self._wake = wake
        self._runtime = runtime
        self._database = database
        self._reader = reader
        self._sinks = sinks

    def mark(self, context: RequestContext, message: messages.MarkUnhealthy) -> None:
        """Mark a resource. Raises ActionInProgress while the stack has an action in progress, ResourceNotFound, and
        Conflict if the metadata of a resource that is healthy again have changed meanwhile.

        Signals are no action: the engine that dispatches them reloads the stack after this.
        """
        reset = None if message.unhealthy else self._reset(context, message)

        def store(tx: Connection) -> tuple[Callable[[], None], str | None]:
            leases.lock(tx, message.stack_id)       # before the stack, as everywhere
            context.check_in_time(self._runtime.now())
            row = visible(tx, message.stack_id, context, for_update=True)
            guard_checks.check_lock(tx, row)
            found = self._find(tx, row, message.resource)
            # After a cancel the action has ended, but its work in flight may not have.
            if row.status == Status.IN_PROGRESS or resources.has_in_progress(tx, row.id):
                raise exception.ActionInProgress(stack_name=row.name, action=row.action)
            marked = self._marked(found, message)
            if marked is None:
                return lambda: None, None
            owner = leases.start_over(tx, row.id)
            resources.set_state(tx, row.id, marked, ReplacementCause(
                Reason.UNHEALTHY, marked.reason, context.username, isotime(self._runtime.now()))
                if message.unhealthy else None)
            settled_stacks.unsettle(tx, row.id)
            if reset is not None and not resources.set_metadata(tx, row.id, reset.row_id, reset.value, reset.version):
                raise exception.Conflict(_('The metadata of %s have changed meanwhile.') % marked.name)
            return self._sinks.add(tx, row, stack_events.of_resource(
                self._runtime, marked, marked.physical_id)), owner

        tell, owner = self._database.retry(store)
        tell()
        if owner is not None:
            self._wake(message.stack_id, owner)

    def _reset(self, context: RequestContext, message: messages.MarkUnhealthy) -> _Reset | None:
        """Ask the type of an unhealthy resource for its metadata when it is healthy again; None if they stay."""
        with self._database.reader() as tx:
            row = visible(tx, message.stack_id, context)
            found = self._find(tx, row, message.resource)
            if self._marked(found, message) is None:
                return None
            try:
                _value, version = resources.metadata(tx, row.id, found.id)
            except LookupError:                     # deleted since it was found
                raise exception.ResourceNotFound(resource_name=message.resource, stack_name=row.name) from None
        value = self._reader.reset_metadata(row.id, context, found.name, found.id)
        return _Reset(found.id, value, version) if value is not None else None

    def _marked(self, row: ResourceState, message: messages.MarkUnhealthy) -> ResourceState | None:
        if message.unhealthy:
            if row.action is Action.DELETE:
                return None
            status, fingerprint = Status.FAILED, marks.unhealthy(row)
        else:
            if not marks.is_unhealthy(row) and row.state != (Action.CHECK, Status.FAILED):
                return None
            status, fingerprint = Status.COMPLETE, marks.healthy(row)
        return row._replace(action=Action.CHECK, status=status, reason=message.reason or REASON,
                            fingerprint=fingerprint, updated_at=self._runtime.now())

    def _find(self, tx: Connection, row: stacks.StoredStack, name_or_id: str) -> ResourceState:
        """Find a resource by name, else by physical id, else by its reference (`get_resource`). Raises
        ResourceNotFound."""
        found = (current_rows.named(tx, row, name_or_id) or current_rows.with_physical_id(tx, row, name_or_id)
                 or current_rows.with_cached_value(tx, row, attribute_cache.REFERENCE, name_or_id))
        if found is None:
            raise exception.ResourceNotFound(resource_name=name_or_id, stack_name=row.name)
        return found
