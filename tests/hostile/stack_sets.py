"""The bombs that are stack sets: many members, overrides and parameters in a request, and bombs for the members."""

from __future__ import annotations

import json
from typing import Any

from tests.hostile import cases
from tests.hostile.stages import name, settled
from tests.hostile.tenants import Tenant

MEMBERS = 200                           # the most that a set may have
TOO_MANY = 50_000
MOST = 5_000                            # parameters that each of so many members may have


def members(count: int) -> list[dict[str, Any]]:
    """Each with a credential that does not exist, so that no member gets a stack."""
    return [{'name': f'm{number}', 'credential_secret_id': f'none-{number}'} for number in range(count)]


def bodies() -> list[dict[str, Any]]:
    """Without a name. The member `here` is the caller's own project."""
    template = cases.stack({'a': {'type': cases.TYPE, 'properties': {'value': 'v'}}})
    many = members(MEMBERS)
    text = 'x' * 900_000
    here = [{'name': 'here'}]
    return [
        {**template, 'members': many},
        {**template, 'members': members(TOO_MANY)},
        {**template, 'members': [*many, many[0]]},
        {**template, 'members': [{'name': text, 'region_name': text}]},
        {**template, 'members': many, 'overrides': {f'm{number}': {'p': number} for number in range(TOO_MANY)}},
        {**template, 'members': many, 'parameters': {f'p{number}': 'v' for number in range(TOO_MANY)}},
        {**template, 'members': many, 'parameters': {f'p{number}': 'v' for number in range(MOST)}},
        {**template, 'members': many, 'region_order': [f'Region{number}' for number in range(TOO_MANY)]},
        {**template, 'members': many, 'max_concurrent': '9' * 100_000, 'failure_tolerance': '9' * 100_000},
        {**template, 'member_query': {'regions': 'all', 'except': ['x'] * TOO_MANY}},
        {**cases.joins_in_joins(), 'members': many},
        {**cases.many_pattern_parameters(), 'members': many},
        {**cases.joins_in_joins(), 'members': here},
        {**cases.aliases(), 'members': here},
        {'members': many, 'template': text},
        {**template, 'members': {'m': 1}},
    ]


def stack_sets(tenant: Tenant, _port: int) -> list[int]:
    """Previews and sets of which no member can be made; what is accepted ends and is deleted."""
    found = []
    for body in bodies():
        stack = name()
        for path in ('/stack_sets/preview', '/stack_sets'):
            answer = tenant.ask('POST', path, data=json.dumps({'name': stack, **body}).encode(),
                                headers={'Content-Type': 'application/json'})
            found.append(answer.status)
        if answer.status == 201:
            path = f"/stacks/{stack}/{answer.body['stack_set']['id']}"
            settled(tenant, path)
            found.append(tenant.ask('GET', f'/stack_sets/{stack}/members').status)
            found.append(tenant.ask('DELETE', path).status)
            settled(tenant, path)
    return found
