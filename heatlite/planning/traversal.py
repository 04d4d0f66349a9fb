"""Brings a stack from its stored states to a definition: a state machine that takes events and returns commands.

Uses no clock, thread, database or cloud: times come with the events, numbers and ids are handed in. So a test can
print it, replay it from a seed and interrupt it at every point. `planning.commands` defines the commands and
events, `planning.steps` the steps and their order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from heatlite.planning import decide, retry, row_changes, steps, text
from heatlite.planning.breakpoints import Breakpoints
from heatlite.planning.commands import (
    Abort,
    Away,
    CallHandler,
    CheckReturned,
    Cleared,
    Command,
    Event,
    Failed,
    HandlerReturned,
    Inspect,
    Inspected,
    Note,
    Outcome,
    Persist,
    Persisted,
    Poll,
    Preempt,
    Preempted,
    Recover,
    Recovered,
    ReleaseHook,
    Remove,
    ReplacedSince,
    StartTimer,
    TimedOut,
    TimerFired,
)
from heatlite.planning.ending import Ending
from heatlite.planning.protection import Denial
from heatlite.planning.rows import NO_NAMES, Rows
from heatlite.planning.schedule import Schedule
from heatlite.planning.states import APPLYING, MAKING, NO_HANDLE, Action, ResourceState, Status
from heatlite.planning.steps import Step, StepKind
from heatlite.planning.steps_under_way import StepState, StepsUnderWay
from heatlite.planning.target import Target
from heatlite.planning.tolerance import Tolerance

UNCHECKED = frozenset({(Action.ADOPT, Status.COMPLETE), (Action.CHECK, Status.IN_PROGRESS)})    # of external objects
PREEMPTED = frozenset({Action.CREATE, Action.UPDATE})                    # a newer definition may end these early
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
        self.retry_limit = retry_limit
        self._random = random
        self._is_restored = is_restored
        self._steps = StepsUnderWay()
        self._schedule = Schedule(self._steps)
        self._breakpoints = Breakpoints(held or {}, self._steps)
        self.unvisited: Set[str] = frozenset()
        self._set_target(target)

    # --- what may be asked ------------------------------------------------------------------------------

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
        return self._rows.requirements(self.desired[name])

    def busy_rows(self) -> list[ResourceState]:
        """Return the rows that a step works on."""
        return [self._rows.row(number) for number in self._steps.busy]

    def is_busy(self, step: Step) -> bool:
        """Whether `step` still works on its row."""
        return self._steps.is_busy(step)

    @property
    def is_stopped(self) -> bool:
        """Whether nothing further begins: the action has failed, was cancelled or has timed out."""
        return self._ending.is_stopped

    @property
    def has_applied(self) -> bool:
        """Whether all resources are as the target wants them. Former rows may be left."""
        return self._schedule.has_applied

    @property
    def is_interrupted(self) -> bool:
        """Whether the previous owner was interrupted in steps, as long as they were not begun here. Raises NotRead."""
        return self._breakpoints.was_holding or any(row.in_progress for row in self._rows.by_number.values())

    def has_ended(self, step: Step) -> bool:
        """Whether `step` has ended, or was dropped with its target."""
        return self._steps.has_ended(step)

    def may_replace(self, name: str) -> bool:
        """Whether neither the applied plan nor a protection refuses to replace that resource. All threads may ask."""
        return not (self.permissions.guard.refusal(name, Denial.REPLACE)
                    or self.permissions.refusal(name, Action.CREATE, self.desired))

    def fill(self, stored: Collection[ResourceState], unread: Set[str] = NO_NAMES, next_row: int = 0) -> set[int]:
        """As `Rows.fill`. All threads may call it, at the same time, too. `unread` are known to be as the target wants
        them, and nothing that is visited requires one of them."""
        return self._rows.fill(stored, unread, next_row)

    def choose_current(self) -> None:
        """Choose the current row of each name: for a target, and once its action has failed, when nothing further
        begins. The former row of a replacement that has failed is current then, as for clients."""
        self._rows.choose_current(self.template_id, self._avoided)

    def record(self, row: ResourceState) -> None:
        """Take over a row that was changed outside the traversal: a type stored a physical id, a signal was handled.

        Threads of the pool call it, each for the row of a step that the traversal does not touch meanwhile.
        """
        self._rows.set(row)

    # --- targets ----------------------------------------------------------------------------------------

    def _set_target(self, target: Target) -> None:
        self.permissions = target.permissions
        self.action = target.action
        self.desired = target.desired
        self.template_id = target.template_id
        self._uuid = target.uuid
        self._breakpoints.use(target.hooks, target.action)
        self._ending = Ending(target.action, target.rollback)
        self._avoided = target.avoid_template_id
        self.choose_current()
        self._tolerance = Tolerance(target.tolerance, target.template_id)
        if target.tolerance:
            self._recall_failures()
        self._schedule.clear()

    def _recall_failures(self) -> None:
        """Count what had failed when the previous owner was interrupted. It is current as before the interruption: the
        former row of a replacement that has failed ranks higher, and would be replaced again."""
        for row in self._rows.by_number.values():
            if row.replaced_by is None and self._tolerance.recall(row):
                self._rows.current_numbers[row.name] = row.id

    def _state(self, step: Step) -> StepState:
        """Return the state of the step, which begins now if there is none."""
        return self._steps.of(step)

    def _row(self, step: Step) -> ResourceState:
        """Return the row that the step works on."""
        return self._rows.row(self._steps.of(step).row_id)

    def start(self, now: datetime, unvisited: Set[str] = frozenset()) -> list[Command]:
        """Begin the steps. `unvisited`: resources that are as the target wants them (`planning.unvisited`); none of
        the others may be `unread`."""
        rows = self._rows.in_memory if unvisited else self._rows.by_number
        self.unvisited = unvisited
        self._schedule.fill(steps.build(
            self.action, self.desired, rows, self._rows.current_numbers, self._schedule.target_number, unvisited,
            is_restored=self._is_restored))
        return self._advance(now)

    def retarget(self, target: Target, now: datetime, *, abort: str | None = None,
                 unvisited: Set[str] = frozenset()) -> list[Command]:
        """Switch to the target of a newer request. Work in flight goes on, and its resource is decided on when it ends.

        `abort`: end work in flight when its current call returns, with this reason (used for deletes); `unvisited`: as
        of `start`. Needs all rows.
        """
        rows = self._rows.by_number
        commands = self._release_hooks()
        self._set_target(target)
        if abort is not None:
            commands += [Abort(step, rows[number], abort) for number, step in self._steps.busy.items()
                         if self._state(step).action is not Action.DELETE]
        return commands + self.start(now, unvisited)

    def stop(self) -> list[Command]:
        """Start no further step; work in flight ends by itself. The caller reports the stack's state."""
        self._ending.stop()
        return self._release_hooks() + self._end()

    def cut_short(self, is_cut_short: Callable[[ResourceState], bool]) -> list[Command]:
        """After `stop` or `conclude`, for an action that was cancelled: end the work in flight on the rows for which
        `is_cut_short(row)` is true. The types are asked to, as for a newer update."""
        commands: list[Command] = []
        for number, step in list(self._steps.busy.items()):
            if self._is_preemptible(self._state(step)) and is_cut_short(self._rows.row(number)):
                commands += self._preempt(step, text.USER_CANCEL)
        return commands

    def conclude(self) -> list[Command]:
        """Start the traversal of an action whose end is stored already. Continues the steps that were interrupted,
        starts no other, and releases breakpoints. Returns the first commands. Needs all rows."""
        rows = self._rows.by_number
        self._ending.stop()
        commands: list[Command] = []
        for number, hook in self._breakpoints.take_before().items():
            row = rows[number]
            step = Step(self._schedule.target_number, StepKind.CONCLUDE, row.name, number)
            commands.append(ReleaseHook(step, row, hook, text.WAITING_FAILED))
        for row in list(rows.values()):
            if row.in_progress:
                commands += self._conclude(row, self._schedule.target_number)
        return commands + self._end()

    def _conclude(self, row: ResourceState, target: int) -> list[Command]:
        """Go on with the step of `target` that works on a row in progress, as it would have ended without the
        interruption. An update of which it is not known how far it has come counts as failed: the next one compares the
        resource anew."""
        action = row.action
        if action in MAKING:
            return self._resume(Step(target, StepKind.CONCLUDE, row.name, row.id), row)
        if action is Action.UPDATE:
            if row.name in self.desired and row.template_id == self.template_id and row.handle is not NO_HANDLE:
                return self._resume(Step(target, StepKind.APPLY, row.name), row)
            failed = self._rows.set(row_changes.failed(row, text.INTERRUPTED % action))
            return [Persist(Step(target, StepKind.CONCLUDE, row.name, row.id), failed)]
        step = (Step(target, StepKind.DELETE, row.name, row.id) if action is Action.DELETE else
                Step(target, StepKind.ACTION, row.name, row.id, action))
        if row.handle is not NO_HANDLE:
            return self._resume(step, row)
        self._steps.occupy(step, row.id).action = action
        return [self._call(step)]

    # --- events -----------------------------------------------------------------------------------------

    def note_waiting(self, step: Step, now: datetime) -> list[Command]:
        """Note that the call of a step has to wait, perhaps long: it is not counted among those that are about to be
        answered, so that others begin."""
        self._steps.unanswered.discard(step)
        return self._advance(now)

    def handle(self, event: Event, now: datetime) -> list[Command]:
        if not self._is_awaited(event):
            return self._advance(now)
        if isinstance(event, ANSWERS):
            self._steps.unanswered.discard(event.step)
        match event:
            case Persisted(step):                     # IN_PROGRESS is on disk: now the cloud may be called
                commands: list[Command] = [self._call(step)]
            case HandlerReturned(step, handle, done, unsupported, fingerprint):
                state = self._state(step)
                state.handle, state.away, state.unsupported = handle, '', unsupported
                preempted = '' if done else state.preempted    # before there was anything to end
                commands = self._complete(step, fingerprint, now) if done else self._remember(step)
                if preempted:
                    commands += self._preempt(step, preempted)
            case CheckReturned(step, True, _, fingerprint):
                commands = self._complete(step, fingerprint, now)
            case Away(step, reason, seconds):
                state = self._state(step)
                state.away = state.away or reason     # of the call, not of the search before it is made again
                commands = [StartTimer(step, self._row(step), seconds)]
            case CheckReturned(step, False, poll_intervals):
                state = self._state(step)
                commands = [Poll(step, self._row(step), state.action, state.handle, poll_intervals)]
            case Inspected(step, verdict, fingerprint):
                commands = self._decided(step, verdict, fingerprint, now)
            case Recovered(step, outcome, physical_id):
                commands = self._recovered(step, outcome, physical_id, now)
            case Failed():
                commands = self._failed(event, now)
            case ReplacedSince(step):
                commands = self._replaced_since(step, now)
            case TimerFired(step):
                commands = self._retry(step, now)
            case Preempted(step, ends):
                commands = [Abort(step, self._row(step), self._state(step).preempted)] if ends else []
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
            case Failed(step) if step in self._steps.inspecting:
                return True
        return self.is_busy(event.step)

    # --- starting a step --------------------------------------------------------------------------------

    def _start(self, step: Step, now: datetime) -> list[Command]:
        if self._ending.is_stopped:
            return []
        match step.kind:
            case StepKind.APPLY | StepKind.CONCLUDE:
                return self._start_apply(step, now)
            case StepKind.DELETE:
                return self._start_delete(step, now)
            case StepKind.ACTION:
                return self._start_action(step, now)

    def _start_apply(self, step: Step, now: datetime) -> list[Command]:
        row = self.current(step.name)
        if row is None:
            return self._create_new(step, None, now)
        self._state(step).row_id = row.id
        if row.id in self._steps.busy:
            return self._block(step, row.id)
        if self._tolerance.has_failed(row):
            return self._passed_over(step, row, row.action, row.reason)
        is_making = row.in_progress and row.action in MAKING
        if is_making and row.template_id == self.template_id:
            return self._resume(step, row)
        if self.desired[step.name].external and row.state in UNCHECKED and row.template_id == self.template_id:
            return self._begin(step, row, Action.CHECK, now)
        hook = self._breakpoints.before(step, row)
        if hook:
            return [self._breakpoints.hold(step, row, hook)]
        if row.action is Action.INIT:
            return self._begin(step, row, self._first_action(step, None), now)
        hook = self._breakpoints.held_before(row)
        if row.status is Status.COMPLETE and hook == f'post-{row.action.lower()}' and self._breakpoints.holds(
                step, row.action, hook):
            self._steps.occupy(step, row.id)                 # the action completed; its breakpoint is not cleared yet
            return [self._breakpoints.hold(step, row, hook)]
        if is_making:
            # Interrupted under another definition: complete it with the stored one, then decide.
            concluding = Step(self._schedule.target_number, StepKind.CONCLUDE, step.name, row.id)
            return self._resume(concluding, row) + self._block(step, row.id)
        if row.in_progress and row.action is Action.UPDATE:
            if row.template_id == self.template_id and row.handle is not NO_HANDLE:
                return self._resume(step, row)
            if row.template_id != self.template_id:
                # Interrupted under another definition: its progress is unknown, so it counts as failed.
                return self._count_as_failed(step, row, text.INTERRUPTED % row.action)
        return self._inspect(step, row)

    def _start_delete(self, step: Step, now: datetime) -> list[Command]:
        row = self._rows.get(step.row_id)
        if row is None:
            self._schedule.complete(step)
            return []
        if row.id in self._steps.busy:
            return self._block(step, row.id)
        if row.name in self.desired and (self._rows.is_current(row) or self._is_irreplaceable(row)):
            self._schedule.complete(step)         # current rows stay
            return []
        if row.action is Action.INIT and not self._is_restored:
            return self._removed(step, row, event=False)
        hook = self._breakpoints.before(step, row)
        if hook:
            return [self._breakpoints.hold(step, row, hook)]
        if row.action is Action.DELETE and row.in_progress and row.handle is not NO_HANDLE:
            return self._resume(step, row)
        if row.action is Action.CREATE and row.in_progress and row.physical_id is None:
            self._steps.occupy(step, row.id)                 # the cloud may have an object whose id is not stored
            return [Recover(step, row)]
        return self._begin(step, row, Action.DELETE, now)

    def _is_irreplaceable(self, row: ResourceState) -> bool:
        """Whether the replacement of `row` could not be made, within the tolerance. The next update returns to the row,
        or replaces it again."""
        after = None if row.replaced_by is None else self._rows.in_memory.get(row.replaced_by)
        return after is not None and after.action is not Action.UPDATE and self._tolerance.has_failed(after)

    def _start_action(self, step: Step, now: datetime) -> list[Command]:
        row = self._rows.row(step.row_id)
        if row.id in self._steps.busy:
            return self._block(step, row.id)
        action = step.action
        if row.action is Action.INIT:
            self._schedule.complete(step)         # was never created: nothing to act on
            return []
        if row.in_progress and row.action is not action:
            concluding = self._conclude(row, self._schedule.target_number - 1)       # interrupted in a former action
            if row.id in self._steps.busy:
                return concluding + self._block(step, row.id)
            return concluding + self._start_action(step, now)
        invalid = steps.refuses(row, action)
        if invalid is not None:
            return self._refused(step, row, action, f'Error: resources.{row.name}: {invalid}')
        if row.action is action and row.in_progress and row.handle is not NO_HANDLE:
            return self._resume(step, row)
        return self._begin(step, row, action, now)

    def _first_action(self, step: Step, old: ResourceState | None) -> Action:
        """Return the action that a new row begins with. `old`: the row that it takes over from. Imported is only what
        the resource never had: its replacement is an object of its own."""
        wanted = self.desired[step.name]
        is_imported = wanted.imported and (old is None or (old.action is Action.ADOPT and old.physical_id is None))
        adopted = self.action is Action.ADOPT or wanted.external or is_imported
        return Action.ADOPT if adopted else Action.CREATE

    def _inspect(self, step: Step, row: ResourceState) -> list[Command]:
        self._steps.inspecting.add(step)
        return [Inspect(step, row)]

    def _call(self, step: Step) -> CallHandler:
        state = self._state(step)
        row = self._rows.row(state.row_id)
        return CallHandler(step, row, state.action, state.first and not state.attempt, state.recreating)

    def _block(self, step: Step, number: int) -> list[Command]:
        """Make `step` wait for the busy step of that row. A busy step of an older definition is preempted."""
        busy = self._steps.block(step, number)
        is_older = not self._schedule.is_wanted(busy) and self._rows.row(number).template_id != self.template_id
        state = self._state(busy)
        if not is_older or step.kind is StepKind.ACTION or not self._is_preemptible(state):
            return []
        return self._preempt(busy, text.NEWER_UPDATE)

    def _is_preemptible(self, state: StepState) -> bool:
        return not state.preempted and state.action in PREEMPTED and not state.recreating

    def _preempt(self, step: Step, why: str) -> list[Command]:
        self._state(step).preempted = why
        return [Preempt(step, self._row(step))]

    # --- one action on one row --------------------------------------------------------------------------

    def _begin(self, step: Step, row: ResourceState, action: Action, now: datetime, *,
               visits: bool = False) -> list[Command]:
        """`visits`: an update in which nothing of the resource itself changes, only its nested stack is looked at."""
        why = self.permissions.refusal(step.name, action, self.desired, visits=visits)
        if why:
            return self._refused(step, row, action, why)
        is_new = row.action is Action.INIT
        if step.kind is StepKind.APPLY and action in APPLYING:
            row = row_changes.begun(row, action, self.template_id, now, resource_type=self.desired[step.name].type,
                                    requires=self.requirements(step.name))
        else:
            row = row_changes.begun(row, action, self.template_id, now)
        self._rows.set(row)
        state = self._steps.occupy(step, row.id)
        state.action, state.first = action, is_new
        return [Persist(step, row, wait=True)]

    def _create_new(self, step: Step, old: ResourceState | None, now: datetime,
                    begun: ResourceState | None = None) -> list[Command]:
        """`begun`: the row at the begin of the update that has found that `old` is to be replaced, if that is shown."""
        action = self._first_action(step, old)
        why = self.permissions.refusal(step.name, action, self.desired) or (
            self.permissions.guard.refusal_to_grow(step.name) if self.action is Action.UPDATE and old is None else '')
        if why:
            noted = [Persist(step, old, begun=begun)] if old is not None and begun is not None else []
            commands = [*noted, *self._ending.refuse(step.name, action, why)]
            self._schedule.end(step)
            return commands
        number, uuid = (old.id, old.uuid) if old is not None else (None, None)
        row = self._rows.add(step.name, self.desired[step.name].type, self._new_uuid(step.name, uuid),
                             self.template_id, number, now)
        commands = []
        if old is not None:
            self._steps.renew(step)
            replaced = self._rows.set(row_changes.replaced_by(old, row.id))
            commands.append(Persist(step, replaced, event=begun is not None, begun=begun))
        return commands + self._begin(step, row, action, now)

    def _new_uuid(self, name: str, replaces: str | None) -> str:
        attempt, found = 0, self._uuid(name, replaces, 0)
        while self._rows.has_uuid(found):
            attempt += 1
            found = self._uuid(name, replaces, attempt)
        return found

    def _remember(self, step: Step) -> list[Command]:
        """Store the handle before the first wait, so that polling can go on after a crash."""
        state = self._state(step)
        row = self._rows.set(row_changes.called(self._row(step), state.handle))
        return [Persist(step, row, event=False), Poll(step, row, state.action, state.handle, 1)]

    def _complete(self, step: Step, fingerprint: str, now: datetime) -> list[Command]:
        state = self._state(step)
        row, action = self._rows.row(state.row_id), state.action
        self._ending.unsupported = self._ending.unsupported or state.unsupported
        if action is Action.DELETE:
            if state.recreating:
                return self._deleted_for_recreation(step, row, now)
            if not self._ending.is_stopped and self._breakpoints.holds(step, Action.DELETE, 'post-delete'):
                return [self._breakpoints.hold(step, row, 'post-delete')]
            return self._removed(step, row)
        is_wanted, applies = self._schedule.is_wanted(step), action in APPLYING
        row = self._rows.set(row_changes.completed(
            row, unsupported=state.unsupported, fingerprint=fingerprint if applies else '',
            requires=self.requirements(step.name) if applies and is_wanted and not state.resumed else None))
        commands: list[Command] = [Persist(step, row, applied=applies)]
        if action is Action.ADOPT and step.name in self.desired and self.desired[step.name].external:
            return commands + self._begin(step, row, Action.CHECK, now)
        hook = f'post-{action.lower()}'
        if is_wanted and not self._ending.is_stopped and self._breakpoints.holds(step, action, hook):
            return [*commands, self._breakpoints.hold(step, row, hook)]
        return commands + self._applied(step)

    # --- breakpoints of the user -----------------------------------------------------------------------

    def _passed(self, step: Step, now: datetime) -> list[Command]:
        row = self._breakpoints.take(step)
        if row is None:
            return []                               # the hook was released by a retarget or a stop
        state = self._state(step)
        state.cleared |= {state.hook}
        if state.hook == 'post-delete':
            return self._removed(step, self._row(step))
        if state.hook.startswith('post-'):
            return self._applied(step)
        return self._start(step, now)

    def _release_hooks(self) -> list[Command]:
        """Release all breakpoints: the request that they belong to is over."""
        commands: list[Command] = []
        for step, row in self._breakpoints.take_all().items():
            hook = self._state(step).hook
            commands.append(ReleaseHook(step, row, hook, text.WAITING_FAILED))
            if hook == 'post-delete':
                commands.append(self._remove(step, self._row(step)))
            self._schedule.end(step)
        return commands

    # --- the end of a step ------------------------------------------------------------------------------

    def _remove(self, step: Step, row: ResourceState, event: bool = True) -> Remove:
        self._rows.remove(row)
        return Remove(step, row_changes.removed(row), event=event)

    def _applied(self, step: Step) -> list[Command]:
        """End a step whose action has completed. One that was resumed is compared with the wanted definition first, as
        every row that was completed before the interruption: what it requires may have changed since it was begun."""
        if self._state(step).resumed and self._schedule.is_wanted(step) and not self._ending.is_stopped:
            self._steps.renew(step)
            return self._inspect(step, self._row(step))
        self._schedule.complete(step)
        return []

    def _removed(self, step: Step, row: ResourceState, event: bool = True) -> list[Command]:
        """Remove the row, and with it complete the step."""
        removal = self._remove(step, row, event)
        self._schedule.complete(step)
        return [removal]

    def _advance(self, now: datetime) -> list[Command]:
        """Start steps that have become ready, as many as the schedule has room for. A loop, as a chain may be longer
        than the recursion limit."""
        commands: list[Command] = []
        schedule = self._schedule
        while schedule.ready and (self._ending.is_stopped or schedule.has_room()):
            commands += self._start(schedule.ready.popleft(), now)
        return commands + self._end()

    # --- decisions --------------------------------------------------------------------------------------

    def _decided(self, step: Step, verdict: decide.Verdict, fingerprint: str, now: datetime) -> list[Command]:
        if step not in self._steps.inspecting:
            return []                               # inspected for an older target
        self._steps.inspecting.remove(step)
        if self._ending.is_stopped:
            self._schedule.end(step)
            return []
        row = self._row(step)
        match decide.decide(row, verdict):
            case decide.Create():
                return self._create_new(step, row, now)
            case decide.Keep(heal):
                return self._keep(step, row, heal, fingerprint)
            case decide.Update(visits):
                return self._begin(step, row, Action.UPDATE, now, visits=visits)
            case decide.Replace(because, announced):
                why = self.permissions.guard.refusal(row.name, Denial.REPLACE)
                if why:
                    return self._refused(step, row, Action.UPDATE, why)
                return self._replace(step, row, because, announced, now)
            case decide.Refuse(reason, why):
                noted = [] if row.in_progress else [Note(step, row_changes.refused(row, why))]
                return [*noted, *self._refused(step, row, Action.UPDATE, reason)]

    def _keep(self, step: Step, row: ResourceState, heal: bool, fingerprint: str) -> list[Command]:
        """`fingerprint`: of another definition than the stored one that the object is like already; or ''."""
        commands: list[Command] = []
        kept = row_changes.unchanged(row, self.requirements(step.name), heals=heal, fingerprint=fingerprint,
                                     template_id=self.template_id)
        if kept is not row:                         # else it is not written
            commands.append(Persist(step, self._rows.set(kept), event=heal, adopts_definition=bool(fingerprint)))
        self._schedule.complete(step)
        return commands

    def _replace(self, step: Step, row: ResourceState, because: str, announced: bool,
                 now: datetime) -> list[Command]:
        begun = None
        if announced:
            begun, row = row_changes.announced(row, because, now)
            self._rows.set(row)
        return self._create_new(step, row, now, begun)

    # --- after a crash ----------------------------------------------------------------------------------

    def _resume(self, step: Step, row: ResourceState) -> list[Command]:
        """Continue a row found in progress without a step: go on polling, or find out the result of its call."""
        state = self._steps.occupy(step, row.id)
        state.action, state.handle, state.resumed = row.action, row.handle, row.action in MAKING
        if row.handle is not NO_HANDLE:
            return [Poll(step, row, row.action, row.handle, 0)]
        state.is_unknown = state.resumed
        return [Recover(step, row)]

    def _recovered(self, step: Step, outcome: Outcome, physical_id: str | None, now: datetime) -> list[Command]:
        state = self._state(step)
        state.first = False                      # the interrupted call may have stored data
        state.is_unknown = outcome is Outcome.UNKNOWN
        row = self._rows.row(state.row_id)
        if step.kind is StepKind.DELETE:
            row = self._rows.set(row_changes.identified(row, physical_id))
            return self._begin(step, row, Action.DELETE, now)
        match outcome:
            case Outcome.RETRY:                     # the call had no effect, or repeating it is safe
                return [self._call(step)]
            case Outcome.FOUND:
                row = self._rows.set(row_changes.identified(row, physical_id))
                return [Persist(step, row, event=False), Poll(step, row, state.action, None, 0)]
            case Outcome.RECREATE:                  # the object is known but unfinished: delete it, then create anew
                state.recreating = True
                return self._delete_and_recreate(step, row, now)
            case Outcome.UNKNOWN:
                return self._failed(Failed(step, text.INTERRUPTED % row.action), now)

    def _count_as_failed(self, step: Step, row: ResourceState, reason: str) -> list[Command]:
        """Fail a row after an interruption of which nothing is known, and decide what becomes of its resource."""
        row = self._rows.set(row_changes.failed(row, reason))
        self._steps.renew(step)
        return [Persist(step, row), *self._inspect(step, row)]

    def _replaced_since(self, step: Step, now: datetime) -> list[Command]:
        """Replace a row that the former site had replaced after the backup: the new row takes over its object. That of
        the row itself, if it is still there, is looked for when the row is deleted."""
        if not self._schedule.is_wanted(step) or self._ending.is_stopped:
            return self._failed(Failed(step, text.REPLACED_SINCE), now)
        return self._create_new(step, row_changes.failed(self._row(step), text.REPLACED_SINCE), now)

    def _delete_and_recreate(self, step: Step, row: ResourceState, now: datetime) -> list[Command]:
        row = self._rows.set(row_changes.recreating(row, now))
        self._state(step).action = Action.DELETE
        return [Persist(step, row, wait=True)]

    def _deleted_for_recreation(self, step: Step, row: ResourceState, now: datetime) -> list[Command]:
        row = self._rows.set(row_changes.without_object(row))
        state = self._state(step)
        state.recreating = False
        commands: list[Command] = [Persist(step, row)]
        if state.attempt and not self._ending.is_stopped:
            return [*commands, StartTimer(step, row, retry.pause(state.attempt, self._random))]
        return commands + self._retry(step, now)

    def _retry(self, step: Step, now: datetime) -> list[Command]:
        state = self._state(step)
        row = self._rows.row(state.row_id)
        is_wanted = self._schedule.is_wanted(step) and not self._ending.is_stopped
        if state.away and row.action is not Action.DELETE and not is_wanted:
            reason, state.away = state.away, ''
            return self._failed(Failed(step, reason), now)
        if row.in_progress:                         # a deletion, which goes on in any case
            return [self._call(step)]
        if not is_wanted:
            return self._finish_undone(step, row)
        return self._begin(step, row, Action.CREATE, now)

    def _finish_undone(self, step: Step, row: ResourceState) -> list[Command]:
        """End a step whose unfinished object was deleted and that is not retried: restore its first failure."""
        reason = self._state(step).error or text.INTERRUPTED % Action.CREATE
        row = self._rows.set(row_changes.not_recreated(row, reason))
        self._schedule.end(step)
        return [Persist(step, row, event=False)]

    # --- failures ---------------------------------------------------------------------------------------

    def _failed(self, event: Failed, now: datetime) -> list[Command]:
        step = event.step
        state = self._state(step)
        denied = self.permissions.guard.refusal(step.name, Denial.REPLACE) if event.replace else ''
        if step in self._steps.inspecting:
            commands = self._failed_inspection(step, state, denied)
            if commands is not None:
                return commands
        row = self._rows.row(state.row_id)
        goes_on = self._schedule.is_wanted(step) and not self._ending.is_stopped
        if denied and state.action is Action.UPDATE:
            event = replace(event, reason=denied, replace=False)
        reason = f'{event.reason}: {state.away}' if state.away else event.reason
        if event.replace and state.action is Action.UPDATE and goes_on:
            return self._replace_instead(step, row, now)
        if state.is_unknown and goes_on:
            return self._count_as_failed(step, row, reason)
        state.error = state.error or reason
        if not self._may_retry(event, step):
            return self._fail(step, row, reason)
        if state.action is Action.DELETE:
            return self._delete_later(step, row)
        return self._retry_create(step, row, event.reason, now)

    def _failed_inspection(self, step: Step, state: StepState, denied: str) -> list[Command] | None:
        """End a step whose inspection has failed; None: it is an update that has failed. `denied`: why the replacement
        that the inspection wants is not allowed, if so."""
        self._steps.inspecting.remove(step)
        if self._ending.is_stopped:
            self._schedule.end(step)
            return []
        if denied:
            return self._refused(step, self._rows.row(state.row_id), Action.UPDATE, denied)
        self._steps.occupy(step, state.row_id)
        state.action = Action.UPDATE
        return None

    def _replace_instead(self, step: Step, row: ResourceState, now: datetime) -> list[Command]:
        """Replace a resource that its type cannot update."""
        row = self._rows.set(row_changes.not_updatable(row))
        return [Persist(step, row), *self._create_new(step, row, now)]

    def _retry_create(self, step: Step, row: ResourceState, reason: str, now: datetime) -> list[Command]:
        """Delete the object of a create that has failed, and create it anew after a delay."""
        state = self._state(step)
        state.attempt += 1
        state.recreating = True
        failed = self._rows.set(row_changes.failed(row, reason))
        return [Persist(step, failed), *self._delete_and_recreate(step, failed, now)]

    def _fail(self, step: Step, row: ResourceState, reason: str) -> list[Command]:
        """Fail the step, and with it the action unless its tolerance has room."""
        state, is_wanted = self._state(step), self._schedule.is_wanted(step)
        # The resource has the text of its last attempt, and the stack that of the first one.
        action, error = state.action, state.error
        row = self._rows.set(row_changes.failed(row, reason, action))
        commands: list[Command] = [Persist(step, row)]
        if is_wanted and not self._ending.is_stopped and self._tolerance.take(row.name):
            return commands + self._passed_over(step, row, action, error)
        if is_wanted:
            commands += self._ending.fail(row.name, action, error)
        self._schedule.end(step)
        return commands

    def _passed_over(self, step: Step, row: ResourceState, action: Action, why: str) -> list[Command]:
        """End a step that has failed within the tolerance: steps that waited for it start. A delete of the stack fails
        in the end, as there is something left."""
        if not self._tolerance.holds:               # the engine ended between the failure and its report
            commands = self._ending.fail(row.name, action, why)
            self._schedule.end(step)
            return commands
        commands = []
        if self.action is Action.DELETE:
            commands = self._ending.fail(row.name, action, why)
        else:
            self._ending.tolerated += 1
        self._schedule.complete(step)
        return commands

    def _refused(self, step: Step, row: ResourceState, action: Action, why: str) -> list[Command]:
        """Fail the step. Its row is not changed, as no action was begun and its stored state is still true; only an
        action that was interrupted in it has failed."""
        self._steps.occupy(step, row.id)
        commands: list[Command] = []
        if row.in_progress:
            commands.append(Persist(step, self._rows.set(row_changes.failed(row, why))))
        commands += self._ending.refuse(row.name, action, why)
        self._schedule.end(step)
        return commands

    def _may_retry(self, event: Failed, step: Step) -> bool:
        return (event.retry and self._schedule.is_wanted(step) and not self._ending.is_stopped
                and retry.is_left(self._state(step), self.retry_limit))

    def _delete_later(self, step: Step, row: ResourceState) -> list[Command]:
        """Retry a deletion after a delay. Adds no line of history: users see one deletion."""
        state = self._state(step)
        state.delete_attempts += 1
        commands: list[Command] = []
        if row.handle is not NO_HANDLE:             # of the call that failed
            row = self._rows.set(row_changes.repeated_later(row))
            commands.append(Persist(step, row, event=False))
        return [*commands, StartTimer(step, row, retry.pause(state.delete_attempts, self._random))]

    # --- the end ----------------------------------------------------------------------------------------

    def _timed_out(self, why: Mapping[int, str]) -> list[Command]:
        commands = self._release_hooks()
        commands += [Abort(step, self._rows.row(number), why.get(number, text.TIMED_OUT))
                     for number, step in self._steps.busy.items()]
        return commands + self._ending.time_out()

    def _end(self) -> list[Command]:
        if self._ending.is_over or self._steps.busy or self._steps.inspecting or self._breakpoints:
            return []
        return self._ending.reached(self._schedule.is_finished)
