"""Where a rollback leads to: the last definition that was reached, whatever the stack has done since."""

from __future__ import annotations

import json

import pytest

from heatlite.common import exception
from heatlite.db import stack_trees, stacks
from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, done
from tests.simulation.test_plans import failing, template

HOT = {'heat_template_version': '2018-08-31'}
NEST = {'heat_template_version': '2018-08-31', 'resources': {'in': {'type': 'in.yaml'}}}


@pytest.fixture
def cluster():
    with Cluster(engines=1) as found:
        yield found


def act(cluster, stack_id, action):
    cluster.ask(messages.StackAction(stack_id, action))
    row = cluster.settle(stack_id)
    assert row.action == action.upper()
    return row.status


def check_without(cluster, stack_id):
    """An object is away while the stack is checked."""
    away = dict(cluster.cloud.objects)
    cluster.cloud.objects.clear()
    assert act(cluster, stack_id, 'check') == 'FAILED'
    cluster.cloud.objects.update(away)


def suspend_and_resume(cluster, stack_id):
    act(cluster, stack_id, 'suspend')
    act(cluster, stack_id, 'resume')


def snapshot(cluster, stack_id):
    cluster.ask(messages.SnapshotStack(stack_id, 'monday'))
    done(cluster, stack_id, 'SNAPSHOT')


def cancelled(cluster, stack_id):
    """An update to the definition that the stack has, stopped at once."""
    cluster.update(stack_id, failing(a='stopped'))
    cluster.ask(messages.CancelStack(stack_id, rollback=False))
    cluster.settle(stack_id)


def nothing(cluster, stack_id):
    pass


BETWEEN = [nothing, check_without, suspend_and_resume, snapshot, cancelled]


def value(cluster):
    return sorted(found['value'] for found in cluster.cloud.objects.values())


@pytest.mark.parametrize('between', BETWEEN)
@pytest.mark.parametrize('values', [('one',), ('one', 'two')])
def test_an_update_that_fails_goes_back_to_what_was_reached(cluster, values, between):
    first, *others = values
    stack_id = cluster.create('s', template(a=first))
    done(cluster, stack_id, 'CREATE')
    for each in others:
        cluster.update(stack_id, template(a=each))
        done(cluster, stack_id, 'UPDATE')
    between(cluster, stack_id)
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=failing(a='three'), disable_rollback=False))
    done(cluster, stack_id, 'ROLLBACK')
    assert value(cluster) == [values[-1]]


@pytest.mark.parametrize('between', BETWEEN)
def test_so_does_one_after_an_update_that_failed(cluster, between):
    stack_id = cluster.create('s', template(a='one'))
    done(cluster, stack_id, 'CREATE')
    cluster.update(stack_id, failing(a='two'))
    assert cluster.settle(stack_id).status == 'FAILED'
    between(cluster, stack_id)
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=failing(a='three'), disable_rollback=False))
    done(cluster, stack_id, 'ROLLBACK')
    assert value(cluster) == ['one']


@pytest.mark.parametrize('between', BETWEEN)
def test_so_does_one_after_a_rollback(cluster, between):
    stack_id = cluster.create('s', template(a='one'))
    done(cluster, stack_id, 'CREATE')
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=failing(a='two'), disable_rollback=False))
    done(cluster, stack_id, 'ROLLBACK')
    between(cluster, stack_id)
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=failing(a='three'), disable_rollback=False))
    done(cluster, stack_id, 'ROLLBACK')
    assert value(cluster) == ['one']


@pytest.mark.parametrize('between', [nothing, check_without, suspend_and_resume])
def test_one_that_is_cancelled_goes_back_too(cluster, between):
    stack_id = cluster.create('s', template(a='one'))
    done(cluster, stack_id, 'CREATE')
    between(cluster, stack_id)
    slow = template(a='two')
    slow['resources']['slow'] = {'type': 'OS::Heat::TestResource', 'properties': {'wait_secs': 30}}
    cluster.update(stack_id, slow)
    cluster.ask(messages.CancelStack(stack_id, rollback=True))
    done(cluster, stack_id, 'ROLLBACK')
    assert value(cluster) == ['one']


def test_an_update_of_a_create_that_failed_keeps_what_exists(cluster):
    stack_id = cluster.create('s', failing(a='one'))
    assert cluster.settle(stack_id).status == 'FAILED'
    assert value(cluster) == ['one']
    wanted = failing(a='two')
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=wanted, disable_rollback=False))
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('ROLLBACK', 'FAILED')       # its definition fails again
    assert len(cluster.cloud.objects) == 1


def test_a_nested_stack_knows_what_was_reached(cluster):
    stack_id = cluster.create('s', NEST, files={'in.yaml': json.dumps(template(a='one'))})
    done(cluster, stack_id, 'CREATE')
    with cluster.database.reader() as tx:
        inner = stack_trees.with_descendants(tx, stack_id, 1)[1][0].id
        first = stacks.get(tx, inner).template_id
    check_without(cluster, stack_id)
    cluster.update(stack_id, NEST, files={'in.yaml': json.dumps(template(a='two'))})
    done(cluster, stack_id, 'UPDATE')
    with cluster.database.reader() as tx:
        assert stacks.get(tx, inner).previous_template_id == first


class Remaining(cloud.Thing):
    """Objects of the value `one` cannot be deleted."""

    def handle_delete(self):
        if self.resource_id and cloud.CLOUD.objects[self.resource_id]['value'] == 'one':
            raise exception.Error('in use')
        return super().handle_delete()


def remaining(text, **more):
    return {**HOT, 'resources': {'a': {'type': 'Sim::Remaining', 'properties': {'value': text, 'fixed': text}}, **more}}


@pytest.mark.parametrize('between', [nothing, check_without])
@pytest.mark.parametrize('times', [1, 2])
def test_a_definition_of_which_only_a_former_object_is_left_was_reached(cluster, between, times):
    for _runtime, service in cluster.engines:
        service.registry.register('Sim::Remaining', Remaining)
    stack_id = cluster.create('s', remaining('one'))
    done(cluster, stack_id, 'CREATE')
    for _time in range(times):
        cluster.update(stack_id, remaining('two'))
        row = cluster.settle(stack_id)
        assert (row.status, row.outcome) == ('FAILED', 'COMPLETE') and 'in use' in row.reason
    between(cluster, stack_id)
    bad = {'type': 'Sim::Thing', 'properties': {'fail': True}}
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=remaining('three', bad=bad), disable_rollback=False))
    assert cluster.settle(stack_id).action == 'ROLLBACK'
    assert 'two' in value(cluster)


def test_one_that_failed_before_the_deletion_was_not_reached(cluster):
    for _runtime, service in cluster.engines:
        service.registry.register('Sim::Remaining', Remaining)
    stack_id = cluster.create('s', remaining('one'))
    done(cluster, stack_id, 'CREATE')
    after = {'type': 'Sim::Thing', 'properties': {'fail': True}, 'depends_on': 'a'}
    cluster.update(stack_id, remaining('two', after=after))
    row = cluster.settle(stack_id)
    assert (row.status, row.outcome) == ('FAILED', None)
