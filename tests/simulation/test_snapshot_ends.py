"""The end of a snapshot is stored once: whatever keeps its stack driven afterwards does not change it."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import snapshots
from heatlite.engine.types import event_sink_types
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, owner, wait

ONE = {'heat_template_version': '2018-08-31', 'resources': {'one': {'type': 'Sim::Thing'}}}
NOTES = {'event_sinks': [{'type': 'notes'}]}


class Notes:
    def consume(self, context, event):
        pass


@pytest.fixture(autouse=True)
def notes(monkeypatch):
    monkeypatch.setitem(event_sink_types.BUILT_IN, 'notes', f'{__name__}:Notes')


def taken(cluster, environment=None):
    """A stack with a snapshot, and that."""
    stack_id = cluster.create('s', ONE, environment)
    done(cluster, stack_id, 'CREATE')
    made = cluster.ask(messages.SnapshotStack(stack_id, 'monday'))
    done(cluster, stack_id, 'SNAPSHOT')
    return stack_id, stored(cluster, made['id'])


def stored(cluster, snapshot_id):
    with cluster.database.reader() as tx:
        return snapshots.show(tx, snapshot_id)


def test_event_sinks_that_are_behind():
    with Cluster(engines=1) as cluster:
        stack_id, found = taken(cluster, NOTES)
        assert found.status == 'COMPLETE', found.reason
        wait(cluster, 60)
        assert stored(cluster, found.id) == found
        cluster.ask(messages.RestoreSnapshot(stack_id, found.id))
        done(cluster, stack_id, 'RESTORE')


def test_a_signal():
    with Cluster(engines=1) as cluster:
        stack_id, found = taken(cluster)
        cluster.ask(messages.SignalResource(stack_id, 'one', {'word': 'hello'}, False))
        assert cluster.universe.run(lambda: 'hello' in cluster.cloud.heard, limit=100)
        wait(cluster, 60)
        assert stored(cluster, found.id) == found


def test_an_update_afterwards():
    with Cluster(engines=1) as cluster:
        stack_id, found = taken(cluster, NOTES)
        cluster.update(stack_id, {**ONE, 'description': 'new'})
        cluster.settle(stack_id)
        wait(cluster, 60)
        assert stored(cluster, found.id) == found


def test_another_one_while_it_has_not_ended():
    """An update has taken its place and was stopped, and the engine that drives the stack has not seen that yet."""
    with Cluster(engines=2) as cluster:
        stack_id = cluster.create('s', ONE)
        done(cluster, stack_id, 'CREATE')
        first = cluster.ask(messages.SnapshotStack(stack_id, 'monday'))
        frozen = owner(cluster, stack_id)
        frozen.freeze(3.0)
        present, cluster.engines = cluster.engines, [each for each in cluster.engines if each[0] is not frozen]
        cluster.update(stack_id, ONE)
        cluster.ask(messages.CancelStack(stack_id, rollback=False))
        refused = cluster.ask(messages.SnapshotStack(stack_id, 'tuesday'), [exception.ActionInProgress])
        assert isinstance(refused, exception.ActionInProgress)
        cluster.engines = present
        cluster.settle(stack_id)
        assert stored(cluster, first['id']).status == 'FAILED'
        second = cluster.ask(messages.SnapshotStack(stack_id, 'tuesday'))
        done(cluster, stack_id, 'SNAPSHOT')
        assert stored(cluster, second['id']).status == 'COMPLETE'
