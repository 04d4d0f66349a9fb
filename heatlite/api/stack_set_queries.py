"""Members of a stack set by a query over regions and over the caller's projects.

It is evaluated when a request is accepted: what is found then is stored as a list of members.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from heatlite.api.query import LONGEST_NAME
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_SET_MEMBERS
from heatlite.rpc import messages

REGIONS, EXCEPT, PROJECTS, ALL = 'regions', 'except', 'projects', 'all'
FILTERS = ('domain_id', 'parent_id')
NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,63}')       # of a member

Member = dict[str, object]


@dataclass(frozen=True)
class RegionsAndProjects:
    """`regions()`: names of all regions. `projects(wanted)`: [{id, name}] of projects of the caller."""

    regions: Callable[[], Sequence[str]]
    projects: Callable[[messages.ListProjects], Sequence[Mapping[str, str]]]


def members(value: object, places: RegionsAndProjects) -> list[Member]:
    """Return the members that a query finds: {regions: all, except: [names], projects: all or {domain_id, parent_id,
    tags, except: [ids]}}. Without `regions` that of this service, without `projects` the caller's. Raises
    HTTPBadRequest."""
    known = {REGIONS, EXCEPT, PROJECTS}
    if not isinstance(value, Mapping) or not value or set(value) - known or (
            value.get(REGIONS, ALL) != ALL) or (EXCEPT in value and REGIONS not in value):
        raise exception.InvalidField('member_query', _(
            '{"regions": "all"}, with "except" and a list of regions, "projects", or both'), value)
    regions = _regions(value, places) if REGIONS in value else None
    projects = _projects(value[PROJECTS], places) if PROJECTS in value else None
    count = len(regions or [None]) * len(projects or [None])
    if count > MOST_SET_MEMBERS:
        raise exception.HTTPBadRequest(
            _('The query finds %(count)d places; a stack set has at most %(most)d members.') % {
                'count': count, 'most': MOST_SET_MEMBERS})
    if projects is None:
        return [{'region_name': region} for region in regions or ()]
    names = _names(projects)
    if regions is None:
        return [{'name': names[each['id']], 'project_id': each['id']} for each in projects]
    return [{'name': _joined(names[each['id']], each['id'], region), 'project_id': each['id'], 'region_name': region}
            for region in regions for each in projects]


def _regions(query: Mapping[str, object], places: RegionsAndProjects) -> list[str]:
    excepted = _texts(EXCEPT, query.get(EXCEPT), _('a list of regions'))
    found = places.regions()
    unknown = sorted(set(excepted) - set(found))
    if unknown:
        raise exception.HTTPBadRequest(_('The catalogue has no region %s.') % ', '.join(unknown)[:LONGEST_NAME])
    left = [name for name in found if name not in excepted]
    if not left:
        raise exception.HTTPBadRequest(_('The query finds no region.'))
    return left


def _projects(value: object, places: RegionsAndProjects) -> list[Mapping[str, str]]:
    wanted = {} if value == ALL else value
    if not isinstance(wanted, Mapping) or set(wanted) - {*FILTERS, 'tags', EXCEPT}:
        raise exception.InvalidField(PROJECTS, _('"all", or a map of domain_id, parent_id, tags and except'), value)
    for name in FILTERS:
        if name in wanted and not isinstance(wanted[name], str):
            raise exception.InvalidField(name, _('an id'), wanted[name])
    tags = _texts('tags', wanted.get('tags'), _('a list of tags'))
    excepted = frozenset(_texts(EXCEPT, wanted.get(EXCEPT), _('a list of ids')))
    found = places.projects(messages.ListProjects(wanted.get('domain_id'), wanted.get('parent_id'), tuple(tags)))
    left = [each for each in found if each['id'] not in excepted]
    if not left:
        raise exception.HTTPBadRequest(_('The query finds no project.'))
    return left


def _texts(name: str, value: object, what: str) -> list[str]:
    found = [] if value is None else value
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise exception.InvalidField(name, what, found)
    return found


def _names(projects: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Names of members by the ids of projects: that of the project where it can be one and only one has it."""
    often = Counter(each['name'] for each in projects)
    return {each['id']: each['name'] if often[each['name']] == 1 and NAME.fullmatch(each['name']) else each['id']
            for each in projects}


def _joined(name: str, project_id: str, region: str) -> str:
    """Return the name of a member in one of several regions."""
    found = f'{name}.{region}'
    return found if NAME.fullmatch(found) else f'{project_id}.{region}'
