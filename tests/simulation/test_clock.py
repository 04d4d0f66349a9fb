"""The clock of the database's machine is set: nobody who lives loses a stack, and nobody who died keeps one."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, owner
from tests.simulation.test_crashes import assert_one_object_per_resource, twenty


def in_the_middle(cluster):
    stack_id = cluster.create('s', twenty())
    assert cluster.universe.run(lambda: len(cluster.cloud.made) >= 7)
    return stack_id


def epoch_of(cluster, stack_id):
    with cluster.database.reader() as tx:
        return tx.exec_driver_sql('SELECT epoch FROM lease WHERE stack_id = ?', (stack_id,)).scalar()


@pytest.mark.parametrize('seconds', [2.0, 100.0, -100.0, -5000.0])
def test_who_lives_keeps_his_stacks(seconds):
    for seed in range(4):
        with Cluster(seed, engines=3) as cluster:
            stack_id = in_the_middle(cluster)
            epoch = epoch_of(cluster, stack_id)
            cluster.universe.database_ahead += seconds
            row = cluster.settle(stack_id)
            assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
            assert epoch_of(cluster, stack_id) == epoch, f'seed {seed}: somebody else took it'
            assert_one_object_per_resource(cluster, stack_id)


REQUESTS = {
    'update': lambda stack_id: messages.UpdateStack(stack_id=stack_id, environment={}, template=twenty()),
    'check': lambda stack_id: messages.StackAction(stack_id, 'check'),
    'cancel': lambda stack_id: messages.CancelStack(stack_id, rollback=False),
    'signal': lambda stack_id: messages.SignalResource(stack_id, 'r0', {'word': 'hello'}),
    'unhealthy': lambda stack_id: messages.MarkUnhealthy(stack_id, 'r0', True, 'felt so'),
    'delete': lambda stack_id: messages.DeleteStack(stack_id),
}


@pytest.mark.parametrize('request_for', REQUESTS.values(), ids=list(REQUESTS))
def test_no_request_takes_a_stack_from_who_lives(request_for):
    for seed in range(6):
        with Cluster(seed, engines=3) as cluster:
            stack_id = in_the_middle(cluster)
            driving = owner(cluster, stack_id)
            cluster.universe.database_ahead += 100.0
            cluster.ask(request_for(stack_id), allowed=(exception.HeatException,))
            assert owner(cluster, stack_id) is driving, f'seed {seed}: somebody else took it'
            cluster.settle(stack_id)
            names = [found['name'] for found in cluster.cloud.objects.values()]
            assert len(names) == len(set(names)), f'seed {seed}: made twice'


@pytest.mark.parametrize('seconds', [100.0, -5000.0])
def test_who_died_keeps_nothing(seconds):
    for seed in range(3):
        with Cluster(seed, engines=3) as cluster:
            stack_id = in_the_middle(cluster)
            owner(cluster, stack_id).kill()
            cluster.engines = [each for each in cluster.engines if not each[0].dead]
            cluster.universe.database_ahead += seconds
            row = cluster.settle(stack_id, limit=30)
            assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
            assert_one_object_per_resource(cluster, stack_id)
