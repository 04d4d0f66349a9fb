"""OS::Heat::HARestarter: what it stands for is replaced once for each alarm, whatever dies."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import signals
from heatlite.rpc import messages
from tests.simulation.cluster import PROJECT, Cluster, done, kill_engines_in, lose_database_in, wait
from tests.simulation.test_alarm_metrics import QUICK, alarm, stored

TEMPLATE = {'heat_template_version': '2018-08-31', 'resources': {
    'server': {'type': 'Sim::Thing', 'properties': {'value': 'server'}},
    'address': {'type': 'Sim::Thing', 'properties': {'value': {'get_resource': 'server'}}},
    'bystander': {'type': 'Sim::Thing', 'properties': {'value': 'bystander'}},
    'restart': {'type': 'OS::Heat::HARestarter', 'properties': {'InstanceId': {'get_resource': 'server'}}},
    'failure': alarm(2, MetricName='ServiceFailure', Statistic='SampleCount', AlarmActions=['restart'])},
    'outputs': {name: {'value': {'get_resource': name}} for name in ('server', 'address', 'bystander', 'restart')}}


def ids(row):
    return {output['output_key']: output['output_value'] for output in row.outputs}


def made(cluster, **more):
    row = done(cluster, cluster.create('s', TEMPLATE, **more), 'CREATE')
    return row.id, ids(row)


def signal(cluster, stack_id, details=None, allowed=()):
    return cluster.ask(messages.SignalResource(stack_id, 'restart', details), allowed)


def handled(cluster, stack_id):
    def none_waits():
        with cluster.database.reader() as tx:
            return not signals.pending(tx, stack_id)
    universe = cluster.universe
    assert universe.run(lambda: not universe.steps % 50 and none_waits(), limit=300.0)


def values(cluster):
    return sorted(each['value'] for each in cluster.cloud.objects.values())


def check_replaced(cluster, stack_id, before):
    """The server is another one, what refers to it follows, and nothing else has changed."""
    after = ids(done(cluster, stack_id, 'UPDATE'))
    assert after['server'] != before['server']
    assert {name: after[name] for name in ('address', 'bystander', 'restart')} == {
        name: before[name] for name in ('address', 'bystander', 'restart')}
    assert values(cluster) == sorted(['server', 'bystander', after['server']])
    return after


def fail(cluster):
    for _times in range(3):
        cluster.ask(messages.PutMetricData('system/linux', ({
            'name': 'ServiceFailure', 'dimensions': [['InstanceId', 'i-1']], 'unit': 'Counter', 'samples': 1,
            'total': 1.0, 'smallest': 1.0, 'largest': 1.0},)))


def story(cluster):
    """A guest says three times within a period that its service has failed."""
    stack_id, before = made(cluster)
    cluster.chaos.enabled = True
    fail(cluster)
    universe = cluster.universe
    assert universe.run(lambda: not universe.steps % 50 and cluster.row(stack_id).action == 'UPDATE', limit=300.0)
    check_replaced(cluster, stack_id, before)
    wait(cluster, 60.0)
    handled(cluster, stack_id)
    assert cluster.row(stack_id).generation == 2, 'it was replaced more than once'
    assert len(cluster.cloud.objects) == 3


def test_an_alarm_replaces_a_server():
    with Cluster(**QUICK) as cluster:
        story(cluster)


def test_engines_die():
    assert kill_engines_in(story, stride=71, from_the_start=False, **QUICK) > 20


def test_the_database_goes_away():
    assert lose_database_in(story, stride=197, from_the_start=False, **QUICK) > 20


@pytest.fixture
def cluster():
    with Cluster() as found:
        yield found


@pytest.mark.parametrize('details', [None, {}, {'state': 'ALARM'}, {'current': 'alarm', 'state': 'ok'}])
def test_signals_that_replace(cluster, details):
    stack_id, before = made(cluster)
    signal(cluster, stack_id, details)
    handled(cluster, stack_id)
    check_replaced(cluster, stack_id, before)


@pytest.mark.parametrize('details', [{'state': 'ok'}, {'state': 'insufficient data'}, {'current': 'ok'}])
def test_signals_that_do_nothing(cluster, details):
    stack_id, before = made(cluster)
    signal(cluster, stack_id, details)
    handled(cluster, stack_id)
    assert ids(cluster.row(stack_id)) == before
    assert cluster.row(stack_id).generation == 1


def test_many_signals_replace_once(cluster):
    """Those of the time before the server was replaced meant the former one."""
    stack_id, before = made(cluster)
    for _times in range(5):
        signal(cluster, stack_id)
    handled(cluster, stack_id)
    check_replaced(cluster, stack_id, before)
    assert cluster.row(stack_id).generation == 2


def test_a_later_signal_replaces_again(cluster):
    stack_id, before = made(cluster)
    for _times in range(2):
        signal(cluster, stack_id)
        handled(cluster, stack_id)
        before = check_replaced(cluster, stack_id, before)


def test_a_signal_during_an_update_is_left_out(cluster):
    stack_id, before = made(cluster)
    slow = {**TEMPLATE, 'resources': {**TEMPLATE['resources'], 'more': {
        'type': 'OS::Heat::Delay', 'properties': {'min_wait': 60}}}}
    cluster.update(stack_id, slow)
    signal(cluster, stack_id)
    handled(cluster, stack_id)
    assert ids(done(cluster, stack_id, 'UPDATE'))['server'] == before['server']
    assert cluster.row(stack_id).generation == 2


def test_a_failed_server_is_replaced(cluster):
    stack_id, before = made(cluster)
    cluster.ask(messages.MarkUnhealthy(stack_id, 'server', True, 'so'))
    signal(cluster, stack_id)
    handled(cluster, stack_id)
    check_replaced(cluster, stack_id, before)


def test_a_locked_stack_is_left_alone(cluster):
    stack_id, before = made(cluster)
    cluster.ask(messages.LockStack(stack_id, 'night'))
    signal(cluster, stack_id, allowed=[exception.StackLocked])
    handled(cluster, stack_id)
    assert ids(cluster.row(stack_id)) == before
    assert [state for [(_action, state, _id)] in cluster.states(stack_id).values()] == ['COMPLETE'] * 5


def test_an_alarm_leaves_a_locked_stack_alone():
    """Its signal is stored, as the lock may be gone when it is handled."""
    with Cluster(**QUICK) as cluster:
        stack_id, before = made(cluster)
        cluster.ask(messages.LockStack(stack_id, 'night'))
        fail(cluster)
        universe = cluster.universe
        assert universe.run(lambda: not universe.steps % 50 and stored(cluster, 's-failure').state == 'ALARM',
                            limit=60.0)
        wait(cluster, 10.0)
        handled(cluster, stack_id)
        assert ids(cluster.row(stack_id)) == before
        assert [state for [(_action, state, _id)] in cluster.states(stack_id).values()] == ['COMPLETE'] * 5


def test_a_reference_to_nothing_is_an_error(cluster):
    broken = {**TEMPLATE, 'resources': {'restart': {
        'type': 'OS::Heat::HARestarter', 'properties': {'InstanceId': 'elsewhere'}}}, 'outputs': {}}
    row = done(cluster, cluster.create('s', broken), 'CREATE')
    found = cluster.ask(messages.SignalResource(row.id, 'restart', None, wait=True), [exception.HeatException])
    assert 'elsewhere' in str(found)


def test_another_project_may_not_signal(cluster):
    stack_id, _before = made(cluster)
    assert cluster.context.project_id == PROJECT
    arn = f'arn:openstack:heat::other:stacks/s/{stack_id}/resources/restart'
    rule = {'namespace': 'n', 'name': 'm', 'statistic': 'Sum', 'period': 60, 'evaluation_periods': 1,
            'comparison': 'GreaterThanThreshold', 'threshold': 1.0, 'alarm_actions': [arn]}
    assert isinstance(cluster.ask(messages.PutAlarm('a', rule), [exception.HTTPBadRequest]), exception.HTTPBadRequest)
