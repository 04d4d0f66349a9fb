"""Copies that types make for snapshots: restored for good, and deleted exactly once with the snapshot or the stack."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from heatlite.common import exception
from heatlite.db import snapshots, templates
from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, done

CHILD = json.dumps({'heat_template_version': '2018-08-31', 'resources': {
    'x': {'type': 'Sim::Copied', 'properties': {'value': 'v'}}}})


class Copied(cloud.Thing):
    """Copies the value of its object. `COPIES`: which copies there are; `DELETING`: checks until one is deleted. As
    Cinder does, its service refuses to delete what it is deleting."""

    COPIES: list[str] = []
    BEING_DELETED: list[str] = []
    DELETED: list[str] = []
    DELETING = 0
    REFUSES = False

    def handle_snapshot(self):
        made = (*self.COPIES, *self.DELETED, *self.BEING_DELETED)
        self.data_set('copy', f'{self.name}-{sum(copy.startswith(self.name) for copy in made)}')
        self.data_set('value', cloud.CLOUD.objects[self.resource_id]['value'])
        self.COPIES.append(self.data()['copy'])

    def handle_delete_snapshot(self, saved):
        if Copied.REFUSES:
            raise exception.Error('the service is away')
        copy = saved['resource_data']['copy']
        if copy in self.BEING_DELETED:
            raise exception.Error(f'400: {copy} is being deleted')
        if copy not in self.COPIES:
            return None                             # the service does not know it
        self.COPIES.remove(copy)
        self.BEING_DELETED.append(copy)
        return copy

    def check_delete_snapshot_complete(self, copy):
        if copy not in self.BEING_DELETED:
            return True
        if Copied.DELETING:
            Copied.DELETING -= 1
            return False
        self.BEING_DELETED.remove(copy)
        self.DELETED.append(copy)
        return True

    def handle_restore(self, definition, saved):
        given = definition.freeze()._properties
        return definition.freeze(properties={**given, 'value': f"{saved['resource_data']['value']} again"})


@pytest.fixture
def cluster(monkeypatch):
    with copying(monkeypatch) as place:
        yield place


@contextmanager
def copying(monkeypatch, **options):
    for name, value in (('COPIES', []), ('BEING_DELETED', []), ('DELETED', []), ('DELETING', 0), ('REFUSES', False)):
        monkeypatch.setattr(Copied, name, value)
    with Cluster(**{'engines': 1, **options}) as place:
        for _runtime, service in place.engines:
            service.registry.register('Sim::Copied', Copied)
        yield place


def template(*names, kind='Sim::Copied', **more):
    return {'heat_template_version': '2018-08-31',
            'parameters': {'p': {'type': 'string', 'default': 'x'}, 'q': {'type': 'string', 'default': ''}},
            'resources': {**{name: {'type': kind, 'properties': {
                'value': {'get_param': 'p'}, 'fixed': {'get_param': 'q'}}} for name in names}, **more}}


def created(cluster, wanted, **more):
    stack_id = cluster.ask(messages.CreateStack(stack_name='s', template=wanted, **more))['stack_id']
    done(cluster, stack_id, 'CREATE')
    return stack_id


def saved(cluster, stack_id):
    snapshot_id = cluster.ask(messages.SnapshotStack(stack_id))['id']
    done(cluster, stack_id, 'SNAPSHOT')
    return snapshot_id


def updated(cluster, stack_id, wanted=None, **more):
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=wanted, existing=wanted is None, **more))
    done(cluster, stack_id, 'UPDATE')


def values(cluster):
    return sorted(each['value'] for each in cluster.cloud.objects.values())


def records(cluster, stack_id):
    with cluster.database.reader() as tx:
        return [(each.action, each.status, each.reason) for each in snapshots.page(tx, stack_id)]


# --- restoring ------------------------------------------------------------------------------------------


def restored(cluster):
    stack_id = created(cluster, template('a', 'b'))
    snapshot_id = saved(cluster, stack_id)
    updated(cluster, stack_id, template('b', 'z'))
    cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id))
    done(cluster, stack_id, 'RESTORE')
    assert values(cluster) == ['x again', 'x again'], 'also of what was removed since'
    return stack_id, snapshot_id


@pytest.mark.parametrize('request_of', [{}, {'converge': True}, {'tags': ['new']}])
def test_an_update_of_nothing_after_a_restore_calls_nothing(cluster, request_of):
    stack_id, _snapshot_id = restored(cluster)
    before = list(cluster.cloud.calls)
    updated(cluster, stack_id, **request_of)
    assert (cluster.cloud.calls, values(cluster)) == (before, ['x again', 'x again'])


def test_a_rollback_goes_back_to_what_was_restored(cluster):
    stack_id, _snapshot_id = restored(cluster)
    cluster.ask(messages.UpdateStack(
        stack_id=stack_id, template=template('a', 'b', c={'type': 'Sim::Thing', 'properties': {'fail': True}}),
        disable_rollback=False))
    done(cluster, stack_id, 'ROLLBACK')
    assert values(cluster) == ['x again', 'x again']


def test_the_template_has_the_copies_and_the_functions_of_other_properties(cluster):
    stack_id, _snapshot_id = restored(cluster)
    with cluster.database.reader() as tx:
        document = templates.get(tx, cluster.row(stack_id).template_id).document
    assert document['resources']['a']['properties'] == {'value': 'x again', 'fixed': {'get_param': 'q'}}
    assert document['parameters'] == template()['parameters']


def test_an_error_of_a_type_refuses_the_restore(cluster, monkeypatch):
    stack_id = created(cluster, template('a'))
    snapshot_id = saved(cluster, stack_id)
    monkeypatch.setattr(Copied, 'handle_restore', lambda *arguments: [][0])
    refused = cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id), [exception.StackValidationFailed])
    assert str(refused).startswith('Restore error: resources.a: ') and cluster.row(stack_id).action == 'SNAPSHOT'


def test_a_nested_stack_is_not_copied(cluster):
    stack_id = created(cluster, template('a', n={'type': 'child.yaml'}, g={
        'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 2, 'resource_def': {
            'type': 'Sim::Copied', 'properties': {'value': 'q'}}}}), files={'child.yaml': CHILD})
    snapshot_id = saved(cluster, stack_id)
    assert Copied.COPIES == ['a-0']
    assert {name: rows[0][:2] for name, rows in cluster.states(stack_id).items()} == dict.fromkeys(
        ('a', 'n', 'g'), ('SNAPSHOT', 'COMPLETE'))
    cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id))
    done(cluster, stack_id, 'RESTORE')
    assert values(cluster) == ['q', 'q', 'v', 'x again']


def test_what_was_never_created_is_left_out(cluster):
    broken = {'type': 'Sim::Thing', 'properties': {'fail': True}}
    stack_id = cluster.ask(messages.CreateStack(stack_name='s', files={'child.yaml': CHILD}, template=template(
        broken=broken, a={'type': 'Sim::Copied', 'depends_on': 'broken'},
        n={'type': 'child.yaml', 'depends_on': 'broken'})))['stack_id']
    assert cluster.settle(stack_id).status == 'FAILED'
    saved(cluster, stack_id)
    never = [('INIT', 'COMPLETE', None)]
    assert (Copied.COPIES, cluster.states(stack_id)['a'], cluster.states(stack_id)['n']) == ([], never, never)


# --- deleting -------------------------------------------------------------------------------------------

SINCE = {
    'nothing': lambda cluster, stack_id: None,
    'one was removed': lambda cluster, stack_id: updated(cluster, stack_id, template('b')),
    'all were removed': lambda cluster, stack_id: updated(cluster, stack_id, template()),
    'another type': lambda cluster, stack_id: updated(cluster, stack_id, template('a', 'b', kind='Sim::Thing')),
    'one was replaced': lambda cluster, stack_id: updated(
        cluster, stack_id, environment={'parameters': {'q': 'other'}}),
    'another snapshot': lambda cluster, stack_id: saved(cluster, stack_id),
}


@pytest.mark.parametrize('with_stack', [False, True])
@pytest.mark.parametrize('since', SINCE)
def test_every_copy_is_deleted_once(cluster, since, with_stack):
    stack_id = created(cluster, template('a', 'b'))
    snapshot_id = saved(cluster, stack_id)
    of_snapshot = sorted(Copied.COPIES)
    SINCE[since](cluster, stack_id)
    everything = sorted(Copied.COPIES)
    if with_stack:
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
        assert (sorted(Copied.DELETED), Copied.COPIES) == (everything, [])
    else:
        cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))
        assert sorted(Copied.DELETED) == of_snapshot
        assert len(records(cluster, stack_id)) == (since == 'another snapshot')


@pytest.mark.parametrize('with_stack', [False, True])
def test_the_check_is_called_until_the_copy_is_deleted(cluster, monkeypatch, with_stack):
    stack_id = created(cluster, template('a', 'b'))
    snapshot_id = saved(cluster, stack_id)
    monkeypatch.setattr(Copied, 'DELETING', 3)
    if with_stack:
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
    else:
        cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))
        assert records(cluster, stack_id) == []
    assert sorted(Copied.DELETED) == ['a-0', 'b-0']


def test_a_copy_that_cannot_be_deleted_keeps_its_snapshot(cluster, monkeypatch):
    stack_id = created(cluster, template('a', 'b'))
    snapshot_id = saved(cluster, stack_id)
    monkeypatch.setattr(Copied, 'REFUSES', True)
    cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))
    assert records(cluster, stack_id) == [
        ('DELETE', 'FAILED', 'resources.a: the service is away; resources.b: the service is away')]
    refused = cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id), [exception.NotSupported])
    assert 'incomplete snapshot' in str(refused)
    monkeypatch.setattr(Copied, 'REFUSES', False)
    cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))
    assert (records(cluster, stack_id), sorted(Copied.DELETED)) == ([], ['a-0', 'b-0'])


def test_a_copy_that_cannot_be_deleted_fails_the_delete_of_the_stack(cluster, monkeypatch):
    stack_id = created(cluster, template('a'))
    saved(cluster, stack_id)
    monkeypatch.setattr(Copied, 'REFUSES', True)
    cluster.delete(stack_id)
    row = cluster.settle(stack_id)
    assert (row.action, row.status, row.reason) == (
        'DELETE', 'FAILED', 'Snapshot deletion failed: resources.a: the service is away')
    monkeypatch.setattr(Copied, 'REFUSES', False)
    cluster.delete(stack_id)
    cluster.until_deleted(stack_id)
    assert Copied.DELETED == ['a-0']


def test_copies_that_are_gone_are_deleted(cluster):
    stack_id = created(cluster, template('a', 'b'))
    snapshot_id = saved(cluster, stack_id)
    Copied.COPIES.remove('b-0')
    cluster.ask(messages.DeleteSnapshot(stack_id, snapshot_id))
    assert (records(cluster, stack_id), Copied.DELETED) == ([], ['a-0'])


def test_a_release_leaves_copies_that_cannot_be_deleted(cluster, monkeypatch):
    stack_id = created(cluster, template('a'))
    saved(cluster, stack_id)
    monkeypatch.setattr(Copied, 'REFUSES', True)
    cluster.ask(messages.ReleaseStack(stack_id))
    cluster.until_deleted(stack_id)
