"""Adopts that another request interrupts: no object is made twice, and none is left without a resource."""

from __future__ import annotations

import json

import pytest

from heatlite.common import exception
from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, done, kill_engines_in, lose_database_in, wait
from tests.simulation.test_nested import child_of, template

NAMES = [f'r{number}' for number in range(4)]


class Gate(cloud.Thing):
    """Its adopt ends once `is_open` is true."""

    is_open = False

    def check_adopt_complete(self, _handle=None):
        return Gate.is_open


@pytest.fixture(autouse=True)
def _closed():
    Gate.is_open = False
    yield
    Gate.is_open = False


def register(cluster):
    for _runtime, service in cluster.engines:
        service.registry.register('Sim::Gate', Gate)


def tree(value='old', first='Sim::Thing', names=NAMES):
    """A chain of resources: each is acted on after the one before."""
    return template({name: {'type': 'Sim::Thing' if name != 'r0' else first, 'properties': {'value': value},
                            **({'depends_on': [before]} if before else {})}
                     for name, before in zip(names, [None, *names], strict=False)})


def given(cluster, names=NAMES):
    """Objects that exist, as an export names them."""
    for name in names:
        cluster.cloud.objects[f'given-{name}'] = {'name': name, 'value': 'old', 'polls': 0}
    return {name: {'resource_id': f'given-{name}', 'type': 'Sim::Thing'} for name in names}


def begin(cluster, gate='Sim::Gate'):
    register(cluster)
    stack_id = cluster.create('s', tree(first=gate), adopt={'resources': given(cluster)}, timeout_mins=1)
    assert (cluster.row(stack_id).action, cluster.row(stack_id).status) == ('ADOPT', 'IN_PROGRESS')
    return stack_id


def assert_all_adopted(cluster, stack_id, names=NAMES):
    assert {name: [row[2] for row in rows] for name, rows in cluster.states(stack_id).items()} == {
        name: [f'given-{name}'] for name in names}
    assert cluster.cloud.made == [], 'created anew'
    assert len(cluster.cloud.objects) == len(names)


def updated(cluster, stack_id, **more):
    cluster.update(stack_id, tree('new', first='Sim::Gate'), **more)
    Gate.is_open = True
    done(cluster, stack_id, 'UPDATE')


def test_an_update_goes_on_with_the_adopt():
    with Cluster(engines=1, enable_stack_adopt=True) as cluster:
        stack_id = begin(cluster)
        updated(cluster, stack_id)
        assert_all_adopted(cluster, stack_id)
        assert 'adopt' in cluster.row(stack_id).request
        cluster.update(stack_id, tree('new', first='Sim::Gate'), converge=True)
        done(cluster, stack_id, 'UPDATE')
        assert 'adopt' not in cluster.row(stack_id).request, 'it is over'
        assert_all_adopted(cluster, stack_id)
        assert {each['value'] for each in cluster.cloud.objects.values()} == {'new'}


@pytest.mark.parametrize('action', ['check', 'suspend'])
def test_an_adopt_goes_on_that_is_in_progress_at_another_action(action):
    with Cluster(engines=1, enable_stack_adopt=True) as cluster:
        stack_id = begin(cluster)
        cluster.ask(messages.StackAction(stack_id, action), [exception.ActionInProgress])
        Gate.is_open = True
        done(cluster, stack_id, 'ADOPT')
        updated(cluster, stack_id)
        assert_all_adopted(cluster, stack_id)


def test_an_update_goes_on_with_an_adopt_that_failed():
    with Cluster(engines=1, enable_stack_adopt=True) as cluster:
        stack_id = begin(cluster)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('ADOPT', 'FAILED')
        assert cluster.states(stack_id)['r3'][0][:2] == ('INIT', 'COMPLETE')
        updated(cluster, stack_id)
        assert {f'given-{name}' for name in NAMES[1:]} <= cluster.cloud.objects.keys()
        assert not {'r1', 'r2', 'r3'} & {name.split('-')[-2] for name in cluster.cloud.made}


def test_what_an_update_leaves_out_is_not_adopted_later():
    with Cluster(engines=1, enable_stack_adopt=True) as cluster:
        stack_id = begin(cluster)
        cluster.update(stack_id, tree('new', first='Sim::Gate', names=NAMES[:3]))
        cluster.update(stack_id, tree('new', first='Sim::Gate'))
        Gate.is_open = True
        done(cluster, stack_id, 'UPDATE')
        states = cluster.states(stack_id)
        assert [states[name][0][2] for name in NAMES[:3]] == [f'given-{name}' for name in NAMES[:3]]
        assert states['r3'][0][:2] == ('CREATE', 'COMPLETE') and cluster.cloud.objects['given-r3']['value'] == 'old'


def test_what_the_export_does_not_have_is_created_by_the_update():
    with Cluster(engines=1, enable_stack_adopt=True) as cluster:
        stack_id = cluster.create('s', tree(), adopt={'resources': given(cluster, NAMES[:2])})
        assert 'Resource ID was not provided.' in cluster.settle(stack_id).reason
        cluster.update(stack_id, tree('new'))
        done(cluster, stack_id, 'UPDATE')
        states = cluster.states(stack_id)
        assert [states[name][0][2] for name in NAMES[:2]] == [f'given-{name}' for name in NAMES[:2]]
        assert {states[name][0][:2] for name in NAMES[2:]} == {('CREATE', 'COMPLETE')}


def test_a_nested_stack_goes_on_with_its_adopt():
    inside = tree(first='Sim::Gate')
    changed = tree('new', first='Sim::Gate')
    with Cluster(engines=1, enable_stack_adopt=True) as cluster:
        register(cluster)
        outer = template({'c': {'type': 'child.yaml'}})
        stack_id = cluster.create('s', outer, files={'child.yaml': json.dumps(inside)}, adopt={
            'resources': {'c': {'resources': given(cluster)}}})
        assert cluster.universe.run(lambda: 'c' in cluster.states(stack_id) and cluster.states(stack_id)['c'][0][2])
        wait(cluster, 1.0)
        cluster.update(stack_id, outer, files={'child.yaml': json.dumps(changed)})
        wait(cluster, 1.0)
        Gate.is_open = True
        done(cluster, stack_id, 'UPDATE')
        assert_all_adopted(cluster, child_of(cluster, stack_id, 'c').id)


def interrupted_life(cluster):
    stack_id = cluster.create('s', tree(), adopt={'resources': given(cluster)})
    cluster.update(stack_id, tree('new'))
    done(cluster, stack_id, 'UPDATE')
    assert_all_adopted(cluster, stack_id)


def test_killed_at_any_point():
    assert kill_engines_in(interrupted_life, 9, enable_stack_adopt=True) > 10


def test_the_database_away_at_any_time():
    lose_database_in(interrupted_life, 43, enable_stack_adopt=True)


NESTED = template({'n': {'type': 'child.yaml'}, 'a': {'type': 'Sim::Thing'},
                   'late': {'type': 'Sim::Gate', 'depends_on': ['n', 'a']}})
CHILD = template({'x': {'type': 'Sim::Thing'}})


def abandoned_tree(cluster):
    """Return the export of an abandoned tree, and the ids of the objects that it leaves."""
    register(cluster)
    Gate.is_open = True
    stack_id = cluster.create('former', NESTED, files={'child.yaml': json.dumps(CHILD)})
    done(cluster, stack_id, 'CREATE')
    exported = cluster.ask(messages.AbandonStack(stack_id))
    cluster.until_deleted(stack_id)
    Gate.is_open = False
    return exported, set(cluster.cloud.objects)


@pytest.mark.parametrize('failure', ['no id', 'timeout'])
def test_the_rollback_of_an_adopt_deletes_no_object(failure):
    with Cluster(engines=1, enable_stack_adopt=True, enable_stack_abandon=True) as cluster:
        exported, objects = abandoned_tree(cluster)
        if failure == 'no id':
            del exported['resources']['late']['resource_id']
        stack_id = cluster.create('s', NESTED, files={'child.yaml': json.dumps(CHILD)}, adopt=exported,
                                  disable_rollback=False, timeout_mins=1)
        row = cluster.settle(stack_id)
        assert (row.action, row.status, cluster.states(stack_id)) == ('ROLLBACK', 'COMPLETE', {})
        assert set(cluster.cloud.objects) == objects and not [call for call in cluster.cloud.calls
                                                               if call[0] == 'delete']


def test_a_delete_of_an_adopted_stack_deletes_its_objects():
    with Cluster(engines=1, enable_stack_adopt=True) as cluster:
        stack_id = begin(cluster)
        Gate.is_open = True
        done(cluster, stack_id, 'ADOPT')
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
        assert not cluster.cloud.objects
