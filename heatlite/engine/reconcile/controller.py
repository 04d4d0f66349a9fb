"""Drives the stacks this engine owns: one runner each, and what becomes of the stack's own row."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from heatlite.common import defects, exception, metrics, outages
from heatlite.common.context import RequestContext, bind
from heatlite.common.world import World
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
from heatlite.engine.reconcile import events, loading, outputs, surrender
from heatlite.engine.reconcile import rollback as rollbacks
from heatlite.engine.reconcile.authority import Authority
from heatlite.engine.reconcile.executor import Errands
from heatlite.engine.reconcile.facade import Stack as Facade
from heatlite.engine.reconcile.leased_stack import OwnedStack, desired
from heatlite.engine.reconcile.projects import Projects
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.signal_dispatcher import Attendant
from heatlite.engine.reconcile.stored_resource_cache import Records
from heatlite.engine.types.registry import Registry
from heatlite.language.definition import StackDefinition
from heatlite.planning import commands as c
from heatlite.planning import text
from heatlite.planning.states import Action, Change, Event, StackChange, Status

LOG = logging.getLogger(__name__)

LOADERS = 8                 # stacks that are read at a time: more would only wait for each other

PATIENCE = 5                                        # tries to drive a stack before it is given up


@dataclass(frozen=True)
class Limits:
    """`stacks`: how many one engine drives at once; `action_timeout`: seconds, for stacks that name none."""

    stacks: int = 4000
    action_timeout: int = 3600
    retry_limit: int = 5
    interval: float = 1.0               # seconds between two polls
    patience: float = 240.0             # seconds that a call nobody wants any more gets to return
    events: int = 0                     # of one stack, kept in its history; 0: all
    observe: bool = False               # every update compares with the real thing


class Driving:
    def __init__(self, world: World, database: Database, engine_id: str, journal: Journal, pool: Pool, timers: Timers,
                 registry: Registry, limits: Limits, may_act: Callable[[Lease], None],
                 sinks: EventSinks, notify: Notify = silent) -> None:
        self._world = world
        self._database = database
        self._engine_id = engine_id
        self._journal = journal
        self._pool = pool
        self._timers = timers
        self._registry = registry
        self._limits = limits
        self._may_act = may_act
        self._sinks = sinks
        self._notify = notify
        self.snapshots: Any = None                  # engine.requests.snapshots.Snapshots, likewise
        self.nest: Callable[[OwnedStack], Any] = lambda owned: None     # set once there are use cases to nest with
        self._runners: dict[str, Runner] = {}
        self._authority = Authority(world, registry)
        self._projects = Projects(world, database)
        self._plugins = lifecycle_plugin.LifecyclePlugins.installed()
        self._defects: dict[str, int] = {}          # stack -> how often in a row driving it has failed
        self._loading: dict[str, Lease] = {}        # taken, and not read yet
        self._loaders = Pool(world, LOADERS)
        self._former: dict[str, Runner] = {}        # runners that have ended, with calls that have not
        self.software: Any = None                   # engine.requests.software.Software, set once there is one
        self._suspected: set[str] = set()           # held without a runner when last looked
        self._stopping = False
        # A definition just built by a request, so that the runner need not build it again: (stack, generation).
        self._fresh: dict[tuple[str, int], StackDefinition] = {}

    # --- taking and leaving -----------------------------------------------------------------------------

    def room(self) -> int:
        """How many more stacks this engine would drive."""
        return 0 if self._stopping else self._limits.stacks - len(self._runners) - len(self._loading)

    def owns(self, stack_id: str) -> bool:
        return stack_id in self._runners

    def take(self, lease: Lease) -> None:
        """Begins to drive a stack whose lease was just claimed; in a thread of its own, which loads it first."""
        known = self._loading.get(lease.stack_id)
        if self._stopping or (known is not None and known.epoch == lease.epoch):
            return                                  # its runner will look for news as soon as there is one
        if lease.stack_id in self._runners:         # the database lost our row and gave our own stack back to us
            self._runners[lease.stack_id].retire()
        self._loading[lease.stack_id] = lease
        self._loaders.run(lambda: self._load_and_run(lease))

    def adopt(self, owned: OwnedStack, taken_over: bool = False) -> None:
        """Drives a stack that is in hand already. `taken_over`: signals may wait for it."""
        if self._stopping:
            return                                  # whoever gets our leases begins from what is stored
        if owned.id in self._runners:               # two requests at once: the first one's runner looks for the other
            self._runners[owned.id].ring()
            return
        runner = self._make(owned)
        runner.resting = owned.row.status != Status.IN_PROGRESS
        self._runners[owned.id] = runner
        metrics.stacks_owned.set(len(self._runners))
        self._watch_time(runner)
        self._sinks.follow(owned)
        if taken_over:
            runner.attendant.take_over()
            runner.ring()
        self._world.spawn(runner.run)

    def go_on(self, lease: Lease) -> None:
        """Drives a stack whose lease was just confirmed to be ours.

        Its runner may be about to end, having given back the lease that this one has followed: then the epochs differ.
        """
        runner = self._runners.get(lease.stack_id)
        if runner is not None and runner.owned.lease.epoch == lease.epoch:
            runner.ring()
        else:
            self.take(lease)

    def wake(self, stack_id: str) -> None:
        """There may be news for a stack: its runner looks, or this engine takes it if nobody has it."""
        if not self.owns(stack_id) and self.room() <= 0:
            return
        lease = self._database.retry(lambda tx: leases.claim(tx, stack_id, self._engine_id))
        if lease is not None:
            self.go_on(lease)

    def missing(self, held: Iterable[Lease]) -> list[Lease]:
        """Those of the leases we hold that nobody here works for, now and at the last question.

        Runners for whose stacks signals wait are rung, too: whoever stored one may have died before he could.
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
        """Lets go of all stacks, and takes none any more."""
        self._stopping = True
        for runner in list(self._runners.values()):
            runner.retire()

    def _load_and_run(self, lease: Lease) -> None:
        bind(None)                                  # until the stack is read, nobody knows whose request it follows
        self._world.serve(lease.stack_id)           # reading a definition may be what ends an engine
        try:
            self._load(lease)
        finally:
            self._world.serve(None)
            if self._loading.get(lease.stack_id) is lease:
                del self._loading[lease.stack_id]

    def _load(self, lease: Lease) -> None:
        for former in (self._former.get(lease.stack_id), self._runners.get(lease.stack_id)):
            if former is not None:                  # what it has begun must end first, or it would be begun twice
                former.idle.wait()
        try:
            if not lease.is_new:                    # what we have not written yet of our last drive goes before reading
                self._journal.write(Change(lease.stack_id, lease.epoch))
            if lease.strikes and surrender.give_up(self._world, self._database, self._journal, lease, self._announced):
                return
            owned = loading.load(self._world, self._database, lease, self._registry.operator, self._limits.retry_limit,
                                 self._known)
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
        if owned is None or (owned.row.status != Status.IN_PROGRESS and owned.row.action == Action.DELETE):
            self._give_back(lease, wanted=False)
            return
        if self._loading.get(lease.stack_id) is not lease:
            return                                  # the lease was lost and won again meanwhile
        self._tell_of_taking(owned, lease)
        # One whose action has ended too: signals may wait for it, or whoever handled the last one died before the
        # outputs were stored that it has changed.
        self.adopt(owned, taken_over=True)

    def _tell_of_taking(self, owned: OwnedStack, lease: Lease) -> None:
        if lease.former is None:
            return                                  # taken for a request, not in a sweep
        if lease.former == self._engine_id:
            LOG.warning('Stack %s [%s] was ours and nothing drove it; going on', owned.row.name, owned.id)
        else:
            LOG.info('Taking over stack %s [%s] from %s (epoch %d)', owned.row.name, owned.id,
                     f'engine {lease.former}, which is silent' if lease.former else 'an engine that has ended',
                     lease.epoch)

    def _known(self, row: stacks.Stack) -> StackDefinition | None:
        """The definition of a row that was just read, if it is at hand."""
        bind(RequestContext(project_id=row.project_id, overwrite=False, **request_ids.of(row)))
        return self._fresh.pop((row.id, row.generation), None)

    def _announced(self, row: stacks.Stack) -> None:
        """A stack was given up: whoever waits for it hears it as of any other end."""
        if row.action == Action.SNAPSHOT:
            self.snapshots.finished(row, Status.FAILED, row.reason)
        metrics.stacks.labels(row.action, Status.FAILED).inc()
        self._notify(row, row.action, Status.FAILED, row.reason)
        parent = self._runners.get(row.owner_id or '')
        if parent is not None and row.parent_resource is not None:
            parent.hasten(row.parent_resource)

    def _give_back(self, lease: Lease, wanted: bool) -> None:
        try:
            with self._database.writer() as tx:
                leases.release(tx, lease.stack_id, self._engine_id, lease.epoch, wanted=wanted)
        except exception.DatabaseUnavailable:
            LOG.warning('The lease of stack %s was not given back; it runs out by itself', lease.stack_id)

    def _make(self, owned: OwnedStack) -> Runner:
        errands = self._errands(owned, self._journal)
        runner = Runner(self._world, owned, errands, self._journal, self._pool, self._timers, self,
                        self._limits.interval, self._limits.patience)
        runner.attendant = Attendant(self._world, self._database, owned, self._journal, runner)
        return runner

    def _errands(self, owned: OwnedStack, journal: Journal | None) -> Errands:
        made: list[Errands] = []

        def resource(name: str) -> Any:
            row = owned.current(name)
            return made[0].stored_resource(row) if row is not None and row.exists else made[0].unmade(name)

        facade = Facade(owned, resource, clients.of, self._world, self.nest(owned),
                        lambda make, unmake: self._projects.of(owned, make, unmake))
        facade.software = self.software
        facade.tell_scaling = lambda scaling: self._notify(
            owned.row, owned.row.action, owned.row.status, owned.row.reason, scaling)
        made.append(Errands(self._world, owned, journal, self._registry.frozen(), facade,
                            Records(self._world, self._database, journal, owned.id), self._may_act,
                            observe=self._limits.observe, saved=lambda: self._saved(owned)))
        return made[0]

    def _saved(self, owned: OwnedStack) -> Mapping[str, Any]:
        with self._database.reader() as tx:
            found = snapshots.show(tx, (owned.row.request or {}).get('restore', ''))
        return found.data or {} if found is not None else {}

    def forget_row(self, stack_id: str, row: int) -> None:
        """It was changed beside whoever drives the stack."""
        runner = self._runners.get(stack_id)
        if runner is not None:
            runner.errands.records.forget(row)

    def let_go(self, stack_id: str, error: Exception) -> None:
        """Stops working on a stack; the sweep begins again from what is stored."""
        runner = self._runners.get(stack_id)
        if runner is not None:
            with runner.owned.context.bound():
                LOG.error('A change of stack %s cannot be stored', stack_id, exc_info=error)
            runner.retire(error)
        else:
            LOG.error('A change of stack %s cannot be stored', stack_id, exc_info=error)

    def read(self, stack_id: str) -> Facade | None:
        """A stack as types see it, for reading; driven here, elsewhere or by nobody."""
        runner = self._runners.get(stack_id)
        if runner is not None:
            return runner.errands.facade
        owned = loading.for_reading(self._world, self._database, stack_id, self._registry.operator)
        return self._errands(owned, None).facade if owned is not None else None

    def outputs(self, stack_id: str, context: RequestContext) -> list[dict[str, Any]]:
        """A stack's outputs, read anew for the caller; with an error each when reading them ends engines. Raises
        EntityNotFound."""
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
        if runner is not None and context.may_see(runner.owned.row.project_id, runner.owned.row.user_project_id):
            return outputs.resolve(runner.owned.definition, runner.errands.scope)
        owned = loading.for_reading(self._world, self._database, stack_id, self._registry.operator)
        if owned is None or not context.may_see(owned.row.project_id, owned.row.user_project_id):
            raise exception.EntityNotFound(entity='Stack', name=stack_id)
        errands = self._errands(owned, None)
        errands.forget_live()
        return outputs.resolve(owned.definition, errands.scope)

    def asked(self, stack_id: str, context: RequestContext, ask: Callable[[Facade], Any]) -> Any:
        """What `ask(stack)` answers to the caller. Raises EntityNotFound, and StackGivenUp when reading the stack ends
        engines."""
        with self._reading(stack_id, context):
            found = self.read(stack_id)
            if found is None or not found.is_seen_by(context):
                raise exception.EntityNotFound(entity='Stack', name=stack_id)
            return ask(found)

    @contextmanager
    def _reading(self, stack_id: str, context: RequestContext) -> Iterator[None]:
        """For requests that execute code of a stack to read it: when this engine ends, the stack gets a strike.

        Raises StackGivenUp, and EntityNotFound to those who may not see the stack.
        """
        with self._database.reader() as tx:
            count = leases.strikes_out(tx, stack_id)
            row = stacks.get(tx, stack_id) if count else None
        if row is not None:
            if not context.may_see(row.project_id, row.user_project_id):
                raise exception.EntityNotFound(entity='Stack', name=stack_id)
            raise exception.StackGivenUp(stack=row.name, count=count)
        before = self._world.serve(stack_id)
        try:
            yield
        finally:
            self._world.serve(before)

    # --- time -------------------------------------------------------------------------------------------

    def _watch_time(self, runner: Runner, started: datetime | None = None) -> None:
        """`started`: of what is still running after it was cancelled."""
        row = runner.owned.row
        length = row.timeout_mins * 60 if row.timeout_mins else self._limits.action_timeout
        started = started or row.started_at or row.created_at
        left = (started + timedelta(seconds=length) - self._world.now()).total_seconds()
        stack_id, generation, known = row.id, row.generation, weakref.ref(runner)    # it ends long before its time

        def due() -> None:
            found = self._runners.get(stack_id)
            if found is not None and found is known():
                found.ask(lambda: self._time_is_up(found, generation))

        self._timers.after(max(left, 0), due)

    def _time_is_up(self, runner: Runner, generation: int) -> Iterable[c.Command]:
        owned = runner.owned
        busy = owned.traversal.busy_rows()
        if owned.row.generation != generation or (owned.row.status != Status.IN_PROGRESS and not busy):
            return []
        why = {}
        for row in busy:
            kind = runner.errands.class_name(row)
            why[row.id] = (f'Task {row.action.lower()} from {kind} "{row.name}" Stack "{owned.row.name}" '
                           f'[{owned.id}] Timed out')
        return owned.traversal.handle(c.TimedOut(why), self._world.now())

    # --- what runners ask (Host) ------------------------------------------------------------------------

    def catch_up(self, runner: Runner) -> list[c.Command]:
        owned = runner.owned
        row = self._database.insist(lambda tx: stacks.get(tx, owned.id), reading=True)
        if row is None:
            raise LeaseLost(owned.id)
        runner.attendant.look()
        if row.generation == owned.row.generation:
            return [c.Finish(None, '')] if runner.resting and not runner.attendant.is_busy else []
        runner.resting = False
        if row.status != Status.IN_PROGRESS:        # cancelled: what runs ends, nothing new begins
            started = owned.row.started_at or owned.row.created_at
            self._take_row(owned, row)
            self._watch_time(runner, started)
            return owned.traversal.stop()
        return self._follow(runner, row)

    def _follow(self, runner: Runner, row: stacks.Stack, definition: StackDefinition | None = None) -> list[c.Command]:
        """Turns the traversal to what the stack's row wants now."""
        owned = runner.owned
        if owned.row.action == Action.SNAPSHOT and owned.row.status == Status.IN_PROGRESS:
            self.snapshots.finished(owned.row, Status.FAILED, text.cancelled(Action.SNAPSHOT))
        if definition is None:
            definition = self._definition(row)
        self._take_row(owned, row)
        owned.definition = definition
        runner.errands.use_types(self._registry.frozen())
        self._sinks.follow(owned)
        self._watch_time(runner)
        return owned.traversal.retarget(
            Action(row.action), desired(definition, row.action), row.template_id, self._world.now(),
            rollback=not row.disable_rollback, avoid_template_id=loading.avoided(row),
            hooks=loading.hooks(definition), abort=text.USER_CANCEL if row.action == Action.DELETE else None)

    def _take_row(self, owned: OwnedStack, row: stacks.Stack) -> None:
        """From now on the stack follows the request in `row`."""
        owned.row, owned.context = row, request_ids.following(owned.context, row)
        bind(owned.context)

    def _definition(self, row: stacks.Stack) -> StackDefinition:
        fresh = self._fresh.pop((row.id, row.generation), None)
        if fresh is not None:
            return fresh
        stored = self._database.insist(lambda tx: templates.get(tx, row.template_id), reading=True)
        return loading.definition(stored, row, self._registry.operator)

    def unwind(self, runner: Runner, reason: str, rollback: bool) -> list[c.Command]:
        owned = runner.owned
        failed = self._event(owned, owned.row.action, Status.FAILED, reason)
        self._notify(owned.row, owned.row.action, Status.FAILED, reason)
        metrics.stacks.labels(owned.row.action, Status.FAILED).inc()
        LOG.info('Stack %s [%s] %s_%s: %s', owned.row.name, owned.id, owned.row.action, Status.FAILED, reason)
        self._told_plugins(runner, failed=True)
        if not rollback:
            owned.row = replace(owned.row, status=Status.FAILED, reason=reason)
            self._journal.submit(self._change(owned, StackChange(
                owned.row.generation, status=Status.FAILED, reason=reason), failed),
                lambda why_not: self._tell_parent(owned))
            return []
        now = self._world.now()
        target_id, definition = self._rollback_target(owned, now)
        started = text.started(Action.ROLLBACK)
        after = replace(owned.row, action=Action.ROLLBACK, status=Status.IN_PROGRESS, reason=started,
                        template_id=target_id, previous_template_id=owned.row.template_id,
                        generation=owned.row.generation + 1, updated_at=now, started_at=now)
        try:
            self._journal.write(self._change(owned, StackChange(
                owned.row.generation, action=Action.ROLLBACK, status=Status.IN_PROGRESS, reason=started,
                template_id=target_id, previous_template_id=owned.row.template_id,
                parameters=codec.encode(definition.parameters.shown()), description=str(definition.description),
                next_generation=after.generation, updated_at=now),
                failed, self._event(owned, Action.ROLLBACK, Status.IN_PROGRESS, started)))
        except Superseded:
            return self.catch_up(runner)
        self._notify(after, Action.ROLLBACK, Status.IN_PROGRESS, started)
        return self._follow(runner, after, definition)

    def _rollback_target(self, owned: OwnedStack, now: datetime) -> tuple[str, StackDefinition]:
        def find(tx: Any) -> tuple[str, templates.Template]:
            target_id = rollbacks.target(tx, owned.row, self._world.uuid(), now)
            return target_id, templates.get(tx, target_id)

        target_id, stored = self._database.insist(find)
        return target_id, loading.definition(stored, owned.row, self._registry.operator)

    def finish(self, runner: Runner, status: Status | None, reason: str, release: bool = True) -> bool:
        owned = runner.owned
        now = self._world.now()
        action = owned.row.action
        deleted = action == Action.DELETE and status is Status.COMPLETE
        if action == Action.SNAPSHOT:
            self._journal.flush()
            self.snapshots.finished(owned.row, status or Status.FAILED, reason or owned.row.reason)
        if deleted:
            self._clear(owned)
        shown = None
        if not deleted and action != Action.DELETE:
            shown = codec.encode(outputs.resolve(owned.definition, runner.errands.scope, runner.errands.is_live))
        told: tuple[Event, ...] = ()
        if status is not None:
            told = (self._event(owned, action, status, reason),)
        try:
            self._journal.write(self._change(owned, StackChange(
                owned.row.generation, status=status, reason=reason if status is not None else None, outputs=shown,
                deleted_at=now if deleted else None, release=release or deleted), *told))
        except Superseded:
            return False
        if status is not None:
            metrics.stacks.labels(action, status).inc()
            self._notify(owned.row, action, status, reason)
            self._told_plugins(runner, failed=status is Status.FAILED)
            self._tell_parent(owned)
            if not deleted and self._leaves_something(owned):
                self._tidy(owned)
            LOG.info('Stack %s [%s] %s_%s: %s', owned.row.name, owned.id, action, status, reason)
        return True

    def _clear(self, owned: OwnedStack) -> None:
        """What belongs to a stack and is no resource of it, before it goes."""
        kept = self._database.insist(lambda tx: snapshots.page(tx, owned.id), reading=True)
        for each in kept:
            self.snapshots.forget(owned.id, each)
        authority_id = owned.row.credentials_id if owned.row.owner_id is None else None

        def clear(tx: Any) -> credentials.Credentials | None:
            if kept:
                snapshots.delete_all(tx, owned.id)
            if authority_id is None:
                return None
            found = credentials.get(tx, authority_id)
            credentials.delete(tx, authority_id)
            return found

        authority = self._database.insist(clear) if kept or authority_id is not None else None
        if owned.row.owner_id is None:
            # As stored: a stack below, perhaps of another engine, may have made the project since we read our row.
            stored = self._database.insist(lambda tx: stacks.get(tx, owned.id), reading=True)
            if stored is not None and stored.user_project_id is not None:
                self._authority.give_up_project(stored.user_project_id, owned.context)
        if authority is not None:                   # last: what came before may have been done in its name
            self._authority.give_up(authority, owned.context)

    def _leaves_something(self, owned: OwnedStack) -> bool:
        """A former template, or more events than may stay (a resource leaves a handful)."""
        return owned.row.generation > 1 or 0 < self._limits.events < 5 * (len(owned.rows) + 1)

    def _tidy(self, owned: OwnedStack) -> None:
        """What the action has left behind: templates nobody refers to any more, and the old end of the history."""
        try:
            with self._database.writer() as tx:
                leases.lock(tx, owned.id)           # locked, so that no request is accepted in between
                templates.prune(tx, owned.id)
                if self._limits.events:
                    events_of.purge_over(tx, owned.id, self._limits.events)
        except exception.DatabaseUnavailable as error:
            LOG.info('Stack %s was not tidied up: %s', owned.id, error)

    def _tell_parent(self, owned: OwnedStack) -> None:
        """A parent driven here need not wait for its next look."""
        parent = self._runners.get(owned.row.owner_id or '')
        if parent is not None and owned.row.parent_resource is not None:
            parent.hasten(owned.row.parent_resource)

    def begin(self, runner: Runner) -> list[c.Command]:
        refusal = self._refusal(runner)
        if refusal is not None:
            runner.owned.traversal.stop()           # its own end is not the one to tell
            return [c.Finish(Status.FAILED, refusal)]
        return runner.owned.traversal.start(self._world.now())

    def _refusal(self, runner: Runner) -> str | None:
        """Why an operator's plug-in does not let the action begin."""
        if not self._plugins:
            return None
        owned = runner.owned
        try:
            self._plugins.before(owned.context, runner.errands.facade, None, owned.row.action)
        except Exception as error:
            defects.log(LOG, error, 'A lifecycle plug-in refused %s of stack %s', owned.row.action, owned.id)
            return str(error.args[0]) if error.args else f'Failed stack pre-ops: {error}'
        return None

    def _told_plugins(self, runner: Runner, failed: bool) -> None:
        if self._plugins:
            self._plugins.after(runner.owned.context, runner.errands.facade, None, runner.owned.row.action,
                                is_stack_failure=failed)

    def _give_up(self, owned: OwnedStack, error: Exception) -> None:
        """A defect of ours keeps the stack from going on, again and again: its user must be able to act."""
        reason = f'Internal error: {type(error).__name__}; the log of engine {self._engine_id} has the details'
        self._journal.submit(self._change(
            owned, StackChange(owned.row.generation, status=Status.FAILED, reason=reason, release=True),
            self._event(owned, owned.row.action, Status.FAILED, reason)))

    def ended(self, runner: Runner, error: Exception | None) -> None:
        stack_id = runner.owned.id
        if error is None:
            self._defects.pop(stack_id, None)
        else:
            self._defects[stack_id] = self._defects.get(stack_id, 0) + 1
            if self._defects[stack_id] >= PATIENCE:
                del self._defects[stack_id]
                self._give_up(runner.owned, error)
        if not runner.idle.is_set():
            self._former[stack_id] = runner
            self._world.spawn(self._forget, runner)
        if self._runners.get(runner.owned.id) is runner:
            del self._runners[runner.owned.id]
            self._sinks.leave(stack_id)
            for key in [key for key in self._fresh if key[0] == runner.owned.id]:
                del self._fresh[key]
        metrics.stacks_owned.set(len(self._runners))

    def _forget(self, runner: Runner) -> None:
        runner.idle.wait()
        if self._former.get(runner.owned.id) is runner:
            del self._former[runner.owned.id]

    def _change(self, owned: OwnedStack, change: StackChange, *told: Event) -> Change:
        return Change(owned.id, owned.lease.epoch, stack=change, events=told)

    def _event(self, owned: OwnedStack, action: str, status: str, reason: str) -> Event:
        return events.of_stack(self._world, owned.id, owned.row.name, action, status, reason)

