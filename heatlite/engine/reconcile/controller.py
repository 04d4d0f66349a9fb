"""Drives the stacks that this engine owns: starts a runner for each, and writes the stack's own row."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from heatlite.common import defects, exception, metrics, outages
from heatlite.common.context import RequestContext, bind
from heatlite.common.runtime import Runtime
from heatlite.db import codec, credentials, leases, signals, snapshots, stacks, templates
from heatlite.db import events as events_of
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine import clients, lifecycle_plugin
from heatlite.engine.durability import request_ids
from heatlite.engine.durability.journal import Journal, LeaseLost, Superseded
from heatlite.engine.durability.pool import Pool
from heatlite.engine.durability.timers import Timers
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.notify.notifications import Notify, silent
from heatlite.engine.reconcile import events, loading, outputs, planned, surrender
from heatlite.engine.reconcile import rollback as rollbacks
from heatlite.engine.reconcile.authority import Authority
from heatlite.engine.reconcile.executor import StepExecutor
from heatlite.engine.reconcile.facade import Stack as Facade
from heatlite.engine.reconcile.leased_stack import LeasedStack, desired
from heatlite.engine.reconcile.nesting import Nesting
from heatlite.engine.reconcile.projects import Projects
from heatlite.engine.reconcile.resource_writer import NothingStored
from heatlite.engine.reconcile.revisions import Content, Recorder
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.settled import settled
from heatlite.engine.reconcile.signal_dispatcher import SignalDispatcher
from heatlite.engine.reconcile.stored_resource_cache import StoredResourceCache
from heatlite.engine.resource import Resource
from heatlite.engine.resource_services import Alarms, SoftwareConfigs
from heatlite.engine.types.registry import Registry
from heatlite.language.definition import StackDefinition
from heatlite.planning import commands as c
from heatlite.planning import text
from heatlite.planning.plan import Permissions
from heatlite.planning.states import Action, Change, Event, StackChange, Status
from heatlite.planning.steps import avoided_template

LOG = logging.getLogger(__name__)
T = TypeVar('T')

LOADERS = 8                 # stacks that are read at a time: more would only wait for each other

PATIENCE = 5                # consecutive defects while driving a stack before it is set to FAILED


@dataclass(frozen=True)
class Limits:
    """`stacks`: the most stacks that one engine drives; `action_timeout`: seconds, for stacks without a timeout."""

    stacks: int = 4000
    action_timeout: int = 3600
    retry_limit: int = 5
    interval: float = 1.0               # seconds between two polls
    patience: float = 240.0             # seconds that an aborted call has to return
    events: int = 0                     # the most events in the history of one stack; 0: no limit
    observe: bool = False               # every update compares with the state that the services report


class SnapshotStore(Protocol):
    """The use cases of snapshots (`engine.requests.snapshots.Snapshots`) that follow from the end of an action."""

    def finished(self, row: stacks.Stack, status: Status, reason: str) -> None: ...

    def forget(self, stack_id: str, found: snapshots.Snapshot) -> None: ...


class StackController:
    # Use cases that need the controller themselves; set by the service before the first stack is driven.
    snapshots: SnapshotStore
    software: SoftwareConfigs
    alarms: Alarms
    nest: Callable[[LeasedStack], Nesting]

    def __init__(self, runtime: Runtime, database: Database, engine_id: str, journal: Journal, pool: Pool,
                 timers: Timers, registry: Registry, limits: Limits, may_act: Callable[[Lease], None],
                 sinks: EventSinks, recorder: Recorder, notify: Notify = silent) -> None:
        self._runtime = runtime
        self._database = database
        self._engine_id = engine_id
        self._journal = journal
        self._pool = pool
        self._timers = timers
        self._registry = registry
        self._limits = limits
        self._may_act = may_act
        self._sinks = sinks
        self._recorder = recorder
        self._notify = notify
        self._runners: dict[str, Runner] = {}
        self._authority = Authority(runtime, registry)
        self._projects = Projects(runtime, database)
        self._plugins = lifecycle_plugin.LifecyclePlugins.installed()
        self._defects: dict[str, int] = {}          # stack -> number of consecutive defects while driving it
        self._loading: dict[str, Lease] = {}        # leases of stacks that are not loaded yet
        self._loaders = Pool(runtime, LOADERS)
        self._former: dict[str, Runner] = {}        # runners that have ended while calls of theirs still run
        self._suspected: set[str] = set()           # leases without a runner at the previous check
        self._stopping = False
        # (stack, generation) -> the definition that a request has just built, so that the runner need not build it.
        self._fresh: dict[tuple[str, int], StackDefinition] = {}

    @property
    def observes(self) -> bool:
        """Whether every update compares with the state that the services report."""
        return self._limits.observe

    # --- taking and leaving -----------------------------------------------------------------------------

    def room(self) -> int:
        """Return how many more stacks this engine can drive."""
        return 0 if self._stopping else self._limits.stacks - len(self._runners) - len(self._loading)

    def owns(self, stack_id: str) -> bool:
        return stack_id in self._runners

    def take(self, lease: Lease) -> None:
        """Begin to drive a stack whose lease was just claimed. A thread of its own loads it first."""
        known = self._loading.get(lease.stack_id)
        if self._stopping or (known is not None and known.epoch == lease.epoch):
            return                                  # its runner reads the newest request when it starts
        if lease.stack_id in self._runners:         # the database lost this engine's row, and the stack was reclaimed
            self._runners[lease.stack_id].retire()
        self._loading[lease.stack_id] = lease
        self._loaders.run(lambda: self._load_and_run(lease))

    def adopt(self, leased: LeasedStack, taken_over: bool = False) -> None:
        """Begin to drive a loaded stack. `taken_over`: signals may wait for it."""
        if self._stopping:
            return                                  # the next owner of the lease begins with the stored state
        if leased.id in self._runners:               # two requests at once: the first one's runner reads the other
            self._runners[leased.id].ring()
            return
        runner = self._make(leased)
        runner.resting = leased.row.status != Status.IN_PROGRESS
        self._runners[leased.id] = runner
        metrics.stacks_owned.set(len(self._runners))
        self._watch_time(runner)
        self._sinks.follow(leased, runner.rest, is_taken_over=leased.lease.former is not None)
        if taken_over:
            runner.signal_dispatcher.take_over()
            runner.ring()
        self._runtime.spawn(runner.run)

    def go_on(self, lease: Lease) -> None:
        """Drive a stack whose lease was just confirmed to belong to this engine.

        Its runner may be about to end, with an earlier lease released already: then the epochs differ.
        """
        runner = self._runners.get(lease.stack_id)
        if runner is not None and runner.leased.lease.epoch == lease.epoch:
            runner.ring()
        else:
            self.take(lease)

    def wake(self, stack_id: str) -> None:
        """Wake up the runner of a stack, or claim the stack if no engine holds its lease."""
        if not self.owns(stack_id) and self.room() <= 0:
            return
        lease = self._database.retry(lambda tx: leases.claim(tx, stack_id, self._engine_id))
        if lease is not None:
            self.go_on(lease)

    def missing(self, held: Iterable[Lease]) -> list[Lease]:
        """Return those of the leases `held` that had no runner both now and at the previous call.

        Also wakes up runners of stacks with pending signals: the process that stored one may have died before it could.
        """
        if self._stopping:
            return []
        with self._database.reader() as tx:
            signalled = signals.stacks(tx)
        for stack_id in signalled:
            if stack_id in self._runners:
                self._runners[stack_id].ring()
        idle = {lease.stack_id: lease for lease in held if lease.stack_id not in self._runners
                and lease.stack_id not in self._loading}
        found = [lease for stack_id, lease in idle.items() if stack_id in self._suspected]
        self._suspected = set(idle) - {lease.stack_id for lease in found}
        return found

    def expect(self, stack_id: str, generation: int, definition: StackDefinition) -> None:
        self._fresh[stack_id, generation] = definition

    def stop(self) -> None:
        """Stop all runners, and take no further stacks."""
        self._stopping = True
        for runner in list(self._runners.values()):
            runner.retire()

    def _load_and_run(self, lease: Lease) -> None:
        bind(None)                                  # until the stack is read, its request is not known
        self._runtime.serve(lease.stack_id)           # reading a definition may end the engine
        try:
            self._load(lease)
        finally:
            self._runtime.serve(None)
            if self._loading.get(lease.stack_id) is lease:
                del self._loading[lease.stack_id]

    def _load(self, lease: Lease) -> None:
        for former in (self._former.get(lease.stack_id), self._runners.get(lease.stack_id)):
            if former is not None:                  # its calls must end first, or they would be made twice
                former.idle.wait()
        try:
            if not lease.is_new:                    # pending changes of this engine are written before reading
                self._journal.write(Change(lease.stack_id, lease.epoch))
            if lease.strikes and surrender.give_up(self._runtime, self._database, self._journal, lease,
                                                   self._announced):
                return
            leased = loading.load(self._runtime, self._database, lease, self._registry.operator,
                                  self._limits.retry_limit, self._known)
        except LeaseLost:
            return
        except exception.DatabaseUnavailable as error:
            outages.away(outages.DATABASE, error)
            LOG.debug('Stack %s could not be loaded, it will be swept up again', lease.stack_id)
            self._give_back(lease, wanted=True)
            return
        except Exception:
            LOG.exception('Stack %s cannot be loaded', lease.stack_id)
            self._give_back(lease, wanted=True)
            return
        if leased is None or (leased.row.status != Status.IN_PROGRESS and leased.row.action == Action.DELETE):
            self._forget_signals(lease)
            return
        if self._loading.get(lease.stack_id) is not lease:
            return                                  # the lease was lost and claimed again meanwhile
        self._tell_of_taking(leased, lease)
        # Also stacks whose action has ended: signals may wait for them, or the engine that handled the last signal died
        # before it stored the outputs that changed.
        self.adopt(leased, taken_over=True)

    def _forget_signals(self, lease: Lease) -> None:
        """Give back the lease of a stack that is deleted. A signal that arrived just before would keep it wanted, and
        engines would claim it again and again."""
        def forget(tx: Connection) -> None:
            signals.clear(tx, lease.stack_id)
            leases.release(tx, lease.stack_id, self._engine_id, lease.epoch)

        try:
            self._database.retry(forget)
        except exception.DatabaseUnavailable:
            LOG.warning('The lease of stack %s was not given back; it runs out by itself', lease.stack_id)

    def _tell_of_taking(self, leased: LeasedStack, lease: Lease) -> None:
        if lease.former is None:
            return                                  # claimed for a request, not by the sweep
        if lease.former == self._engine_id:
            LOG.warning('Stack %s [%s] was ours and nothing drove it; going on', leased.row.name, leased.id)
        else:
            LOG.info('Taking over stack %s [%s] from %s (epoch %d)', leased.row.name, leased.id,
                     f'engine {lease.former}, which is silent' if lease.former else 'an engine that has ended',
                     lease.epoch)

    def _known(self, row: stacks.Stack) -> StackDefinition | None:
        """Return the definition of a row that was just read, if a request has just built it, else None."""
        bind(RequestContext(project_id=row.project_id, overwrite=False, **request_ids.of(row)))
        return self._fresh.pop((row.id, row.generation), None)

    def _announced(self, row: stacks.Stack) -> None:
        """Notify everything that waits for a stack that it was given up, as at any other end of an action."""
        if row.action == Action.SNAPSHOT:
            self.snapshots.finished(row, Status.FAILED, row.reason)
        metrics.stacks.labels(row.action, Status.FAILED).inc()
        self._notify(row, row.action, Status.FAILED, row.reason)
        parent = self._runners.get(row.owner_id or '')
        if parent is not None and row.parent_resource is not None:
            parent.poll_now(row.parent_resource)

    def _give_back(self, lease: Lease, wanted: bool) -> None:
        try:
            self._database.retry(lambda tx: leases.release(
                tx, lease.stack_id, self._engine_id, lease.epoch, wanted=wanted))
        except exception.DatabaseUnavailable:
            LOG.warning('The lease of stack %s was not given back; it runs out by itself', lease.stack_id)

    def _make(self, leased: LeasedStack) -> Runner:
        executor = self._executor(leased, self._journal)
        return Runner(self._runtime, leased, executor, self._journal, self._pool, self._timers, self,
                      lambda runner: SignalDispatcher(self._runtime, self._database, leased, self._journal, runner),
                      self._limits.interval, self._limits.patience)

    def _executor(self, leased: LeasedStack, journal: Journal | None) -> StepExecutor:
        """`journal` None: the stack is only read."""
        made: list[StepExecutor] = []

        def resource(name: str) -> Resource:
            row = leased.current(name)
            return made[0].stored_resource(row) if row is not None and row.exists else made[0].unmade(name)

        facade = Facade(leased, resource, clients.of, self._runtime, nesting=self.nest(leased), software=self.software,
                        alarms=self.alarms, project=lambda make, unmake: self._projects.of(leased, make, unmake),
                        tell_scaling=lambda scaling: self._notify(
                            leased.row, leased.row.action, leased.row.status, leased.row.reason, scaling))
        made.append(StepExecutor(self._runtime, leased, NothingStored() if journal is None else journal,
                                 self._registry.frozen(), facade,
                                 StoredResourceCache(self._runtime, self._database, journal, leased.id), self._may_act,
                                 observe=self._limits.observe, saved=lambda: self._saved(leased)))
        return made[0]

    def _saved(self, leased: LeasedStack) -> Mapping[str, Any]:
        with self._database.reader() as tx:
            found = snapshots.show(tx, (leased.row.request or {}).get('restore', ''))
        return found.data or {} if found is not None else {}

    def forget_row(self, stack_id: str, row: int) -> None:
        """Drop a row from the cache of its runner: a request has changed it."""
        runner = self._runners.get(stack_id)
        if runner is not None:
            runner.executor.records.forget(row)

    def let_go(self, stack_id: str, error: Exception) -> None:
        """Stop the runner of a stack; the sweep resumes it from the stored state."""
        runner = self._runners.get(stack_id)
        if runner is not None:
            with runner.leased.context.bound():
                LOG.error('A change of stack %s cannot be stored', stack_id, exc_info=error)
            runner.retire(error)
        else:
            LOG.error('A change of stack %s cannot be stored', stack_id, exc_info=error)

    def read(self, stack_id: str) -> Facade | None:
        """Return the facade of a stack for reading, or None; it may be driven here, elsewhere or not at all."""
        runner = self._runners.get(stack_id)
        if runner is not None:
            return runner.executor.facade
        leased = loading.for_reading(self._runtime, self._database, stack_id, self._registry.operator)
        return self._executor(leased, None).facade if leased is not None else None

    def resource_of(self, stack_id: str, row_id: int) -> Resource | None:
        """The object of one row, whether or not another row has taken its place; None when there is no such row."""
        runner = self._runners.get(stack_id)
        leased = runner.leased if runner is not None else loading.for_reading(
            self._runtime, self._database, stack_id, self._registry.operator)
        row = leased.rows.get(row_id) if leased is not None else None
        if leased is None or row is None:
            return None
        executor = runner.executor if runner is not None else self._executor(leased, None)
        return executor.stored_resource(row)

    def outputs(self, stack_id: str, context: RequestContext) -> list[dict[str, Any]]:
        """Return a stack's outputs, resolved now for the caller; each with an error if the stack is given up for ending
        engines. Raises EntityNotFound."""
        try:
            with self._reading(stack_id, context):
                return self._outputs(stack_id, context)
        except exception.StackGivenUp as error:
            with self._database.reader() as tx:
                row = stacks.get(tx, stack_id)
            return [{**output, 'output_value': None, 'output_error': str(error)}
                    for output in (row.outputs if row is not None else None) or ()]

    def _outputs(self, stack_id: str, context: RequestContext) -> list[dict[str, Any]]:
        runner = self._runners.get(stack_id)
        if runner is not None and context.may_see(runner.leased.row.project_id, runner.leased.row.user_project_id):
            return outputs.resolve(runner.leased.definition, runner.executor.scope)
        leased = loading.for_reading(self._runtime, self._database, stack_id, self._registry.operator)
        if leased is None or not context.may_see(leased.row.project_id, leased.row.user_project_id):
            raise exception.EntityNotFound(entity='Stack', name=stack_id)
        executor = self._executor(leased, None)
        executor.forget_live()
        return outputs.resolve(leased.definition, executor.scope)

    def asked(self, stack_id: str, context: RequestContext, ask: Callable[[Facade], T]) -> T:
        """Return `ask(stack)` for the caller. Raises EntityNotFound, and StackGivenUp if the stack is given up for
        ending engines."""
        with self._reading(stack_id, context):
            found = self.read(stack_id)
            if found is None or not found.is_seen_by(context):
                raise exception.EntityNotFound(entity='Stack', name=stack_id)
            return ask(found)

    @contextmanager
    def _reading(self, stack_id: str, context: RequestContext) -> Iterator[None]:
        """Guard a request that executes code of a stack to read it: if this engine ends meanwhile, the stack gets a
        strike.

        Raises StackGivenUp, and EntityNotFound if the caller may not see the stack.
        """
        with self._database.reader() as tx:
            count = leases.strikes_out(tx, stack_id)
            row = stacks.get(tx, stack_id) if count else None
        if row is not None:
            if not context.may_see(row.project_id, row.user_project_id):
                raise exception.EntityNotFound(entity='Stack', name=stack_id)
            raise exception.StackGivenUp(stack=row.name, count=count)
        before = self._runtime.serve(stack_id)
        try:
            yield
        finally:
            self._runtime.serve(before)

    # --- time -------------------------------------------------------------------------------------------

    def _watch_time(self, runner: Runner, started: datetime | None = None) -> None:
        """Start the timer of the action's timeout. `started`: when a cancelled action began that is still running."""
        row = runner.leased.row
        length = row.timeout_mins * 60 if row.timeout_mins else self._limits.action_timeout
        started = started or row.started_at or row.created_at
        left = (started + timedelta(seconds=length) - self._runtime.now()).total_seconds()
        stack_id, generation, known = row.id, row.generation, weakref.ref(runner)    # most runners end long before

        def due() -> None:
            found = self._runners.get(stack_id)
            if found is not None and found is known():
                found.ask(lambda: self._time_is_up(found, generation))

        self._timers.after(max(left, 0), due)

    def _time_is_up(self, runner: Runner, generation: int) -> Iterable[c.Command]:
        leased = runner.leased
        busy = leased.traversal.busy_rows()
        if leased.row.generation != generation or (leased.row.status != Status.IN_PROGRESS and not busy):
            return []
        why = {}
        for row in busy:
            kind = runner.executor.class_name(row)
            why[row.id] = (f'Task {row.action.lower()} from {kind} "{row.name}" Stack "{leased.row.name}" '
                           f'[{leased.id}] Timed out')
        return leased.traversal.handle(c.TimedOut(why), self._runtime.now())

    # --- called by runners (Host) -----------------------------------------------------------------------

    def catch_up(self, runner: Runner) -> list[c.Command]:
        leased = runner.leased
        row = self._database.retry_until_available(lambda tx: stacks.get(tx, leased.id), reading=True)
        if row is None:
            raise LeaseLost(leased.id)
        runner.signal_dispatcher.look()
        if row.generation == leased.row.generation:
            return [c.Finish(None, '')] if runner.resting and not runner.signal_dispatcher.is_busy else []
        runner.resting = False
        if row.status != Status.IN_PROGRESS:        # cancelled: work in flight ends, nothing new starts
            started = leased.row.started_at or leased.row.created_at
            self._take_row(leased, row)
            self._watch_time(runner, started)
            return leased.traversal.stop()
        return self._follow(runner, row)

    def _follow(self, runner: Runner, row: stacks.Stack, definition: StackDefinition | None = None) -> list[c.Command]:
        """Retarget the traversal to the request in the stack's row."""
        leased = runner.leased
        if leased.row.action == Action.SNAPSHOT and leased.row.status == Status.IN_PROGRESS:
            self.snapshots.finished(leased.row, Status.FAILED, text.cancelled(Action.SNAPSHOT))
        if definition is None:
            definition = self._definition(row)
        self._take_row(leased, row)
        leased.definition = definition
        runner.executor.use_types(self._registry.frozen())
        self._sinks.follow(leased, runner.rest)
        self._watch_time(runner)
        return leased.traversal.retarget(
            Action(row.action), desired(definition, row.action), row.template_id, self._runtime.now(),
            rollback=not row.disable_rollback, avoid_template_id=avoided_template(row.action, row.previous_template_id),
            hooks=loading.hooks(definition), permissions=self._permissions(row),
            abort=text.USER_CANCEL if row.action == Action.DELETE else None)

    def _permissions(self, row: stacks.Stack) -> Permissions:
        return self._database.retry_until_available(lambda tx: planned.permissions(tx, row), reading=True)

    def _take_row(self, leased: LeasedStack, row: stacks.Stack) -> None:
        """Make the stack follow the request in `row`."""
        leased.row, leased.context = row, request_ids.following(leased.context, row)
        bind(leased.context)

    def _definition(self, row: stacks.Stack) -> StackDefinition:
        fresh = self._fresh.pop((row.id, row.generation), None)
        if fresh is not None:
            return fresh
        stored = self._database.retry_until_available(lambda tx: templates.get(tx, row.template_id), reading=True)
        return loading.definition(stored, row, self._registry.operator)

    def unwind(self, runner: Runner, reason: str, rollback: bool) -> list[c.Command]:
        leased = runner.leased
        failed = self._event(leased, leased.row.action, Status.FAILED, reason)
        self._notify(leased.row, leased.row.action, Status.FAILED, reason)
        metrics.stacks.labels(leased.row.action, Status.FAILED).inc()
        LOG.info('Stack %s [%s] %s_%s: %s', leased.row.name, leased.id, leased.row.action, Status.FAILED, reason)
        self._told_plugins(runner, failed=True)
        if not rollback:
            leased.row = replace(leased.row, status=Status.FAILED, reason=reason)
            self._journal.submit(self._change(leased, StackChange(
                leased.row.generation, status=Status.FAILED, reason=reason), failed),
                lambda why_not: self._tell_parent(leased))
            return []
        now = self._runtime.now()
        target_id, definition = self._rollback_target(leased, now)
        started = text.started(Action.ROLLBACK)
        after = replace(leased.row, action=Action.ROLLBACK, status=Status.IN_PROGRESS, reason=started,
                        template_id=target_id, previous_template_id=leased.row.template_id,
                        parameters=definition.parameters.shown(), generation=leased.row.generation + 1,
                        revision=stacks.next_revision(leased.row), updated_at=now, started_at=now)
        try:
            self._journal.write(self._change(leased, StackChange(
                leased.row.generation, action=Action.ROLLBACK, status=Status.IN_PROGRESS, reason=started,
                template_id=target_id, previous_template_id=leased.row.template_id,
                parameters=codec.encode(after.parameters), description=str(definition.description),
                next_generation=after.generation, updated_at=now, revision=after.revision,
                revisions=self._recorder.of(leased.row, after, Content.of(definition), None)),
                failed, self._event(leased, Action.ROLLBACK, Status.IN_PROGRESS, started)))
        except Superseded:
            return self.catch_up(runner)
        self._notify(after, Action.ROLLBACK, Status.IN_PROGRESS, started)
        return self._follow(runner, after, definition)

    def _rollback_target(self, leased: LeasedStack, now: datetime) -> tuple[str, StackDefinition]:
        def find(tx: Connection) -> tuple[str, templates.Template]:
            target_id = rollbacks.target(tx, leased.row, self._runtime.uuid(), now)
            return target_id, templates.get(tx, target_id)

        target_id, stored = self._database.retry_until_available(find)
        return target_id, loading.definition(stored, leased.row, self._registry.operator)

    def finish(self, runner: Runner, status: Status | None, reason: str, release: bool = True) -> bool:
        leased = runner.leased
        now = self._runtime.now()
        action = leased.row.action
        deleted = action == Action.DELETE and status is Status.COMPLETE
        if action == Action.SNAPSHOT:
            self._journal.flush()
            self.snapshots.finished(leased.row, status or Status.FAILED, reason or leased.row.reason)
        if deleted:
            self._clear(leased)
        shown = brought = None
        if not deleted and action != Action.DELETE:
            resolved = outputs.resolve(leased.definition, runner.executor.scope, runner.executor.is_live)
            shown = codec.encode(resolved)
            brought = settled(leased, status, resolved, runner.executor)
        told: tuple[Event, ...] = ()
        if status is not None:
            told = (self._event(leased, action, status, reason),)
        try:
            self._journal.write(self._change(leased, StackChange(
                leased.row.generation, status=status, reason=reason if status is not None else None, outputs=shown,
                deleted_at=now if deleted else None, settled=brought, release=release or deleted), *told))
        except Superseded:
            return False
        if status is not None:
            metrics.stacks.labels(action, status).inc()
            self._notify(leased.row, action, status, reason)
            self._told_plugins(runner, failed=status is Status.FAILED)
            self._tell_parent(leased)
            if not deleted and self._leaves_something(leased):
                self._tidy(leased)
            LOG.info('Stack %s [%s] %s_%s: %s', leased.row.name, leased.id, action, status, reason)
        return True

    def is_telling(self, runner: Runner, status: Status | None) -> bool:
        row = runner.leased.row
        if row.action == Action.DELETE and status is Status.COMPLETE:
            return False                            # its row is gone with that change
        return self._sinks.follows(row.id) if status is not None else self._sinks.is_behind(row.id)

    def _clear(self, leased: LeasedStack) -> None:
        """Delete snapshots, trust and project of a stack before its row is marked as deleted."""
        kept = self._database.retry_until_available(lambda tx: snapshots.page(tx, leased.id), reading=True)
        for each in kept:
            self.snapshots.forget(leased.id, each)
        authority_id = leased.row.credentials_id if leased.row.owner_id is None else None

        def clear(tx: Connection) -> credentials.Credentials | None:
            if kept:
                snapshots.delete_all(tx, leased.id)
            if authority_id is None:
                return None
            found = credentials.get(tx, authority_id)
            credentials.delete(tx, authority_id)
            return found

        authority = self._database.retry_until_available(clear) if kept or authority_id is not None else None
        if leased.row.owner_id is None:
            # Read anew: a nested stack, perhaps of another engine, may have made the project since the row was read.
            stored = self._database.retry_until_available(lambda tx: stacks.get(tx, leased.id), reading=True)
            if stored is not None and stored.user_project_id is not None:
                self._authority.give_up_project(stored.user_project_id, leased.context)
        if authority is not None:                   # last: the deletions above may have used it
            self._authority.give_up(authority, leased.context)

    def _leaves_something(self, leased: LeasedStack) -> bool:
        """Whether there may be a former template, or more events than allowed (about five for each resource)."""
        return leased.row.generation > 1 or 0 < self._limits.events < 5 * (len(leased.rows) + 1)

    def _tidy(self, leased: LeasedStack) -> None:
        """What the action has left behind: templates nobody refers to any more, and the old end of the history."""
        def tidy(tx: Connection) -> None:
            leases.lock(tx, leased.id)               # locked, so that no request is accepted in between
            self._recorder.remove_old(tx, leased.row)
            templates.prune(tx, leased.id)
            if self._limits.events:
                events_of.purge_over(tx, leased.id, self._limits.events)

        try:
            self._database.retry(tidy)
        except exception.DatabaseUnavailable as error:
            LOG.info('Stack %s was not tidied up: %s', leased.id, error)

    def _tell_parent(self, leased: LeasedStack) -> None:
        """Make a parent that is driven by this engine poll now, not at its next interval."""
        parent = self._runners.get(leased.row.owner_id or '')
        if parent is not None and leased.row.parent_resource is not None:
            parent.poll_now(leased.row.parent_resource)

    def begin(self, runner: Runner) -> list[c.Command]:
        refusal = self._refusal(runner)
        if refusal is not None:
            runner.leased.traversal.stop()           # the refusal is reported, not the traversal's own end
            return [c.Finish(Status.FAILED, refusal)]
        return runner.leased.traversal.start(self._runtime.now())

    def _refusal(self, runner: Runner) -> str | None:
        """Return why a lifecycle plug-in of the operator refuses the action, or None."""
        if not self._plugins:
            return None
        leased = runner.leased
        try:
            self._plugins.before(leased.context, runner.executor.facade, None, leased.row.action)
        except Exception as error:
            defects.log(LOG, error, 'A lifecycle plug-in refused %s of stack %s', leased.row.action, leased.id)
            return str(error.args[0]) if error.args else f'Failed stack pre-ops: {error}'
        return None

    def _told_plugins(self, runner: Runner, failed: bool) -> None:
        if self._plugins:
            self._plugins.after(runner.leased.context, runner.executor.facade, None, runner.leased.row.action,
                                is_stack_failure=failed)

    def _give_up(self, leased: LeasedStack, error: Exception) -> None:
        """Set a stack to FAILED that a defect of the engine stops again and again, so that its user can act."""
        reason = f'Internal error: {type(error).__name__}; the log of engine {self._engine_id} has the details'
        self._journal.submit(self._change(
            leased, StackChange(leased.row.generation, status=Status.FAILED, reason=reason, release=True),
            self._event(leased, leased.row.action, Status.FAILED, reason)))

    def ended(self, runner: Runner, error: Exception | None) -> None:
        stack_id = runner.leased.id
        if error is None:
            self._defects.pop(stack_id, None)
        else:
            self._defects[stack_id] = self._defects.get(stack_id, 0) + 1
            if self._defects[stack_id] >= PATIENCE:
                del self._defects[stack_id]
                self._give_up(runner.leased, error)
        if not runner.idle.is_set():
            self._former[stack_id] = runner
            self._runtime.spawn(self._forget, runner)
        if self._runners.get(runner.leased.id) is runner:
            del self._runners[runner.leased.id]
            self._sinks.leave(stack_id)
            for key in [key for key in self._fresh if key[0] == runner.leased.id]:
                del self._fresh[key]
        metrics.stacks_owned.set(len(self._runners))

    def _forget(self, runner: Runner) -> None:
        runner.idle.wait()
        if self._former.get(runner.leased.id) is runner:
            del self._former[runner.leased.id]

    def _change(self, leased: LeasedStack, change: StackChange, *told: Event) -> Change:
        return Change(leased.id, leased.lease.epoch, stack=change, events=told)

    def _event(self, leased: LeasedStack, action: str, status: str, reason: str) -> Event:
        return events.of_stack(self._runtime, leased.id, leased.row.name, action, status, reason)

