"""What is done with a case: validate, preview, create, read its outputs, update to it, list, delete."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.hostile.cases import Case
from tests.hostile.tenants import Answer, Tenant

HARMLESS = {'heat_template_version': '2018-08-31', 'resources': {
    'a': {'type': 'OS::Heat::Value', 'properties': {'value': 'v'}}}}
SETTLED = 45.0          # seconds an accepted action gets to end before the suite goes on
_numbers = itertools.count()


@dataclass(frozen=True)
class Attempt:
    """One request of the hostile tenant. `state`: of the stack when its action had ended, if one was accepted."""

    stage: str
    answer: Answer
    state: str | None = None


def attempts(tenant: Tenant, case: Case, stages: frozenset[str]) -> Iterator[Attempt]:
    """Performs the stages one after the other; nothing of them is left behind."""
    request = case.request()
    if 'validate' in stages:
        yield Attempt('validate', tenant.ask('POST', '/validate?show_nested=true', request))
    if 'preview' in stages:
        yield Attempt('preview', tenant.ask('POST', '/stacks/preview', {'stack_name': name(), **request}))
    if 'create' in stages:
        yield from _create(tenant, request)
    if 'update' in stages:
        yield from _update(tenant, request)


def _create(tenant: Tenant, request: dict[str, Any]) -> Iterator[Attempt]:
    stack = name()
    answer = tenant.ask('POST', '/stacks', {'stack_name': stack, 'disable_rollback': True, **request})
    if answer.status != 201:
        yield Attempt('create', answer)
        return
    path = f"/stacks/{stack}/{answer.body['stack']['id']}"
    yield Attempt('create', answer, settled(tenant, path))
    yield Attempt('outputs', tenant.ask('GET', path))
    yield Attempt('resources', tenant.ask('GET', f'{path}/resources?nested_depth=5'))
    yield Attempt('list', tenant.ask('GET', '/stacks'))
    yield Attempt('delete', tenant.ask('DELETE', path), settled(tenant, path))


def _update(tenant: Tenant, request: dict[str, Any]) -> Iterator[Attempt]:
    stack = name()
    answer = tenant.ask('POST', '/stacks', {'stack_name': stack, 'template': HARMLESS})
    if answer.status != 201:
        yield Attempt('update', answer)
        return
    path = f"/stacks/{stack}/{answer.body['stack']['id']}"
    settled(tenant, path)
    yield Attempt('update preview', tenant.ask('PUT', f'{path}/preview', request))
    answer = tenant.ask('PUT', path, request)
    yield Attempt('update', answer, settled(tenant, path) if answer.status == 202 else None)
    yield Attempt('outputs', tenant.ask('GET', path))
    yield Attempt('delete', tenant.ask('DELETE', path), settled(tenant, path))


def name() -> str:
    return f'hostile-{time.time_ns()}-{next(_numbers)}'


def settled(tenant: Tenant, path: str) -> str:
    """The state once the action has ended, or whatever it is after `SETTLED` seconds."""
    deadline = time.monotonic() + SETTLED
    while True:
        answer = tenant.ask('GET', f'{path}?resolve_outputs=false', patience=10.0)
        state = answer.body['stack']['stack_status'] if answer.status == 200 else f'HTTP {answer.status}'
        if answer.status == 404 or (answer.status == 200 and not state.endswith('IN_PROGRESS')):
            return state
        if time.monotonic() > deadline:
            return state
        time.sleep(0.2)
