"""What the type of a stored resource means: what its name stood for when it was applied, whatever a later request's
environment says of that name."""

from __future__ import annotations

import json

import pytest

from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, done

CHILD = '''
heat_template_version: 2018-08-31
parameters: {value: {type: string, default: plain}}
resources:
  inner: {type: "Sim::Thing", properties: {value: {get_param: value}}}
'''
OTHER_CHILD = CHILD.replace('inner', 'other')
FILES = {'child.yaml': CHILD, 'other.yaml': OTHER_CHILD}
TARGETS = ('Sim::Thing', 'child.yaml')


def template(**resources):
    return {'heat_template_version': '2018-08-31', 'resources': resources}


def aliased(value='one', name='My::R'):
    return {'type': name, 'properties': {'value': value}}


def environment(target, where='type'):
    """The same alias as an entry of the registry, and as one of a single resource."""
    if where == 'type':
        return {'resource_registry': {'My::R': target}}
    return {'resource_registry': {'resources': {'r': {'My::R': target}}}}


def update(cluster, stack_id, wanted, sections=None, **options):
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=wanted, environment=sections or {}, **options))


@pytest.mark.parametrize('where', ['type', 'resource'])
@pytest.mark.parametrize('target', TARGETS)
def test_a_resource_goes_together_with_its_alias(target, where):
    kept = {'type': 'Sim::Thing', 'properties': {'value': 'kept'}}
    with Cluster() as cluster:
        stack_id = cluster.create('s', template(r=aliased(), kept=kept), environment(target, where), files=FILES)
        done(cluster, stack_id, 'CREATE')
        update(cluster, stack_id, template(kept=kept))
        done(cluster, stack_id, 'UPDATE')
        assert [each['value'] for each in cluster.cloud.objects.values()] == ['kept']
        assert list(cluster.states(stack_id)) == ['kept']


@pytest.mark.parametrize('target', TARGETS)
def test_a_stack_without_its_alias_can_be_deleted(target):
    """The update fails before it comes to the aliased resource; what is left is deleted without the alias."""
    with Cluster() as cluster:
        stack_id = cluster.create('s', template(r=aliased()), environment(target), files=FILES)
        done(cluster, stack_id, 'CREATE')
        update(cluster, stack_id, template(bad={'type': 'Sim::Thing', 'properties': {'fail': True}}))
        assert cluster.settle(stack_id).status == 'FAILED'
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert not cluster.cloud.objects


def test_what_an_update_did_not_reach_keeps_its_meaning():
    """A row that the failed update has not come to is still acted upon as what it is."""
    with Cluster() as cluster:
        stack_id = cluster.create('s', template(r=aliased()), environment('Sim::Thing'))
        done(cluster, stack_id, 'CREATE')
        update(cluster, stack_id, template(
            a={'type': 'Sim::Thing', 'properties': {'fail': True}},
            r={**aliased(), 'depends_on': 'a'}), environment('OS::Heat::Value'))
        assert cluster.settle(stack_id).status == 'FAILED'
        assert cluster.states(stack_id)['r'][0][:2] == ('CREATE', 'COMPLETE')
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert not cluster.cloud.objects              # the thing is deleted as a thing, not as a value


CHANGES = [
    ('Sim::Thing', 'Sim::Other'), ('Sim::Thing', 'child.yaml'), ('child.yaml', 'Sim::Thing'),
]


@pytest.mark.parametrize('where', ['type', 'resource'])
@pytest.mark.parametrize(('before', 'after'), CHANGES)
def test_an_alias_that_means_another_type_replaces(before, after, where):
    """With the same template: nothing but the environment has changed."""
    def prepare(service):
        service.registry.register('Sim::Other', type('Other', (cloud.Thing,), {}))

    with Cluster() as cluster:
        for _runtime, service in cluster.engines:
            prepare(service)
        stack_id = cluster.create('s', template(r=aliased()), environment(before, where), files=FILES)
        done(cluster, stack_id, 'CREATE')
        old, = cluster.states(stack_id)['r']
        changes = cluster.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=template(r=aliased()),
                                                        environment=environment(after, where), files=FILES))
        assert [each['resource_name'] for each in changes['replaced']] == ['r']
        update(cluster, stack_id, template(r=aliased()), environment(after, where), files=FILES)
        done(cluster, stack_id, 'UPDATE')
        new, = cluster.states(stack_id)['r']
        assert new[:2] == ('CREATE', 'COMPLETE') and new[2] != old[2]
        assert len(cluster.cloud.objects) == 1 and len(cluster.cloud.made) == 2
        update(cluster, stack_id, template(r=aliased()), environment(after, where), files=FILES)
        done(cluster, stack_id, 'UPDATE')
        assert cluster.states(stack_id)['r'][0][2] == new[2]


def test_an_alias_that_means_another_file_updates_the_nested_stack():
    with Cluster() as cluster:
        stack_id = cluster.create('s', template(r=aliased()), environment('child.yaml'), files={'child.yaml': CHILD})
        done(cluster, stack_id, 'CREATE')
        nested_id = cluster.states(stack_id)['r'][0][2]
        update(cluster, stack_id, template(r=aliased()), environment('other.yaml'), files={'other.yaml': OTHER_CHILD})
        done(cluster, stack_id, 'UPDATE')
        assert cluster.states(stack_id)['r'] == [('UPDATE', 'COMPLETE', nested_id)]
        assert list(cluster.states(nested_id)) == ['other']


@pytest.mark.parametrize('target', TARGETS)
def test_another_name_for_the_same_type_is_an_update_in_place(target):
    """The resource is shown under its new name afterwards."""
    new = {'resource_registry': {'My::R2': target}}
    with Cluster() as cluster:
        stack_id = cluster.create('s', template(r=aliased()), environment(target), files=FILES)
        done(cluster, stack_id, 'CREATE')
        ident = cluster.states(stack_id)['r'][0][2]
        update(cluster, stack_id, template(r=aliased(name='My::R2')), new, files=FILES)
        done(cluster, stack_id, 'UPDATE')
        with cluster.database.reader() as tx:
            row, = tx.exec_driver_sql('SELECT type, physical_id FROM resource WHERE stack_id = ?', (stack_id,)).all()
        assert tuple(row) == ('My::R2', ident)
        update(cluster, stack_id, template())
        done(cluster, stack_id, 'UPDATE')
        assert not cluster.cloud.objects


def test_members_change_their_file_in_batches():
    """Those that wait for their turn are still of the former file, which the request need not bring."""
    def group(name):
        return template(g={
            'type': 'OS::Heat::ResourceGroup',
            'properties': {'count': 3, 'resource_def': {'type': name, 'properties': {'value': name}}},
            'update_policy': {'rolling_update': {'max_batch_size': 1, 'min_in_service': 1}}})

    deep = json.dumps(template(leaf={'type': 'leaf.yaml', 'properties': {'value': {'get_param': 'value'}}})
                      | {'parameters': {'value': {'type': 'string'}}})
    with Cluster() as cluster:
        stack_id = cluster.create('s', group('a.yaml'), files={'a.yaml': deep, 'leaf.yaml': CHILD})
        done(cluster, stack_id, 'CREATE')
        update(cluster, stack_id, group('b.yaml'), files={'b.yaml': CHILD})
        done(cluster, stack_id, 'UPDATE')
        assert sorted(each['value'] for each in cluster.cloud.objects.values()) == ['b.yaml'] * 3
        nested_id = cluster.states(stack_id)['g'][0][2]
        with cluster.database.reader() as tx:         # what nobody needs any more is not kept for ever
            from heatlite.db import stacks, templates
            assert set(templates.files(tx, stacks.get(tx, nested_id).template_id)) == {'b.yaml'}
