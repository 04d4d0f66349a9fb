"""Executes one stack's traversal: performs each command and returns the result as an event. Makes no decisions.

Each stack has one runner with one green thread. Calls into types run in the thread pool; waits are timers.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from heatlite.common import exception, metrics, outages, turns
from heatlite.engine.durability.journal import LeaseLost, NotStored
from heatlite.engine.durability.timers import Timer
from heatlite.engine.reconcile.active_steps import ActiveSteps
from heatlite.engine.reconcile.breakpoints import StoredBreakpoints
from heatlite.engine.reconcile.driving_parts import DrivingParts
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.executor import StepExecutor
from heatlite.engine.reconcile.inbox import RunnerInbox, Work
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.runner_phase import RunnerPhase
from heatlite.engine.reconcile.signal_dispatcher import SignalDispatcher
from heatlite.engine.reconcile.step_calls import StepCalls
from heatlite.engine.reconcile.step_inspector import UNCHANGED
from heatlite.engine.reconcile.step_store import StepStore
from heatlite.planning import commands
from heatlite.planning.states import ResourceState, Status
from heatlite.planning.steps import Step

LOG = logging.getLogger(__name__)
T = TypeVar('T')

COMMANDS_AT_ONCE = 50               # until other threads may run
INSPECTED_AT_ONCE = 100             # unchanged resources, until other threads may run


class RunnerCallbacks(Protocol):
    """Reads and writes the rows of stacks for their runners (`engine.reconcile.lifecycle.StackLifecycle`)."""

    def begin(self, runner: Runner) -> list[commands.Command]:
        """Begin with the action of a stack that was just loaded: return the first commands."""

    def catch_up(self, runner: Runner) -> list[commands.Command]:
        """On wake-up: re-read the stack's row, and retarget the traversal if its generation changed."""

    def report_failure(self, runner: Runner, reason: str, rolls_back: bool) -> list[commands.Command]:
        """Store that the action has failed, and report it. With `rolls_back`, retarget the traversal and return its
        commands."""

    def finish(self, runner: Runner, status: Status, reason: str, release: bool) -> bool:
        """Store that the action has ended, and report it. Returns False if it has not: a newer request was accepted, or
        the runner was stopped, meanwhile.

        `release`: release the lease, too.
        """

    def leave(self, runner: Runner, release: bool) -> bool:
        """Store what has changed since the end of the action. Returns and `release`: as `finish`."""

    def has_unsent_events(self, runner: Runner, status: Status | None) -> bool:
        """Whether events have to be sent to sinks before the stack's lease may be released.

        `status`: in which the action is about to end; None: it has ended. `Runner.finish_if_idle` is called once they
        were sent.
        """


class Runner:
    """Drives one stack, in a green thread of its own (`run`). All threads may wake it, stop it, or `ask` for work."""

    def __init__(self, core: EngineCore, driving: DrivingParts, leased: LeasedStack, executor: StepExecutor,
                 callbacks: RunnerCallbacks, ended: Callable[[Runner, Exception | None], None]) -> None:
        """`ended(runner, defect)`: called when the runner has ended, with the error that stopped it or None."""
        self.leased = leased
        self.executor = executor
        self._runtime = runtime = core.runtime
        self._callbacks = callbacks
        self._end = ended
        self._news = runtime.flag()                 # its thread waits for it: there is work, or another phase
        self._phase = phase = RunnerPhase(runtime, self._news)
        self._steps = steps = ActiveSteps()
        self._inbox = RunnerInbox(runtime, leased, phase, steps, self._news)
        self._calls = StepCalls(runtime, driving, leased, executor, self._inbox, phase, steps, self._note_idle)
        self._store = StepStore(runtime, leased, executor, driving.journal, self._inbox, phase, steps, self._calls)
        self.breakpoints = StoredBreakpoints(leased, executor, self._inbox, self._store)
        self._inspected = 0
        self._is_woken = False                      # its inbox has a wake-up that has not begun
        self._timer: Timer | None = None            # of the timeout of its action
        self.calls_done = runtime.flag()                  # set when it has ended and no call of it is under way
        self._is_idle = leased.is_at_rest           # no action is in progress: it only handles signals
        self.signal_dispatcher = SignalDispatcher(core, driving, leased, self, phase)

    # --- from other threads -----------------------------------------------------------------------------

    def wake(self) -> None:
        """Wake up the runner: it looks for a newer request and for signals, once for all wake-ups before it begins."""
        if not self._is_woken:
            self._is_woken = True
            self.ask(self._catch_up)

    def finish_if_idle(self) -> None:
        """After the last signal was handled, or the last event was sent: finish, if no action is in progress."""
        self._note_idle()
        self.ask(self.leave_if_idle)

    def ask(self, work: Work) -> None:
        """Run `work` in the runner's thread and perform the commands it returns; not while it drains."""
        self._inbox.ask(work)

    def poll_now(self, name: str) -> None:
        """Run the waiting checks of that resource now, not at the next interval."""
        self._inbox.run(lambda: self._calls.poll_now(name))

    def limit(self, timer: Timer) -> None:
        """Take `timer`, which ends the present action, in place of that of an earlier action."""
        self._end_timer()
        self._timer = timer
        if self._phase.has_ended:
            self._end_timer()

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def fenced(self, work: Callable[[], T]) -> T:
        """Return `work()`, whose requests are sent only while the lease is valid. Raises LeaseLost."""
        return self._calls.fenced(work)

    @property
    def begins_nothing(self) -> bool:
        """Whether it was stopped, or drains."""
        return self._phase.begins_nothing

    def drain(self, begins_until: float) -> None:
        """Store the results of the calls under way, then end; begin no further step and no signal. The next owner
        resumes from the stored state. Any thread may call it.

        `begins_until`: monotonic seconds. Until then, handlers whose intent is stored are still called: the next owner
        could not tell whether they were."""
        self._phase.drain(begins_until)
        self._inbox.keep_results()

    def stop(self, defect: Exception | None = None) -> None:
        """Stop the runner; the next owner resumes from the stored state. `defect`: the error that stops it, if any."""
        self._phase.stop(defect)

    def kill_calls(self) -> int:
        """End the calls of types, handlers of signals included, that do not return to a runner that was stopped: what
        has become of them is unknown, as after a crash. Return how many there were."""
        count = self._calls.kill_all() + self.signal_dispatcher.kill_handlers()
        self._note_idle()
        return count

    # --- its own thread ---------------------------------------------------------------------------------

    def run(self) -> None:
        self.leased.bind()                          # for log lines of this thread, also those of libraries
        self._runtime.serve(self.leased.id)
        try:
            turns.begin(*self.leased.owners)
            if not self._is_idle and not self._phase.begins_nothing:
                self._perform(self._callbacks.begin(self))
                self._forget_ended()
            while not self._phase.is_stopped and not self._is_drained():
                work = self._inbox.take()
                if work is None:
                    continue
                self._runtime.turn(*self.leased.owners)         # thousands of events may wait, of hundreds of stacks
                if not self._phase.is_stopped:
                    self._perform(work())
                    self._forget_ended()
        except NotStored as error:
            LOG.debug('Driving stack %s ends: %s', self.leased.id, error)       # the table of runners logs the cause
        except LeaseLost:
            metrics.leases_lost.inc()
            LOG.warning('Stack %s belongs to another engine; this engine stops driving it', self.leased.id)
        except exception.DatabaseUnavailable as error:  # before the first step, at the end, or after it was stopped
            outages.away(outages.DATABASE, error)
            LOG.debug('Driving stack %s ends without the database; an engine resumes it at the next sweep',
                      self.leased.id)
        except Exception as error:
            self._phase.stop(error)
            LOG.exception('Driving stack %s failed; another engine, or this one, will try again', self.leased.id)
        finally:
            self._phase.end()
            self._end_timer()
            self._calls.withdraw()
            self._note_idle()
            self._end(self, self._phase.defect)

    def follow(self) -> None:
        """Note that a newer request was accepted: its action is in progress."""
        self._is_idle = False

    def leave_if_idle(self) -> list[commands.Command]:
        """End, unless an action is in progress, or something needs the lease."""
        if self._is_idle and not self._needs_lease(None):
            self._leave()
        return []

    def _catch_up(self) -> Iterable[commands.Command]:
        self._is_woken = False                      # before the rows are read: what is stored later needs another look
        return self._callbacks.catch_up(self)

    def _forget_ended(self) -> None:
        """Drop what is kept of the steps that have ended since the last call."""
        for step in self._steps.take_touched():
            if self.leased.traversal.has_ended(step):
                self._calls.forget(step)

    def _note_idle(self) -> None:
        if self._phase.has_ended and not self._calls.is_busy and not self.signal_dispatcher.is_busy:
            self.calls_done.set()
        elif self._phase.is_draining:
            self._news.set()

    def _is_drained(self) -> bool:
        """Whether the runner drains, and nothing that it has begun is under way."""
        if not (self._phase.is_draining and self._inbox.is_empty):
            return False
        self._calls.withdraw()
        return not (self._calls.is_busy or self._store.is_waiting or self.signal_dispatcher.is_busy)

    def _perform(self, next_commands: Iterable[commands.Command]) -> None:
        waiting = deque(next_commands)
        phase, calls, store, performed = self._phase, self._calls, self._store, 0
        while waiting and not phase.is_stopped:
            command = waiting.popleft()
            if phase.is_draining and not self._goes_on(command, waiting[0] if waiting else None):
                continue
            performed += 1
            if not performed % COMMANDS_AT_ONCE:
                self._runtime.turn(*self.leased.owners)
            match command:
                case commands.Persist():
                    waiting.extend(store.persist(command))
                case commands.CallHandler():
                    if calls.call(command):
                        waiting.extend(self.leased.traversal.note_waiting(command.step, self._runtime.now()))
                case commands.Poll():
                    calls.poll(command)
                case commands.Inspect(step, row):
                    waiting.extend(self._inspect(step, row))
                case commands.Remove():
                    store.remove(command)
                case commands.Recover(step, row):
                    calls.recover(step, row)
                case commands.Abort(step, row, why):
                    calls.abort(step, row, why)
                case commands.Preempt(step, row):
                    calls.preempt(step, row)
                case commands.Pause(step, row, hook):
                    self.breakpoints.pause(step, row, hook)
                case commands.ReleaseHook(step, row, hook, why):
                    self._steps.touch(step)         # it has ended: of what came before, a context may be left
                    self.breakpoints.release(row, hook, why)
                case commands.Note(step, row):
                    store.note(step, row)
                case commands.StartTimer(step, row, seconds):
                    calls.start_timer(step, row, seconds)
                case commands.ReportFailure(reason, rollback):
                    waiting.extend(self._callbacks.report_failure(self, reason, rollback))
                case commands.Finish(status, reason):
                    self._finish(status, reason)
                case commands.Leave():
                    self._leave()

    def _goes_on(self, command: commands.Command, following: commands.Command | None) -> bool:
        """Whether a command is performed while the runner drains."""
        if isinstance(command, commands.CallHandler):       # of a step whose intent is stored
            return self._phase.may_begin(is_stored=True)
        return commands.stores_only(command, following)

    def _inspect(self, step: Step, row: ResourceState) -> list[commands.Command]:
        if not self.executor.is_plainly_unchanged(step, row):
            self._calls.inspect(step, row)
            return []
        self._inspected += 1
        if not self._inspected % INSPECTED_AT_ONCE:
            self._runtime.sleep(0)
        return self.leased.traversal.handle(commands.Inspected(step, UNCHANGED), self._runtime.now())

    def _finish(self, status: Status, reason: str) -> None:
        stays = self._needs_lease(status)
        self._end_action(self._callbacks.finish(self, status, reason, release=not stays), stays)

    def _leave(self) -> None:
        stays = self._needs_lease(None)
        self._end_action(self._callbacks.leave(self, release=not stays), stays)

    def _end_action(self, is_stored: bool, stays: bool) -> None:
        """`stays`: signals are being handled, or events sent, and the lease was not released."""
        if not is_stored:
            self.follow()
            self.wake()
        elif stays:
            self._is_idle = True
            self.finish_if_idle()
        else:
            self._phase.stop()

    def _needs_lease(self, status: Status | None) -> bool:
        """Whether the lease is still needed once the action has ended in that state; None: it has."""
        return self.signal_dispatcher.is_busy or self._callbacks.has_unsent_events(self, status)
