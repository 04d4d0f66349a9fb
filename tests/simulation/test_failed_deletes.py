"""Stacks whose delete has failed: they can be acted on, and deleted afterwards."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import resources
from heatlite.rpc import messages
from tests.simulation import cloud as clouds
from tests.simulation.cluster import Cluster, done


class Kept(clouds.Thing):
    """A thing with the value `kept` cannot be deleted while `is_locked`."""

    is_locked = True

    def handle_delete(self):
        if self.properties[self.VALUE] == 'kept' and Kept.is_locked:
            raise exception.Error('the service says no')
        super().handle_delete()


@pytest.fixture
def place(monkeypatch):
    """A cluster with a stack in DELETE_FAILED: `kept` could not be deleted, so `below`, which it requires, is there as
    it was, and `gone` is deleted."""
    monkeypatch.setattr(clouds, 'Thing', Kept)
    monkeypatch.setattr(Kept, 'is_locked', True)
    with Cluster(engines=1) as cluster:
        cluster.stack_id = cluster.create('s', template())
        done(cluster, cluster.stack_id, 'CREATE')
        cluster.snapshot_id = cluster.ask(messages.SnapshotStack(cluster.stack_id, 'one'))['id']
        done(cluster, cluster.stack_id, 'SNAPSHOT')
        failed_delete(cluster)
        yield cluster


def template():
    def thing(value, **rest):
        return {'type': 'Sim::Thing', 'properties': {'value': value}, **rest}

    return {'heat_template_version': '2018-08-31', 'resources': {
        'below': thing('b'), 'kept': thing('kept', depends_on='below'), 'gone': thing('g')}}


def failed_delete(cluster):
    cluster.ask(messages.DeleteStack(cluster.stack_id))
    row = cluster.settle(cluster.stack_id)
    assert (row.action, row.status) == ('DELETE', 'FAILED')
    assert states(cluster).keys() == {'below', 'kept'}


def states(cluster):
    with cluster.database.reader() as tx:
        return {row.name: f'{row.action}_{row.status}' for row in resources.light(tx, cluster.stack_id)}


def delete(cluster):
    """Delete what is left. Nothing remains, also of objects."""
    Kept.is_locked = False
    cluster.ask(messages.DeleteStack(cluster.stack_id))
    assert cluster.settle(cluster.stack_id).deleted_at is not None
    assert not cluster.cloud.objects


@pytest.mark.parametrize('actions', [['check'], ['suspend'], ['suspend', 'resume'], ['check', 'suspend', 'resume']],
                         ids='-'.join)
def test_actions_are_for_what_is_left(place, actions):
    for action in actions:
        place.ask(messages.StackAction(place.stack_id, action))
        done(place, place.stack_id, action.upper())
        assert states(place) == {'below': f'{action.upper()}_COMPLETE', 'kept': 'DELETE_FAILED'}
    failed_delete(place)
    delete(place)


def test_an_action_that_fits_no_resource_fails_and_the_delete_goes_on(place):
    place.ask(messages.StackAction(place.stack_id, 'resume'))
    row = place.settle(place.stack_id)
    assert (row.action, row.status) == ('RESUME', 'FAILED')
    delete(place)


def test_a_check_is_no_definition_that_an_update_finds_again(place):
    """The update that follows compares, and creates what the delete has taken."""
    place.ask(messages.StackAction(place.stack_id, 'check'))
    done(place, place.stack_id, 'CHECK')
    Kept.is_locked = False
    place.ask(messages.UpdateStack(stack_id=place.stack_id, template=template()))
    done(place, place.stack_id, 'UPDATE')
    assert sorted(each['value'] for each in place.cloud.objects.values()) == ['b', 'g', 'kept']
    delete(place)


def test_a_restore_brings_the_stack_back(place):
    Kept.is_locked = False
    place.ask(messages.RestoreSnapshot(place.stack_id, place.snapshot_id))
    done(place, place.stack_id, 'RESTORE')
    assert sorted(each['value'] for each in place.cloud.objects.values()) == ['b', 'g', 'kept']
    delete(place)


def test_nothing_acts_on_a_stack_while_it_is_deleted(place):
    place.ask(messages.DeleteStack(place.stack_id))
    for message in (messages.StackAction(place.stack_id, 'check'), messages.StackAction(place.stack_id, 'suspend'),
                    messages.RestoreSnapshot(place.stack_id, place.snapshot_id)):
        with pytest.raises(exception.NotSupported, match='of a stack that is being deleted'):
            place.ask(message)
