"""The calls of one stack's steps into resource types: in the pool, due later, or ended early."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from heatlite.common import exception, metrics, outages, tracing
from heatlite.common.runtime import Runtime
from heatlite.db.errors import Busy, Contention, TakesNoWrites
from heatlite.engine.clients import answers
from heatlite.engine.durability import fence
from heatlite.engine.durability.journal import StopsDriving
from heatlite.engine.reconcile.active_steps import ActiveSteps, PoolCall, StepPhase
from heatlite.engine.reconcile.driving_parts import DrivingParts
from heatlite.engine.reconcile.executor import StepExecutor
from heatlite.engine.reconcile.inbox import RunnerInbox
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.runner_phase import RunnerPhase
from heatlite.engine.reconcile.step_spans import StepSpans
from heatlite.planning import commands, text
from heatlite.planning.states import ResourceState
from heatlite.planning.steps import Step

LOG = logging.getLogger(__name__)
T = TypeVar('T')

STEP = 'step'                       # kind of retries, in metrics
REFUSALS = 10                       # tries that the database refuses while it accepts others, until the step fails
DATABASE_PATIENCE = 1.0             # seconds until a call is repeated that failed as the database was unavailable


class StepEnded(BaseException):
    """The step that a call shall end has ended by itself. Not an Exception, as StopsDriving."""


class StepCalls:
    """The runner's thread starts calls and does what is due; threads of the pool make the calls. Each result is an
    event in the inbox. `active_steps` says which of them changes the phase of a step."""

    def __init__(self, runtime: Runtime, driving: DrivingParts, leased: LeasedStack, executor: StepExecutor,
                 inbox: RunnerInbox, phase: RunnerPhase, steps: ActiveSteps, returned: Callable[[], None]) -> None:
        """`returned()`: called after each call that has ended."""
        self._runtime = runtime
        self._journal = driving.journal
        self._pool = driving.pool
        self._capacity = driving.capacity
        self._timers = driving.timers
        self._settings = driving.settings
        self._leased = leased
        self._executor = executor
        self._inbox = inbox
        self._phase = phase
        self._steps = steps
        self._note_returned = returned
        self._spans = StepSpans(leased)
        self._preempting: dict[object, Callable[[], None]] = {}     # calls of handle_preempt under way, by keys

    @property
    def is_busy(self) -> bool:
        """Whether a call is under way, or waits for capacity."""
        return bool(self._steps.calling or self._preempting)

    def fenced(self, work: Callable[[], T]) -> T:
        """Return `work()`, whose requests are sent only while the lease is valid. Raises LeaseLost."""
        return fence.behind(self._executor.ensure_lease, work)

    # --- calls ------------------------------------------------------------------------------------------

    def inspect(self, step: Step, row: ResourceState) -> None:
        definition = self._leased.definition
        self._call(step, row, lambda: self._executor.inspect(step, row, definition))

    def call(self, command: commands.CallHandler) -> bool:
        """Return whether the call waits for capacity for a nested stack."""
        if tracing.tracer is not None:
            self._spans.begin(tracing.tracer, command.step, command.row, command.action)
        if self._executor.has_nothing_to_call(command):
            if not self._ends_aborted(command.step, command.row):
                self._report(command.step, commands.HandlerReturned(command.step, None, done=True))
            return False
        return self._call(command.step, command.row, partial(self._executor.call, command), is_handler=True)

    def recover(self, step: Step, row: ResourceState) -> None:
        if tracing.tracer is not None:
            self._spans.begin(tracing.tracer, step, row, row.action, recovers=True)
        self._call(step, row, partial(self._executor.recover, step, row), recovers=True)

    def _call(self, step: Step, row: ResourceState, perform: Callable[[], commands.Event], *,
              is_handler: bool = False, recovers: bool = False) -> bool:
        """Run `perform` in the pool. `is_handler`: its result is unknown after an interruption, so recover then. Return
        whether it waits for capacity."""
        call = PoolCall(self.execute, step, row, perform, is_handler, recovers)
        self._steps.enter(step, StepPhase.CALLING, call=call)
        if is_handler and self._executor.owns_stack(row):
            call.has_waited = self._capacity.run(call, self._leased, row.physical_id)
        else:
            self._pool.run(call, *self._leased.owners)
        return call.has_waited

    def execute(self, call: PoolCall) -> None:
        """Run a call, in a thread of the pool."""
        self._leased.bind(call.row.name)
        if not self._may_begin(call):
            return
        self._runtime.serve(self._leased.id)
        try:
            proceed = self._perform(call)
        finally:
            self._runtime.serve(None)             # the thread goes back to the pool
            answers.note(None)
            counts = self._steps.is_making(call)    # else it was killed
            if counts:
                self._returned(call)
        if counts:
            proceed()

    def _may_begin(self, call: PoolCall) -> bool:
        """Whether a call of which it is the turn may begin. If not, it has returned."""
        step, traversal = call.step, self._leased.traversal
        if not self._steps.is_making(call):
            return False
        if traversal.has_ended(step):               # of an older definition
            self._returned(call)
            self._inbox.run(partial(self.forget, step))     # after the commands with which it has ended
            return False
        if not self._phase.may_begin(call.is_handler):
            self._returned(call)
            return False
        active = self._steps.of(step)
        if call.has_waited and traversal.is_stopped:
            active.aborted = active.aborted or text.NOT_BEGUN
        if active.aborted:
            self._returned(call)
        return not self._ends_aborted(step, call.row)

    def _perform(self, call: PoolCall) -> Callable[[], None]:
        """Make a call. Return what follows from it."""
        step, row = call.step, call.row
        try:
            event = self._traced(call)
        except StopsDriving as why_not:
            self._inbox.fail(why_not)
            return _do_nothing
        except exception.DatabaseUnavailable as error:      # an outage of the engine, no failure of the resource
            return partial(self._interrupted, call, error, self._is_refused(error))
        except Exception as error:                  # made while that of a type became an event: the step must end
            LOG.exception('%s of %s in stack %s ended without a result', row.action, row.name, self._leased.id)
            event = commands.Failed(step, f'Internal error: {type(error).__name__}')
        return partial(self._ended, call, event)

    def _traced(self, call: PoolCall) -> commands.Event:
        if tracing.tracer is None:
            return self.fenced(call.perform)
        with self._spans.within(call.step):
            return self.fenced(call.perform)

    def _is_refused(self, error: exception.DatabaseUnavailable) -> bool:
        """Whether the database has refused a try while it accepts other writes: MariaDB ends the connection when a
        value is larger than its largest packet. A full disk accepts writes that need no space; the step waits for it,
        until the timeout of its action."""
        return not isinstance(error, Contention | Busy | TakesNoWrites) and self._journal.is_writable()

    def _interrupted(self, call: PoolCall, error: exception.DatabaseUnavailable, is_refused: bool) -> None:
        """The database has interrupted a call: make it again after a while, unless it was refused REFUSALS times in a
        row."""
        step, row, active = call.step, call.row, self._steps.of(call.step)
        active.refusals = active.refusals + 1 if is_refused else 0
        if active.refusals < REFUSALS:
            self._wait(step, StepPhase.WAITING, DATABASE_PATIENCE, partial(self._once_more, call))
            outages.away(outages.DATABASE, error)
            LOG.debug('%s of %s in stack %s waits for the database', row.action, row.name, self._leased.id)
        else:
            self._ended(call, commands.Failed(step, text.refused_by_database(row.action)))
            LOG.warning('The database refuses what %s of %s in stack %s stores: %s', row.action, row.name,
                        self._leased.id, error)

    def _ended(self, call: PoolCall, event: commands.Event) -> None:
        if not call.recovers:
            self._steps.of(call.step).refusals = 0
        self._report(call.step, event)

    def _report(self, step: Step, event: commands.Event) -> None:
        """Hand an event of the step to the runner's thread."""
        if tracing.tracer is not None:
            self._spans.note(tracing.tracer, event)
        self._steps.enter(step, StepPhase.REPORTED)
        self._inbox.post(event)

    def _returned(self, call: PoolCall) -> None:
        self._steps.enter(call.step, StepPhase.REPORTED)
        self._capacity.returned(call)
        self._note_returned()

    def withdraw(self) -> None:
        """Forget the calls that wait for capacity: the runner has ended."""
        for call in self._steps.calls():
            if self._capacity.withdraw(call):
                self._returned(call)

    def _once_more(self, call: PoolCall) -> None:
        step, row = call.step, call.row
        if self._ends_aborted(step, row, was_begun=True):
            return
        if call.is_handler:                         # as after a crash
            self._forget_resource(step)
            self.recover(step, self._leased.row_numbered(row.id) or row)
        else:
            self._call(step, row, call.perform, recovers=call.recovers)

    def _forget_resource(self, step: Step) -> None:
        """Make the step use a new object of the type: a call may still work with the one it has."""
        work = self._executor.contexts.get(step)
        if work is not None:
            work.resource = None

    # --- checks and timers ------------------------------------------------------------------------------

    def poll(self, poll: commands.Poll) -> None:
        step = poll.step
        if tracing.tracer is not None:              # open, unless another engine called the handler
            self._spans.begin(tracing.tracer, step, poll.row, poll.action, recovers=True)
        if self._ends_aborted(step, poll.row, was_begun=True):
            return
        interval = self._settings.interval
        work = self._executor.contexts.get(step)
        if work is not None and work.resource is not None and work.resource.poll_interval is not None:
            interval = work.resource.poll_interval

        def check() -> None:
            self._call(step, poll.row, lambda: self._executor.check(step, poll.row, poll.action, poll.handle))

        if poll.poll_intervals:
            self._wait(step, StepPhase.WAITING, poll.poll_intervals * interval, check)
        else:
            check()

    def poll_now(self, name: str) -> None:
        """Run the waiting checks of that resource now, not at the next interval."""
        for check in self._steps.due_of(name):
            check()

    def start_timer(self, step: Step, row: ResourceState, seconds: float) -> None:
        metrics.retries.labels(STEP).inc()
        if not self._ends_aborted(step, row):
            self._wait(step, StepPhase.PAUSING, seconds, partial(self._report, step, commands.TimerFired(step)))

    def _wait(self, step: Step, phase: StepPhase, seconds: float, due: Callable[[], None]) -> None:
        active = self._steps.enter(step, phase, due=due)

        def time_has_come() -> None:
            if active.due is due:                   # else it was done earlier, or the step was aborted
                due()

        self._after(seconds, time_has_come)

    def _after(self, seconds: float, work: Callable[[], object]) -> None:
        """Do `work` after `seconds`, in the runner's thread: its error stops this runner, and no other."""
        self._timers.after(seconds, partial(self._inbox.run, work))

    # --- the intent of a step ---------------------------------------------------------------------------

    def note_stored(self, step: Step, row: ResourceState) -> None:
        """The intent of the step is stored. Called in the journal's thread."""
        if not self._ends_aborted(step, row):
            self._report(step, commands.Persisted(step))

    # --- ending calls early -----------------------------------------------------------------------------

    def abort(self, step: Step, row: ResourceState, why: str) -> None:
        """End the step, at once if it only waits. Otherwise it ends when the call under way has returned, or has not
        returned in time (`ReconcileSettings.patience`), when its intent is stored, or with the next command for it."""
        active = self._steps.of(step)
        active.aborted = why
        if active.call is not None:
            self._end_call(active.call)
        elif active.due is not None:
            self._ends_aborted(step, row, was_begun=True)

    def _end_call(self, call: PoolCall) -> None:
        """End the step of a call, at once if the call waits for capacity."""
        if self._capacity.withdraw(call):
            self._returned(call)
            self._ends_aborted(call.step, call.row)
        else:
            self._after(self._settings.patience, partial(self._end_late, call))

    def _ends_aborted(self, step: Step, row: ResourceState, *, was_begun: bool = False) -> bool:
        """Report the end of the step if it was aborted. Returns whether it was. Whatever begins or goes on with a step
        asks here first. `was_begun`: the type's handler for cancellations is called before."""
        active = self._steps.get(step)
        if active is None or not active.aborted:
            return False
        failed = commands.Failed(step, text.aborted(row.action, active.aborted))
        active.aborted = ''
        cancel = self._executor.cancel(step, row) if was_begun else None
        if cancel is None:
            self._report(step, failed)
        else:
            self._call(step, row, partial(_after, cancel, failed))
        return True

    def forget_abort(self, step: Step) -> None:
        """The step has ended before it could be aborted."""
        active = self._steps.get(step)
        if active is not None:
            active.aborted = ''

    def _end_late(self, call: PoolCall) -> None:
        """End a step whose call did not return in time. Its result is unknown, as after a crash."""
        if self._steps.is_making(call):
            self._forget_killed(call)
            self._forget_resource(call.step)
            self._ends_aborted(call.step, call.row)
            self._pool.kill(call)

    def kill_all(self) -> int:
        """End all calls under way: the runner was stopped, and they have not returned in time. Return how many."""
        self.withdraw()
        calling, preempting = self._steps.calls(), list(self._preempting.values())
        self._preempting = {}
        for call in calling:
            self._forget_killed(call)
            self._pool.kill(call)
        for work in preempting:
            self._pool.kill(work)
        return len(calling) + len(preempting)

    def _forget_killed(self, call: PoolCall) -> None:
        row = call.row
        self._returned(call)
        with self._leased.bound(row.name):
            LOG.warning('%s of %s in stack %s did not return in time and is given up', row.action, row.name,
                        self._leased.id)

    def forget(self, step: Step) -> None:
        """Drop what is kept of a step that has ended. While a call of it is under way, that stays until the call has
        returned."""
        active = self._steps.get(step)
        if active is None or active.call is None:
            self._steps.forget(step)
            self._executor.contexts.forget(step)
            if tracing.tracer is not None:
                self._spans.forget(tracing.tracer, step)

    def preempt(self, step: Step, row: ResourceState) -> None:
        """Call handle_preempt in the pool, in parallel with a call of the step that may be under way.

        None of its requests is sent once the step has ended: what it would end then belongs to the next step."""
        key = object()

        def check() -> None:
            self._executor.ensure_lease()
            if not self._leased.traversal.is_busy(step):
                raise StepEnded(step.name)

        def work() -> None:
            self._leased.bind(row.name)
            self._runtime.serve(self._leased.id)
            try:
                if not self._phase.may_begin(is_stored=False):
                    return
                event = fence.behind(check, lambda: self._executor.preempt(step, row))
                self._inbox.post(event)
                if not event.ends:
                    self._inbox.run(lambda: self.poll_now(step.name))       # the type may have ended the work
            except StepEnded:
                LOG.debug('%s of %s in stack %s had ended before it was preempted', row.action, row.name,
                          self._leased.id)
            except StopsDriving as why_not:
                self._inbox.fail(why_not)
            except exception.DatabaseUnavailable as error:
                outages.away(outages.DATABASE, error)
                self._timers.after(DATABASE_PATIENCE, lambda: self._inbox.ask(lambda: self._preempt_again(step, row)))
            finally:
                self._runtime.serve(None)
                if self._preempting.pop(key, None) is not None:     # else it was given up
                    self._note_returned()

        self._preempting[key] = work
        self._pool.run(work, *self._leased.owners)

    def _preempt_again(self, step: Step, row: ResourceState) -> list[commands.Command]:
        return [commands.Preempt(step, row)] if self._leased.traversal.is_busy(step) else []


def _after(work: Callable[[], None], event: commands.Event) -> commands.Event:
    work()
    return event


def _do_nothing() -> None:
    pass
