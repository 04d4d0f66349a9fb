"""The calls of one stack's steps into resource types: under way in the pool, waiting for the next check, or aborted."""

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
from heatlite.engine.reconcile.driving_parts import DrivingParts
from heatlite.engine.reconcile.executor import StepExecutor
from heatlite.engine.reconcile.inbox import RunnerInbox
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.runner_phase import RunnerPhase
from heatlite.engine.reconcile.step_spans import StepSpans
from heatlite.planning import commands, text
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Step

LOG = logging.getLogger(__name__)
T = TypeVar('T')

STEP = 'step'                       # kind of retries, in metrics
REFUSALS = 10                       # tries that the database refuses while it accepts others, until the step fails
DATABASE_PATIENCE = 1.0             # seconds until a call is repeated that failed as the database was unavailable


class StepEnded(BaseException):
    """The step that a call shall end has ended by itself. Not an Exception, as StopsDriving."""


class PoolCall:
    """A call for the pool. Not a function: one that refers to itself is freed by the garbage collector only, with the
    whole stack that it belongs to."""

    __slots__ = ('calls', 'has_waited', 'is_handler', 'perform', 'recovers', 'row', 'step')

    def __init__(self, calls: StepCalls, step: Step, row: ResourceState, perform: Callable[[], commands.Event],
                 is_handler: bool, recovers: bool) -> None:
        self.calls, self.step, self.row, self.perform, self.is_handler = calls, step, row, perform, is_handler
        self.recovers = recovers                    # its result precedes another try of the handler
        self.has_waited = False                     # for room for a nested stack

    def __call__(self) -> None:
        self.calls.execute(self)


class StepCalls:
    """The runner's thread starts calls and does what is due; threads of the pool make the calls. Each result is an
    event in the inbox."""

    def __init__(self, runtime: Runtime, driving: DrivingParts, leased: LeasedStack, executor: StepExecutor,
                 inbox: RunnerInbox, phase: RunnerPhase, returned: Callable[[], None]) -> None:
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
        self._note_returned = returned
        self._refused: dict[Step, int] = {}         # step -> its tries in a row that the database refused
        self._calling: dict[Step, PoolCall] = {}    # step -> its call under way, or that waits for room
        self._asking: dict[str, dict[Step, Callable[[], None]]] = {}    # name -> waiting step -> its next check
        self._aborted: dict[Step, str] = {}         # step that ends when its call returns -> why
        self._spans = StepSpans(leased)
        self._preempting: dict[object, Callable[[], None]] = {}     # calls of handle_preempt under way, by keys

    @property
    def is_busy(self) -> bool:
        """Whether a call is under way, or waits for room."""
        return bool(self._calling or self._preempting)

    def fenced(self, work: Callable[[], T]) -> T:
        """Return `work()`, whose requests are sent only while the lease is valid. Raises LeaseLost."""
        return fence.behind(self._executor.ensure_lease, work)

    # --- calls ------------------------------------------------------------------------------------------

    def inspect(self, step: Step, row: ResourceState) -> None:
        definition = self._leased.definition
        self._call(step, row, lambda: self._executor.inspect(step, row, definition))

    def call(self, command: commands.CallHandler) -> bool:
        """Return whether the call waits for room for a nested stack."""
        if tracing.tracer is not None:
            self._spans.begin(tracing.tracer, command.step, command.row, command.action)
        return self._call(command.step, command.row, partial(self._executor.call, command), is_handler=True)

    def recover(self, step: Step, row: ResourceState) -> None:
        if tracing.tracer is not None:
            self._spans.begin(tracing.tracer, step, row, row.action, recovers=True)
        self._call(step, row, partial(self._executor.recover, step, row), recovers=True)

    def _call(self, step: Step, row: ResourceState, perform: Callable[[], commands.Event], *,
              is_handler: bool = False, recovers: bool = False) -> bool:
        """Run `perform` in the pool. `is_handler`: its result is unknown after an interruption, so recover then. Return
        whether it waits for room."""
        call = PoolCall(self, step, row, perform, is_handler, recovers)
        self._calling[step] = call
        if is_handler and self._executor.owns_stack(row):
            call.has_waited = self._capacity.run(call, self._leased, row.physical_id)
        else:
            self._pool.run(call, *self._leased.owners)
        return call.has_waited

    def execute(self, call: PoolCall) -> None:
        """Run a call, in a thread of the pool."""
        step, row = call.step, call.row
        self._leased.bind(row.name)
        if self._calling.get(step) is not call:
            return
        if (not self._phase.may_begin(call.is_handler)
                or self._leased.traversal.has_ended(step)):         # the latter: of an older definition
            self._returned(step)
            return
        why = self._aborted.pop(step, None)
        if call.has_waited and self._leased.traversal.is_stopped:
            why = why or text.NOT_BEGUN
        self._runtime.serve(self._leased.id)
        try:
            event = commands.Failed(step, text.aborted(row.action, why)) if why else self._perform(call)
        except StopsDriving as why_not:
            self._inbox.fail(why_not)
            return
        except exception.DatabaseUnavailable as error:      # an outage of the engine, no failure of the resource
            if not self._is_refused(step, error):
                outages.away(outages.DATABASE, error)
                LOG.debug('%s of %s in stack %s waits for the database', row.action, row.name, self._leased.id)
                self._ask_after(step, DATABASE_PATIENCE,
                                lambda: self._once_more(call))
                return
            LOG.warning('The database refuses what %s of %s in stack %s stores: %s', row.action, row.name,
                        self._leased.id, error)
            event = commands.Failed(step, text.refused_by_database(row.action))
        except Exception as error:                  # made while that of a type became an event: the step must end
            LOG.exception('%s of %s in stack %s ended without a result', row.action, row.name, self._leased.id)
            event = commands.Failed(step, f'Internal error: {type(error).__name__}')
        finally:
            self._runtime.serve(None)             # the thread goes back to the pool
            answers.note(None)
            was_killed = self._calling.get(step) is not call
            if not was_killed:
                self._returned(step)
        if not call.recovers:
            self._refused.pop(step, None)
        if not was_killed:
            self._post(event)

    def _perform(self, call: PoolCall) -> commands.Event:
        if tracing.tracer is None:
            return self.fenced(call.perform)
        with self._spans.within(call.step):
            return self.fenced(call.perform)

    def _is_refused(self, step: Step, error: exception.DatabaseUnavailable) -> bool:
        """Whether the database has refused REFUSALS tries in a row while it accepted other writes: MariaDB ends the
        connection when a value is larger than its largest packet. A full disk accepts writes that need no space; the
        step waits for it, until the timeout of its action."""
        is_its_own = not isinstance(error, Contention | Busy | TakesNoWrites) and self._journal.is_writable()
        self._refused[step] = refused = self._refused.get(step, 0) + 1 if is_its_own else 0
        return refused >= REFUSALS

    def _post(self, event: commands.Event) -> None:
        if tracing.tracer is not None:
            self._spans.note(tracing.tracer, event)
        self._inbox.post(event)

    def _returned(self, step: Step) -> None:
        self._capacity.returned(self._calling.pop(step))
        self._note_returned()

    def withdraw(self) -> None:
        """Forget the calls that wait for room: the runner has ended."""
        for step, call in list(self._calling.items()):
            if self._capacity.withdraw(call):
                self._returned(step)

    def _once_more(self, call: PoolCall) -> None:
        step, row = call.step, call.row
        if step in self._aborted:
            self._end_aborted(step, row)
        elif not self._phase.may_begin(call.is_handler):
            return
        elif call.is_handler:                       # as after a crash
            self._forget_resource(step)
            self.recover(step, self._leased.rows.get(row.id, row))
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
        if step in self._aborted:
            self._end_aborted(step, poll.row)
            return
        interval = self._settings.interval
        work = self._executor.contexts.get(step)
        if work is not None and work.resource is not None and work.resource.poll_interval is not None:
            interval = work.resource.poll_interval

        def ask() -> None:
            if step in self._aborted:
                self._end_aborted(step, poll.row)
            elif self._phase.may_begin(is_stored=False):
                self._call(step, poll.row, lambda: self._executor.check(step, poll.row, poll.action, poll.handle))

        if not poll.poll_intervals:
            ask()
        else:
            self._ask_after(step, poll.poll_intervals * interval, ask)

    def poll_now(self, name: str) -> None:
        """Run the waiting checks of that resource now, not at the next interval."""
        for ask in self._asking.pop(name, {}).values():
            ask()

    def _ask_after(self, step: Step, seconds: float, ask: Callable[[], None]) -> None:
        self._asking.setdefault(step.name, {})[step] = ask

        def due() -> None:
            if self._asking.get(step.name, {}).get(step) is ask:        # else poll_now ran it, or the step ended
                self._ask_no_more(step)
                ask()

        self._after(seconds, due)

    def _after(self, seconds: float, work: Callable[[], object]) -> None:
        """Do `work` after `seconds`, in the runner's thread: its error stops this runner, and no other."""
        self._timers.after(seconds, partial(self._inbox.run, work))

    def _ask_no_more(self, step: Step) -> None:
        asking = self._asking.get(step.name, {})
        asking.pop(step, None)
        if not asking:
            self._asking.pop(step.name, None)

    def start_timer(self, step: Step, row: ResourceState, seconds: float) -> None:
        metrics.retries.labels(STEP).inc()
        self._after(0.0 if step in self._aborted else seconds, partial(self._due, step, row.action))

    def _due(self, step: Step, action: Action) -> None:
        if not self.end_if_aborted(step, action):
            self._inbox.post(commands.TimerFired(step))

    # --- ending calls early -----------------------------------------------------------------------------

    def abort(self, step: Step, row: ResourceState, why: str) -> None:
        """End the step, at once if it only waits. Otherwise it ends when the call under way has returned, or has not
        returned in time (`ReconcileSettings.patience`), or with the next command for it, if an event of the step is in
        the inbox."""
        self._aborted[step] = why
        call = self._calling.get(step)
        if call is not None and self._capacity.withdraw(call):
            self._returned(step)
            self.end_if_aborted(step, row.action)       # without its handler for cancellations: nothing was begun
        elif call is not None:
            self._after(self._settings.patience, lambda: self._end_late(step, row, call))
        elif not self._inbox.has_event_of(step) and not self._waits_for_journal(step):
            self._end_aborted(step, row)

    def end_if_aborted(self, step: Step, action: Action) -> bool:
        """Report the end of the step if it was aborted. Returns whether it was."""
        why = self._aborted.pop(step, None)
        if why is None:
            return False
        self._post(commands.Failed(step, text.aborted(action, why)))
        return True

    def forget_abort(self, step: Step) -> None:
        """The step has ended before it could be aborted."""
        self._aborted.pop(step, None)

    def _end_late(self, step: Step, row: ResourceState, call: PoolCall) -> None:
        """End a step whose call did not return in time. Its result is unknown, as after a crash."""
        if self._calling.get(step) is not call:
            return
        self._forget_killed(call)
        self._forget_resource(step)
        self._end_aborted(step, row)
        self._pool.kill(call)

    def kill_all(self) -> int:
        """End all calls under way: the runner was stopped, and they have not returned in time. Return how many."""
        self.withdraw()
        calling, preempting = list(self._calling.values()), list(self._preempting.values())
        self._preempting = {}
        for call in calling:
            self._forget_killed(call)
            self._pool.kill(call)
        for work in preempting:
            self._pool.kill(work)
        return len(calling) + len(preempting)

    def _forget_killed(self, call: PoolCall) -> None:
        row = call.row
        with self._leased.bound(row.name):
            LOG.warning('%s of %s in stack %s did not return in time and is given up', row.action, row.name,
                        self._leased.id)
        self._returned(call.step)

    def _waits_for_journal(self, step: Step) -> bool:
        work = self._executor.contexts.get(step)
        return work is not None and work.storing

    def _end_aborted(self, step: Step, row: ResourceState) -> None:
        why = self._aborted.pop(step, None)
        if why is None:
            return                                  # ended already; this is its timer
        self._ask_no_more(step)                     # its next check must not run any more
        cancel = self._executor.cancel(step, row)
        failed = commands.Failed(step, text.aborted(row.action, why))
        if cancel is None:
            self._post(failed)
        else:
            self._call(step, row, partial(_after, cancel, failed))

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
