"""What a request to a stack means for the stacks below it: its time-out, a cancellation, and what they do not take."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db import tables
from heatlite.engine.reconcile import request_keys
from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, done, kill_engines_in, wait
from tests.simulation.test_nested import child_of, group, template

LEVELS = 2                          # of nested stacks below the root
CHAIN = 8                           # resources in the innermost stack, each after the one before


def chain(value='v'):
    return {f'x{number}': {'type': 'Sim::Thing', 'properties': {'value': value},
                           'depends_on': [f'x{number - 1}'] if number else []} for number in range(CHAIN)}


def tree(value='v'):
    """Return the template and the files of a stack with LEVELS stacks below it, of which the innermost has a chain."""
    files = {f'{LEVELS}.yaml': json.dumps(template(chain(value)))}
    for level in range(1, LEVELS):
        files[f'{level}.yaml'] = json.dumps(template({'n': {'type': f'{level + 1}.yaml'}}))
    return template({'n': {'type': '1.yaml'}}), files


def create(cluster, **options):
    wanted, files = tree()
    return cluster.ask(messages.CreateStack(stack_name='s', template=wanted, files=files, **options))['stack_id']


def below(cluster):
    """Return the rows of the nested stacks, from the outermost."""
    with cluster.database.reader() as tx:
        return list(tx.execute(sa.select(tables.stack).where(
            tables.stack.c.owner_id.isnot(None)).order_by(tables.stack.c.depth)))


# --- time-outs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize('minutes', [120, 1])
def test_the_timeout_of_an_update_holds_for_all_stacks_that_it_visits(minutes):
    with Cluster(engines=1) as cluster:
        stack_id = create(cluster, timeout_mins=10)
        done(cluster, stack_id, 'CREATE')
        wanted, files = tree('w')
        cluster.ask(messages.UpdateStack(stack_id=stack_id, template=wanted, files=files, timeout_mins=minutes))
        done(cluster, stack_id, 'UPDATE')
        assert [row.timeout_mins for row in below(cluster)] == [minutes] * LEVELS


# --- suspended nested stacks -----------------------------------------------------------------------------


def suspended_group(cluster):
    """Return the ids of a stack with a group, and of the group's stack, which a user has suspended."""
    stack_id = cluster.create('s', group(2))
    done(cluster, stack_id, 'CREATE')
    child = child_of(cluster, stack_id, 'g')
    cluster.ask(messages.StackAction(child.id, 'suspend'))
    done(cluster, child.id, 'SUSPEND')
    return stack_id, child.id


def test_an_update_of_a_stack_does_not_update_a_suspended_nested_stack():
    with Cluster(engines=1) as cluster:
        stack_id, child_id = suspended_group(cluster)
        members = cluster.states(child_id)
        cluster.update(stack_id, group(3))
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('UPDATE', 'FAILED')
        assert 'Updating a stack when it is suspended is not supported.' in row.reason
        assert cluster.states(child_id) == members
        cluster.ask(messages.StackAction(child_id, 'resume'))
        done(cluster, child_id, 'RESUME')
        cluster.update(stack_id, group(3))
        done(cluster, stack_id, 'UPDATE')
        assert len(cluster.states(child_id)) == 3


def scaled(size):
    """Return a template with a group of a type that policies scale, and a policy that adds one member."""
    return template({
        'g': {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
            'min_size': 1, 'max_size': 4, 'desired_capacity': size, 'resource': {'type': 'Sim::Thing'}}},
        'p': {'type': 'OS::Heat::ScalingPolicy', 'properties': {
            'auto_scaling_group_id': {'get_resource': 'g'}, 'adjustment_type': 'change_in_capacity',
            'scaling_adjustment': 1}}})


def test_a_signal_to_a_policy_does_not_scale_a_suspended_group():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', scaled(2))
        done(cluster, stack_id, 'CREATE')
        child = child_of(cluster, stack_id, 'g')
        cluster.ask(messages.StackAction(child.id, 'suspend'))
        done(cluster, child.id, 'SUSPEND')
        members = cluster.states(child.id)
        cluster.ask(messages.SignalResource(stack_id, 'p', {}, wait=True), [exception.HeatException])
        wait(cluster, 30)
        assert cluster.states(child.id) == members
        row = cluster.row(child.id)
        assert (row.action, row.status) == ('SUSPEND', 'COMPLETE')
        cluster.ask(messages.StackAction(child.id, 'resume'))
        done(cluster, child.id, 'RESUME')
        cluster.ask(messages.SignalResource(stack_id, 'p', {}, wait=True))
        done(cluster, child.id, 'UPDATE')
        assert len(cluster.states(child.id)) == 3


# --- a check or a suspend while a nested stack is updated by a user -----------------------------------------


@pytest.mark.parametrize('action', ['check', 'suspend'])
def test_an_action_of_a_stack_does_not_take_the_place_of_an_update_of_a_nested_stack(action):
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', template({'c': {'type': 'child.yaml'}}),
                                  files={'child.yaml': json.dumps(template({'x0': {'type': 'Sim::Thing'}}))})
        done(cluster, stack_id, 'CREATE')
        child = child_of(cluster, stack_id, 'c')
        cluster.update(child.id, template(chain()))
        cluster.ask(messages.StackAction(stack_id, action))
        done(cluster, stack_id, action.upper())
        assert {name: rows[0][:2] for name, rows in cluster.states(child.id).items()} == {
            name: (action.upper(), 'COMPLETE') for name in chain()}
        assert len(cluster.cloud.objects) == CHAIN


# --- cancellations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize('count', [0, 1, 3])
def test_a_cancelled_create_begins_nothing_in_nested_stacks(count):
    with Cluster(engines=1) as cluster:
        stack_id = create(cluster)
        cluster.universe.run(lambda: len(cluster.cloud.made) == count, limit=100)
        cluster.ask(messages.CancelStack(stack_id, rollback=False))
        wait(cluster, 30)
        assert len(cluster.cloud.made) <= count + 1, 'what was under way may end'
        assert {(row.status, row.reason) for row in below(cluster)} <= {('FAILED', 'Stack CREATE cancelled')}
        assert all(request_keys.is_cancelled(row) for row in [
            cluster.row(each) for each in (stack_id, *(row.id for row in below(cluster)))])
        assert cluster.states(stack_id)['n'][0][:2] in {('CREATE', 'FAILED'), ('INIT', 'COMPLETE')}
        wanted, files = tree()
        cluster.ask(messages.UpdateStack(stack_id=stack_id, template=wanted, files=files))
        done(cluster, stack_id, 'UPDATE')
        assert len(cluster.cloud.objects) == CHAIN


def test_a_cancelled_rolling_update_begins_no_further_batch():
    policy = {'rolling_update': {'max_batch_size': 1, 'pause_time': 30}}
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', group(4, policy=policy))
        done(cluster, stack_id, 'CREATE')
        before = len(cluster.cloud.calls)
        cluster.update(stack_id, group(4, value='w-%index%', policy=policy))
        cluster.universe.run(lambda: len(cluster.cloud.calls) > before, limit=100)
        cluster.ask(messages.CancelStack(stack_id, rollback=False))
        wait(cluster, 100)
        assert sum(each['value'].startswith('w') for each in cluster.cloud.objects.values()) == 1
        assert cluster.states(stack_id)['g'][-1][:2] == ('UPDATE', 'FAILED')


class Slow(cloud.Thing):
    """Its creation takes a hundred checks."""

    def check_create_complete(self, handle):
        return super().check_create_complete(handle) and cloud.CLOUD.objects[self.resource_id]['polls'] > 100


def test_other_steps_of_a_cancelled_action_end_by_themselves():
    with Cluster(engines=1) as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Sim::Slow', Slow)
        wanted, files = tree()
        stack_id = cluster.create('s', template({'slow': {'type': 'Sim::Slow'}, **wanted['resources']}), files=files)
        cluster.universe.run(lambda: len(cluster.cloud.made) > 1, limit=100)
        cluster.ask(messages.CancelStack(stack_id, rollback=False))
        wait(cluster, 120)
        assert cluster.states(stack_id)['slow'][0][:2] == ('CREATE', 'COMPLETE')


def test_a_cancellation_reaches_nested_stacks_although_engines_end():
    def life(cluster):
        stack_id = create(cluster)
        cluster.universe.run(lambda: len(cluster.cloud.made) == 2, limit=100)
        cluster.chaos.enabled = True
        cluster.ask(messages.CancelStack(stack_id, rollback=False))
        wait(cluster, 12)
        cluster.settle(stack_id)
        assert len(cluster.cloud.made) <= 3
        assert [row.status for row in below(cluster)] == ['FAILED'] * LEVELS

    assert kill_engines_in(life, stride=40, from_the_start=False)
