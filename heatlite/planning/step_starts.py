"""How a step begins: from the state of its row it follows which action begins, or is continued, or that none is needed.

A row that nothing else is known of is inspected first: `step_results` decides then.
"""

from __future__ import annotations

from datetime import datetime

from heatlite.planning import row_changes, step_actions, step_failures, step_results, steps, text
from heatlite.planning.commands import Command, Persist, Preempt, Recover
from heatlite.planning.states import MAKING, NO_HANDLE, Action, ResourceState, Status
from heatlite.planning.steps import Step, StepKind
from heatlite.planning.steps_under_way import StepState
from heatlite.planning.traversal_state import TraversalState

UNCHECKED = frozenset({(Action.ADOPT, Status.COMPLETE), (Action.CHECK, Status.IN_PROGRESS)})    # of external objects
PREEMPTED = frozenset({Action.CREATE, Action.UPDATE})                    # a newer definition may end these early


def start(state: TraversalState, step: Step, now: datetime) -> list[Command]:
    """Start a step that is ready; nothing if the action has stopped."""
    if state.ending.is_stopped:
        return []
    match step.kind:
        case StepKind.APPLY | StepKind.CONCLUDE:
            return _start_apply(state, step, now)
        case StepKind.DELETE:
            return _start_delete(state, step, now)
        case StepKind.ACTION:
            return _start_action(state, step, now)


def _start_apply(state: TraversalState, step: Step, now: datetime) -> list[Command]:
    row = state.rows.current(step.name)
    if row is None:
        return step_actions.begin_new(state, step, None, now)
    state.steps.of(step).row_id = row.id
    if row.id in state.steps.busy:
        return _block(state, step, row.id)
    if state.tolerance.has_failed(row):
        return step_failures.pass_over(state, step, row, row.action, row.reason)
    is_of_target = row.template_id == state.target.template_id
    if is_of_target and row.in_progress and row.action in MAKING:
        return step_actions.resume(state, step, row)
    if is_of_target and row.state in UNCHECKED and state.target.desired[step.name].external:
        return step_actions.begin(state, step, row, Action.CHECK, now)
    hook = state.breakpoints.before(step, row)
    if hook:
        return [state.breakpoints.hold(step, row, hook)]
    if row.action is Action.INIT:
        return step_actions.begin(state, step, row, step_actions.first_action(state, step, None), now)
    hook = state.breakpoints.held_before(row)
    if row.status is Status.COMPLETE and hook == f'post-{row.action.lower()}' and state.breakpoints.holds(
            step, row.action, hook):
        state.steps.occupy(step, row.id)            # the action completed; its breakpoint is not cleared yet
        return [state.breakpoints.hold(step, row, hook)]
    if row.in_progress:
        return _apply_interrupted(state, step, row)
    return step_actions.inspect(state, step, row)


def _apply_interrupted(state: TraversalState, step: Step, row: ResourceState) -> list[Command]:
    """Continue an action that was interrupted in the row, or end it and decide anew."""
    is_of_target = row.template_id == state.target.template_id
    if row.action in MAKING:
        # Interrupted under another definition: complete it with the stored one, then decide.
        concluding = Step(state.schedule.target_number, StepKind.CONCLUDE, step.name, row.id)
        return step_actions.resume(state, concluding, row) + _block(state, step, row.id)
    if row.action is Action.UPDATE and is_of_target and row.handle is not NO_HANDLE:
        return step_actions.resume(state, step, row)
    if row.action is Action.UPDATE and not is_of_target:
        # Interrupted under another definition: its progress is unknown, so it counts as failed.
        return step_failures.count_as_failed(state, step, row, text.INTERRUPTED % row.action)
    return step_actions.inspect(state, step, row)


def _start_delete(state: TraversalState, step: Step, now: datetime) -> list[Command]:
    row = state.rows.get(step.row_id)
    if row is None:
        state.schedule.complete(step)
        return []
    if row.id in state.steps.busy:
        return _block(state, step, row.id)
    if row.name in state.target.desired and (state.rows.is_current(row) or _is_irreplaceable(state, row)):
        state.schedule.complete(step)               # current rows stay
        return []
    if row.action is Action.INIT and not state.is_restored:
        return step_results.removed(state, step, row, event=False)
    hook = state.breakpoints.before(step, row)
    if hook:
        return [state.breakpoints.hold(step, row, hook)]
    if row.action is Action.DELETE and row.in_progress and row.handle is not NO_HANDLE:
        return step_actions.resume(state, step, row)
    if row.action is Action.CREATE and row.in_progress and row.physical_id is None:
        state.steps.occupy(step, row.id)            # the cloud may have an object whose id is not stored
        return [Recover(step, row)]
    return step_actions.begin(state, step, row, Action.DELETE, now)


def _is_irreplaceable(state: TraversalState, row: ResourceState) -> bool:
    """Whether the replacement of `row` could not be made, within the tolerance. The next update returns to the row, or
    replaces it again."""
    after = None if row.replaced_by is None else state.rows.in_memory.get(row.replaced_by)
    return after is not None and after.action is not Action.UPDATE and state.tolerance.has_failed(after)


def _start_action(state: TraversalState, step: Step, now: datetime) -> list[Command]:
    row = state.rows.row(step.row_id)
    if row.id in state.steps.busy:
        return _block(state, step, row.id)
    action = step.action
    if row.action is Action.INIT:
        state.schedule.complete(step)               # was never created: nothing to act on
        return []
    if row.in_progress and row.action is not action:
        concluding = conclude(state, row, state.schedule.target_number - 1)     # interrupted in a former action
        if row.id in state.steps.busy:
            return concluding + _block(state, step, row.id)
        return concluding + _start_action(state, step, now)
    invalid = steps.refuses(row, action)
    if invalid is not None:
        return step_actions.refuse(state, step, row, action, f'Error: resources.{row.name}: {invalid}')
    if row.action is action and row.in_progress and row.handle is not NO_HANDLE:
        return step_actions.resume(state, step, row)
    return step_actions.begin(state, step, row, action, now)


def conclude(state: TraversalState, row: ResourceState, target_number: int) -> list[Command]:
    """Go on with the step of that target that works on a row in progress, as it would have ended without the
    interruption. An update of which it is not known how far it has come counts as failed: the next one compares the
    resource anew."""
    action, target = row.action, state.target
    concluding = Step(target_number, StepKind.CONCLUDE, row.name, row.id)
    if action in MAKING:
        return step_actions.resume(state, concluding, row)
    if action is Action.UPDATE:
        if row.name in target.desired and row.template_id == target.template_id and row.handle is not NO_HANDLE:
            return step_actions.resume(state, Step(target_number, StepKind.APPLY, row.name), row)
        failed = state.rows.set(row_changes.failed(row, text.INTERRUPTED % action))
        return [Persist(concluding, failed)]
    step = (Step(target_number, StepKind.DELETE, row.name, row.id) if action is Action.DELETE else
            Step(target_number, StepKind.ACTION, row.name, row.id, action))
    if row.handle is not NO_HANDLE:
        return step_actions.resume(state, step, row)
    state.steps.occupy(step, row.id).action = action
    return [step_actions.call(state, step)]


# --- another step works on the row ----------------------------------------------------------------------------


def _block(state: TraversalState, step: Step, number: int) -> list[Command]:
    """Make `step` wait for the busy step of that row. A busy step of an older definition is preempted."""
    busy = state.steps.block(step, number)
    is_older = (not state.schedule.is_wanted(busy)
                and state.rows.row(number).template_id != state.target.template_id)
    if not is_older or step.kind is StepKind.ACTION or not is_preemptible(state.steps.of(busy)):
        return []
    return preempt(state, busy, text.NEWER_UPDATE)


def is_preemptible(progress: StepState) -> bool:
    """Whether the type of a step may be asked to end its action early."""
    return not progress.preempted and progress.action in PREEMPTED and not progress.recreating


def preempt(state: TraversalState, step: Step, why: str) -> list[Command]:
    """Ask the type of a step to end its action early."""
    progress = state.steps.of(step)
    progress.preempted = why
    return [Preempt(step, state.rows.row(progress.row_id))]
