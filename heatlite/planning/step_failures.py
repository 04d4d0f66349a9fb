"""What the failure of a step decides: another try, a replacement, or a failure of the resource and of the action.

A create that is tried again first deletes what it has left: the step deletes, then creates.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from heatlite.planning import retry, row_changes, step_actions, text
from heatlite.planning.commands import Command, Failed, Persist, StartTimer
from heatlite.planning.protection import Denial
from heatlite.planning.states import NO_HANDLE, Action, ResourceState
from heatlite.planning.steps import Step
from heatlite.planning.traversal_state import TraversalState


def failed(state: TraversalState, event: Failed, now: datetime) -> list[Command]:
    """Decide what follows from the failure of a call or of an inspection."""
    step = event.step
    progress = state.steps.of(step)
    denied = state.target.permissions.guard.refusal(step.name, Denial.REPLACE) if event.replace else ''
    if step in state.steps.inspecting:
        commands = _failed_inspection(state, step, denied)
        if commands is not None:
            return commands
    row = state.rows.row(progress.row_id)
    is_pursued = state.is_pursued(step)
    if denied and progress.action is Action.UPDATE:
        event = replace(event, reason=denied, replace=False)
    reason = f'{event.reason}: {progress.away}' if progress.away else event.reason
    if event.replace and progress.action is Action.UPDATE and is_pursued:
        return _replace_instead(state, step, row, now)
    if progress.is_unknown and is_pursued:
        return count_as_failed(state, step, row, reason)
    progress.error = progress.error or reason
    if not (event.retry and is_pursued and retry.is_left(progress, state.retry_limit)):
        return _fail(state, step, row, reason)
    if progress.action is Action.DELETE:
        return _delete_later(state, step, row)
    return _retry_create(state, step, row, event.reason, now)


def _failed_inspection(state: TraversalState, step: Step, denied: str) -> list[Command] | None:
    """End a step whose inspection has failed; None: it is an update that has failed. `denied`: why the replacement that
    the inspection wants is not allowed, if so."""
    progress = state.steps.of(step)
    state.steps.inspecting.remove(step)
    if state.ending.is_stopped:
        state.schedule.end(step)
        return []
    if denied:
        return step_actions.refuse(state, step, state.rows.row(progress.row_id), Action.UPDATE, denied)
    state.steps.occupy(step, progress.row_id)
    progress.action = Action.UPDATE
    return None


def _replace_instead(state: TraversalState, step: Step, row: ResourceState, now: datetime) -> list[Command]:
    """Replace a resource that its type cannot update."""
    row = state.rows.set(row_changes.not_updatable(row))
    return [Persist(step, row), *step_actions.begin_new(state, step, row, now)]


def count_as_failed(state: TraversalState, step: Step, row: ResourceState, reason: str) -> list[Command]:
    """Fail a row after an interruption of which nothing is known, and decide what becomes of its resource."""
    row = state.rows.set(row_changes.failed(row, reason))
    state.steps.renew(step)
    return [Persist(step, row), *step_actions.inspect(state, step, row)]


# --- the step fails -----------------------------------------------------------------------------------------


def _fail(state: TraversalState, step: Step, row: ResourceState, reason: str) -> list[Command]:
    """Fail the step, and with it the action unless its tolerance has room."""
    progress, is_wanted = state.steps.of(step), state.schedule.is_wanted(step)
    # The resource has the text of its last attempt, and the stack that of the first one.
    action, error = progress.action, progress.error
    row = state.rows.set(row_changes.failed(row, reason, action))
    commands: list[Command] = [Persist(step, row)]
    if is_wanted and not state.ending.is_stopped and state.tolerance.take(row.name):
        return commands + pass_over(state, step, row, action, error)
    if is_wanted:
        commands += state.ending.fail(row.name, action, error)
    state.schedule.end(step)
    return commands


def pass_over(state: TraversalState, step: Step, row: ResourceState, action: Action, why: str) -> list[Command]:
    """End a step that has failed within the tolerance: steps that waited for it start. A delete of the stack fails in
    the end, as there is something left."""
    ending = state.ending
    if not state.tolerance.holds:                   # the engine ended between the failure and its report
        commands = ending.fail(row.name, action, why)
        state.schedule.end(step)
        return commands
    commands = []
    if state.target.action is Action.DELETE:
        commands = ending.fail(row.name, action, why)
    else:
        ending.tolerated += 1
    state.schedule.complete(step)
    return commands


# --- another try --------------------------------------------------------------------------------------------


def _delete_later(state: TraversalState, step: Step, row: ResourceState) -> list[Command]:
    """Retry a deletion after a delay. Adds no line of history: users see one deletion."""
    progress = state.steps.of(step)
    progress.delete_attempts += 1
    commands: list[Command] = []
    if row.handle is not NO_HANDLE:                 # of the call that failed
        row = state.rows.set(row_changes.repeated_later(row))
        commands.append(Persist(step, row, event=False))
    return [*commands, StartTimer(step, row, retry.pause(progress.delete_attempts, state.random))]


def _retry_create(state: TraversalState, step: Step, row: ResourceState, reason: str,
                  now: datetime) -> list[Command]:
    """Delete the object of a create that has failed, and create it anew after a delay."""
    state.steps.of(step).attempt += 1
    row = state.rows.set(row_changes.failed(row, reason))
    return [Persist(step, row), *delete_and_recreate(state, step, row, now)]


def delete_and_recreate(state: TraversalState, step: Step, row: ResourceState, now: datetime) -> list[Command]:
    """Begin to delete an unfinished object; `deleted_for_recreation` goes on with the next one."""
    row = state.rows.set(row_changes.recreating(row, now))
    progress = state.steps.of(step)
    progress.recreating, progress.action = True, Action.DELETE
    return [Persist(step, row, wait=True)]


def deleted_for_recreation(state: TraversalState, step: Step, now: datetime) -> list[Command]:
    """Create the object anew, after a delay if the first one has failed."""
    progress = state.steps.of(step)
    row = state.rows.set(row_changes.without_object(state.rows.row(progress.row_id)))
    progress.recreating = False
    commands: list[Command] = [Persist(step, row)]
    if progress.attempt and not state.ending.is_stopped:
        return [*commands, StartTimer(step, row, retry.pause(progress.attempt, state.random))]
    return commands + try_again(state, step, now)


def try_again(state: TraversalState, step: Step, now: datetime) -> list[Command]:
    """Repeat the call that a step was waiting to make, or begin its next attempt, if that is still wanted."""
    progress = state.steps.of(step)
    row = state.rows.row(progress.row_id)
    is_pursued = state.is_pursued(step)
    if progress.away and row.action is not Action.DELETE and not is_pursued:
        reason, progress.away = progress.away, ''
        return failed(state, Failed(step, reason), now)
    if row.in_progress:                             # a deletion, which goes on in any case
        return [step_actions.call(state, step)]
    if not is_pursued:
        return _finish_undone(state, step, row)
    return step_actions.begin(state, step, row, Action.CREATE, now)


def _finish_undone(state: TraversalState, step: Step, row: ResourceState) -> list[Command]:
    """End a step whose unfinished object was deleted and that is not retried: restore its first failure."""
    reason = state.steps.of(step).error or text.INTERRUPTED % Action.CREATE
    row = state.rows.set(row_changes.not_recreated(row, reason))
    state.schedule.end(step)
    return [Persist(step, row, event=False)]
