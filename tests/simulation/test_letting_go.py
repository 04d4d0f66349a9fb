"""An engine lets go of a stack and lives on: what it had not written yet is written before anybody goes on."""

from __future__ import annotations

import pytest

from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, strike, wait
from tests.simulation.test_crashes import assert_one_object_per_resource, template, thing


def growing(count, value):
    return template({f'r{n}': thing(value, needs=[f'r{n - 1}'] if n % 3 else []) for n in range(count)})


def life(cluster):
    """Three updates, each with new resources, the next one asked for in the middle of the one before."""
    stack_id = cluster.create('s', growing(2, 'a'))
    for count, value in ((4, 'b'), (7, 'c'), (9, 'd')):
        wait(cluster, 0.5)
        cluster.update(stack_id, growing(count, value))
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
    assert_one_object_per_resource(cluster, stack_id)
    assert sorted(cluster.states(stack_id)) == [f'r{n}' for n in range(9)]
    cluster.delete(stack_id)
    cluster.settle(stack_id)
    assert cluster.cloud.objects == {}


def ring(cluster, runtime, service, stack_id):
    for _ in range(20):                     # while the journal waits, too, for its next try
        runtime.sleep(0.11)
        cluster._wake_stack(service, stack_id)


def let_go(cluster, runtime):
    """And somebody rings for it again and again."""
    for here, service in cluster.engines:
        for stack_id in [runner.leased.id for runner in service.runners.all()]:
            service.runners.stop_failed(stack_id, RuntimeError('told to'))
            here.spawn(ring, cluster, here, service, stack_id)


def stop(cluster, runtime):
    """As SIGTERM does; another engine comes in its place."""
    found = [service for here, service in cluster.engines if here is runtime]
    if not found:
        return
    service = found[0]
    stacks = [runner.leased.id for runner in service.runners.all()]

    def end():
        service.stop()
        runtime.kill()
        cluster.chaos.on_kill(runtime)

    runtime.spawn(end)
    for stack_id in stacks:
        runtime.spawn(ring, cluster, runtime, service, stack_id)


@pytest.mark.parametrize('happen, away, stride', [
    (let_go, None, 11), (let_go, 1.5, 4), (stop, None, 11), (stop, 1.5, 11)])   # once a single visit showed a defect
def test_at_any_time(happen, away, stride):
    """`away`: the database goes at that moment, for so long."""
    def blow(cluster, number):
        def visited(label, runtime):
            if cluster.chaos.visits == number:
                happen(cluster, runtime)

        cluster.chaos.on_visit = visited
        if away is not None:
            cluster.chaos.away_at, cluster.chaos.away_for = {number}, away

    assert strike(life, stride, True, lambda chaos: chaos.visits, blow, lambda chaos: happen.__name__, engines=1) > 50


def test_an_update_before_the_create_has_answered():
    """Whoever asks for it knows the stack from the list. One runner does both."""
    with Cluster(engines=1) as cluster:
        runtime, service = cluster.engines[0]
        slow = []

        def visited(label, here):
            if label == 'after a commit' and not slow and cluster.user_stack('s'):
                slow.append(label)
                here.sleep(0.5)

        cluster.chaos.on_visit, cluster.chaos.enabled = visited, True
        runtime.spawn(service.endpoint.handle, cluster.context, messages.CreateStack(
            template=growing(3, 'a'), stack_name='s', environment={}))
        assert cluster.universe.run(lambda: bool(slow))
        stack_id = cluster.user_stack('s')
        cluster.update(stack_id, growing(6, 'b'))
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
        assert_one_object_per_resource(cluster, stack_id)
        assert len(cluster.states(stack_id)) == 6 and len(set(cluster.cloud.made)) == len(cluster.cloud.made)
