"""Restores from snapshots, of a type that brings back what it had."""

from __future__ import annotations

from heatlite.common import exception
from heatlite.db import snapshots, tables
from heatlite.rpc import messages
from tests.simulation import cloud, statements
from tests.simulation.cluster import Cluster, done, kill_engines_in
from tests.simulation.test_nested import template

COUNT = 12


class Kept(cloud.Thing):
    """Brings back the value that its object had, whatever the template says."""

    def handle_snapshot(self):
        self.data_set('value', cloud.CLOUD.objects[self.resource_id]['value'])

    def handle_restore(self, definition, saved):
        given, value = definition.freeze()._properties, saved['resource_data']['value']
        return definition.freeze(properties={**given, 'value': value})


def register(cluster):
    for _runtime, service in cluster.engines:
        service.registry.register('Sim::Kept', Kept)


def made(cluster, count=COUNT):
    """A stack whose objects have changed behind its back when they were saved, and were updated since; its snapshot."""
    register(cluster)
    names = [f'r{number}' for number in range(count)]

    def kept(value):
        return template({name: {'type': 'Sim::Kept', 'properties': {'value': value}} for name in names})

    stack_id = cluster.create('s', kept('one'))
    done(cluster, stack_id, 'CREATE')
    for each in cluster.cloud.objects.values():
        each['value'] = 'two'
    snapshot_id = cluster.ask(messages.SnapshotStack(stack_id))['id']
    done(cluster, stack_id, 'SNAPSHOT')
    cluster.update(stack_id, kept('three'))
    done(cluster, stack_id, 'UPDATE')
    return stack_id, snapshot_id


def values(cluster):
    return {each['value'] for each in cluster.cloud.objects.values()}


def test_a_stack_with_a_snapshot_that_cannot_be_read_is_deleted():
    with Cluster(engines=1) as cluster:
        stack_id, snapshot_id = made(cluster, 1)
        with cluster.database.writer() as tx:
            tx.execute(tables.snapshot.update().where(tables.snapshot.c.id == snapshot_id).values(data='{"broken'))
            assert snapshots.show(tx, snapshot_id).data is None
        assert isinstance(cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id), (exception.NotSupported,)),
                          exception.NotSupported)
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)


def test_snapshots_of_a_deleted_stack_are_read_one_after_the_other():
    with Cluster(engines=1) as cluster:
        stack_id, _snapshot_id = made(cluster)
        for _number in range(2):
            cluster.ask(messages.SnapshotStack(stack_id))
            done(cluster, stack_id, 'SNAPSHOT')
        with statements.noted(lambda text: text.startswith('SELECT') and 'snapshot.data' in text) as seen:
            cluster.delete(stack_id)
            cluster.until_deleted(stack_id)
    assert len(seen) == 3 and all('WHERE snapshot.id = ' in text for text in seen)


def test_a_snapshot_that_is_deleted_is_read_outside_of_the_transaction():
    with Cluster(engines=1) as cluster:
        stack_id, snapshot_id = made(cluster, 1)
        with statements.noted(lambda text: 'FROM snapshot' in text) as seen:
            cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))
    assert ['snapshot.data' in text for text in seen if text.startswith('SELECT')] == [False, True]


def test_the_snapshot_is_read_once():
    with Cluster(engines=1) as cluster:
        stack_id, snapshot_id = made(cluster)
        for _number in range(2):                # in each restore
            with statements.noted(lambda text: text.startswith('SELECT') and 'snapshot.data' in text) as seen:
                cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id))
                done(cluster, stack_id, 'RESTORE')
            assert values(cluster) == {'two'}
            assert len(seen) == 1


def test_a_snapshot_that_is_being_restored_is_not_deleted():
    with Cluster(engines=1) as cluster:
        stack_id, snapshot_id = made(cluster)
        cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id))
        assert cluster.row(stack_id).status == 'IN_PROGRESS'
        error = cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id), [exception.NotSupported])
        assert str(error) == 'Deleting a snapshot that is being restored is not supported.'
        done(cluster, stack_id, 'RESTORE')
        assert values(cluster) == {'two'}
        cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))


def test_a_restore_needs_its_snapshot_no_longer():
    """The definition with the copies is that of the stack."""
    with Cluster(engines=1) as cluster:
        stack_id, snapshot_id = made(cluster)
        cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id))
        with cluster.database.writer() as tx:
            snapshots.delete(tx, snapshot_id)
        done(cluster, stack_id, 'RESTORE')
        assert values(cluster) == {'two'}


def life(cluster):
    cluster.chaos.enabled = False
    stack_id, snapshot_id = made(cluster, 3)
    cluster.chaos.enabled = True
    prepare, cluster._prepare = cluster._prepare, lambda service: (
        prepare(service), service.registry.register('Sim::Kept', Kept))
    cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id))
    done(cluster, stack_id, 'RESTORE')
    assert values(cluster) == {'two'}


def test_killed_at_any_point():
    assert kill_engines_in(life, 9, from_the_start=False) > 5
