"""What comes from outside for one resource: stored first, then handled by whoever drives its stack, also when nobody
did (engine specification 8.1)."""

from __future__ import annotations

from typing import Any

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.world import World
from heatlite.db import leases, resources, stacks
from heatlite.db import signals as signal_rows
from heatlite.db.connection import Database
from heatlite.engine import request_ids
from heatlite.engine.attending import hook_of
from heatlite.engine.event_sinks import EventSinks
from heatlite.engine.registry import Registry
from heatlite.language.registry import HOOK_TYPES
from heatlite.planning.states import Event, ResourceState
from heatlite.planning.steps import current_rows
from heatlite.rpc import messages

LOOK = 0.1                              # seconds between two looks whether a signal was handled
PATIENCE = 60.0                         # seconds until whoever waits for that is told that it takes longer


class Signals:
    def __init__(self, world: World, database: Database, registry: Registry, driving: Any, engine_id: str,
                 wake: Any, sinks: EventSinks) -> None:
        """`wake(stack_id, engine_id)`: rings at the engine that owns a stack, or at any."""
        self._sinks = sinks
        self._world = world
        self._database = database
        self._registry = registry
        self._driving = driving
        self._engine_id = engine_id
        self._wake = wake

    def signal(self, context: RequestContext, message: messages.SignalResource) -> Any:
        """The resource's metadata when `wait`, after the signal was handled; else nothing, and at once.

        Raises ResourceNotFound, ResourceNotAvailable, NotSupported, ResourceActionNotSupported.
        """
        with self._database.writer() as tx:
            row = stacks.get(tx, message.stack_id)
            if row is None or not context.may_see(row.project_id, row.user_project_id):
                raise exception.EntityNotFound(entity='Stack', name=message.stack_id)
            resource = self._find(tx, row, message.resource_name)
            hook = hook_of(message.details)
            if hook is not None:
                self._check_hook(tx, row, resource, hook)
            refused = None if hook is not None else self._refusal(resource)
            tell = None
            if isinstance(refused, exception.NotSupported):
                tell = self._sinks.add(tx, row, self._told(resource))
            elif refused is None:
                number = signal_rows.insert(tx, row.id, resource.name, message.details, self._world.now(),
                                            request_ids.stored(context, None))
                owner = self._claim(tx, row.id)
        if refused is not None:
            if tell is not None:
                tell()
            raise refused
        if message.wait:
            self._driving.await_outcome(number)
        if isinstance(owner, leases.Lease):
            self._driving.go_on(owner)
        else:
            self._wake(row.id, owner)
        return self._result(message.stack_id, number, resource.id) if message.wait else None

    def _claim(self, tx: Any, stack_id: str) -> leases.Lease | str | None:
        """The lease when it is ours now, else who has it."""
        if self._driving.owns(stack_id) or self._driving.room() > 0:
            found = leases.claim(tx, stack_id, self._engine_id)
            if found is not None:
                return found
        return leases.owner(tx, stack_id)

    def _find(self, tx: Any, row: stacks.Stack, name: str) -> ResourceState:
        rows = {state.id: state for state in resources.named(tx, row.id, name)}
        number = current_rows(rows.values(), row.template_id, None).get(name)
        if number is None:
            if rows:
                return next(iter(rows.values()))
            raise exception.ResourceNotFound(resource_name=name, stack_name=row.name)
        found = rows[number]
        if found.action == 'INIT' and found.status == 'COMPLETE' and not self._holding(tx, row.id, found.id):
            raise exception.ResourceNotAvailable(resource_name=name)
        return found

    def _holding(self, tx: Any, stack_id: str, number: int) -> set[str]:
        """The breakpoints at which it is held."""
        return {entry.key for entry in resources.data(tx, stack_id, number)
                if entry.key in HOOK_TYPES and entry.clear() == resources.HELD}

    def _check_hook(self, tx: Any, row: stacks.Stack, resource: ResourceState, hook: Any) -> None:
        """Raises InvalidBreakPointHook for a word that is no hook, and for one at which nothing is held."""
        try:
            kind = self._registry.resolve(resource.type, resource.name).__name__
        except exception.HeatException:
            kind = resource.type
        shown = f'{kind} "{resource.name}"' + (f' [{resource.physical_id}]' if resource.physical_id else '')
        shown += f' Stack "{row.name}" [{row.id}]'
        if hook not in HOOK_TYPES:
            raise exception.InvalidBreakPointHook(_('Invalid hook type "%(hook)s" for %(resource)s')
                                                  % {'hook': hook, 'resource': shown})
        if hook not in self._holding(tx, row.id, resource.id):
            raise exception.InvalidBreakPointHook(_('The "%(hook)s" hook is not defined on %(resource)s')
                                                  % {'hook': hook, 'resource': shown})

    def _refusal(self, resource: ResourceState) -> exception.HeatException | None:
        """Why not now. Raises ResourceActionNotSupported for a type that takes no signals at all."""
        try:
            kind = self._registry.resolve(resource.type, resource.name)
        except exception.HeatException:
            return None                             # a name of the user's environment: found out when it is handled
        if not callable(getattr(kind, 'handle_signal', None)):
            raise exception.ResourceActionNotSupported(action='signal')
        if resource.action in kind.no_signal_actions:
            return exception.NotSupported(feature=_('Signal resource during %s') % resource.action)
        return None

    def _told(self, row: ResourceState) -> Event:
        return Event(self._world.uuid(), self._world.now(), row.name, row.type, row.physical_id, row.action, row.status,
                     _('Cannot signal resource during %s') % row.action, resource_id=row.id)

    def _result(self, stack_id: str, number: int, resource: int) -> Any:
        """Once the signal is gone, it was handled."""
        end = self._world.monotonic() + PATIENCE
        while self._world.monotonic() < end:
            with self._database.reader() as tx:
                waits = signal_rows.exists(tx, number)
                metadata = None if waits else resources.metadata(tx, stack_id, resource)[0]
            if not waits:
                error = self._driving.take_outcome(number)
                if error is not None:
                    raise error
                return metadata or {}
            self._world.sleep(LOOK)
        raise exception.Error(_('The signal was stored, but not handled within %d seconds.') % PATIENCE)
