"""Exports of trees, which snapshots store: what they contain, what they read, and how large they may be."""

from __future__ import annotations

import json

import pytest

from heatlite.common import exception, limits, turns
from heatlite.db import codec, snapshots
from heatlite.engine.reconcile import exports
from heatlite.rpc import messages
from tests import reading
from tests.simulation.cluster import Cluster, done
from tests.simulation.test_nested import template

LARGE = 'x' * 5_000
INNER = json.dumps(template({'x': {'type': 'Sim::Thing', 'properties': {'value': 'one'}, 'metadata': {'a': 'b'}}}))


def made(cluster, count):
    """A stack with a group of nested stacks, and a file that no template reads."""
    stack_id = cluster.create('s', template({'group': {'type': 'OS::Heat::ResourceGroup', 'properties': {
        'count': count, 'resource_def': {'type': 'inner.yaml'}}}}), files={'inner.yaml': INNER, 'large': LARGE})
    done(cluster, stack_id, 'CREATE')
    return stack_id


def exported(cluster, stack_id):
    with cluster.database.reader() as tx:
        found = exports.Export(tx, stack_id)
    return found.document()


def test_a_document_has_the_files_of_a_tree_once():
    with Cluster(engines=1) as cluster:
        document = exported(cluster, made(cluster, 2))
        group = document['resources']['group']
        member = group['resources']['1']
        assert document['files'] == {'inner.yaml': INNER, 'large': LARGE}
        assert group['files'] == member['files'] == {}
        assert member['resources']['x'] == {
            'name': 'x', 'resource_id': member['resources']['x']['resource_id'], 'type': 'Sim::Thing',
            'action': 'CREATE', 'status': 'COMPLETE', 'metadata': {'a': 'b'}, 'resource_data': {}, 'redacted': []}
        assert member['template']['resources']['x']['type'] == 'Sim::Thing'
        assert (member['name'], member['id']) != (group['name'], group['id'])


def test_what_an_export_reads_does_not_grow_with_the_square_of_its_stacks():
    statements, steps = [], []
    for count in (5, 20):
        with Cluster(engines=1, interleaved=False) as cluster:
            stack_id = made(cluster, count)
            with reading.counted(cluster.database) as work:
                document = exported(cluster, stack_id)
            assert len(document['resources']['group']['resources']) == count
            assert json.dumps(document, default=dict).count(LARGE) == 1
            statements.append(len(work.statements))
            steps.append(work.steps)
    assert statements[0] == statements[1] <= 12
    assert steps[1] < 5 * steps[0]              # 4 times as many nested stacks


def test_a_nested_stack_is_exported_with_its_files():
    with Cluster(engines=1) as cluster:
        document = exported(cluster, made(cluster, 1))
        group = exported(cluster, document['resources']['group']['id'])
        assert group['files'] == document['files']
        assert group['resources'].keys() == {'0'}
        assert group['resources']['0']['files'] == {}


def test_a_document_is_encoded_in_pieces():
    document = {'name': 'é\0', 'files': {'a': 'ü', 'b': LARGE}, 'tags': [], 'template': {'resources': {'x': {}}},
                'resources': {f'r{number}': {'name': 'r', 'metadata': {'x': 1}} for number in range(50)}
                | {'nested': {'files': {}, 'resources': {'y': {'metadata': {}}}}}}
    taken = []
    turns.use(lambda *_owners: taken.append(True))
    try:
        text = exports.encoded(document).text
    finally:
        turns.use(None)
    assert text == codec.encode(document)
    assert len(taken) >= 3


def test_what_is_larger_than_an_export_may_be_is_refused(monkeypatch):
    with Cluster(engines=1, enable_stack_abandon=True) as cluster:
        stack_id = made(cluster, 3)
        monkeypatch.setattr(limits, 'MOST_EXPORTED', 9_000)
        for message in (messages.ExportStack(stack_id), messages.SnapshotStack(stack_id)):
            refused = cluster.ask(message, (exception.RequestLimitExceeded,))
            assert 'larger than 9000 characters: with its nested stacks it has ' in str(refused)
        assert cluster.row(stack_id).action == 'CREATE'


def test_the_size_that_is_checked_is_about_that_of_the_document():
    with Cluster(engines=1) as cluster:
        stack_id = made(cluster, 6)
        text = exports.encoded(exported(cluster, stack_id)).text
        with cluster.database.reader() as tx, pytest.MonkeyPatch.context() as patch:
            patch.setattr(limits, 'MOST_EXPORTED', len(text) - 1)
            with pytest.raises(exception.RequestLimitExceeded):
                exports.check_size(tx, stack_id)
            patch.setattr(limits, 'MOST_EXPORTED', 2 * len(text))
            exports.check_size(tx, stack_id)


def test_a_stack_that_grows_after_the_request_has_a_failed_snapshot(monkeypatch):
    with Cluster(engines=1) as cluster:
        stack_id = made(cluster, 1)
        accept = exports.without_resources

        def accepted(tx, row):
            monkeypatch.setattr(limits, 'MOST_EXPORTED', 100)
            return accept(tx, row)

        monkeypatch.setattr(exports, 'without_resources', accepted)
        cluster.ask(messages.SnapshotStack(stack_id))
        done(cluster, stack_id, 'SNAPSHOT')
        with cluster.database.reader() as tx:
            [snapshot] = snapshots.page(tx, stack_id)
        assert snapshot.status == 'FAILED'
        assert 'larger than 100 characters' in snapshot.reason
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)


@pytest.mark.parametrize('with_files', [False, True], ids=['now', 'as the former release wrote it'])
def test_a_document_is_adopted(with_files):
    with Cluster(engines=1, enable_stack_abandon=True, enable_stack_adopt=True) as cluster:
        stack_id = made(cluster, 2)
        document = json.loads(exports.encoded(exported(cluster, stack_id)).text)
        if with_files:
            document['resources']['group']['files'] = document['files']
        objects = {name: dict(each) for name, each in cluster.cloud.objects.items()}
        cluster.ask(messages.AbandonStack(stack_id))
        cluster.until_deleted(stack_id)
        again = cluster.create('again', document['template'], files=document['files'], adopt=document)
        done(cluster, again, 'ADOPT')
        assert cluster.cloud.objects == objects


@pytest.mark.parametrize('with_files', [False, True], ids=['now', 'as the former release wrote it'])
def test_a_snapshot_is_restored(with_files):
    with Cluster(engines=1) as cluster:
        stack_id = made(cluster, 2)
        snapshot_id = cluster.ask(messages.SnapshotStack(stack_id))['id']
        done(cluster, stack_id, 'SNAPSHOT')
        if with_files:
            with cluster.database.writer() as tx:
                data = json.loads(codec.encode(snapshots.show(tx, snapshot_id).data))
                data['resources']['group']['files'] = data['files']
                snapshots.set_state(tx, snapshot_id, status='COMPLETE', reason='', data=data)
        cluster.update(stack_id, template({}))
        done(cluster, stack_id, 'UPDATE')
        assert not cluster.cloud.objects
        cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id))
        done(cluster, stack_id, 'RESTORE')
        assert len(cluster.cloud.objects) == 2
