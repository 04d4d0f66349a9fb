"""The clock of the database's machine is set: nobody who lives loses a stack, and nobody who died keeps one."""

from __future__ import annotations

import pytest

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
