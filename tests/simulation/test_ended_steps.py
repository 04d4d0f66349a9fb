"""Nothing is kept in memory for a step that has ended, in whichever way it did."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest
from keystoneauth1 import exceptions

from heatlite.common import exception, tracing
from heatlite.common.tracing import Span, SpanContext, Tracer
from heatlite.engine.reconcile.runner import Runner
from heatlite.rpc import messages
from tests.simulation import cloud as clouds
from tests.simulation import histories
from tests.simulation.cluster import Cluster, wait

SEEDS = range(16)
REQUEST = SpanContext('4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7', True)
HOOKS = {'resource_registry': {'resources': {'r*': {'hooks': ['pre-create', 'post-create', 'post-update']}}}}


class Restless(clouds.Thing):
    """Its calls fail now and then, meet a service or a database that is away, or are ended by a newer request."""

    def _act(self) -> None:
        self.runtime.sleep(self.runtime.random())
        match int(self.runtime.random() * 10):
            case 0:
                raise exception.DatabaseUnavailable(reason='away')
            case 1:
                raise exceptions.ConnectFailure('away')
            case 2:
                raise exception.Error('failed')

    def handle_create(self):
        self._act()
        return super().handle_create()

    def check_create_complete(self, handle):
        self._act()
        return super().check_create_complete(handle)

    def needs_replace_with_prop_diff(self, changed_properties_set, after_props, before_props):
        self._act()
        return False

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self._act()
        return super().handle_update(json_snippet, tmpl_diff, prop_diff)

    def handle_delete(self):
        self.runtime.sleep(3.0)                 # its runner is to see the results of all other calls
        super().handle_delete()

    def handle_create_cancel(self, handle):
        self.runtime.sleep(self.runtime.random())

    def handle_preempt(self):
        return True


def left_by(runner: Runner) -> dict[str, Any]:
    """The tables of a runner's parts that are not empty, but for the numbers of attempts in traces."""
    parts = (runner._inbox, runner._calls, runner._calls._spans, runner._store, runner._steps, runner.breakpoints,
             runner.executor.contexts)
    return {f'{type(part).__name__}.{name}': value for part in parts for name, value in vars(part).items()
            if isinstance(value, dict | set | list | deque) and value and name != '_failures'}


def definition(randomness: random.Random) -> dict[str, Any]:
    found = histories.definition(randomness, may_fail=False)
    for each in found['resources'].values():
        each['type'] = 'Sim::Restless'
    return found


def live(cluster: Cluster, randomness: random.Random) -> list[Runner]:
    """Make a stack, update it while it is busy, and delete it. Return the runners that have driven it."""
    (_runtime, service), = cluster.engines
    service.registry.register('Sim::Restless', Restless)
    runners: dict[Runner, None] = {}

    def go_on(seconds: float) -> None:
        runner = service.runners.get(stack_id)
        if runner is not None:
            runners[runner] = None
        wait(cluster, seconds)

    stack_id = cluster.create('s', definition(randomness), disable_rollback=randomness.random() < 0.5)
    for _ in range(randomness.randrange(1, 5)):
        go_on(randomness.choice([0.01, 1.0, 5.0]))
        cluster.ask(messages.UpdateStack(
            stack_id=stack_id, template=definition(randomness), disable_rollback=randomness.random() < 0.5,
            environment=randomness.choice([{}, HOOKS]), timeout_mins=1), allowed=histories.REFUSED)
    go_on(randomness.choice([0.01, 1.0, 5.0]))
    cluster.delete(stack_id)
    while cluster.row(stack_id).deleted_at is None:
        assert cluster.universe.time < 10_000
        go_on(0.5)
    wait(cluster, 1.0)
    return list(runners)


@pytest.fixture
def spans(monkeypatch):
    found: list[Span] = []
    monkeypatch.setattr(tracing, 'tracer', Tracer(found.append))
    return found


@pytest.mark.parametrize('seed', SEEDS)
def test_nothing_is_left_of_a_history(seed, spans):
    with Cluster(seed, engines=1) as cluster:
        cluster.context.trace = REQUEST
        runners = live(cluster, random.Random(seed))
        assert runners
        assert [left_by(runner) for runner in runners] == [{}] * len(runners)
    assert any(span.name.endswith('Sim::Restless') for span in spans)
