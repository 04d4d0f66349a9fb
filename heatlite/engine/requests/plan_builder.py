"""Builds a plan of what the dry runs of a tree have found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from heatlite.common.i18n import _
from heatlite.engine.reconcile.diff import PropertyChange
from heatlite.engine.requests.causes import Causes, of_replacement
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.previewed_change import PreviewedChange
from heatlite.language.definition import StackDefinition
from heatlite.language.diagnostics import did_you_mean
from heatlite.language.hiding import HIDDEN_TEXT
from heatlite.language.masking import Mask
from heatlite.language.unknown import UNKNOWN, is_known
from heatlite.planning.plan import (
    ANY_ACTION,
    NOT_READ,
    NOTHING,
    Cause,
    Path,
    Permissions,
    Plan,
    PlanAction,
    PlannedChange,
    ValueChange,
    blockers,
    observed_changes,
    value_changes,
)
from heatlite.planning.protection import Protection
from heatlite.planning.states import Action

CONTAINERS = frozenset({PlanAction.UPDATE, PlanAction.NONE})    # of a nested stack: what counts is inside


def build(action: str, preview: PreviewedStack, protections: Sequence[Protection] = ()) -> Plan:
    """Return the plan of an action on the tree whose root was previewed as `preview`. `protections`: of the tree."""
    permissions: dict[Path, Permissions] = {}
    changes = tuple(_changes(preview, (), permissions))
    return Plan(action, changes, tuple(_outputs(preview)), permissions, preview.fails, blockers(protections, changes),
                tuple(_ignored(preview.definition)))


def _ignored(definition: StackDefinition) -> Iterator[str]:
    for name in definition.ignored_parameters:
        hint = did_you_mean(name, definition.parameters.declared)
        text = _('The template does not declare the parameter "%s", which is ignored') % name
        yield f'{text} ({hint}).' if hint else f'{text}.'


def whole_mask(preview: PreviewedStack) -> Mask:
    """Return the mask of all stacks of a tree together."""
    mask = preview.mask
    for each in preview.inside:
        mask |= whole_mask(each)
    return mask


def _changes(preview: PreviewedStack, path: Path, permissions: dict[Path, Permissions]) -> Iterator[PlannedChange]:
    """Yield the changes of one stack and of those inside, in order of execution."""
    permissions[path] = permissions.get(path, NOTHING) | _permissions(preview)
    inside: dict[str, list[PreviewedStack]] = {}
    for each in preview.inside:
        inside.setdefault(str(each.row.parent_resource), []).append(each)
    causes = Causes.within(preview)
    shown = {name: f'*{number}' for number, name in enumerate(sorted(_generated(preview)), 1)}
    for change in sorted(preview.changes.values(), key=lambda each: each.place):
        place = (*path, shown.get(change.name, change.name))
        below = [each for stack in inside.get(change.name, ()) for each in _changes(stack, place, permissions)]
        yield _change(preview, change, place, causes, below, change.name in inside)
        yield from below


def _generated(preview: PreviewedStack) -> set[str]:
    """Return the new members whose names will be others."""
    if not preview.generates_names:
        return set()
    return {name for name, change in preview.changes.items() if change.action in (PlanAction.CREATE, PlanAction.IMPORT)}


def _permissions(preview: PreviewedStack) -> Permissions:
    """Return what the plan allows in one stack.

    A create may delete what its failed attempts left. While a group changes in batches, nested stacks of members that
    wait are updated with their old definition and the new files: what is inside passes through other states.
    """
    actions: dict[str, frozenset[Action]] = {}
    generated = _generated(preview)
    unnamed = len(generated) + preview.most_spare
    containers = {str(each.row.parent_resource) for each in preview.inside} if preview.most_spare else ()
    opened = []
    for name, change in preview.changes.items():
        begun = frozenset(change.begun)
        if change.action is PlanAction.UNKNOWN:
            begun = ANY_ACTION
        elif Action.CREATE in begun:
            begun |= {Action.DELETE}
        if name in containers:
            begun |= {Action.UPDATE}
        if name not in generated and (begun or unnamed):
            actions[name] = begun
        if change.action is PlanAction.UNKNOWN or change.inside or name in containers:
            opened.append(name)
    return Permissions(actions, frozenset(opened), unnamed=unnamed)


def _change(preview: PreviewedStack, change: PreviewedChange, path: Path, causes: Causes,
            below: Iterable[PlannedChange], is_container: bool) -> PlannedChange:
    """Return the change of one resource. `is_container`: it has a nested stack; `below`: the changes inside of that."""
    action = change.action
    values = tuple(_values(change, path[-1], preview.mask, causes))
    if action in CONTAINERS and not values and not change.inside:
        changed = [each for each in below if each.action is not PlanAction.NONE]
        action = PlanAction.UPDATE if changed else PlanAction.NONE if is_container else action
    may: tuple[PlanAction, ...] = ()
    if action is PlanAction.UNKNOWN:
        may = _may(preview, change)
    row, definition = change.row, preview.definition.resources.get(change.name)
    kind = definition.type if definition is not None else row.type if row is not None else ''
    reason = change.why or change.inside
    return PlannedChange(path, kind, action, values, preview.mask.text(reason) if reason else '', may,
                         _object(change), change.measured_before, change.measured_after, change.is_gone,
                         of_replacement(change, preview, causes))


def _object(change: PreviewedChange) -> str | None:
    """Return the physical id of the present object, or of the one that would be imported."""
    return change.imported or (change.row.physical_id if change.row is not None else None)


def _may(preview: PreviewedStack, change: PreviewedChange) -> tuple[PlanAction, ...]:
    """Return the actions that may come of an unknown one."""
    if change.name not in preview.definition.resources or preview.row.action == Action.DELETE:
        return (PlanAction.NONE, PlanAction.DELETE)
    if change.row is None:
        return (PlanAction.NONE, PlanAction.CREATE)
    return (PlanAction.NONE, PlanAction.UPDATE, PlanAction.REPLACE)


def _values(change: PreviewedChange, shown: str, mask: Mask, causes: Causes) -> Iterator[ValueChange]:
    """Yield the values of a resource that differ. `shown`: its name in the plan, which differs from a generated one."""
    if change.cause is not None and not change.properties:      # the new object gets what the old one had
        for name, value in change.new_properties.items():
            known = is_known(value)
            yield ValueChange((name,), mask(change.stored.get(name)), mask(value) if known else None, not known)
        return
    differing: Mapping[str, PropertyChange] = change.properties or {
        name: PropertyChange(None, value, False) for name, value in change.new_properties.items()}
    physical_id = _object(change)
    for name, each in differing.items():
        cause = causes.of(change.name, name)
        if cause is not None and shown != change.name:
            cause = replace(cause, what=cause.what.replace(change.name, shown))
        if each.live is NOT_READ:
            for path, before, after, is_unknown in value_changes(name, each.old, each.new, is_known):
                yield ValueChange(path, mask(before), mask(after), is_unknown, each.forces_replacement, cause)
            continue
        for path, before, live, after, is_unknown in observed_changes(name, each.old, each.live, each.new, is_known):
            is_hidden = mask(before) != before or mask(after) != after      # then a changed one is a secret, too
            is_drift = before == after and not is_unknown
            changed_there = Cause('cloud', physical_id) if is_drift and physical_id else None
            yield ValueChange(path, mask(before), mask(after), is_unknown, each.forces_replacement,
                              changed_there or cause, HIDDEN_TEXT if is_hidden else mask(live))


def _outputs(preview: PreviewedStack) -> Iterator[ValueChange]:
    """Yield the outputs that differ."""
    before = {str(each['output_key']): each.get('output_value') for each in preview.outputs_before}
    after: dict[str, object] = {str(each['output_key']): each.get('output_value') for each in preview.row.outputs or ()}
    if preview.row.action == Action.DELETE:
        after = {}
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if new is UNKNOWN or not is_known(new):
            yield ValueChange((name,), preview.mask(old), None, True)
        elif old != new:
            yield ValueChange((name,), preview.mask(old), preview.mask(new))
