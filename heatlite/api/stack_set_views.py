"""Stack sets and their members as clients see them, and as engines are asked about them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from heatlite.api import stack_set_bodies, views
from heatlite.api.links import Link
from heatlite.api.stack_set_bodies import StackSetSettings
from heatlite.common.document_parts import mapping
from heatlite.db.stacks import Identity, StoredStack
from heatlite.language.hiding import HIDDEN_TEXT
from heatlite.planning import steps, waves
from heatlite.planning.states import Action, ResourceState, Status

View = dict[str, object]
PLACE = ('region_name', 'project_id', 'credential_secret_id', 'ca_cert', 'insecure')
SHOWN = ('max_concurrent', 'failure_tolerance', 'region_order', 'on_removal')


class MemberPreview(TypedDict):
    """What an engine says of a member that is to be updated. `changes`: action -> number of resources; None if the
    service of the member does not say, with the `reason`."""

    changes: Mapping[str, int] | None
    reason: str | None


@dataclass(frozen=True)
class Inside:
    """The rows of the members, and the properties that were last applied, by name."""

    rows: Mapping[str, ResourceState]
    applied: Mapping[str, Mapping[str, object]]

    @classmethod
    def empty(cls) -> Inside:
        return cls({}, {})

    @classmethod
    def of(cls, nested: Identity, rows: Sequence[ResourceState],
           columns: Mapping[int, Mapping[str, object]]) -> Inside:
        numbers = steps.current_rows_of(nested, rows)
        by_number = {row.id: row for row in rows}
        found = {row.name: row for row in rows}             # those that are being deleted have no current row
        found |= {name: _with_failure(by_number[number], by_number) for name, number in numbers.items()}
        return cls(found, {name: mapping((columns.get(row.id) or {}).get('properties')) for name, row in found.items()})

    def stack_id(self, name: str) -> str | None:
        row = self.rows.get(name)
        return row.physical_id if row is not None and row.action is not Action.DELETE else None


def _with_failure(row: ResourceState, rows: Mapping[int, ResourceState]) -> ResourceState:
    """Return the row of a member, with the failure of the stack that was to replace its stack, if it could not."""
    after = rows.get(row.replaced_by) if row.replaced_by is not None else None
    if after is None or not after.failed:
        return row
    return row._replace(action=after.action, status=after.status, reason=after.reason)


def whole(stack: StoredStack, settings: StackSetSettings, inside: Inside, at: list[Link]) -> View:
    """Return a set with its settings; parameters that may hold secrets are masked."""
    every = members(settings, inside)
    is_hidden = stack_set_bodies.hides(settings['template'])
    given: Mapping[str, object] = settings
    return {
        'id': stack.id, 'name': stack.name, 'status': f'{stack.action}_{stack.status}', 'status_reason': stack.reason,
        'creation_time': views.when(stack.created_at), 'updated_time': views.when(stack.updated_at),
        'tags': list(stack.tags or ()), 'operation': stack.revision, 'template': settings['template'],
        **{name: given[name] for name in SHOWN},
        'member_timeout_mins': int(settings['timeout']) if settings['timeout'] else None,
        **{name: _masked(given[name]) if is_hidden else given[name] for name in stack_set_bodies.SECRET},
        'members': dict(Counter(each['state'] for each in every)), 'links': at}


def _masked(value: object) -> object:
    return {name: _masked(each) for name, each in value.items()} if isinstance(value, Mapping) else HIDDEN_TEXT


def members(settings: StackSetSettings, inside: Inside) -> list[View]:
    """All members, in the order of the set; those that are still to be removed come last."""
    given = {stack_set_bodies.named(each): each for each in settings['members']}
    place = dict(_waves(settings, given))
    found = [_member(name, member, place.get(name), _state(name, settings, member, inside), inside)
             for name, member in given.items()]
    return found + [_member(name, _context(inside, name), None, _leaving(inside.rows[name]), inside)
                    for name in inside.rows if name not in given]


def _waves(settings: StackSetSettings, given: Mapping[str, Mapping[str, object]]) -> Iterator[tuple[str, int]]:
    size = waves.concurrent(settings['max_concurrent'], len(given))
    regions = {name: str(member.get('region_name') or '') for name, member in given.items()}
    for number, wave in enumerate(waves.waves(regions, size, settings['region_order']), 1):
        for name in wave:
            yield name, number


def _member(name: str, member: Mapping[str, object], wave: int | None, state: str, inside: Inside) -> View:
    row = inside.rows.get(name)
    return {'name': name, 'region_name': member.get('region_name') or _context(inside, name).get('region_name'),
            'project_id': member.get('project_id'), 'credential_secret_id': member.get('credential_secret_id'),
            'wave': wave, 'state': state, 'stack_id': inside.stack_id(name),
            'action': None if row is None else str(row.action), 'status_reason': None if row is None else row.reason,
            'updated_time': None if row is None else views.when(row.updated_at or row.created_at)}


def _context(inside: Inside, name: str) -> Mapping[str, object]:
    return mapping(inside.applied.get(name, {}).get('context'))


def _state(name: str, settings: StackSetSettings, member: Mapping[str, object], inside: Inside) -> str:
    """pending, running, failed, outdated or current."""
    row = inside.rows.get(name)
    if row is None or row.action is Action.INIT:
        return 'pending'
    if row.status is Status.FAILED:
        return 'failed'
    if row.status is Status.IN_PROGRESS:
        return 'running'
    applied = inside.applied.get(name, {})
    region = member.get('region_name')
    is_same = (applied.get('template') == settings['template']
               and (applied.get('parameters') or {}) == _values(settings, name)
               and region in (None, _context(inside, name).get('region_name'))
               and member.get('project_id') == _context(inside, name).get('project_id'))
    return 'current' if is_same else 'outdated'


def _leaving(row: ResourceState) -> str:
    return 'failed' if row.status is Status.FAILED else 'removing'


def _values(settings: StackSetSettings, name: str) -> dict[str, object]:
    return {**settings['parameters'], **(settings['overrides'].get(name) or {})}


def asked(settings: StackSetSettings, inside: Inside) -> list[View]:
    """Return the members as engines are asked about them. Their secrets go no further than the members' clouds."""
    return [{'name': name, **{key: member.get(key) for key in PLACE}, 'stack_id': inside.stack_id(name),
             'parameters': _values(settings, name)}
            for member in settings['members'] for name in [stack_set_bodies.named(member)]]


def previewed(after: StackSetSettings, inside: Inside, answers: Mapping[str, MemberPreview]) -> View:
    """Return what an update would do, per member: create, update, none, delete, keep; unknown if its service does not
    say."""
    found: list[View] = []
    for name, answer in answers.items():
        changes = answer['changes']
        if inside.stack_id(name) is None:
            action = 'create'
        elif changes is None:
            action = 'unknown'
        else:
            action = 'update' if any(count for key, count in changes.items() if key != 'unchanged') else 'none'
        found.append({'name': name, 'action': action, 'changes': changes, 'reason': answer['reason']})
    leaving: list[View] = [{'name': name, 'action': after['on_removal'], 'changes': None, 'reason': None}
               for name in inside.rows if name not in answers]
    return {'summary': dict(Counter(each['action'] for each in [*found, *leaving])), 'members': [*found, *leaving]}
