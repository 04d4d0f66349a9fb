"""All query keys of all routes in one table: their values and their reach.

A handler reads no other key (tests/isolation checks that). The API's description, the table of
docs/operators/policy.rst and the tests of isolation are made from this table.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from heatlite.api import schemas
from heatlite.api.handlers import resource_types

Json = dict[str, object]


class Reach(enum.Enum):
    """How a key affects the set of shown objects."""

    WITHIN = 'selects, orders or renders what would be shown anyway'
    OWN = 'adds more of what the caller may see: deleted, nested or hidden things of the same project'
    ALL = 'adds things of all projects'


@dataclass(frozen=True)
class Key:
    """One key. `kind`: its values as a JSON schema. `rule`: the policy rule of a key of reach ALL."""

    kind: Json
    reach: Reach = Reach.WITHIN
    rule: str | None = None


TEXT: Json = {'type': 'string'}
BOOLEAN: Json = {'enum': ['true', 'false', 'True', 'False']}
NATURAL: Json = {'type': 'integer', 'minimum': 0, 'maximum': 2 ** 31 - 1}
TAGS: Json = {'type': 'string', 'description': 'Tags separated by commas'}
PATTERN: Json = {'type': 'string', 'description': 'Regular expression, matched at the start'}


def _many(kind: Json = TEXT) -> Json:
    """Return the schema of a repeatable key."""
    return {'type': 'array', 'items': kind}


def _filters(names: Iterable[str]) -> dict[str, Key]:
    return {name: Key(_many()) for name in names}


def _sorting(names: Iterable[str]) -> dict[str, Key]:
    return {'sort_keys': Key(_many({'enum': sorted(names)})), 'sort_dir': Key({'enum': ['asc', 'desc']})}


_PAGE = {'limit': Key(NATURAL), 'marker': Key(TEXT)}
_DESCRIBED = {'with_description': Key(BOOLEAN)}
_PREVIEW = {'show_nested': Key(BOOLEAN, Reach.OWN)}
_STACKS = {
    **_PAGE, **_sorting(schemas.STACK_SORT_KEYS),
    **{name: Key(BOOLEAN, Reach.OWN) for name in ('show_deleted', 'show_nested', 'show_hidden')},
    'with_count': Key(BOOLEAN), **{name: Key(TAGS) for name in ('tags', 'tags_any', 'not_tags', 'not_tags_any')},
    **_filters(schemas.STACK_FILTERS)}
_EVENTS = {
    **_PAGE, **_sorting(schemas.EVENT_SORT_KEYS), 'nested_depth': Key(NATURAL, Reach.OWN),
    **_filters(schemas.EVENT_FILTERS)}

QUERY_KEYS: Mapping[str, Mapping[str, Key]] = {         # by module and function of the handler; others read none
    'validate.validate': {**_PREVIEW, 'ignore_errors': Key({'enum': ['99001']})},
    'resource_types.index': {
        'name': Key(PATTERN), 'version': Key(TEXT),
        'support_status': Key({'enum': list(resource_types.SUPPORT_STATUSES)}), **_DESCRIBED},
    'resource_types.show': _DESCRIBED,
    'resource_types.template': {'template_type': Key({'enum': list(resource_types.TEMPLATE_KINDS)})},
    'constraints.values': {'limit': Key(NATURAL)},
    'template_versions.functions': {'with_condition_func': Key(BOOLEAN)},
    'stacks.index': {**_STACKS, 'global_tenant': Key(BOOLEAN, Reach.ALL, 'stacks:global_index')},
    'stacks.detail': _STACKS,
    'stacks.show': {'resolve_outputs': Key(BOOLEAN)},
    'stacks.preview_update': _PREVIEW,
    'stacks.preview_patch': _PREVIEW,
    'resources.index': {'nested_depth': Key(NATURAL, Reach.OWN), 'with_detail': Key(BOOLEAN),
                        **_filters(schemas.RESOURCE_FILTERS)},
    'resources.show': {'with_attr': Key(_many())},
    'plans.index': {**_PAGE, 'stack_id': Key(TEXT)},
    'stack_sets.index': _PAGE,
    'stack_sets.delete': {'keep': Key(BOOLEAN)},
    'stack_sets.operations': {**_PAGE, 'marker': Key(NATURAL)},
    'revisions.index': {**_PAGE, 'marker': Key(NATURAL)},
    'revisions.diff': {'with': Key(NATURAL)},
    'plans.show': {'format': Key({'enum': ['json', 'text']})},
    'events.index': _EVENTS,
    'events.index_of_resource': _EVENTS,
    'software_configs.index': {
        **_PAGE, 'global_tenant': Key(BOOLEAN, Reach.ALL, 'software_configs:global_index')},
    'software_deployments.index': {'server_id': Key(TEXT)},
}
