"""What a refactor would change besides names and places: it is refused with the list."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from heatlite.common.i18n import _
from heatlite.db import resources
from heatlite.db.stacks import StoredStack
from heatlite.engine.reconcile.attribute_cache import REFERENCE
from heatlite.engine.requests import plan_builder
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.refactor_places import RefactorPlaces
from heatlite.language.unknown import is_known
from heatlite.planning.plan import Path, PlanAction
from heatlite.planning.protection import Protection
from heatlite.planning.refactoring import Arranged, lost_denials
from heatlite.rpc import messages

LONGEST_NAMED = 100                     # characters of a value in a refusal
OUTPUT, PROTECTION, MOVE = 'output', 'protection', 'move'


@dataclass(frozen=True)
class Difference:
    """`path`: the stack, and the names that lead to the resource; `action`: of the plan, or OUTPUT, PROTECTION, MOVE.
    `property`: of which `before` and `after` are the values, hidden ones masked."""

    path: tuple[str, ...]
    action: str
    reason: str = ''
    property: tuple[object, ...] = ()
    before: object = None
    after: object = None

    def __str__(self) -> str:
        values = f" of {'.'.join(map(str, self.property))} ({_text(self.before)} -> {_text(self.after)})" if (
            self.property) else ''
        return f"{'/'.join(self.path)}: {self.action}{values}{f': {self.reason}' if self.reason else ''}"

    def to_json(self) -> dict[str, object]:
        return {'path': list(self.path), 'action': self.action, 'reason': self.reason or None,
                'property': list(self.property) or None, 'before': self.before, 'after': self.after}


def _text(value: object) -> str:
    return json.dumps(value)[:LONGEST_NAMED]


def unmatched(stack_name: str, moves: Iterable[tuple[str, str]]) -> list[Difference]:
    """Return the resources that a definition would create or delete, as `planning.refactoring.mismatches` has them."""
    why = {'create': _('the new definition has it, and no resource is moved to it'),
           'delete': _('the new definition does not have it, and it is not moved')}
    return [Difference((stack_name, name), action, why[action]) for name, action in moves]


def of_stack(row: StoredStack, preview: PreviewedStack, inner: Collection[str]) -> Iterator[Difference]:
    """Yield what an update of a tree would do after the moves, and which outputs would have other values.

    `inner`: the nested stacks that are redefined with the refactor: what changes in their own resources is no more than
    that, and what follows inside them is compared."""
    plan = plan_builder.build(messages.UPDATE, preview)
    redefined, fixed = set(), []
    for path, each in _tree(preview, ()):
        if each.row.id in inner:
            redefined.add(path)
        fixed += [Difference((row.name, *path, name), MOVE, resource.why_not_moved)
                  for name, resource in each.changes.items() if resource.why_not_moved]
    if plan.fails:
        yield Difference((row.name,), 'fail', plan.fails)
    for change in plan.changes:
        if change.action is PlanAction.NONE or (change.action is PlanAction.UPDATE and change.path in redefined):
            continue
        path = (row.name, *change.path)
        if not change.values:
            yield Difference(path, str(change.action), change.reason or (
                _('its definition differs, if not in the value of a property') if change.action is PlanAction.UPDATE
                else ''))
        for value in change.values:
            yield Difference(path, str(change.action), change.reason, value.path, value.before,
                             _('unknown') if value.is_unknown else value.after)
    yield from fixed
    before = {each['output_key']: each for each in row.outputs or ()}
    for output in preview.row.outputs or ():
        old = before.get(output['output_key'])
        if old is None or old.get('live'):
            continue
        new = output.get('output_value')
        if not is_known(new) or new != old.get('output_value'):
            yield Difference((row.name,), OUTPUT, '', (output['output_key'],), preview.mask(old.get('output_value')),
                             preview.mask(new) if is_known(new) else _('unknown'))


def _tree(preview: PreviewedStack, path: Path) -> Iterator[tuple[Path, PreviewedStack]]:
    """Yield a previewed stack and all inside it, with the paths of their resources."""
    yield path, preview
    for each in preview.inside:
        yield from _tree(each, (*path, str(each.row.parent_resource)))


def inside(preview: PreviewedStack, stack_ids: Collection[str]) -> dict[str, PreviewedStack]:
    """Return those of the wanted stacks that are inside a previewed one, by id."""
    return {each.row.id: each for _path, each in _tree(preview, ()) if each.row.id in stack_ids}


def not_previewed(places: RefactorPlaces, previewed_ids: Collection[str]) -> list[Difference]:
    """Return the nested stacks of which it is not known what would become of them."""
    return [Difference((row.name,), 'unknown', _('what is inside is not known before'))
            for stack_id, row in places.inner.items() if stack_id not in previewed_ids]


def of_protections(places: RefactorPlaces, roots: Mapping[str, StoredStack],
                   protections: Mapping[str, Sequence[Protection]]) -> Iterator[Difference]:
    """Yield the protections that moves would evade. `roots`, `protections`: by the id of the root."""
    for move in places.moves:
        (source, path), (target, place) = places.before[move.source], places.after[move.target]
        lost = lost_denials(protections[source], path, protections[target], place)
        if lost:
            yield Difference((roots[target].name, *place), PROTECTION, _(
                'where it is now, protections deny to %(actions)s it; where it goes, none would') % {
                    'actions': ', '.join(map(str, lost))})


def of_nested(places: RefactorPlaces, roots: Mapping[str, StoredStack], most: int) -> Iterator[Difference]:
    """Yield the nested stacks that would be too deep, and those that cannot leave their tree, as its users are in a
    project that is deleted with it. `roots`: by id; `most`: levels."""
    for each in places.nested:
        (source, _path), (target, path) = places.before[each.move.source], places.after[each.move.target]
        place = (roots[target].name, *path)
        if source != target and roots[source].user_project_id is not None:
            yield Difference(place, MOVE, _(
                'users inside its stack are in a project that belongs to the stack where it is now'))
        deepest = max([each.stack.depth, *(one.depth for one in each.below)])
        if deepest - each.stack.depth + len(path) > most:
            yield Difference(place, MOVE, _('Recursion depth exceeds %d.') % most)


def outputs_of(preview: PreviewedStack | None) -> list[dict[str, object]]:
    """Return the outputs to store. What only a service can say is read when it is looked at."""
    if preview is None:
        return []
    shown = []
    for output in preview.row.outputs or ():
        live = any(each['output_key'] == output['output_key'] and each.get('live') for each in preview.outputs_before)
        known = is_known(output.get('output_value'))
        shown.append({**output, **({} if known else {'output_value': None}),
                      **({'live': True} if live or not known or 'output_error' in output else {})})
    return shown


def cached_values(tx: Connection, rows: Sequence[Arranged],
                  references: Mapping[int, object]) -> dict[int, dict[str, object]]:
    """Return the cached values of renamed rows with their new references: number after the moves -> values."""
    stored = {origin: resources.cached_values(tx, origin) for origin in {each.stack for each in rows}}
    values = {}
    for each in rows:
        if each.row.id not in references:
            continue
        before = stored[each.stack].get(each.before.id, {})
        reference = references[each.row.id]
        after = {**before, REFERENCE: reference}
        if len(after) > 1 or reference != each.row.physical_id:
            values[each.row.id] = after
    return values
