"""Accepts signals to resources: a signal is stored first, then handled by the engine that drives the stack, or by one
that claims it (docs/spec/engine.rst, "Delivery of signals")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from heatlite.common import exception, limits
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.db import leases, resource_data, resources, stacks
from heatlite.db import signals as signal_rows
from heatlite.engine.durability import request_ids
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.reconcile import stack_events
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.signal_dispatcher import hook_of
from heatlite.engine.requests import guard_checks
from heatlite.engine.requests.acceptance import Acceptance, StackOwner
from heatlite.engine.requests.stored_stacks import visible
from heatlite.language.registry import HOOK_TYPES
from heatlite.planning import text
from heatlite.planning.states import Event, ResourceState
from heatlite.planning.steps import avoided_template, row_of_signal
from heatlite.rpc import errors, messages, slots

FIRST_POLL_SECONDS = 0.1                # between the first two polls whether a signal was handled
POLL_FACTOR = 1.25                      # from each pause to the next one
LONGEST_POLL_SECONDS = 1.0              # between the last ones: many requests may wait at once
HANDLING_SECONDS = 60.0                 # that a request waits for a signal to be handled


@dataclass(frozen=True)
class AcceptedSignal:
    """The result of a signal's transaction. `refused`: why it was not stored; `tell()`: call it after the commit."""

    stack_id: str
    resource_id: int
    refused: exception.HeatException | None = None
    tell: Callable[[], None] = lambda: None
    number: int = 0
    owner: StackOwner = None


class Signals:
    """Stores signals to resources, in threads of requests. (Alarms store theirs themselves.)"""

    def __init__(self, core: EngineCore, acceptance: Acceptance, sinks: EventSinks) -> None:
        self._runtime = core.runtime
        self._database = core.database
        self._registry = core.registry
        self._acceptance = acceptance
        self._sinks = sinks

    def signal(self, context: RequestContext, message: messages.SignalResource) -> object:
        """Store a signal. With `wait`, return the resource's metadata after it was handled, or None to a caller that
        drops it; else None at once.

        Raises ResourceNotFound, also if the resource is deleted before its metadata are read, ResourceNotAvailable,
        NotSupported, ResourceActionNotSupported, RequestLimitExceeded, StackLocked.
        """
        now = self._runtime.now()

        def store(tx: Connection) -> AcceptedSignal:
            """Called again after a conflict with another transaction, which was rolled back."""
            leases.lock(tx, message.stack_id)       # before the stack, as everywhere
            row = visible(tx, message.stack_id, context)
            locked = self._lock_of(tx, row)
            resource = self._find(tx, row, message.resource_name)
            if locked is not None:                  # the sender may be an alarm, whose users do not see the answer
                return AcceptedSignal(row.id, resource.id, locked, self._sinks.add(tx, row, self._refused(
                    resource, text.signal_refused(str(locked)), 'SIGNAL')))
            hook = hook_of(message.details)
            if hook is not None:
                self._check_hook(tx, row, resource, hook)
            refused = None if hook is not None else self._refusal(resource)
            if isinstance(refused, exception.NotSupported):
                return AcceptedSignal(row.id, resource.id, refused, self._sinks.add(tx, row, self._refused(
                    resource, _('Cannot signal resource during %s') % resource.action, resource.action)))
            if refused is not None:
                return AcceptedSignal(row.id, resource.id, refused)
            self._check_room(tx, row)
            number = signal_rows.insert(tx, row.id, resource.name, message.details, now,
                                        request_ids.stored(context, None))
            return AcceptedSignal(row.id, resource.id, number=number, owner=self._acceptance.claim(tx, row.id))

        accepted = self._database.retry(store)
        if accepted.refused is not None:
            accepted.tell()
            raise accepted.refused
        self._acceptance.hand_over(accepted.stack_id, accepted.owner)
        if not message.wait:
            return None
        self._await(accepted, signal_rows.mark(accepted.number, now))
        return None if context.drops_answer else self._metadata(accepted, message.resource_name)

    def _find(self, tx: Connection, row: stacks.StoredStack, name: str) -> ResourceState:
        avoided = avoided_template(row.action, row.previous_template_id)
        found = row_of_signal(name, resources.named(tx, row.id, name), row.template_id, avoided)
        if found is None:
            raise exception.ResourceNotFound(resource_name=name, stack_name=row.name)
        if found.action == 'INIT' and found.status == 'COMPLETE' and not self._holding(tx, row.id, found.id):
            raise exception.ResourceNotAvailable(resource_name=name)
        return found

    def _holding(self, tx: Connection, stack_id: str, number: int) -> set[str]:
        """Return the breakpoints at which the resource is held."""
        return {entry.key for entry in resource_data.data(tx, stack_id, number)
                if entry.key in HOOK_TYPES and entry.clear() == resource_data.HELD}

    def _check_hook(self, tx: Connection, row: stacks.StoredStack, resource: ResourceState, hook: object) -> None:
        """Raise InvalidBreakPointHook for an unknown hook, and for one at which the resource is not held."""
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
        """Return why the resource takes no signal now, or None. Raises ResourceActionNotSupported if its type takes
        none at all."""
        try:
            kind = self._registry.resolve(resource.type, resource.name)
        except exception.HeatException:
            return None                             # a type of the user's environment: checked when it is handled
        if not callable(getattr(kind, 'handle_signal', None)):
            raise exception.ResourceActionNotSupported(action='signal')
        if resource.action in kind.no_signal_actions:
            return exception.NotSupported(feature=_('Signal resource during %s') % resource.action)
        return None

    @staticmethod
    def _check_room(tx: Connection, row: stacks.StoredStack) -> None:
        """Raise RequestLimitExceeded if too many signals wait: the engine that drives the stack reads all of them."""
        count, size = signal_rows.waiting(tx, row.id)
        if size + count * limits.SIGNAL > limits.MOST_SIGNALS:
            raise exception.RequestLimitExceeded(
                _('%(count)d signals of stack %(name)s wait to be handled; no more are taken until some are.')
                % {'count': count, 'name': row.name})

    @staticmethod
    def _lock_of(tx: Connection, row: stacks.StoredStack) -> exception.StackLocked | None:
        try:
            guard_checks.check_lock(tx, row)
        except exception.StackLocked as error:
            return error
        return None

    def _refused(self, row: ResourceState, reason: str, action: str) -> Event:
        return stack_events.of_resource(self._runtime, row, row.physical_id)._replace(action=action, reason=reason)

    def _await(self, accepted: AcceptedSignal, mark: str) -> None:
        """Wait until the signal's row is gone, which means that it was handled. Any process may have handled it, so the
        outcome is read from the database. Raises the error of the handler, and Error if it takes too long. The request
        needs no slot meanwhile: one slow handler would hold all of them.
        """
        slots.release()
        end, pause = self._runtime.monotonic() + HANDLING_SECONDS, FIRST_POLL_SECONDS
        while self._runtime.monotonic() < end:
            with self._database.reader() as tx:
                waits = signal_rows.exists(tx, accepted.number)
                error = None if waits else signal_rows.error(tx, mark)
            if error is not None:
                self._database.retry(lambda tx: signal_rows.forget_error(tx, mark))
                raise _for_sender(errors.from_wire(error))
            if not waits:
                return
            self._runtime.sleep(pause)
            pause = min(pause * POLL_FACTOR, LONGEST_POLL_SECONDS)
        raise exception.Error(_('The signal was stored, but not handled within %d seconds.') % HANDLING_SECONDS)

    def _metadata(self, accepted: AcceptedSignal, name: str) -> object:
        with self._database.reader() as tx:
            try:
                return resources.metadata(tx, accepted.stack_id, accepted.resource_id)[0] or {}
            except LookupError:                     # deleted, or with its stack, after the signal or in its place
                row = stacks.identity(tx, accepted.stack_id)
        raise exception.ResourceNotFound(resource_name=name,
                                         stack_name=accepted.stack_id if row is None else row.name)


def _for_sender(error: Exception) -> Exception:
    """Return the error for the sender: a ValueError of a handler becomes a bad request."""
    return exception.HTTPBadRequest(str(error)) if isinstance(error, ValueError) else error
