"""The arguments of lists: one frozen dataclass for each list, parsed from the query.

Bodies are parsed in `bodies`. Unknown query keys are ignored everywhere but in the list of resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from heatlite.api.query import Query, decimal
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.planning.states import Action, Status

STACK_SORT_KEYS = {'stack_name': 'name', 'stack_status': 'status', 'creation_time': 'created_at',
                   'updated_time': 'updated_at'}
EVENT_SORT_KEYS = {'event_time': 'created_at', 'resource_type': 'resource_type'}

# query key -> column of the stack
STACK_FILTERS = {
    'id': 'id', 'name': 'name', 'stack_name': 'name', 'status': 'status', 'stack_status': 'status',
    'action': 'action', 'stack_action': 'action', 'tenant': 'project_id', 'username': 'username',
    'stack_owner': 'username', 'owner_id': 'owner_id', 'parent': 'owner_id', 'stack_status_reason': 'reason',
    'disable_rollback': 'disable_rollback', 'timeout_mins': 'timeout_mins',
    'stack_user_project_id': 'user_project_id'}
RESOURCE_FILTERS = {'name': 'name', 'status': 'status', 'action': 'action', 'type': 'type',
                    'physical_resource_id': 'physical_id', 'id': 'id'}
EVENT_FILTERS = {'resource_action': 'action', 'resource_status': 'status', 'resource_name': 'resource_name',
                 'resource_type': 'resource_type'}

_STATUSES = tuple(Status)
_ACTIONS = (*Action, 'SIGNAL')

Filters = Mapping[str, tuple[object, ...]]


@dataclass(frozen=True)
class ListStacks:
    limit: int | None = None
    marker: str | None = None
    sort_keys: tuple[str, ...] = ()             # columns
    sort_dir: str | None = None
    show_deleted: bool = False
    show_nested: bool = False
    show_hidden: bool = False
    tags: tuple[str, ...] = ()                  # has all of them
    tags_any: tuple[str, ...] = ()              # has one of them
    not_tags: tuple[str, ...] = ()              # lacks at least one of them
    not_tags_any: tuple[str, ...] = ()          # has none of them
    with_count: bool = False
    global_tenant: bool = False
    filters: Filters = field(default_factory=dict)      # column -> one of these values

    @classmethod
    def parse(cls, query: Query, within_project: bool = False) -> Self:
        """Parse the query. `within_project`: ignores `global_tenant`. Raises HTTPBadRequest, naming the key."""
        return cls(
            limit=query.limit(), marker=query.text('marker'),
            sort_keys=tuple(STACK_SORT_KEYS[key] for key in query.texts('sort_keys') if key in STACK_SORT_KEYS),
            sort_dir=query.direction(),
            show_deleted=query.boolean_or_empty('show_deleted'), show_nested=query.boolean_or_empty('show_nested'),
            show_hidden=query.boolean_or_empty('show_hidden'),
            tags=query.tags('tags'), tags_any=query.tags('tags_any'),
            not_tags=query.tags('not_tags'), not_tags_any=query.tags('not_tags_any'),
            with_count=query.boolean_or_empty('with_count'),
            global_tenant=not within_project and query.boolean('global_tenant'), filters=_stack_filters(query))


@dataclass(frozen=True)
class ListEvents:
    limit: int | None = None
    marker: str | None = None
    sort_keys: tuple[str, ...] = ()
    sort_dir: str | None = None
    nested_depth: int = 0
    filters: Filters = field(default_factory=dict)

    @classmethod
    def parse(cls, query: Query, deepest: int) -> Self:
        """Parse the query. `deepest`: the maximum of `nested_depth`."""
        return cls(
            limit=query.limit(), marker=query.text('marker'),
            sort_keys=tuple(EVENT_SORT_KEYS[key] for key in query.texts('sort_keys') if key in EVENT_SORT_KEYS),
            sort_dir=query.direction(), nested_depth=query.depth(deepest),
            filters=split_states(_columns(query, EVENT_FILTERS)))


@dataclass(frozen=True)
class ListResources:
    nested_depth: int = 0
    with_detail: bool = False
    type_contains: tuple[str, ...] = ()         # one of them is a substring of the type's name
    filters: Filters = field(default_factory=dict)

    @classmethod
    def parse(cls, query: Query, deepest: int) -> Self:
        """Parse the query. Raises HTTPBadRequest also for unknown keys."""
        unknown = [key for key in query if key not in RESOURCE_FILTERS
                   and key not in ('nested_depth', 'with_detail')]
        if unknown:
            raise exception.HTTPBadRequest(_('Invalid filter parameters %s') % unknown)
        columns = split_states(_columns(query, RESOURCE_FILTERS))
        types = columns.pop('type', ())
        if 'id' in columns:                     # row numbers are internal: treat it as the id that users see
            columns['physical_id'] = (*columns.get('physical_id', ()), *columns.pop('id'))
        return cls(nested_depth=query.depth_or_error(deepest),
                   with_detail=query.boolean('with_detail'), type_contains=types, filters=columns)


@dataclass(frozen=True)
class ListConfigs:
    limit: int | None = None
    marker: str | None = None
    global_tenant: bool = False

    @classmethod
    def parse(cls, query: Query) -> Self:
        return cls(query.limit(), query.text('marker'), query.boolean('global_tenant'))


def _columns(query: Query, names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Column -> values; keys for the same column are combined."""
    found: dict[str, tuple[str, ...]] = {}
    for key, column in names.items():
        if values := query.texts(key):
            found[column] = (*found.get(column, ()), *values)
    return found


def split_states(columns: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Split `CREATE_COMPLETE` as a status into status COMPLETE and action CREATE; each part widens its own filter.

    A value without a status word selects nothing.
    """
    if 'status' not in columns:
        return columns
    statuses: list[str] = []
    actions: list[str] = list(columns.get('action', ()))
    for value in columns['status']:
        for status in _STATUSES:
            if value == status:
                statuses.append(status)
            elif value.endswith(f'_{status}') and value.removesuffix(f'_{status}') in _ACTIONS:
                statuses.append(status)
                actions.append(value.removesuffix(f'_{status}'))
    split = {**columns, 'status': tuple(dict.fromkeys(statuses))}
    if actions:
        split['action'] = tuple(dict.fromkeys(actions))
    return split


def _stack_filters(query: Query) -> dict[str, tuple[object, ...]]:
    columns = split_states(_columns(query, STACK_FILTERS))
    found: dict[str, tuple[object, ...]] = {**columns}
    if 'disable_rollback' in columns:
        words = {'true': True, '1': True, 'false': False, '0': False}
        found['disable_rollback'] = tuple(
            words[value.lower()] for value in columns['disable_rollback'] if value.lower() in words)
    if 'timeout_mins' in columns:
        found['timeout_mins'] = tuple(
            decimal('timeout_mins', value) for value in columns['timeout_mins'] if value.isdecimal())
    return found
