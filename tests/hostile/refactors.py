"""The bombs that are refactors: as many stacks, moves and resources as a request holds, and bombs in templates."""

from __future__ import annotations

import json
from typing import Any

from tests.hostile import cases
from tests.hostile.stages import name, settled
from tests.hostile.tenants import Tenant

RESOURCES = 900                         # of the stack that is refactored
STACKS = 20


def line(prefix: str) -> dict[str, Any]:
    """A template in which each resource refers to the one before."""
    return cases.stack({f'{prefix}{number:03}': {'type': cases.TYPE, 'properties': {
        'value': {'get_attr': [f'{prefix}{number - 1:03}', 'value']} if number else 'v'}}
        for number in range(RESOURCES)})['template']


def move(stack: str, before: str, after: str) -> dict[str, Any]:
    return {'from': {'stack': stack, 'resource': before}, 'to': {'stack': stack, 'resource': after}}


def bodies(stack: str) -> list[dict[str, Any]]:
    """What is asked for of a stack with `line('r')`."""
    kept = [{'stack': stack, 'existing': True}]
    names = [f'r{number:03}' for number in range(RESOURCES)]
    around = [move(stack, each, names[(number + 1) % RESOURCES]) for number, each in enumerate(names)]
    joined = [{'stack': f'bomb{number}', 'new': True, **cases.joins_in_joins()} for number in range(STACKS)]
    patterns = {'stack': 'bomb', 'new': True, **cases.many_pattern_parameters()}
    return [
        {'stacks': kept, 'moves': around},                                      # each takes the name of the next one
        {'stacks': kept, 'moves': [move(stack, each, f'x{each}') for each in names]},
        {'stacks': [{'stack': stack, 'template': line('y')}],
         'moves': [move(stack, each, f'y{each[1:]}') for each in reversed(names)]},
        {'stacks': kept, 'moves': [move(stack, 'r000', 'x')] * 15_000},
        {'stacks': kept * 9000, 'moves': [move(stack, 'r000', 'x')]},
        {'stacks': kept, 'moves': [move(stack, 'r000/' * 40_000, 'x' * 200_000)]},
        {'stacks': joined, 'moves': []},
        {'stacks': [*kept, patterns], 'moves': [move(stack, 'r000', 'x')]},
        {'stacks': kept, 'moves': {'from': 1}},
    ]


def refactors(tenant: Tenant, _port: int) -> list[int]:
    """Previews and refactors of a long chain of resources."""
    stack = name()
    made = tenant.ask('POST', '/stacks', {'stack_name': stack, 'template': line('r')})
    path = f"/stacks/{stack}/{made.body['stack']['id']}"
    settled(tenant, path)
    found = [tenant.ask('POST', f'/refactors{kind}', data=json.dumps(body).encode(),
                        headers={'Content-Type': 'application/json'}).status
             for body in bodies(stack) for kind in ('/preview', '')]
    tenant.ask('DELETE', path)
    settled(tenant, path)
    return found
