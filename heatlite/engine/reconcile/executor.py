"""Executes single commands of one stack: calls handlers of resource types, returns events.

Runs in the threads of the pool. Makes no decisions: planning decides what follows from an event.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable

from heatlite.common import defects, exception
from heatlite.common.runtime import Runtime
from heatlite.db.leases import Lease
from heatlite.engine.reconcile import diff, exports, imports, request_keys, unknown_creates
from heatlite.engine.reconcile.facade import was_begun_before
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import FacadeMaker
from heatlite.engine.reconcile.resource_writer import ChangeLog
from heatlite.engine.reconcile.service_errors import is_away
from heatlite.engine.reconcile.step_context import StepContext, plain
from heatlite.engine.reconcile.step_inspector import StepInspector
from heatlite.engine.reconcile.step_waits import StepWaits
from heatlite.engine.reconcile.stored_resource_cache import StoredResources
from heatlite.engine.resource import Resource
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.engine.types.registry import TypeRegistry
from heatlite.planning import commands
from heatlite.planning.states import APPLYING, NO_HANDLE, Action, ResourceState
from heatlite.planning.steps import Step, StepKind

LOG = logging.getLogger(__name__)

CANCELLED = frozenset({Action.CREATE, Action.UPDATE, Action.DELETE, Action.SUSPEND, Action.RESUME})


class StepExecutor(StepInspector):
    """Executes the steps of one stack."""

    def __init__(self, runtime: Runtime, leased: LeasedStack, journal: ChangeLog, registry: TypeRegistry,
                 facade: FacadeMaker, stored_resources: StoredResources, may_act: Callable[[Lease], None], *,
                 observe: bool = False, interval: float = 1.0) -> None:
        """`may_act(lease)`: returns once the lease is certainly valid; `interval`: seconds between two checks. Others:
        see `StepInspector`."""
        super().__init__(runtime, leased, journal, registry, facade, stored_resources, observe=observe)
        self._runtime = runtime
        self._journal = journal
        self._may_act = may_act
        self._waits = StepWaits(runtime, leased, journal, interval)

    def ensure_lease(self) -> None:
        """Return once the lease of the stack is certainly valid. Raises LeaseLost."""
        self._may_act(self._leased.lease)

    def is_harmless(self, row: ResourceState) -> bool:
        """Whether the step is a create that is safe to repeat after a crash, so that no commit need be awaited."""
        return row.action is Action.CREATE and self._is_kind(row, lambda kind: bool(kind.idempotent_create))

    def has_nothing_to_call(self, command: commands.CallHandler) -> bool:
        """Whether the command deletes a resource of a type that leaves nothing: not even the stored one is needed."""
        return command.action is Action.DELETE and self._is_kind(command.row, lambda kind: kind.leaves_nothing())

    def owns_stack(self, row: ResourceState) -> bool:
        """Whether the resource of a row stands for a nested stack."""
        return self._is_kind(row, lambda kind: issubclass(kind, StackResource))

    def _is_kind(self, row: ResourceState, question: Callable[[type[Resource]], bool]) -> bool:
        """Return the answer for the type of a row. False if that is not known any more."""
        kind = self.objects.known_kind(row)
        return kind is not None and question(kind)

    # --- calling handlers -------------------------------------------------------------------------------

    def call(self, command: commands.CallHandler) -> commands.Event:
        """Call handle_<action>, then the first check. Raises DatabaseUnavailable, as do `check`, `recover`, `preempt`.

        Like them it is called behind the fence (Runner.fenced)."""
        step, row, action = command.step, command.row, command.action
        try:
            work = self.contexts.begin(step)
            if work.error is not None:
                raise work.error
            resource = self.contexts.resource(step, row, command.first)
            work.handle = NO_HANDLE                     # of a former call
            handler, arguments = self._handler(resource, command, work)
            if handler is None:
                self._done(step, row.id, work, action)
                return commands.HandlerReturned(step, None, done=True, unsupported=action is Action.CHECK,
                                                fingerprint=work.fingerprint)
            is_target = step.kind is StepKind.APPLY and not work.as_stored
            work.handle = (unknown_creates.create(self._leased, resource, handler, work.away_since is not None,
                                                  self.stored_resources.holders, is_target)
                           if action is Action.CREATE else handler(*arguments))
            self._waits.note_answer(work, row, action)
            if action is Action.UPDATE and work.handle and _as_text(work.handle) is not None:
                self._store_handle(row, work.handle)    # the first check may do a part of the work already
            if not self._ends_at_once(step, row, resource, action):
                return commands.HandlerReturned(step, plain(work.handle))
            return commands.HandlerReturned(step, None, done=True, fingerprint=work.fingerprint)
        except exception.DatabaseUnavailable:
            raise
        except unknown_creates.RowReplaced:
            return commands.ReplacedSince(step)
        except Exception as error:
            if self._may_wait(step, row, action, error):
                return self._waits.call_later(step, row, self.contexts.begin(step), error, action)
            return self._failure(step, row, self._prepared(step, error), action)

    def _handler(self, resource: Resource, command: commands.CallHandler,
                 work: StepContext) -> tuple[Callable[..., object] | None, tuple[object, ...]]:
        """Return the handler of the command with its arguments; None if there is nothing to call."""
        action = command.action
        match action:
            case Action.CREATE:
                resource.reparse()
                resource.check_before_create(is_whole=self._is_first_try(command, work)
                                             and self._has_references(command.row.name))
                work.was_sent = True
            case Action.UPDATE:
                if work.difference is None:             # the update began before a crash
                    verdict, work.difference = diff.inspect(resource, type(resource), work.wanted(), self._leased,
                                                            command.row)
                    if verdict.refused is not None:
                        raise exception.Error(verdict.why_refused)
                    if verdict.replace is not None:
                        work.cause = verdict.cause
                        raise exception.UpdateReplace(resource.name)
                change = work.difference
                if change is None:
                    return None, ()
                resource.observed = change.observed
                return resource.handler(action), (change.definition, change.template, change.properties)
            case Action.DELETE if exports.is_abandoned(self._leased.row):
                return self._abandonment(resource), ()
            case Action.DELETE if resource.resource_id is None:
                unknown_creates.find(self._leased, resource)    # a create that failed may have left an object
                return resource.handler(action), ()
            case Action.DELETE if command.recreating:
                work.undoing = True                     # ignores the deletion policy: the create never completed
                return resource.handle_delete, ()
            case Action.DELETE if imports.is_undone(resource, self._leased.row):
                return None, ()
            case Action.ADOPT:
                wanted = self._import_of(command.row)
                if wanted is not None:
                    imports.take(resource, wanted, self._leased, self.stored_resources.holders)
                    return None, ()
                external = resource.t.external_id()
                if external is not None:
                    resource.check_external()
                    resource.resource_id_set(external)
                    return None, ()
                entry = request_keys.entry_to_adopt(self._leased.row, command.step.name)
                imports.note_adopted(resource, entry)
                return resource.handler(action), (entry,)
        return resource.handler(action), ()

    def _is_first_try(self, command: commands.CallHandler, work: StepContext) -> bool:
        """Whether no earlier call of the create can have made the object, which the type's own check might meet."""
        return command.first and not work.was_sent and not was_begun_before(self._leased.row)

    def _has_references(self, name: str) -> bool:
        """Whether properties of a resource use other resources, as far as the stack still defines it."""
        definition = self._leased.definition.resources.get(name)
        return definition is not None and bool(definition.referring)

    def _abandonment(self, resource: Resource) -> Callable[[], object] | None:
        """Return the handler for DELETE of an abandoned stack: objects stay, but a nested stack is abandoned, too."""
        if not resource.has_nested():
            return None
        return lambda: self.facade.nesting.abandon(resource)

    def check(self, step: Step, row: ResourceState, action: Action, handle: object) -> commands.Event:
        """Call check_<action>_complete with the handle, which may come from another process before a crash."""
        try:
            work = self.contexts.resume(step, row)
            if work.error is not None:
                raise work.error
            resource = self.contexts.resource(step, row)
            if work.handle is NO_HANDLE:
                work.handle = handle
            before = _as_text(work.handle)
            delay = self._ask_whether_done(resource, work, action)
            work.away_since = None
            if delay:
                if before is not None and _as_text(work.handle) != before:
                    self._store_handle(row, work.handle)
                self._waits.note_check(row, work, action, delay)
                return commands.CheckReturned(step, False, delay)
            self._done(step, row.id, work, action)
            return commands.CheckReturned(step, True, fingerprint=work.fingerprint)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            if is_away(error) and action is not Action.CHECK and self._waits.is_patient(self.contexts.begin(step)):
                return self._waits.check_later(step, row, self.contexts.begin(step), error, action)
            return self._failure(step, row, self._prepared(step, error), action)

    def _ends_at_once(self, step: Step, row: ResourceState, resource: Resource, action: Action) -> bool:
        """Make the first check, right after the handler, and end the action if it is done. A service that does not
        answer now has done its work, so the next check asks again, and the handler is not called again."""
        work = self.contexts.begin(step)
        try:
            if self._ask_whether_done(resource, work, action):
                return False
            self._done(step, row.id, work, action)
            return True
        except Exception as error:
            if not is_away(error) or action is Action.CHECK:
                raise
            return False

    def _ask_whether_done(self, resource: Resource, work: StepContext, action: Action) -> int:
        """0, or the number of poll intervals until the next question."""
        undoing = work.undoing and action is Action.DELETE      # the create after it is polled like the first one
        checker = getattr(resource, 'check_delete_complete', None) if undoing else resource.checker(action)
        if checker is None:
            return 0
        try:
            return 0 if checker(work.handle) else 1
        except exception.PollDelay as delay:
            return delay.period

    def _store_handle(self, row: ResourceState, handle: object) -> None:
        """Store a handle that a check has changed: its progress must be durable before the next check."""
        if plain(handle) is NO_HANDLE:
            return                                  # after a crash the handler is called again
        current = self._leased.rows[row.id]
        changed = current._replace(handle=handle)
        self._leased.record(changed)
        self._journal.write(self._leased.make_change(row=changed))

    def _done(self, step: Step, row_id: int, work: StepContext, action: Action) -> None:
        """End an action that stores a definition: cache the reference and attributes, which are read in this
        thread."""
        if action not in APPLYING or step.name not in self._leased.definition.resources:
            return
        resource = self.contexts.resource(step, self._leased.rows[row_id])
        if action is Action.UPDATE:
            resource.apply_definition(work.wanted())
        stored = self._leased.attribute_cache.keep(
            row_id, resource.resource_id, self.attributes.read(resource, step.name))
        if stored is not None:
            work.columns['attributes'] = stored

    def recover(self, step: Step, row: ResourceState) -> commands.Event:
        """Find out the result of an interrupted call, for a row found in progress."""
        try:
            self.contexts.resume(step, row)
            return unknown_creates.recover(step, row, self.contexts.resource(step, row))
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            if is_away(error):                      # the handler is called, waits, and looks for the object first
                self.contexts.begin(step).away_since = self._runtime.now()
                return commands.Recovered(step, commands.Outcome.RETRY)
            return self._failure(step, row, error, row.action)

    # --- interrupting -----------------------------------------------------------------------------------

    def preempt(self, step: Step, row: ResourceState) -> commands.Preempted:
        """Notify the type that a newer definition waits. Uses a separate object of the stored state, as the plug-in
        contract requires: the step's own object may be in the middle of a call."""
        try:
            if self.objects.kind_of(row).handle_preempt is Resource.handle_preempt:
                return commands.Preempted(step, False)
            resource = self.objects.stored(self._leased.row_numbered(row.id) or row)
            return commands.Preempted(step, resource.handle_preempt() is True)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            defects.log(LOG, error, 'Preempting %s of %s in stack %s failed', row.action, row.name, self._leased.id)
            return commands.Preempted(step, False)

    def cancel(self, step: Step, row: ResourceState) -> Callable[[], None] | None:
        """Return what calls handle_<action>_cancel of the type for a step that is aborted; None if it has none.

        The call raises DatabaseUnavailable, and is made behind the fence, like `call`."""
        work = self.contexts.get(step)
        if work is None or work.resource is None or row.action not in CANCELLED:
            return None
        resource, name = work.resource, f'handle_{row.action.lower()}_cancel'
        if inspect.getattr_static(resource, name, None) is None:     # runs no code of the type: any thread may ask
            return None
        handle = work.handle if work.handle is not NO_HANDLE else None

        def cancel() -> None:
            try:
                getattr(resource, name)(handle)
            except exception.DatabaseUnavailable:
                raise
            except Exception as error:
                defects.log(LOG, error, 'Cancelling %s of %s in stack %s failed', row.action, row.name, self._leased.id)

        return cancel

    # --- errors -----------------------------------------------------------------------------------------

    def _prepared(self, step: Step, error: Exception) -> Exception:
        """Prepare the object of a step for its replacement if its handler has asked for one with UpdateReplace.

        Returns the error of the step: that of the preparation if it fails."""
        work = self.contexts.get(step)
        if (not isinstance(error, exception.UpdateReplace) or work is None or work.resource is None
                or not self._leased.traversal.may_replace(step.name)):
            return error
        try:
            work.resource.prepare_for_replace()
        except exception.DatabaseUnavailable:
            raise
        except Exception as failed:
            return failed
        return error

    def _may_wait(self, step: Step, row: ResourceState, action: Action, error: Exception) -> bool:
        """Whether the service does not answer, and repeating the call does nothing twice."""
        if not is_away(error):
            return False
        if action is Action.ADOPT:
            return self._import_of(row) is not None             # it only reads
        if action not in (Action.CREATE, Action.UPDATE, Action.DELETE):
            return False
        work = self.contexts.get(step)
        if work is None or work.resource is None:
            return False
        is_safe = action is not Action.CREATE or unknown_creates.may_repeat(work.resource)  # else as after a crash
        return is_safe and self._waits.is_patient(work)


def _as_text(handle: object) -> str | None:
    """Return a handle that a check may change in place as JSON; None for any other handle."""
    if not isinstance(handle, dict | list):
        return None
    try:
        return json.dumps(handle)
    except (TypeError, ValueError):
        return None
