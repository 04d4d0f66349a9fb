"""Drives the stacks that this engine owns: acquires and loads them, starts a runner for each, and releases them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from heatlite.common import exception, memory, outages
from heatlite.common.context import Subject, bind
from heatlite.db import leases, signals, stacks
from heatlite.db.leases import Lease
from heatlite.engine.durability import lease_manager, request_ids
from heatlite.engine.durability.journal import LeaseLost
from heatlite.engine.durability.pool import Pool
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.reconcile import given_up_stacks, loading
from heatlite.engine.reconcile.accepted_definitions import AcceptedDefinitions
from heatlite.engine.reconcile.driving_parts import DrivingParts
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.executors import Executors
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.lifecycle import StackLifecycle
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.runners import Runners
from heatlite.engine.reconcile.timeouts import Timeouts
from heatlite.engine.reconcile.unloadable import Unloadable
from heatlite.language.definition import StackDefinition
from heatlite.planning.states import Action, Status

LOG = logging.getLogger(__name__)

LOADERS = 8                 # stacks that are read at a time: more would only wait for each other

LEAST_PATIENCE = 1.0        # seconds that calls of a former runner have to return, though options say less

MOST_DEFECTS = 5            # consecutive defects while driving a stack before it is set to FAILED


class StackController:
    """Drives the stacks of this engine. `lifecycle` writes the rows of the stacks, `executors` calls their types.

    Requests, the sweep and the runners call it from their own green threads.
    """

    def __init__(self, core: EngineCore, driving: DrivingParts, runners: Runners, executors: Executors,
                 lifecycle: StackLifecycle, timeouts: Timeouts, definitions: AcceptedDefinitions, sinks: EventSinks,
                 claim: Callable[[Connection, str], Lease | None]) -> None:
        """`claim(tx, stack_id)`: the lease of a stack that no other engine drives."""
        self._core = core
        self._driving = driving
        self._runtime = core.runtime
        self._database = core.database
        self._engine_id = core.engine_id
        self._registry = core.registry
        self._journal = driving.journal
        self._capacity = driving.capacity
        self._timers = driving.timers
        self._settings = driving.settings
        self._runners = runners
        self._executors = executors
        self._lifecycle = lifecycle
        self._timeouts = timeouts
        self._definitions = definitions
        self._sinks = sinks
        self.claim = claim
        self._defects: dict[str, int] = {}          # stack -> number of consecutive defects while driving it
        self._loading: dict[str, Lease] = {}        # leases of stacks that are not loaded yet
        self._put_off_leases: dict[str, Lease] = {}     # of stacks that cannot be loaded, until they are tried again
        self._unloadable = Unloadable(core.runtime, core.database, driving.journal, driving.settings.action_timeout,
                                      lifecycle.announce_given_up)
        self._loaders = Pool(core.runtime, LOADERS)
        self._former: dict[str, Runner] = {}        # runners that have ended while calls of theirs still run
        self._stopping = False

    # --- what the engine drives -------------------------------------------------------------------------

    def free_root_slots(self) -> int:
        """Return how many more root stacks this engine can drive."""
        return 0 if self._stopping else self._capacity.free_slots_at(0)

    def has_capacity(self, by: LeasedStack | None) -> bool:
        """Whether this engine may drive one more stack. `by`: the parent that asks for its nested stack, whose step has
        waited for capacity (`StackCapacity.run`); None: a root, or a stack that a user asks for."""
        return self.free_root_slots() > 0 if by is None else not self._stopping

    def free_slots(self) -> tuple[int, list[int]]:
        """As `StackCapacity.free_slots`."""
        return (0, []) if self._stopping else self._capacity.free_slots()

    @property
    def loading(self) -> int:
        """The number of stacks that are not loaded yet."""
        return len(self._loading)

    @property
    def waiting_for_capacity(self) -> int:
        """As `StackCapacity.waiting`."""
        return self._capacity.waiting

    @property
    def is_idle(self) -> bool:
        """Whether this engine drives no stack, and no call of one that it drove still runs."""
        return not (self._runners or self._loading or self._former)

    def owns(self, stack_id: str) -> bool:
        """Whether a stack has a runner."""
        return stack_id in self._runners

    def drives(self, stack_id: str) -> bool:
        """Whether a stack has a runner, is being loaded for one, or is not to be loaded yet."""
        return stack_id in self._runners or stack_id in self._loading or stack_id in self._put_off_leases

    def wake(self, stack_id: str) -> None:
        """Wake up the runner of a stack, or claim the stack if no engine holds its lease."""
        if not self.owns(stack_id) and self.free_root_slots() <= 0:
            return
        lease = self._database.retry(lambda tx: self.claim(tx, stack_id))
        if lease is not None:
            self.resume(lease)

    def wake_signalled(self) -> None:
        """Wake up the runners of stacks with pending signals: the process that stored one may have died before it
        could."""
        if self._stopping:
            return
        with self._database.reader() as tx:
            signalled = signals.stacks(tx)
        for stack_id in signalled:
            runner = self._runners.get(stack_id)
            if runner is not None:
                runner.wake()

    def stop(self) -> None:
        """Stop all runners, and take no further stacks."""
        self._stopping = True
        for runner in self._runners.all():
            runner.stop()

    # --- taking a stack ---------------------------------------------------------------------------------

    def acquire(self, lease: Lease, row: stacks.StoredStack | None = None) -> None:
        """Begin to drive a stack whose lease was just claimed. A thread of its own loads it first. `row`: as in
        `StackCapacity.begin_loading`."""
        known = self._loading.get(lease.stack_id)
        if self._stopping or (known is not None and known.epoch == lease.epoch):
            return                                  # its runner reads the newest request when it starts
        runner = self._runners.get(lease.stack_id)
        if runner is not None:                      # the database lost this engine's row, and the stack was reclaimed
            runner.stop()
        former = [each for each in (self._former.get(lease.stack_id), runner)
                  if each is not None and not each.calls_done.is_set()]
        self._put_off_leases.pop(lease.stack_id, None)
        self._loading[lease.stack_id] = lease
        self._capacity.begin_loading(lease.stack_id, row)
        if former:                                  # in a thread of its own: other stacks are loaded meanwhile
            self._runtime.spawn(self._load_after, former, lease)
        else:
            self._loaders.run(lambda: self._load_and_run(lease))

    def resume(self, lease: Lease, row: stacks.StoredStack | None = None) -> None:
        """Drive a stack whose lease was just confirmed to belong to this engine. `row`: as for `acquire`.

        Its runner may be about to end, with an earlier lease released already: then the epochs differ.
        """
        runner = self._runners.get(lease.stack_id)
        if runner is not None and runner.leased.lease.epoch == lease.epoch:
            runner.wake()
        else:
            self.acquire(lease, row)

    def prime_definition(self, stack_id: str, generation: int, definition: StackDefinition) -> None:
        """Note the definition that a request has just built, so that it need not be loaded."""
        self._definitions.put(stack_id, generation, definition)

    def adopt(self, leased: LeasedStack, taken_over: bool = False) -> None:
        """Begin to drive a loaded stack. `taken_over`: signals may wait for it.

        Of a stack that is driven, rows are unread only in an update of a settled one: after a signal it is not
        settled."""
        if self._stopping:
            return                                  # the next owner of the lease begins with the stored state
        present = self._runners.get(leased.id)
        if present is not None:                     # two requests at once: the first one's runner reads the other
            present.wake()
            return
        runner = Runner(self._core, self._driving, leased, self._executors.driving(leased), self._lifecycle,
                        self._ended)
        runner.is_idle = leased.row.status != Status.IN_PROGRESS
        self._runners.add(runner)
        self._capacity.add(leased)
        self._timeouts.watch(runner)
        self._sinks.follow(leased, runner.finish_if_idle, is_taken_over=leased.lease.former is not None)
        if taken_over:
            if leased.unread is None:
                runner.signal_dispatcher.take_over()
            runner.wake()
        self._runtime.spawn(runner.run)

    # --- loading a stack --------------------------------------------------------------------------------

    def _load_after(self, former: Sequence[Runner], lease: Lease) -> None:
        """Load a stack once the calls of its former runners have ended, or they would be made twice. Those that do not
        return in time are ended."""
        for runner in former:
            while not runner.calls_done.wait(max(self._settings.patience, LEAST_PATIENCE)):
                runner.give_up_calls()
        self._loaders.run(lambda: self._load_and_run(lease))

    def _load_and_run(self, lease: Lease) -> None:
        bind(None, Subject(lease.stack_id))         # until the stack is read, its request is not known
        self._runtime.serve(lease.stack_id)           # reading a definition may end the engine
        try:
            self._load(lease)
        finally:
            self._runtime.serve(None)
            bind(None)
            if self._loading.get(lease.stack_id) is lease:
                del self._loading[lease.stack_id]
                self._capacity.end_loading(lease.stack_id)

    def _load(self, lease: Lease) -> None:
        try:
            if not lease.is_new:                    # pending changes of this engine are written before reading
                self._journal.begin(lease.stack_id, lease.epoch)
            if lease.strikes and given_up_stacks.give_up(self._runtime, self._database, self._journal, lease,
                                                         self._lifecycle.announce_given_up):
                return
            leased = loading.load(self._runtime, self._database, lease, self._registry.operator,
                                  self._settings.retry_limit, self._known)
        except LeaseLost:
            return
        except exception.DatabaseUnavailable as error:
            outages.away(outages.DATABASE, error)
            LOG.debug('Stack %s could not be loaded; another sweep will claim it', lease.stack_id)
            self._give_back(lease)
            return
        except Exception as error:
            self._put_off(lease, error)
            return
        self._unloadable.loaded(lease.stack_id)
        if leased is None or (leased.row.status != Status.IN_PROGRESS and leased.row.action == Action.DELETE):
            self._forget_signals(lease)
            return
        if self._loading.get(lease.stack_id) is not lease:
            return                                  # the lease was lost and claimed again meanwhile
        self._log_taking(leased, lease)
        # Also stacks whose action has ended: signals may wait for them, or the engine that handled the last signal died
        # before it stored the outputs that changed.
        self.adopt(leased, taken_over=True)

    def _known(self, row: stacks.StoredStack) -> StackDefinition | None:
        """Return the definition of a row that was just read, if a request has just built it, else None."""
        request_ids.bind_to(row)
        return self._definitions.take(row)

    def _log_taking(self, leased: LeasedStack, lease: Lease) -> None:
        if lease.former is None:
            return                                  # claimed for a request, not by the sweep
        if lease.former == self._engine_id:
            LOG.warning('Stack %s [%s] was ours and nothing drove it; going on', leased.row.name, leased.id)
        else:
            # Of many stacks the sweep has logged one line.
            LOG.log(logging.INFO if lease.among <= lease_manager.MOST_NAMED else logging.DEBUG,
                    'Taking over stack %s [%s] from %s (epoch %d)', leased.row.name, leased.id,
                    lease_manager.former_of(lease), lease.epoch)

    def _put_off(self, lease: Lease, error: Exception) -> None:
        """Keep a stack that cannot be loaded for a while, and then leave it to any engine."""
        try:
            pause = self._unloadable.failed(lease, error)
        except exception.DatabaseUnavailable:
            pause = 0.0
        if pause is None:
            return

        def due() -> None:
            self._runtime.spawn(self._try_again, lease)         # waits for the database

        self._put_off_leases[lease.stack_id] = lease
        self._timers.after(pause, due)

    def _try_again(self, lease: Lease) -> None:
        if self._put_off_leases.get(lease.stack_id) is lease:        # else a newer request has come
            del self._put_off_leases[lease.stack_id]
            self._give_back(lease)

    def _give_back(self, lease: Lease) -> None:
        """Release the lease of a stack that could not be loaded: the sweep of any engine claims it again."""
        self._release(lease, lambda tx: leases.release(tx, lease.stack_id, self._engine_id, lease.epoch, wanted=True))

    def _forget_signals(self, lease: Lease) -> None:
        """Give back the lease of a stack that is deleted. A signal that arrived just before would keep it wanted, and
        engines would claim it again and again."""
        def forget(tx: Connection) -> None:
            signals.clear(tx, lease.stack_id)
            leases.release(tx, lease.stack_id, self._engine_id, lease.epoch)

        self._release(lease, forget)

    def _release(self, lease: Lease, release: Callable[[Connection], object]) -> None:
        try:
            self._database.retry(release)
        except exception.DatabaseUnavailable:
            LOG.warning('The lease of stack %s was not given back; it runs out by itself', lease.stack_id)

    # --- leaving a stack --------------------------------------------------------------------------------

    def _ended(self, runner: Runner, error: Exception | None) -> None:
        """A runner has ended. `error`: the defect of the engine that stopped it, or None."""
        stack_id = runner.leased.id
        self._count_defect(runner.leased, error)
        if not runner.calls_done.is_set():
            self._former[stack_id] = runner
            self._runtime.spawn(self._forget, runner)
        if self._runners.remove(runner):
            self._capacity.remove(stack_id)
            self._sinks.leave(stack_id)
            self._definitions.drop(stack_id)
            memory.large_work.ended(len(runner.leased.definition.snippets))

    def _count_defect(self, leased: LeasedStack, error: Exception | None) -> None:
        """Set a stack to FAILED that a defect of the engine stops again and again, so that its user can act."""
        if error is None:
            self._defects.pop(leased.id, None)
            return
        self._defects[leased.id] = self._defects.get(leased.id, 0) + 1
        if self._defects[leased.id] >= MOST_DEFECTS:
            del self._defects[leased.id]
            self._lifecycle.give_up(leased, f'Internal error: {type(error).__name__}; the log of engine '
                                            f'{self._engine_id} has the details')

    def _forget(self, runner: Runner) -> None:
        runner.calls_done.wait()
        if self._former.get(runner.leased.id) is runner:
            del self._former[runner.leased.id]
