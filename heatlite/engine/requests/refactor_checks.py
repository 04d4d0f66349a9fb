"""What a refactor would change besides names and places: it is refused with the list."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db.stacks import Stack
from heatlite.engine.reconcile import loading
from heatlite.engine.reconcile.attribute_cache import REFERENCE
from heatlite.engine.requests import plan_making
from heatlite.engine.requests.preview_update import Previewed
from heatlite.language.unknown import is_known
from heatlite.planning.plan import PlanAction
from heatlite.planning.protection import Protection
from heatlite.planning.refactoring import Arranged, Move, Place, lost_denials
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
    property: tuple[Any, ...] = ()
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        values = f" of {'.'.join(map(str, self.property))} ({_text(self.before)} -> {_text(self.after)})" if (
            self.property) else ''
        return f"{'/'.join(self.path)}: {self.action}{values}{f': {self.reason}' if self.reason else ''}"

    def to_json(self) -> dict[str, Any]:
        return {'path': list(self.path), 'action': self.action, 'reason': self.reason or None,
                'property': list(self.property) or None, 'before': self.before, 'after': self.after}


def _text(value: Any) -> str:
    return json.dumps(value)[:LONGEST_NAMED]


def parsed(moves: Sequence[Mapping[str, Any]], stack_ids: Mapping[str, str]) -> list[Move]:
    """Return the moves of a request. `stack_ids`: how a move may name the stacks of the request -> their ids. Raises
    HTTPBadRequest, naming all places in other stacks."""
    unknown = sorted({str(move[end]['stack']) for move in moves for end in ('from', 'to')} - stack_ids.keys())
    if unknown:
        raise exception.HTTPBadRequest(_('A move names a stack that is not among the stacks of the refactor: %s.')
                                       % ', '.join(unknown))

    def place(given: Mapping[str, Any]) -> Place:
        return Place(stack_ids[given['stack']], given['resource'])

    return [Move(place(move['from']), place(move['to'])) for move in moves]


def unmatched(stack_name: str, found: Iterable[tuple[str, str]]) -> list[Difference]:
    """Return the resources that a definition would create or delete, as `planning.refactoring.mismatches` has them."""
    why = {'create': _('the new definition has it, and no resource is moved to it'),
           'delete': _('the new definition does not have it, and it is not moved')}
    return [Difference((stack_name, name), action, why[action]) for name, action in found]


def of_stack(former_name: str, row: Stack, found: Previewed) -> Iterator[Difference]:
    """Yield what an update of a stack would do after the moves, and which outputs would have other values."""
    plan = plan_making.made(messages.UPDATE, found)
    if plan.fails:
        yield Difference((row.name,), 'fail', plan.fails)
    for change in plan.changes:
        if change.action is PlanAction.NONE:
            continue
        path = (row.name, *change.path)
        if not change.values:
            yield Difference(path, str(change.action), change.reason)
        for value in change.values:
            yield Difference(path, str(change.action), change.reason, value.path, value.before,
                             _('unknown') if value.is_unknown else value.after)
    for name, why in found.fixed.items():
        yield Difference((row.name, name), MOVE, why)
    before = {each['output_key']: each for each in row.outputs or ()}
    for output in found.row.outputs or ():
        old = before.get(output['output_key'])
        if old is None or old.get('live'):
            continue
        new = output.get('output_value')
        if not is_known(new) or new != old.get('output_value'):
            yield Difference((row.name,), OUTPUT, '', (output['output_key'],), found.mask(old.get('output_value')),
                             found.mask(new) if is_known(new) else _('unknown'))


def of_protections(stacks: Mapping[str, tuple[str, Sequence[Protection]]], moves: Iterable[Move],
                   ) -> Iterator[Difference]:
    """Yield the protections that moves would evade. `stacks`: id -> name and protections."""
    for move in moves:
        _name, before = stacks[move.source.stack]
        name, after = stacks[move.target.stack]
        lost = lost_denials(before, (move.source.name,), after, (move.target.name,))
        if lost:
            yield Difference((name, move.target.name), PROTECTION, _(
                'where it is now, protections deny to %(actions)s it; where it goes, none would') % {
                    'actions': ', '.join(map(str, lost))})


def of_users(nested: Iterable[tuple[Move, Stack, Stack]]) -> Iterator[Difference]:
    """Yield the nested stacks that cannot leave their tree: its users are in a project that is deleted with it.

    `nested`: the move of its resource, and the rows of both roots."""
    for move, source, target in nested:
        if source.id != target.id and source.user_project_id is not None:
            yield Difference((target.name, move.target.name), MOVE, _(
                'users inside its stack are in a project that belongs to the stack where it is now'))


def outputs_of(found: Previewed | None) -> list[dict[str, Any]]:
    """Return the outputs to store. What only a service can say is read when it is looked at."""
    if found is None:
        return []
    shown = []
    for output in found.row.outputs or ():
        live = any(each['output_key'] == output['output_key'] and each.get('live') for each in found.outputs_before)
        known = is_known(output.get('output_value'))
        shown.append({**output, **({} if known else {'output_value': None}),
                      **({'live': True} if live or not known or 'output_error' in output else {})})
    return shown


def kept(tx: Connection, rows: Sequence[Arranged], references: Mapping[int, Any]) -> dict[int, dict[str, Any]]:
    """Return the cached values of renamed rows with their new references: number after the moves -> values."""
    stored = {origin: loading.kept_values(tx, origin) for origin in {each.stack for each in rows}}
    found = {}
    for each in rows:
        if each.row.id not in references:
            continue
        before = stored[each.stack].get(each.before.id, {})
        reference = references[each.row.id]
        after = {**before, REFERENCE: reference}
        if len(after) > 1 or reference != each.row.physical_id:
            found[each.row.id] = after
    return found
