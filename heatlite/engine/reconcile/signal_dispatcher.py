"""Dispatches the pending signals of a stack to its resources (docs/spec/engine.rst, "Delivery of signals").

Signals of one resource are handled one after the other, in the order of their arrival; those of different resources in
parallel. The changes of a handler, the event and the end of the signal are one transaction: after a crash, or while the
database is away, a signal is either handled or still pending. A handler that also changes other things must be able to
run again. An error of a resource type ends its signal: it would come again each time, and keep the stack from all else.
So does a handler that does not return within the timeout of an action.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeVar

from heatlite.common import defects, exception, tracing
from heatlite.common.context import bind
from heatlite.common.exception import NoActionRequired
from heatlite.common.i18n import _
from heatlite.common.runtime import Thread
from heatlite.common.tracing import SpanKind
from heatlite.db import signals
from heatlite.db.codec import Unreadable
from heatlite.db.connection import until_available
from heatlite.db.errors import TakesNoWrites
from heatlite.db.signals import Signal
from heatlite.engine.durability import request_ids
from heatlite.engine.durability.journal import NotStored, StopsDriving
from heatlite.engine.durability.timers import Timer
from heatlite.engine.reconcile.breakpoints import StoredBreakpoints
from heatlite.engine.reconcile.driving_parts import DrivingParts
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.executor import StepExecutor
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_writer import SignalWriter
from heatlite.engine.reconcile.runner_phase import RunnerPhase
from heatlite.engine.reconcile.signal_refresh import SignalRefresh, attempt
from heatlite.engine.resource import Resource
from heatlite.planning import text
from heatlite.planning.states import Change, ResourceState, SignalError
from heatlite.planning.timeouts import action_seconds
from heatlite.rpc import errors

LOG = logging.getLogger(__name__)
T = TypeVar('T')

UNSET_HOOK = 'unset_hook'
# Why a valid signal changes nothing: the stack is guarded, or has no room.
REFUSALS = (exception.StackLocked, exception.StackProtected, exception.RequestLimitExceeded)
LOOKED_AT = 50                          # the most related resources of a signalled one whose attributes are read anew
LEAST_PAUSE = 1.0                       # seconds between two looks for calls that hang


def hook_of(details: object) -> str | None:
    """Return the breakpoint that a signal is to clear; None for any other signal. One that names null is an unknown
    breakpoint, as in Heat, and no other signal."""
    return str(details[UNSET_HOOK]) if isinstance(details, Mapping) and UNSET_HOOK in details else None


class Driver(Protocol):
    """The runner of the stack (`engine.reconcile.runner.Runner`), as the dispatcher uses it."""

    executor: StepExecutor
    breakpoints: StoredBreakpoints

    def fenced(self, work: Callable[[], T]) -> T: ...

    def poll_now(self, name: str) -> None: ...

    def finish_if_idle(self) -> None: ...


class SignalWork:
    """What one thread of a dispatcher does: signals that it handles in turn, or only refreshes.

    `name`: of the resource whose signals come to this work while it lasts, or None; `called_at`: monotonic time since
    which code of types runs, or None; `handling`: the signal whose handler it is; None: a refresh."""

    def __init__(self, signals: Iterable[Signal] = (), name: str | None = None) -> None:
        self.signals, self.name = deque(signals), name
        self.called_at: float | None = None
        self.handling: Signal | None = None
        self.was_killed = False


class SignalDispatcher:
    """Dispatches the signals that wait for one stack: in order for each resource. Uses its runner's executor."""

    def __init__(self, core: EngineCore, driving: DrivingParts, leased: LeasedStack, runner: Driver,
                 phase: RunnerPhase) -> None:
        """A handler has the time of an action to return, and the refresh after it as much."""
        self._runtime = core.runtime
        self._database = core.database
        self._journal = driving.journal
        self._history = driving.history
        self._timers = driving.timers
        self._limit = driving.settings.action_timeout       # seconds, in stacks without a timeout of their own
        self._leased = leased
        self._runner = runner
        self._phase = phase                         # of the runner
        self._waiting: dict[str, SignalWork] = {}                 # resource -> work with its signals
        self._known: set[int] = set()
        self._refresh = SignalRefresh(leased, runner.executor, driving.journal, runner.poll_now)
        self._threads: dict[SignalWork, Thread] = {}              # under way
        self._watch_timer: Timer | None = None      # for the next look at calls that hang

    @property
    def is_busy(self) -> bool:
        return bool(self._threads)

    def check_for_signals(self) -> None:
        """Start handling every signal that is not known yet. Waits for the database. Call in the runner's thread only:
        without the runner, the results of its steps under way would be lost."""
        known = frozenset(self._known)              # before the query, whose result may have those handled meanwhile
        for signal in self._database.retry_until_available(
                lambda tx: signals.pending(tx, self._leased.id, known), reading=True):
            self._known.add(signal.id)
            if self._is_parallel(signal.resource_name):
                self._spawn(SignalWork([signal]))
            elif signal.resource_name in self._waiting:
                self._waiting[signal.resource_name].signals.append(signal)
            else:
                work = self._waiting[signal.resource_name] = SignalWork([signal], signal.resource_name)
                self._spawn(work)

    def kill_handlers(self) -> int:
        """End the handlers under way: their runner has ended, and they do not return. Their signals are pending.
        Return how many there were."""
        threads, self._threads = self._threads, {}
        self._end_watch()
        for thread in threads.values():
            LOG.warning('The handler of a signal in stack %s did not return and is given up', self._leased.id)
            thread.kill()
        return len(threads)

    def _spawn(self, work: SignalWork) -> None:
        self._start(work, partial(self._work, work))

    def _is_parallel(self, name: str) -> bool:
        row = self._leased.row_of_signal(name)
        kind = None if row is None else self._runner.executor.objects.known_kind(row)
        return kind is not None and bool(kind.parallel_signals)

    def _work(self, work: SignalWork) -> None:
        try:
            while work.signals and not self._phase.begins_nothing:
                signal = work.signals[0]
                self._bind(signal)
                self._until_available(partial(self._runner.fenced, partial(self._traced, work, signal)))
                if work.was_killed:                 # and goes on, though its thread was ended
                    return
                self._note_handled(work)
        finally:
            if work.name is not None and self._waiting.get(work.name) is work:
                del self._waiting[work.name]

    def _bind(self, signal: Signal) -> None:
        request = signal.request if isinstance(signal.request, Mapping) else None
        bind(request_ids.of_signal(self._leased.context, request),
             self._leased.subject(signal.resource_name), self._leased.masked)

    def _note_handled(self, work: SignalWork) -> None:
        self._known.discard(work.signals.popleft().id)

    # --- threads ------------------------------------------------------------------------------------------

    def _start(self, work: SignalWork, perform: Callable[[], None]) -> None:
        """Perform work in a thread of its own. The runner does not release the lease before it has ended."""
        self._threads[work] = self._runtime.spawn(self._run, work, perform)

    def _run(self, work: SignalWork, perform: Callable[[], None]) -> None:
        self._runtime.serve(self._leased.id)
        try:
            perform()
        except StopsDriving:
            self._phase.stop()
        except exception.DatabaseUnavailable:       # the runner was stopped meanwhile
            LOG.debug('Signals of stack %s wait for its next owner', self._leased.id)
        except Exception as error:
            # A defect of the engine, since errors of types end their signals. The next owner of the stack tries again.
            LOG.exception('The signals of stack %s could not be handled', self._leased.id)
            self._phase.stop(error)
        finally:
            if self._threads.pop(work, None) is not None:       # else it was killed
                self._end_watch()
                self._runner.finish_if_idle()

    def _until_available(self, work: Callable[[], None]) -> None:
        """Call `work`, and again for as long as the database is away. Raises DatabaseUnavailable if the runner was
        stopped meanwhile."""
        until_available(work, self._runtime.sleep, lambda: self._phase.is_stopped)

    # --- one signal ---------------------------------------------------------------------------------------

    def _traced(self, work: SignalWork, signal: Signal) -> None:
        tracer = tracing.tracer
        if tracer is None:
            self._handle(work, signal)
            return
        with tracer.span('SIGNAL', SpanKind.INTERNAL, tracing.current()) as span:
            span.note(heatlite__stack__id=self._leased.id, heatlite__resource__name=signal.resource_name,
                      heatlite__resource__path=f'{self._leased.row.name}/{signal.resource_name}')
            with tracing.within(span.context, self._leased.definition.mask.text):
                self._handle(work, signal)

    def _handle(self, work: SignalWork, signal: Signal) -> None:
        hook = hook_of(signal.details)
        row = self._leased.row_of_signal(signal.resource_name)
        if row is None or hook is not None:
            if row is not None and hook is not None:
                self._runner.breakpoints.clear(row, hook)
            self._journal.write(self._leased.make_change(signals=(signal.id,)))
            return
        writer = SignalWriter(self._leased, self._runtime)
        self._leased.note_signal()
        with self._limited(work, signal):
            others, error = self._tell(row, signal, writer)
        if work.was_killed:
            return
        self._end(signal, self._leased.make_change(
            row=writer.take(row.id), columns=writer.columns, data=tuple(writer.data_noted),
            events=tuple(writer.events), signals=(signal.id,), signal_error=error))
        if writer.events:
            self._history.limit_after(self._leased.id)
        self._runner.executor.stored_resources.forget(row.id)
        self._runner.poll_now(row.name)
        if others:                                  # waits by itself: the signal is handled, and must not be once more
            self._until_available(partial(self._refresh_around, work, {row.name: row}, LOOKED_AT))

    def _tell(self, row: ResourceState, signal: Signal, writer: SignalWriter) -> tuple[bool, SignalError | None]:
        """Call the handler; a refusal becomes an event. Returns whether related resources need a refresh, and the
        error, stored for the request that waits for the outcome in any process.

        Each error is an outcome, also that the type is no longer registered, or makes no object of the row, or that the
        details cannot be read."""
        try:
            if isinstance(signal.details, Unreadable):
                raise exception.Error(_('The details of the signal cannot be read. %s') % signal.details.reason)
            resource = self._runner.executor.objects.stored(row, writer)
            resource.signal_mark, resource.signalled_at = signal.mark, signal.created_at
            try:
                return bool(resource.signal(signal.details)), None
            except REFUSALS as error:
                self._show(resource, writer, error)
                raise
        except NoActionRequired:
            return False, None
        except exception.DatabaseUnavailable:       # an outage of the engine: the signal is handled later
            raise
        except Exception as error:
            defects.log(LOG, error, 'A signal to %s in stack %s was not accepted', row.name, self._leased.id)
            return False, SignalError(signal.mark, _in_words(error), self._runtime.now())

    def _show(self, resource: Resource, writer: SignalWriter, error: Exception) -> None:
        """Add the event of a signal that was refused: users see no answer to alarms."""
        if writer.has(resource):
            why = self._leased.definition.mask.text(str(error))
            writer.event(resource, 'SIGNAL', resource.status, text.signal_refused(why))

    def _end(self, signal: Signal, change: Change) -> None:
        """Store the outcome of a signal. Raises NotStored if the database refuses it. As it would do so again, the
        signal ends with an error then; but it stays if the database had no space, and another owner handles it."""
        try:
            self._journal.write(change)
        except NotStored as error:
            if isinstance(error.cause, TakesNoWrites):
                raise
            refused = exception.Error(_('What %s has written for the signal cannot be stored.') % signal.resource_name)
            self._journal.write(self._leased.make_change(signals=(signal.id,), signal_error=SignalError(
                signal.mark, _in_words(refused), self._runtime.now())))
            raise

    # --- calls that hang ----------------------------------------------------------------------------------

    @contextmanager
    def _limited(self, work: SignalWork, signal: Signal | None) -> Iterator[None]:
        """Bound the time of the code of types in the block. `signal`: the one whose handler it calls, or None."""
        work.called_at, work.handling = self._runtime.monotonic(), signal
        self._watch()
        try:
            yield
        finally:
            work.called_at = work.handling = None

    @property
    def _seconds(self) -> int:
        return action_seconds(self._leased.row.timeout_mins, self._limit)

    def _watch(self) -> None:
        """Look for calls that hang when the first one may do so. One timer, however many signals there are."""
        called = [work.called_at for work in self._threads if work.called_at is not None]
        if self._watch_timer is None and called:
            self._watch_timer = self._timers.after(
                max(min(called) + self._seconds - self._runtime.monotonic(), LEAST_PAUSE), self.end_hanging)

    def _end_watch(self) -> None:
        """Do not look again, if no thread is left."""
        if self._watch_timer is not None and not self._threads:
            self._watch_timer.cancel()
            self._watch_timer = None

    def end_hanging(self) -> None:
        """End the threads whose code of types has not returned in time."""
        self._watch_timer = None
        late = self._runtime.monotonic() - self._seconds
        for work, thread in list(self._threads.items()):
            if work.called_at is not None and work.called_at <= late:
                self._replace(work, thread)
        self._watch()

    def _replace(self, work: SignalWork, thread: Thread) -> None:
        """End a thread that hangs, and let another go on with its signals."""
        what = 'The refresh after a signal' if work.handling is None else (
            f'The handler of a signal to {work.handling.resource_name}')
        with self._leased.bound():
            LOG.warning('%s in stack %s did not return for %d s and is given up', what, self._leased.id, self._seconds)
        work.was_killed = True
        following, work.signals = SignalWork(work.signals, work.name), deque()
        if work.name is not None and self._waiting.get(work.name) is work:
            self._waiting[work.name] = following
        del self._threads[work]
        self._start(following, partial(self._go_on, following, work.handling))
        thread.kill()

    def _go_on(self, work: SignalWork, hanging: Signal | None) -> None:
        """Perform the work of a thread that was ended. `hanging`: the signal whose handler did not return, which ends
        with an error; None: there is none, or it was handled."""
        if hanging is not None:
            self._bind(hanging)
            self._until_available(partial(self._runner.fenced, partial(self._fail, hanging)))
        if work.signals:
            self._note_handled(work)
        self._work(work)

    def _fail(self, signal: Signal) -> None:
        error = exception.Error(_('The handler of the signal did not return within %d seconds.') % self._seconds)
        writer, row = SignalWriter(self._leased, self._runtime), self._leased.row_of_signal(signal.resource_name)
        if row is not None:
            attempt(self._leased.id,
                    lambda: self._show(self._runner.executor.objects.stored(row, writer), writer, error),
                    'No event says that the signal to %s in stack %s has failed', row.name)
        self._journal.write(self._leased.make_change(
            events=tuple(writer.events), signals=(signal.id,),
            signal_error=SignalError(signal.mark, _in_words(error), self._runtime.now())))

    # --- refreshing related resources ---------------------------------------------------------------------

    def take_over(self) -> None:
        """After failover: refresh the neighbours of resources that take signals, as the previous owner may have died
        between the commit of a handler and the refresh."""
        signalled = self._refresh.followed()
        if signalled:
            work = SignalWork()
            self._start(work, partial(self._make_up_for, work, signalled))

    def _make_up_for(self, work: SignalWork, signalled: Mapping[str, ResourceState]) -> None:
        self._leased.bind()
        self._until_available(partial(self._runner.fenced, partial(self._refresh_around, work, signalled)))

    def _refresh_around(self, work: SignalWork, signalled: Mapping[str, ResourceState],
                        most: int | None = None) -> None:
        with self._limited(work, None):
            self._refresh.around(signalled, most)


def _in_words(error: Exception) -> exception.WireError:
    """Return an error as it is stored; its name alone if its text cannot be made, as of some libraries."""
    try:
        return errors.to_wire(error)
    except Exception:
        return errors.to_wire(exception.Error(type(error).__name__))
