"""Brings a stack from its stored states to a definition: a state machine that takes events and returns commands.

Uses no clock, thread, database or cloud: times come with the events, numbers and ids are handed in. So a test can
print it, replay it from a seed and interrupt it at every point. `planning.commands` defines the commands and
events, `planning.steps` the steps and their order; what becomes of a step is decided in `planning.step_starts`,
`step_actions`, `step_results` and `step_failures`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from datetime import datetime
from types import MappingProxyType

from heatlite.planning import step_actions, step_failures, step_results, step_starts, steps, text
from heatlite.planning.commands import (
    Abort,
    Away,
    CheckReturned,
    Cleared,
    Command,
    Event,
    Failed,
    HandlerReturned,
    Inspected,
    Persisted,
    Poll,
    Preempted,
    Recovered,
    ReleaseHook,
    ReplacedSince,
    StartTimer,
    TimedOut,
    TimerFired,
)
from heatlite.planning.plan import Permissions
from heatlite.planning.protection import Denial
from heatlite.planning.rows import NO_NAMES, Rows
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Desired, Step, StepKind
from heatlite.planning.target import Target
from heatlite.planning.traversal_state import TraversalState

ANSWERS = (HandlerReturned, CheckReturned, Away, Failed, ReplacedSince)     # to the first call of a step


class Traversal:
    """The state machine of one stack. One thread changes it, the runner's, but for `record` and `fill`; others may ask
    meanwhile what has ended, and which rows there are."""

    def __init__(self, target: Target, rows: Iterable[ResourceState], *, next_row: int, random: Callable[[], float],
                 retry_limit: int, held: Mapping[int, str] | None = None, is_restored: bool = False,
                 is_partial: bool = False) -> None:
        """`is_restored`: the rows come from a backup, so that resources may have objects which their rows do not know;
        `held`: row number -> breakpoint at which the row was held when the previous owner was interrupted;
        `is_partial`: `rows` are all rows of some resources only. What asks for others raises NotRead until `fill` was
        called with them.
        """
        self._rows = Rows(rows, next_row, is_partial)
        self._state = TraversalState(target, self._rows, held or {}, random, retry_limit, is_restored)
        self.unvisited: Set[str] = frozenset()

    # --- what may be asked ------------------------------------------------------------------------------

    @property
    def desired(self) -> Mapping[str, Desired]:
        """The wanted definition of each resource, by name."""
        return self._state.target.desired

    @property
    def template_id(self) -> str:
        """The template of the wanted definition."""
        return self._state.target.template_id

    @property
    def permissions(self) -> Permissions:
        """The actions that the applied plan and the protections allow."""
        return self._state.target.permissions

    @property
    def rows(self) -> Mapping[int, ResourceState]:
        """All rows, by number, read-only. Raises NotRead."""
        return MappingProxyType(self._rows.by_number)

    @property
    def is_partial(self) -> bool:
        """Whether some rows are not in memory."""
        return self._rows.is_partial

    @property
    def rows_in_memory(self) -> int:
        """The number of rows in memory."""
        return len(self._rows.in_memory)

    def row(self, number: int) -> ResourceState | None:
        """Return the row of that number, or None. Raises NotRead."""
        return self._rows.get(number)

    def current(self, name: str) -> ResourceState | None:
        """Return the current row of that resource, or None. Raises NotRead."""
        return self._rows.current(name)

    def row_of_signal(self, name: str) -> ResourceState | None:
        """Return the row that a signal to that resource is for, also one that is being deleted. Raises NotRead."""
        return self._rows.of_signal(name)

    def requirements(self, name: str) -> Mapping[str, int]:
        """Return the current requirements of that resource: {name: row number}. Raises NotRead."""
        return self._state.requirements(name)

    def busy_rows(self) -> list[ResourceState]:
        """Return the rows that a step works on."""
        return [self._rows.row(number) for number in self._state.steps.busy]

    def is_busy(self, step: Step) -> bool:
        """Whether `step` still works on its row."""
        return self._state.steps.is_busy(step)

    @property
    def is_stopped(self) -> bool:
        """Whether nothing further begins: the action has failed, was cancelled or has timed out."""
        return self._state.ending.is_stopped

    @property
    def has_applied(self) -> bool:
        """Whether all resources are as the target wants them. Former rows may be left."""
        return self._state.schedule.has_applied

    @property
    def is_interrupted(self) -> bool:
        """Whether the previous owner was interrupted in steps, as long as they were not begun here. Raises NotRead."""
        return (self._state.breakpoints.was_holding
                or any(row.in_progress for row in self._rows.by_number.values()))

    def has_ended(self, step: Step) -> bool:
        """Whether `step` has ended, or was dropped with its target."""
        return self._state.steps.has_ended(step)

    def may_replace(self, name: str) -> bool:
        """Whether neither the applied plan nor a protection refuses to replace that resource. All threads may ask."""
        target = self._state.target
        return not (target.permissions.guard.refusal(name, Denial.REPLACE)
                    or target.permissions.refusal(name, Action.CREATE, target.desired))

    # --- rows that others read or change ----------------------------------------------------------------

    def fill(self, stored: Collection[ResourceState], unread: Set[str] = NO_NAMES, next_row: int = 0) -> set[int]:
        """As `Rows.fill`. All threads may call it, at the same time, too. `unread` are known to be as the target wants
        them, and nothing that is visited requires one of them."""
        return self._rows.fill(stored, unread, next_row)

    def choose_current(self) -> None:
        """Choose the current row of each name anew, once the action has failed and nothing further begins. The former
        row of a replacement that has failed is current then, as for clients."""
        self._state.choose_current()

    def record(self, row: ResourceState) -> None:
        """Take over a row that was changed outside the traversal: a type stored a physical id, a signal was handled.

        Threads of the pool call it, each for the row of a step that the traversal does not touch meanwhile.
        """
        self._rows.set(row)

    # --- targets ----------------------------------------------------------------------------------------

    def start(self, now: datetime, unvisited: Set[str] = frozenset()) -> list[Command]:
        """Begin the steps. `unvisited`: resources that are as the target wants them (`planning.unvisited`); none of
        the others may be `unread`."""
        state = self._state
        rows = self._rows.in_memory if unvisited else self._rows.by_number
        self.unvisited = unvisited
        state.schedule.fill(steps.build(
            state.target.action, state.target.desired, rows, self._rows.current_numbers, state.schedule.target_number,
            unvisited, is_restored=state.is_restored))
        return self._advance(now)

    def retarget(self, target: Target, now: datetime, *, abort: str | None = None,
                 unvisited: Set[str] = frozenset()) -> list[Command]:
        """Switch to the target of a newer request. Work in flight goes on, and its resource is decided on when it ends.

        `abort`: end work in flight when its current call returns, with this reason (used for deletes); `unvisited`: as
        of `start`. Needs all rows.
        """
        rows, under_way = self._rows.by_number, self._state.steps
        commands = self._release_hooks()
        self._state.use(target)
        if abort is not None:
            commands += [Abort(step, rows[number], abort) for number, step in under_way.busy.items()
                         if under_way.of(step).action is not Action.DELETE]
        return commands + self.start(now, unvisited)

    def stop(self) -> list[Command]:
        """Start no further step; work in flight ends by itself. The caller reports the stack's state."""
        self._state.ending.stop()
        return self._release_hooks() + self._end()

    def cut_short(self, is_cut_short: Callable[[ResourceState], bool]) -> list[Command]:
        """After `stop` or `conclude`, for an action that was cancelled: end the work in flight on the rows for which
        `is_cut_short(row)` is true. The types are asked to, as for a newer update."""
        commands: list[Command] = []
        under_way = self._state.steps
        for number, step in list(under_way.busy.items()):
            if step_starts.is_preemptible(under_way.of(step)) and is_cut_short(self._rows.row(number)):
                commands += step_starts.preempt(self._state, step, text.USER_CANCEL)
        return commands

    def conclude(self) -> list[Command]:
        """Start the traversal of an action whose end is stored already. Continues the steps that were interrupted,
        starts no other, and releases breakpoints. Returns the first commands. Needs all rows."""
        state, rows = self._state, self._rows.by_number
        target_number = state.schedule.target_number
        state.ending.stop()
        commands: list[Command] = []
        for number, hook in state.breakpoints.take_before().items():
            row = rows[number]
            step = Step(target_number, StepKind.CONCLUDE, row.name, number)
            commands.append(ReleaseHook(step, row, hook, text.WAITING_FAILED))
        for row in list(rows.values()):
            if row.in_progress:
                commands += step_starts.conclude(state, row, target_number)
        return commands + self._end()

    # --- events -----------------------------------------------------------------------------------------

    def note_waiting(self, step: Step, now: datetime) -> list[Command]:
        """Note that the call of a step has to wait, perhaps long: it is not counted among those that are about to be
        answered, so that others begin."""
        self._state.steps.unanswered.discard(step)
        return self._advance(now)

    def handle(self, event: Event, now: datetime) -> list[Command]:
        """Take over what has happened, and return the commands that follow from it."""
        if not self._is_awaited(event):
            return self._advance(now)
        state = self._state
        if isinstance(event, ANSWERS):
            state.steps.unanswered.discard(event.step)
        match event:
            case Persisted(step):                     # IN_PROGRESS is on disk: now the cloud may be called
                commands: list[Command] = [step_actions.call(state, step)]
            case HandlerReturned(step, handle, done, unsupported, fingerprint):
                progress = state.steps.of(step)
                progress.handle, progress.away, progress.unsupported = handle, '', unsupported
                preempted = '' if done else progress.preempted      # before there was anything to end
                commands = (step_results.completed(state, step, fingerprint, now) if done else
                            step_results.called(state, step))
                if preempted:
                    commands += step_starts.preempt(state, step, preempted)
            case CheckReturned(step, True, _, fingerprint):
                commands = step_results.completed(state, step, fingerprint, now)
            case Away(step, reason, seconds):
                progress = state.steps.of(step)
                progress.away = progress.away or reason     # of the call, not of the search before it is made again
                commands = [StartTimer(step, self._rows.row(progress.row_id), seconds)]
            case CheckReturned(step, False, poll_intervals):
                progress = state.steps.of(step)
                row = self._rows.row(progress.row_id)
                commands = [Poll(step, row, progress.action, progress.handle, poll_intervals)]
            case Inspected(step, verdict, fingerprint):
                commands = step_results.decided(state, step, verdict, fingerprint, now)
            case Recovered(step, outcome, physical_id):
                commands = step_results.recovered(state, step, outcome, physical_id, now)
            case Failed():
                commands = step_failures.failed(state, event, now)
            case ReplacedSince(step):
                commands = step_results.replaced_since(state, step, now)
            case TimerFired(step):
                commands = step_failures.try_again(state, step, now)
            case Preempted(step, ends):
                progress = state.steps.of(step)
                commands = [Abort(step, self._rows.row(progress.row_id), progress.preempted)] if ends else []
            case Cleared(step):
                commands = self._passed(step, now)
            case TimedOut(why):
                commands = self._timed_out(why)
        return commands + self._advance(now)

    def _is_awaited(self, event: Event) -> bool:
        """Whether the step of `event` still works on its row; it may have ended, or been dropped by a retarget."""
        match event:
            case Inspected() | Cleared() | TimedOut():
                return True                         # their handlers check it
            case Failed(step) if step in self._state.steps.inspecting:
                return True
        return self._state.steps.is_busy(event.step)

    def _passed(self, step: Step, now: datetime) -> list[Command]:
        """Go on with a step whose breakpoint was cleared."""
        state = self._state
        if state.breakpoints.take(step) is None:
            return []                               # the hook was released by a retarget or a stop
        progress = state.steps.of(step)
        progress.cleared |= {progress.hook}
        if progress.hook == 'post-delete':
            return step_results.removed(state, step, self._rows.row(progress.row_id))
        if progress.hook.startswith('post-'):
            return step_results.applied(state, step)
        return step_starts.start(state, step, now)

    def _release_hooks(self) -> list[Command]:
        """Release all breakpoints: the request that they belong to is over."""
        state = self._state
        commands: list[Command] = []
        for step, row in state.breakpoints.take_all().items():
            progress = state.steps.of(step)
            commands.append(ReleaseHook(step, row, progress.hook, text.WAITING_FAILED))
            if progress.hook == 'post-delete':
                commands.append(step_results.remove(state, step, self._rows.row(progress.row_id)))
            state.schedule.end(step)
        return commands

    def _advance(self, now: datetime) -> list[Command]:
        """Start steps that have become ready, as many as the schedule has room for. A loop, as a chain may be longer
        than the recursion limit."""
        commands: list[Command] = []
        state, schedule = self._state, self._state.schedule
        while schedule.ready and (state.ending.is_stopped or schedule.has_room()):
            commands += step_starts.start(state, schedule.ready.popleft(), now)
        return commands + self._end()

    # --- the end ----------------------------------------------------------------------------------------

    def _timed_out(self, why: Mapping[int, str]) -> list[Command]:
        commands = self._release_hooks()
        commands += [Abort(step, self._rows.row(number), why.get(number, text.TIMED_OUT))
                     for number, step in self._state.steps.busy.items()]
        return commands + self._state.ending.time_out()

    def _end(self) -> list[Command]:
        state = self._state
        if state.ending.is_over or state.steps.busy or state.steps.inspecting or state.breakpoints:
            return []
        return state.ending.reached(state.schedule.is_finished)
