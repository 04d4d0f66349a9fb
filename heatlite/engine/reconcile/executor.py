"""Executes single commands of one stack: compares definitions, calls handlers of resource types, returns events.

Runs in the threads of the pool. Makes no decisions: planning decides what follows from an event.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from heatlite.common import defects, exception, repeats
from heatlite.common.runtime import Runtime
from heatlite.common.service_answers import ServiceAnswer
from heatlite.db.leases import Lease
from heatlite.engine.clients import answers
from heatlite.engine.clients.answers import Answer
from heatlite.engine.durability.journal import LeaseLost
from heatlite.engine.reconcile import diff, exports, imports, unknown_creates, unvisited
from heatlite.engine.reconcile.attribute_reader import AttributeReader
from heatlite.engine.reconcile.foreseen import Foreseen
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import FacadeMaker, ResourceObjects
from heatlite.engine.reconcile.resource_writer import ChangeLog
from heatlite.engine.reconcile.service_errors import is_away
from heatlite.engine.reconcile.settled import has_known_inputs, is_waiting
from heatlite.engine.reconcile.step_context import StepContext, fingerprint, plain
from heatlite.engine.reconcile.step_contexts import StepContexts
from heatlite.engine.reconcile.step_failures import StepFailures
from heatlite.engine.reconcile.stored_resource_cache import StoredResourceCache
from heatlite.engine.resource import Resource
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.engine.rsrc_defn import ResourceDefinition
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language.definition import StackDefinition
from heatlite.planning import commands, waiting
from heatlite.planning.decide import Verdict
from heatlite.planning.states import DIRTY, NO_HANDLE, Action, ResourceState
from heatlite.planning.steps import Step, StepKind

LOG = logging.getLogger(__name__)

APPLYING = frozenset({Action.CREATE, Action.UPDATE, Action.ADOPT})
MAKING = frozenset({Action.CREATE, Action.ADOPT})
CANCELLED = frozenset({Action.CREATE, Action.UPDATE, Action.DELETE, Action.SUSPEND, Action.RESUME})
UNCHANGED = Verdict(changed=False)
AWAY_PATIENCE = 5.0                 # seconds until a service that does not answer is called again
AWAY_TURNS = 5                      # poll intervals until a check is repeated whose service does not answer


class StepExecutor:
    def __init__(self, runtime: Runtime, leased: LeasedStack, journal: ChangeLog, registry: TypeRegistry,
                 facade: FacadeMaker, records: StoredResourceCache, may_act: Callable[[Lease], None], *,
                 observe: bool = False, saved: Callable[[], Mapping[str, object]] = dict,
                 interval: float = 1.0) -> None:
        """`facade(objects)`: makes the stack as its types see it; `records`: the stored resources; `may_act(lease)`:
        returns once the lease is certainly valid; `observe`: compare with the state that the services report;
        `saved()`: the data of the snapshot that is being restored; `interval`: seconds between two checks.
        """
        self._leased = leased
        self._journal = journal
        self._may_act = may_act
        self._observe = observe
        self._interval = interval
        self._runtime = runtime
        self._failures = StepFailures(leased)
        self.records = records
        self.foreseen = Foreseen()
        self.objects = ResourceObjects(runtime, leased, journal, registry, records, facade, self.foreseen)
        self.facade = self.objects.facade
        self.scope = self.objects.scope
        self.attributes = AttributeReader(leased, self.objects)
        self.contexts = StepContexts(leased, self.objects, saved)

    def ensure_lease(self) -> None:
        """Return once the lease of the stack is certainly valid. Raises LeaseLost."""
        self._may_act(self._leased.lease)

    def is_harmless(self, row: ResourceState) -> bool:
        """Whether the step is a create that is safe to repeat after a crash, so that no commit need be awaited."""
        return row.action is Action.CREATE and self._is_kind(row, lambda kind: bool(kind.idempotent_create))

    def owns_stack(self, row: ResourceState) -> bool:
        """Whether the resource of a row stands for a nested stack."""
        return self._is_kind(row, lambda kind: issubclass(kind, StackResource))

    def _is_kind(self, row: ResourceState, question: Callable[[type[Resource]], bool]) -> bool:
        """Return the answer for the type of a row. False if that is not known any more."""
        try:
            return question(self.objects.kind_of(row))
        except exception.HeatException:
            return False

    def unvisited(self) -> unvisited.Unvisited:
        """Return what the action need not visit."""
        return unvisited.VISIT_ALL if self._observe else unvisited.of_update(self._leased, self.objects)

    # --- comparing --------------------------------------------------------------------------------------

    def is_plainly_unchanged(self, step: Step, row: ResourceState) -> bool:
        """Whether the definition alone shows that nothing has changed, as for most resources in most updates.

        Calls no type and never blocks, so it needs no thread of the pool.
        """
        wanted = self._leased.definition.resources[step.name]
        try:
            if (wanted.needs or wanted.is_external or self._leased.row.action == Action.RESTORE
                    or not self._is_settled(row, wanted.type) or self.objects.kind_of(row).sends_files):
                return False
            if step.name in self._leased.definition.as_applied.same:
                return row.fingerprint not in ('', DIRTY)
            return row.fingerprint == fingerprint(wanted.resolved(self.scope))
        except Exception:                           # the inspection reports it
            return False

    def inspect(self, step: Step, row: ResourceState,
                definition: StackDefinition) -> commands.Inspected | commands.Failed:
        """Compare the row with `definition`, which was the stack's when the comparison was asked for.

        It may have waited since, for a thread or for the lease. If the stack follows a newer definition by now, the
        traversal drops the step and this event: nothing is compared."""
        if self._leased.definition is not definition:
            return commands.Inspected(step, UNCHANGED)
        try:
            work = self.contexts.resolve(step)
            wanted = work.wanted()
            if row.fingerprint == work.fingerprint and (self._is_settled(row, wanted.resource_type)
                                                        or self._is_made(row, wanted.resource_type)):
                return commands.Inspected(step, UNCHANGED)
            if self._is_settled_below(row, work):
                return commands.Inspected(step, UNCHANGED)
            resource = self.contexts.resource_as_stored(row, work)
            kind = self.objects.wanted_kind(wanted)
            verdict = self._verdict(row, work, resource, kind)
            if verdict.changed and issubclass(kind, StackResource) and row.fingerprint == work.fingerprint:
                verdict = replace(verdict, visits=True)
            is_other = not verdict.changed and row.fingerprint != work.fingerprint
            return commands.Inspected(step, verdict, work.fingerprint if is_other else '')
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            return self._failure(step, row, error, Action.UPDATE)

    def _verdict(self, row: ResourceState, work: StepContext, resource: Resource, kind: type[Resource]) -> Verdict:
        verdict, work.difference = diff.inspect(resource, kind, work.wanted(), self._leased, row, observe=self._observe)
        work.cause = verdict.cause
        if verdict.replace is not None and verdict.refused is None and self._leased.traversal.may_replace(row.name):
            resource.prepare_for_replace()
        return verdict

    def _is_settled(self, row: ResourceState, wanted_type: str) -> bool:
        """Whether an unchanged definition means that there is nothing to do."""
        return self._is_as_applied(row, wanted_type) and not self.objects.kind_of(row).always_inspected

    def _is_made(self, row: ResourceState, wanted_type: str) -> bool:
        """Whether a resource, perhaps with a nested stack, was completed by the create that goes on with it: by another
        engine, or before this one was interrupted."""
        return self._leased.row.action in MAKING and self._is_as_applied(row, wanted_type)

    def _is_as_applied(self, row: ResourceState, wanted_type: str) -> bool:
        return (row.status == 'COMPLETE' and row.replaced_by is None
                and not (self._observe or self._leased.row.converge) and row.type == wanted_type
                and self.objects.means_the_same(row))

    def _is_settled_below(self, row: ResourceState, work: StepContext) -> bool:
        """Whether an unchanged resource has a nested stack that need not be visited."""
        wanted = work.wanted()
        return (self._leased.row.action == Action.UPDATE and row.fingerprint == work.fingerprint
                and row.physical_id is not None and self._is_as_applied(row, wanted.resource_type)
                and (is_waiting(self._leased.row, row.name) or self._has_settled_stack(row, wanted)))

    def _has_settled_stack(self, row: ResourceState, wanted: ResourceDefinition) -> bool:
        """Whether nothing can have changed in the nested stack of a resource whose definition is still `wanted`."""
        return (row.physical_id is not None and has_known_inputs(self.objects.kind_of(row))
                and self.facade.nesting.is_settled(row.physical_id, wanted))

    # --- calling handlers -------------------------------------------------------------------------------

    def call(self, command: commands.CallHandler) -> commands.Event:
        """Call handle_<action>, then the first check. Raises DatabaseUnavailable, as do `check`, `recover`, `preempt`.

        Like them it is called behind the fence (Runner.fenced)."""
        step, row, action = command.step, command.row, command.action
        try:
            if action is Action.DELETE and self.objects.kind_of(row).leaves_nothing():  # the stored one is not needed
                return commands.HandlerReturned(step, None, done=True)
            work = self.contexts.begin(step)
            if work.error is not None:
                raise work.error
            resource = self.contexts.resource(step, row, command.first)
            handler, arguments = self._handler(resource, command, work)
            if handler is None:
                self._done(step, row.id, work, action)
                return commands.HandlerReturned(step, None, done=True, unsupported=action is Action.CHECK,
                                                fingerprint=work.fingerprint)
            work.handle = (unknown_creates.create(self._leased, resource, handler, work.away_since is not None,
                                                  self.records.holders, step.kind is StepKind.APPLY)
                           if action is Action.CREATE else handler(*arguments))
            self._is_back(work, row, action)
            if action is Action.UPDATE and work.handle and _as_text(work.handle) is not None:
                self._store_handle(row, work.handle)    # the first check may do a part of the work already
            if self._first_check(resource, work, action):
                return commands.HandlerReturned(step, plain(work.handle))
            self._done(step, row.id, work, action)
            return commands.HandlerReturned(step, None, done=True, fingerprint=work.fingerprint)
        except exception.DatabaseUnavailable:
            raise
        except unknown_creates.RowReplaced:
            return commands.ReplacedSince(step)
        except Exception as error:
            if self._may_wait(step, row, action, error):
                return self._away(step, row, error, action)
            return self._failure(step, row, self._prepared(step, error), action)

    def _handler(self, resource: Resource, command: commands.CallHandler,
                 work: StepContext) -> tuple[Callable[..., object] | None, tuple[object, ...]]:
        """Return the handler of the command with its arguments; None if there is nothing to call."""
        action = command.action
        match action:
            case Action.CREATE:
                resource.reparse()
                resource.check_properties()
            case Action.UPDATE:
                if work.difference is None:             # the update began before a crash
                    _, work.difference = diff.inspect(resource, type(resource), work.wanted(), self._leased,
                                                      command.row)
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
                    imports.take(resource, wanted, self._leased, self.records.holders)
                    return None, ()
                external = resource.t.external_id()
                if external is not None:
                    resource.resource_id_set(external)
                    return None, ()
                adopted = (self._leased.row.request or {}).get('adopt', {}).get(command.step.name)
                return resource.handler(action), (adopted,)
        return resource.handler(action), ()

    def _import_of(self, row: ResourceState) -> Mapping[str, str] | None:
        """Return what is imported into the resource of a row, as the environment says that its action began with."""
        return self.objects.environment_of(row).import_of(row.name)

    def _abandonment(self, resource: Resource) -> Callable[[], object] | None:
        """Return the handler for DELETE of an abandoned stack: objects stay, but a nested stack is abandoned, too."""
        if not resource.has_nested():
            return None
        return lambda: self.facade.nesting.abandon(resource)

    def check(self, step: Step, row: ResourceState, action: Action, handle: object) -> commands.Event:
        """Call check_<action>_complete with the handle, which may come from another process before a crash."""
        checked = f'check_{action.lower()}_complete'
        try:
            work = self.contexts.begin(step)
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
                self._note_wait(row, work, checked, delay * self._turn(work))
                return commands.CheckReturned(step, False, delay)
            self._done(step, row.id, work, action)
            return commands.CheckReturned(step, True, fingerprint=work.fingerprint)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            if is_away(error) and action is not Action.CHECK and self._is_patient(self.contexts.begin(step)):
                repeats.log(LOG, logging.INFO, ('check', type(error)), '%s of %s in stack %s will be asked for again: '
                            '%s: %s', action, row.name, self._leased.id, type(error).__name__, error)
                work = self.contexts.begin(step)
                work.away_since = work.away_since or self._runtime.now()
                self._note_wait(row, work, checked, AWAY_TURNS * self._turn(work))
                return commands.CheckReturned(step, False, AWAY_TURNS)
            return self._failure(step, row, self._prepared(step, error), action)

    def _first_check(self, resource: Resource, work: StepContext, action: Action) -> int:
        """As `_ask_whether_done`, right after the handler. A service that does not answer now has done its work, so the
        next check asks again, and the handler is not called again."""
        try:
            return self._ask_whether_done(resource, work, action)
        except Exception as error:
            if not is_away(error) or action is Action.CHECK:
                raise
            return AWAY_TURNS

    def _ask_whether_done(self, resource: Resource, work: StepContext, action: Action) -> int:
        """0, or the number of turns until the next question."""
        undoing = work.undoing and action is Action.DELETE      # the create after it is polled like the first one
        checker = getattr(resource, 'check_delete_complete', None) if undoing else resource.checker(action)
        if checker is None:
            return 0
        try:
            return 0 if checker(work.handle) else 1
        except exception.PollDelay as delay:
            return delay.period

    def _turn(self, work: StepContext) -> float:
        """Return the seconds of one poll interval of the step."""
        own = work.resource.poll_interval if work.resource is not None else None
        return self._interval if own is None else own

    def _note_wait(self, row: ResourceState, work: StepContext, call: str, every: float) -> None:
        """Store what a long action waits for. `call`: what is called next, in `every` seconds."""
        now = self._runtime.now()
        if work.first_check is None:
            work.first_check = now
        if not waiting.may_be_noted(now, work.first_check, work.waits):
            return
        current = self._leased.rows[row.id]
        found = waiting.Wait(call, every, now, waiting.changed_at(current), self._masked(answers.last()))
        if work.waits is None or found.is_news(work.waits):
            work.waits = found
            self._journal.submit(self._leased.make_change(row=current, columns={'waits': found.to_json()}))

    def _masked(self, answer: Answer | None) -> ServiceAnswer | None:
        if answer is None:
            return None
        found, mask = answer.to_json(), self._leased.definition.mask
        return {**found, 'path': mask.text(found['path']), 'said': mask.text(found['said'])}

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
        stored = self.attributes.keep(row_id, resource.resource_id, self.attributes.read(resource, step.name))
        if stored is not None:
            work.columns['attributes'] = stored

    def recover(self, step: Step, row: ResourceState) -> commands.Event:
        """Find out the result of an interrupted call, for a row found in progress."""
        try:
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
            resource = self.objects.stored(self._leased.rows.get(row.id, row))
            return commands.Preempted(step, resource.handle_preempt() is True)
        except (exception.DatabaseUnavailable, LeaseLost):
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
        handler = getattr(work.resource, f'handle_{row.action.lower()}_cancel', None)
        if not callable(handler):
            return None
        handle = work.handle if work.handle is not NO_HANDLE else None

        def cancel() -> None:
            try:
                handler(handle)
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

    def _failure(self, step: Step, row: ResourceState, error: Exception, action: Action) -> commands.Failed:
        work = self.contexts.get(step)
        return self._failures.of(step, row, error, action, work.resource if work is not None else None)

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
        return is_safe and self._is_patient(work)

    def _is_patient(self, work: StepContext) -> bool:
        """Whether the type waits longer for the service, which has just not answered."""
        patience = work.resource.away_patience if work.resource is not None else None
        return patience is None or work.away_since is None or (
            self._runtime.now() - work.away_since).total_seconds() < patience

    def _away(self, step: Step, row: ResourceState, error: Exception, action: Action) -> commands.Away:
        failure = exception.ResourceFailure(error, row, action)
        work = self.contexts.begin(step)
        if work.away_since is None:                 # one line for each outage, not for each try
            work.away_since = self._runtime.now()
            repeats.log(LOG, logging.WARNING, ('away', type(error)), '%s of %s in stack %s waits for a service that '
                        'does not answer: %s', action, row.name, self._leased.id, failure.message)
        self._note_wait(row, work, f'handle_{action.lower()}', AWAY_PATIENCE)
        return commands.Away(step, failure.message, AWAY_PATIENCE)

    def _is_back(self, work: StepContext, row: ResourceState, action: Action) -> None:
        if work.away_since is not None:
            work.away_since = None
            repeats.log(LOG, logging.INFO, 'back', '%s of %s in stack %s goes on: the service answers again', action,
                        row.name, self._leased.id)


def _as_text(handle: object) -> str | None:
    """Return a handle that a check may change in place as JSON; None for any other handle."""
    if not isinstance(handle, dict | list):
        return None
    try:
        return json.dumps(handle)
    except (TypeError, ValueError):
        return None
