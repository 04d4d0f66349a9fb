"""What plans cost: `python -m tests.bench plans`. One engine in this process, the simulated OpenStack, SQLite.

Each line is one plan, of a create or of an update that adds one resource: without questions to services, with them,
and with a look at reality, which takes one request for each resource.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from heatlite.testing.clouds import simulated
from tests.simulation.openstack import Resources, stack

COUNT, OBSERVED = 10000, 1000           # resources of a stack
KINDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    'no-op': ('OS::Heat::None', {}), 'volumes': ('OS::Cinder::Volume', {'size': 1})}
LINES = (                               # what is planned, kind, count, seconds of questions, refresh
    ('create, not asking', 'no-op', COUNT, 0.0, False), ('create, checked', 'no-op', COUNT, 10.0, False),
    ('create, not asking', 'volumes', COUNT, 0.0, False), ('create, checked', 'volumes', COUNT, 10.0, False),
    ('update, not asking', 'volumes', OBSERVED, 0.0, False), ('update, checked', 'volumes', OBSERVED, 10.0, False),
    ('update, refreshed', 'volumes', OBSERVED, 10.0, True))


def resources(kind: str, count: int, more: int = 0) -> Resources:
    name, properties = KINDS[kind]
    return {f'r{number}': (name, dict(properties)) for number in range(count + more)}


def measure(smaller: int = 1) -> list[dict[str, Any]]:
    found = []
    with simulated() as cloud:
        for what, kind, count, seconds, refresh in LINES:
            count //= smaller
            with stack(cloud, engines=1, interleaved=False, **{'plans.check_timeout': seconds}) as it:
                if what.startswith('update'):
                    it.create(resources(kind, count))
                asked, before = it.count_requests(), time.perf_counter()
                plan = it.plan(resources(kind, count, more=1), converge=refresh or None)
                took = time.perf_counter() - before
                found.append({'plan': what, 'kind': kind, 'resources': count, 'seconds': took,
                              'requests': it.count_requests() - asked, 'totals': dict(plan.document['totals'])})
    return found


def table(found: list[dict[str, Any]]) -> str:
    return '\n'.join(f"{each['plan']:>20} {each['resources']:>6} {each['kind']:<8} {each['seconds']:>7.2f} s "
                     f"{each['requests']:>6} requests" for each in found)
