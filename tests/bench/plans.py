"""What plans cost: `python -m tests.bench plans`. One engine in this process, the simulated OpenStack, SQLite.

Each line of the first table is one plan, of a create or of an update that adds one resource: without questions to
services, with them, and with a look at reality. Those of the second are updates of no-op resources, asked for directly
and by a plan. `python -m tests.bench mariadb --scenarios planned` does the same over HTTP on a whole deployment. The
collector of garbage is configured as in the programs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from heatlite.cmd import parts
from heatlite.rpc import messages
from heatlite.testing.clouds import simulated
from tests.simulation.openstack import Resources, stack, template

COUNT, OBSERVED = 10000, 1000           # resources of a stack
ROUNDS = 3                              # of each update, in turns
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


class Meter:
    """Seconds of the clock and of this process. `with Meter() as meter`."""

    def __enter__(self) -> Meter:
        self._began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_error: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self._began[0], time.process_time() - self._began[1]


def measure(smaller: int = 1) -> dict[str, Any]:
    """`smaller`: divides the sizes."""
    found = []
    with simulated() as cloud:
        for what, kind, count, seconds, refresh in LINES:
            count //= smaller
            with stack(cloud, engines=1, interleaved=False, **{'plans.check_timeout': seconds}) as it:
                if what.startswith('update'):
                    it.create(resources(kind, count))
                parts.configure_collector()
                asked = it.count_requests()
                with Meter() as meter:
                    plan = it.plan(resources(kind, count, more=1), converge=refresh or None)
                found.append({'plan': what, 'kind': kind, 'resources': count, 'seconds': meter.wall, 'cpu': meter.cpu,
                              'requests': it.count_requests() - asked, 'totals': dict(plan.document['totals'])})
        return {'plans': found, 'updates': [
            {'update': what, 'resources': COUNT // smaller, **_updates(cloud, COUNT // smaller, wanted)}
            for what, wanted in UPDATES.items()]}


def _changed(count: int, number: int) -> Resources:
    """Another value in each resource."""
    return {name: ('OS::Heat::TestResource', {'value': str(number)}) for name in resources('no-op', count)}


UPDATES: Mapping[str, Callable[[int, int], Resources]] = {
    'of nothing': lambda count, number: resources('no-op', count),
    'of one more': lambda count, number: resources('no-op', count, more=number),
    'of all': _changed}


def _updates(cloud: Any, count: int, wanted: Callable[[int, int], Resources]) -> dict[str, float]:
    """Medians of CPU seconds of an update, from its request to its end: asked for directly, and by a plan."""
    cost: dict[str, list[float]] = {'directly': [], 'by_a_plan': []}
    with stack(cloud, engines=1, interleaved=False, **{'plans.check_timeout': 0.0}) as it:
        it.create(wanted(count, 0))
        for number in range(1, 2 * ROUNDS + 1):
            way = ('directly', 'by_a_plan')[number % 2]
            plan = it.plan(wanted(count, number)) if way == 'by_a_plan' else None
            parts.configure_collector()
            with Meter() as meter:
                it.cluster.ask(messages.UpdateStack(stack_id=it.id, template=template(wanted(count, number)))
                               if plan is None else messages.ApplyPlan(plan.id))
                it.cluster.settle(it.id)
            cost[way].append(meter.cpu)
    return {way: statistics.median(found) for way, found in cost.items()}


def table(found: Mapping[str, Any]) -> str:
    return '\n'.join([
        *(f"{each['plan']:>20} {each['resources']:>6} {each['kind']:<8} {each['seconds']:>7.2f} s "
          f"{each['cpu']:>7.2f} s CPU {each['requests']:>6} requests" for each in found['plans']),
        *(f"update {each['update']:>12} {each['resources']:>6}: directly {each['directly']:.2f} s CPU, by a plan "
          f"{each['by_a_plan']:.2f} s CPU ({100 * (each['by_a_plan'] / each['directly'] - 1):+.1f} %)"
          for each in found['updates'])])
