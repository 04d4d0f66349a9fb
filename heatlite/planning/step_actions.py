"""Begins and continues one action on the row of a step.

No action begins that the applied plan does not allow, or that a protection denies: its step fails.
"""

from __future__ import annotations

from datetime import datetime

from heatlite.planning import row_changes
from heatlite.planning.commands import CallHandler, Command, Inspect, Persist, Poll, Recover
from heatlite.planning.states import APPLYING, MAKING, NO_HANDLE, Action, ResourceState
from heatlite.planning.steps import Step, StepKind
from heatlite.planning.traversal_state import TraversalState


def begin(state: TraversalState, step: Step, row: ResourceState, action: Action, now: datetime, *,
          visits: bool = False) -> list[Command]:
    """Begin `action` on the row.

    `visits`: an update in which nothing of the resource itself changes, only its nested stack is looked at."""
    target = state.target
    why = target.permissions.refusal(step.name, action, target.desired, visits=visits)
    if why:
        return refuse(state, step, row, action, why)
    is_new = row.action is Action.INIT
    if step.kind is StepKind.APPLY and action in APPLYING:
        row = row_changes.begun(row, action, target.template_id, now, resource_type=target.desired[step.name].type,
                                requires=state.requirements(step.name))
    else:
        row = row_changes.begun(row, action, target.template_id, now)
    state.rows.set(row)
    progress = state.steps.occupy(step, row.id)
    progress.action, progress.first = action, is_new
    return [Persist(step, row, wait=True)]


def begin_new(state: TraversalState, step: Step, old: ResourceState | None, now: datetime,
              begun: ResourceState | None = None) -> list[Command]:
    """Begin to make an object with a row of its own. `old`: the row that it replaces, if any; `begun`: that row at the
    begin of the update that has found that it is to be replaced, if that is shown."""
    target, rows = state.target, state.rows
    action = first_action(state, step, old)
    why = target.permissions.refusal(step.name, action, target.desired) or (
        target.permissions.guard.refusal_to_grow(step.name) if target.action is Action.UPDATE and old is None else '')
    if why:
        noted = [Persist(step, old, begun=begun)] if old is not None and begun is not None else []
        refused: list[Command] = [*noted, *state.ending.refuse(step.name, action, why)]
        state.schedule.end(step)
        return refused
    number, uuid = (old.id, old.uuid) if old is not None else (None, None)
    row = rows.add(step.name, target.desired[step.name].type, _new_uuid(state, step.name, uuid), target.template_id,
                   number, now)
    commands: list[Command] = []
    if old is not None:
        state.steps.renew(step)
        replaced = rows.set(row_changes.replaced_by(old, row.id))
        commands.append(Persist(step, replaced, event=begun is not None, begun=begun))
    return commands + begin(state, step, row, action, now)


def first_action(state: TraversalState, step: Step, old: ResourceState | None) -> Action:
    """Return the action that a new row begins with. `old`: the row that it takes over from. Imported is only what the
    resource never had: its replacement is an object of its own."""
    wanted = state.target.desired[step.name]
    is_imported = wanted.imported and (old is None or (old.action is Action.ADOPT and old.physical_id is None))
    adopted = state.target.action is Action.ADOPT or wanted.external or is_imported
    return Action.ADOPT if adopted else Action.CREATE


def _new_uuid(state: TraversalState, name: str, replaces: str | None) -> str:
    new = state.target.uuid
    attempt, found = 0, new(name, replaces, 0)
    while state.rows.has_uuid(found):
        attempt += 1
        found = new(name, replaces, attempt)
    return found


def refuse(state: TraversalState, step: Step, row: ResourceState, action: Action, why: str) -> list[Command]:
    """Fail the step. Its row is not changed, as no action was begun and its stored state is still true; only an action
    that was interrupted in it has failed."""
    state.steps.occupy(step, row.id)
    commands: list[Command] = []
    if row.in_progress:
        commands.append(Persist(step, state.rows.set(row_changes.failed(row, why))))
    commands += state.ending.refuse(row.name, action, why)
    state.schedule.end(step)
    return commands


def call(state: TraversalState, step: Step) -> CallHandler:
    """Return the command to call the type for the action of the step, whose intent is stored."""
    progress = state.steps.of(step)
    return CallHandler(step, state.rows.row(progress.row_id), progress.action,
                       progress.first and not progress.attempt, progress.recreating)


def resume(state: TraversalState, step: Step, row: ResourceState) -> list[Command]:
    """Continue a row found in progress without a step: go on polling, or find out the result of its call."""
    progress = state.steps.occupy(step, row.id)
    progress.action, progress.handle, progress.resumed = row.action, row.handle, row.action in MAKING
    if row.handle is not NO_HANDLE:
        return [Poll(step, row, row.action, row.handle, 0)]
    progress.is_unknown = progress.resumed
    return [Recover(step, row)]


def inspect(state: TraversalState, step: Step, row: ResourceState) -> list[Command]:
    """Have the row compared with the wanted definition: the answer decides on the action."""
    state.steps.inspecting.add(step)
    return [Inspect(step, row)]
