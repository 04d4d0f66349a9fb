"""Callers of one project who ask for stacks without a pause."""

from __future__ import annotations

import itertools
import threading
import time

from tests.hostile.stages import settled
from tests.hostile.tenants import Tenant

CALLERS = 32
SECONDS = 10.0
PATIENCE = 10.0         # seconds until each answer
LATE = -2               # an answer that came after that
TEMPLATE = {'heat_template_version': '2018-08-31', 'resources': {
    f'r{number}': {'type': 'OS::Heat::Value', 'properties': {'value': str(number)}} for number in range(20)}}


def flood(tenant: Tenant, port: int) -> list[int]:
    """Stacks until the quota is used up, and refused requests from there on. All stacks are deleted afterwards."""
    end = time.monotonic() + SECONDS
    statuses: list[int] = []
    paths: list[str] = []

    def call(caller: int) -> None:
        for number in itertools.count():
            if time.monotonic() > end:
                return
            name = f'flood-{caller}-{number}'
            answer = tenant.ask('POST', '/stacks', {'stack_name': name, 'template': TEMPLATE})
            statuses.append(answer.status if answer.seconds < PATIENCE else LATE)
            if answer.status == 201:
                paths.append(f"/stacks/{name}/{answer.body['stack']['id']}")

    callers = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    statuses += [tenant.ask('DELETE', path).status for path in paths]
    for path in paths:
        settled(tenant, path)
    return statuses
