"""Drives the stacks that this engine owns: acquires them, starts a runner for each, and leaves them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from heatlite.common import memory
from heatlite.db import signals, stacks
from heatlite.db.leases import Lease
from heatlite.engine.durability.stack_slots import StackSlots
from heatlite.engine.reconcile.accepted_definitions import AcceptedDefinitions
from heatlite.engine.reconcile.driving_parts import DrivingParts
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.executors import Executors
from heatlite.engine.reconcile.given_up_stacks import GivenUpStacks
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.lifecycle import StackLifecycle
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.runners import Runners
from heatlite.engine.reconcile.stack_loader import StackLoader
from heatlite.engine.reconcile.timeouts import Timeouts
from heatlite.language.definition import StackDefinition


class StackController:
    """Drives the stacks of this engine. `lifecycle` writes the rows of the stacks, `executors` calls their types.

    Requests, the sweep and the runners call it from their own green threads.
    """

    def __init__(self, core: EngineCore, driving: DrivingParts, runners: Runners, executors: Executors,
                 lifecycle: StackLifecycle, given_up: GivenUpStacks, timeouts: Timeouts,
                 definitions: AcceptedDefinitions, claim: Callable[[Connection, str], Lease | None]) -> None:
        """`claim(tx, stack_id)`: the lease of a stack that no other engine drives."""
        self._core = core
        self._driving = driving
        self._runtime = core.runtime
        self._database = core.database
        self._capacity = driving.capacity
        self._sinks = driving.sinks
        self._runners = runners
        self._executors = executors
        self._lifecycle = lifecycle
        self._timeouts = timeouts
        self._definitions = definitions
        self._claim = claim
        self._given_up = given_up
        self._loader = StackLoader(core, driving, definitions, given_up, partial(self.adopt, taken_over=True))
        self._former: dict[str, Runner] = {}        # runners that have ended while calls of theirs still run
        self._stopping = False

    # --- what the engine drives -------------------------------------------------------------------------

    def free_root_slots(self) -> int:
        """Return how many more root stacks this engine can drive."""
        return 0 if self._stopping else self._capacity.free_slots_at(0)

    def has_capacity(self, project: Callable[[], str], by: LeasedStack | None = None) -> bool:
        """Whether this engine may drive one more stack. `project()`: whose it is; `by`: the parent that asks for its
        nested stack, whose step has waited for capacity (`StackCapacity.run`); None: a root, or a stack that a user
        asks for."""
        return not self._stopping and (by is not None or self._capacity.has_root_slot(project))

    def slots(self) -> StackSlots:
        """As `StackCapacity.slots`; none are free while the engine stops."""
        return StackSlots(0) if self._stopping else self._capacity.slots()

    @property
    def loading(self) -> int:
        """As `StackLoader.loading`."""
        return self._loader.loading

    @property
    def waiting_for_capacity(self) -> int:
        """As `StackCapacity.waiting`."""
        return self._capacity.waiting

    @property
    def is_idle(self) -> bool:
        """Whether this engine drives no stack, and no call of one that it drove still runs."""
        return not (self._runners or self._loader.loading or self._former)

    def owns(self, stack_id: str) -> bool:
        """Whether a stack has a runner; while the engine stops, none that lasts."""
        return stack_id in self._runners and not self._stopping

    def drives(self, stack_id: str) -> bool:
        """Whether a stack has a runner, is being loaded for one, or is not to be loaded yet."""
        return stack_id in self._runners or stack_id in self._loader

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

    def drain(self, begins_until: float) -> None:
        """Take no further stacks. Each runner ends when its calls under way have returned. `begins_until`: as of
        `Runner.drain`."""
        self._stopping = True
        for runner in self._runners.all():
            runner.drain(begins_until)

    @property
    def driven(self) -> frozenset[str]:
        """The stacks that have a runner, or of which calls of a former runner still run."""
        return frozenset({*(runner.leased.id for runner in self._runners.all()), *self._former})

    def stop(self) -> int:
        """Stop all runners, end their calls, and take no further stacks. Return how many calls had not returned."""
        self._stopping = True
        count = 0
        for runner in [*self._runners.all(), *self._former.values()]:
            runner.stop()
            count += runner.kill_calls()
        return count

    # --- taking a stack ---------------------------------------------------------------------------------

    def claim(self, tx: Connection, stack_id: str, by: LeasedStack | None = None) -> Lease | None:
        """Claim the lease of a stack that this engine drives, or has capacity for, unless another engine drives it.
        `by`: as of `has_capacity`."""
        if self.owns(stack_id) or self.has_capacity(lambda: stacks.project(tx, stack_id), by):
            return self._claim(tx, stack_id)
        return None

    def acquire(self, lease: Lease, row: stacks.StoredStack | None = None) -> None:
        """Begin to drive a stack whose lease was just claimed. A thread of its own loads it first. `row`: as in
        `StackCapacity.begin_loading`."""
        if self._stopping or self._loader.is_loading(lease):
            return                                  # its runner reads the newest request when it starts
        runner = self._runners.get(lease.stack_id)
        if runner is not None:                      # the database lost this engine's row, and the stack was reclaimed
            runner.stop()
        former = [each for each in (self._former.get(lease.stack_id), runner)
                  if each is not None and not each.calls_done.is_set()]
        self._loader.load(lease, former, row)

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
        self._runners.add(runner)
        self._capacity.add(leased)
        try:
            self._sinks.follow(leased, runner.finish_if_idle, is_taken_over=leased.lease.former is not None)
            if taken_over:
                if leased.unread_rows is None:
                    runner.signal_dispatcher.take_over()
                runner.wake()
            self._timeouts.watch(runner)                # last: its timer ends with the runner
        except BaseException:                       # it is not driven: the loader puts it off, or a sweep finds it
            runner.stop()
            self._remove(runner)
            raise
        self._runtime.spawn(runner.run)

    # --- leaving a stack --------------------------------------------------------------------------------

    def _ended(self, runner: Runner, error: Exception | None) -> None:
        """A runner has ended. `error`: the defect of the engine that stopped it, or None."""
        leased = runner.leased
        is_hopeless = self._given_up.note_end(leased.row, error)
        if not runner.calls_done.is_set():
            self._former[leased.id] = runner
            self._runtime.spawn(self._forget, runner)
        if self._remove(runner) and is_hopeless:
            self.acquire(replace(leased.lease, is_new=False))           # once its calls have returned

    def _remove(self, runner: Runner) -> bool:
        """Forget a runner. Returns False if that was done before."""
        leased = runner.leased
        if not self._runners.remove(runner):
            return False
        self._capacity.remove(leased.id)
        self._sinks.leave(leased.id)
        self._definitions.drop(leased.id)
        memory.large_work.ended(len(leased.definition.snippets))
        return True

    def _forget(self, runner: Runner) -> None:
        runner.calls_done.wait()
        if self._former.get(runner.leased.id) is runner:
            del self._former[runner.leased.id]
