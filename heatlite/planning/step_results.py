"""What the answer to a command of a step decides: an action, a replacement, the next wait, or the end of the step.

Failures are decided on in `step_failures`.
"""

from __future__ import annotations

from datetime import datetime

from heatlite.planning import decide, row_changes, step_actions, step_failures, text
from heatlite.planning.commands import Command, Failed, Note, Outcome, Persist, Poll, Remove
from heatlite.planning.protection import Denial
from heatlite.planning.states import APPLYING, Action, ResourceState
from heatlite.planning.steps import Step, StepKind
from heatlite.planning.traversal_state import TraversalState

# --- the resource was compared with its wanted definition -----------------------------------------------------


def decided(state: TraversalState, step: Step, verdict: decide.Verdict, fingerprint: str,
            now: datetime) -> list[Command]:
    """Begin what the verdict asks for. `fingerprint`: as in `commands.Inspected`."""
    if step not in state.steps.inspecting:
        return []                                   # inspected for an older target
    state.steps.inspecting.remove(step)
    if state.ending.is_stopped:
        state.schedule.end(step)
        return []
    row = state.rows.row(state.steps.of(step).row_id)
    match decide.decide(row, verdict):
        case decide.Create():
            return step_actions.begin_new(state, step, row, now)
        case decide.Keep(heal):
            return _keep(state, step, row, heal, fingerprint)
        case decide.Update(visits):
            return step_actions.begin(state, step, row, Action.UPDATE, now, visits=visits)
        case decide.Replace(because, announced):
            return _replace(state, step, row, because, announced, now)
        case decide.Refuse(reason, why):
            noted = [] if row.in_progress else [Note(step, row_changes.refused(row, why))]
            return [*noted, *step_actions.refuse(state, step, row, Action.UPDATE, reason)]


def _keep(state: TraversalState, step: Step, row: ResourceState, heal: bool, fingerprint: str) -> list[Command]:
    """`fingerprint`: of another definition than the stored one that the object is like already; or ''."""
    commands: list[Command] = []
    kept = row_changes.unchanged(row, state.requirements(step.name), heals=heal, fingerprint=fingerprint,
                                 template_id=state.target.template_id)
    if kept is not row:                             # else it is not written
        commands.append(Persist(step, state.rows.set(kept), event=heal, adopts_definition=bool(fingerprint)))
    state.schedule.complete(step)
    return commands


def _replace(state: TraversalState, step: Step, row: ResourceState, because: str, announced: bool,
             now: datetime) -> list[Command]:
    """`announced`: the history shows an update that has ended in the replacement."""
    denied = state.target.permissions.guard.refusal(row.name, Denial.REPLACE)
    if denied:
        return step_actions.refuse(state, step, row, Action.UPDATE, denied)
    begun = None
    if announced:
        begun, row = row_changes.announced(row, because, now)
        state.rows.set(row)
    return step_actions.begin_new(state, step, row, now, begun)


# --- the call has returned ------------------------------------------------------------------------------------


def called(state: TraversalState, step: Step) -> list[Command]:
    """Store the handle before the first wait, so that polling can go on after a crash."""
    progress = state.steps.of(step)
    row = state.rows.set(row_changes.called(state.rows.row(progress.row_id), progress.handle))
    return [Persist(step, row, event=False), Poll(step, row, progress.action, progress.handle, 1)]


def completed(state: TraversalState, step: Step, fingerprint: str, now: datetime) -> list[Command]:
    """Store that the action of the step has completed, and go on. `fingerprint`: of the definition that was applied."""
    progress, target, ending = state.steps.of(step), state.target, state.ending
    row, action = state.rows.row(progress.row_id), progress.action
    ending.unsupported = ending.unsupported or progress.unsupported
    if action is Action.DELETE:
        if progress.recreating:
            return step_failures.deleted_for_recreation(state, step, now)
        if not ending.is_stopped and state.breakpoints.holds(step, Action.DELETE, 'post-delete'):
            return [state.breakpoints.hold(step, row, 'post-delete')]
        return removed(state, step, row)
    is_wanted, applies = state.schedule.is_wanted(step), action in APPLYING
    row = state.rows.set(row_changes.completed(
        row, unsupported=progress.unsupported, fingerprint=fingerprint if applies else '',
        requires=state.requirements(step.name) if applies and is_wanted and not progress.resumed else None))
    commands: list[Command] = [Persist(step, row, applied=applies)]
    if action is Action.ADOPT and step.name in target.desired and target.desired[step.name].external:
        return commands + step_actions.begin(state, step, row, Action.CHECK, now)
    hook = f'post-{action.lower()}'
    if is_wanted and not ending.is_stopped and state.breakpoints.holds(step, action, hook):
        return [*commands, state.breakpoints.hold(step, row, hook)]
    return commands + applied(state, step)


def applied(state: TraversalState, step: Step) -> list[Command]:
    """End a step whose action has completed. One that was resumed is compared with the wanted definition first, as
    every row that was completed before the interruption: what it requires may have changed since it was begun."""
    progress = state.steps.of(step)
    if progress.resumed and state.is_pursued(step):
        state.steps.renew(step)
        return step_actions.inspect(state, step, state.rows.row(progress.row_id))
    state.schedule.complete(step)
    return []


def remove(state: TraversalState, step: Step, row: ResourceState, event: bool = True) -> Remove:
    """Remove the row of a step. `event`: the history shows it."""
    state.rows.remove(row)
    return Remove(step, row_changes.removed(row), event=event)


def removed(state: TraversalState, step: Step, row: ResourceState, event: bool = True) -> list[Command]:
    """Remove the row, and with it complete the step."""
    removal = remove(state, step, row, event)
    state.schedule.complete(step)
    return [removal]


# --- an interrupted call was looked into ----------------------------------------------------------------------


def recovered(state: TraversalState, step: Step, outcome: Outcome, physical_id: str | None,
              now: datetime) -> list[Command]:
    """Go on with a call that was interrupted. `physical_id`: of its object, if that was found."""
    progress = state.steps.of(step)
    progress.first = False                          # the interrupted call may have stored data
    row = state.rows.row(progress.row_id)
    if step.kind is StepKind.DELETE:                # whatever became of the create
        row = state.rows.set(row_changes.identified(row, physical_id))
        return step_actions.begin(state, step, row, Action.DELETE, now)
    progress.is_unknown = outcome is Outcome.UNKNOWN
    match outcome:
        case Outcome.RETRY:                         # the call had no effect, or repeating it is safe
            return [step_actions.call(state, step)]
        case Outcome.FOUND:
            row = state.rows.set(row_changes.identified(row, physical_id))
            return [Persist(step, row, event=False), Poll(step, row, progress.action, None, 0)]
        case Outcome.RECREATE:                      # the object is known but unfinished: delete it, then create anew
            return step_failures.delete_and_recreate(state, step, row, now)
        case Outcome.UNKNOWN:
            return step_failures.failed(state, Failed(step, text.INTERRUPTED % row.action), now)


def replaced_since(state: TraversalState, step: Step, now: datetime) -> list[Command]:
    """Replace a row that the former site had replaced after the backup: the new row takes over its object. That of the
    row itself, if it is still there, is looked for when the row is deleted."""
    if not state.is_pursued(step):
        return step_failures.failed(state, Failed(step, text.REPLACED_SINCE), now)
    row = state.rows.row(state.steps.of(step).row_id)
    return step_actions.begin_new(state, step, row_changes.failed(row, text.REPLACED_SINCE), now)
