"""What alarms of stacks are evaluated with: data with more dimensions than theirs, and metrics of stacks themselves."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from heatlite.db import alarms, leases, metrics, shards, signals
from heatlite.engine.alarms import matching, own_metrics
from heatlite.monitoring.alarms import Metric
from heatlite.rpc import messages
from tests.db.test_alarms import RULE
from tests.db.test_alarms import alarm as new_alarm
from tests.simulation.cluster import PROJECT, Cluster, done, kill_engines_in, wait
from tests.simulation.statements import noted

QUICK = {'alarms.delay': 1.0, 'alarms.tick': 0.5}
GROUP = {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
    'min_size': 1, 'max_size': 3, 'cooldown': 1, 'resource': {'type': 'Sim::Thing', 'properties': {'value': 'v'}}}}


def policy(adjustment):
    return {'type': 'OS::Heat::ScalingPolicy', 'properties': {
        'adjustment_type': 'change_in_capacity', 'scaling_adjustment': adjustment, 'cooldown': 1,
        'auto_scaling_group_id': {'get_resource': 'group'}}}


def alarm(threshold, comparison='GreaterThanThreshold', kind='AWS::CloudWatch::Alarm', **more):
    return {'type': kind, 'properties': {
        'MetricName': 'CPUUtilization', 'Namespace': 'system/linux', 'Statistic': 'Average', 'Period': '10',
        'EvaluationPeriods': '1', 'Threshold': str(threshold), 'ComparisonOperator': comparison, **more}}


def scaled():
    return {'heat_template_version': '2018-08-31', 'resources': {
        'group': GROUP, 'up': policy(1), 'down': policy(-1),
        'high': alarm(80, AlarmActions=['up'], Dimensions=[{'Name': 'group', 'Value': {'get_resource': 'group'}}]),
        'low': alarm(20, 'LessThanThreshold', AlarmActions=['down'],
                     Dimensions=[{'Name': 'group', 'Value': {'get_resource': 'group'}}])},
        'outputs': {'group': {'value': {'get_resource': 'group'}}}}


def push(cluster, group, value):
    cluster.ask(messages.PutMetricData('system/linux', ({
        'name': 'CPUUtilization', 'dimensions': [['InstanceId', 'i-1'], ['metering.group', group]], 'unit': 'Percent',
        'samples': 1, 'total': value, 'smallest': value, 'largest': value},)))


def until(cluster, claim, limit=300.0):
    universe = cluster.universe
    assert universe.run(lambda: not universe.steps % 50 and claim(), limit=limit)


def loaded(cluster, group, value, claim):
    """Pushes a value every few seconds until the claim is true."""
    for _push in range(40):
        if claim():
            return
        push(cluster, group, value)
        wait(cluster, 5.0)
    raise AssertionError(f'{len(cluster.cloud.objects)} members')


def story(cluster):
    """Load, growth, no load, shrinking; whatever dies."""
    row = done(cluster, cluster.create('s', scaled()), 'CREATE')
    [group] = [output['output_value'] for output in row.outputs]
    members = cluster.cloud.objects
    loaded(cluster, group, 95.0, lambda: len(members) == 3)
    loaded(cluster, group, 5.0, lambda: len(members) == 1)
    cluster.delete(row.id)
    done(cluster, row.id, 'DELETE')
    assert not members


def test_a_group_grows_and_shrinks():
    with Cluster(**QUICK) as cluster:
        story(cluster)


def test_the_same_data_make_a_group_grow_once():
    """Older data stand in for missing ones for two periods, and the alarm lasts so long; but nothing new was said."""
    with Cluster(**QUICK) as cluster:
        row = done(cluster, cluster.create('s', scaled()), 'CREATE')
        [group] = [output['output_value'] for output in row.outputs]
        push(cluster, group, 95.0)
        until(cluster, lambda: stored(cluster, 's-high').state == 'ALARM')
        until(cluster, lambda: stored(cluster, 's-high').state == 'NODATA')
        wait(cluster, 30.0)
        assert len(cluster.cloud.objects) == 2
        [(_name, _action, _status, reason)] = [
            event for event in cluster.events(row.id) if event[:2] == ('up', 'SIGNAL')]
        assert reason == ('alarm state changed from insufficient data to alarm '
                          '(1 of the last 1 datapoints [95] are greater than the threshold (80).)')


def test_the_metrics_of_a_stack():
    """Each is stored once for a minute, also when engines die, and an alarm fires of it."""
    with Cluster(**QUICK) as cluster:
        wanted = {'group': GROUP, 'watch': alarm(
            0, Namespace=own_metrics.NAMESPACE, MetricName='Members', Period='60', Dimensions=[
                {'Name': 'StackName', 'Value': 's'}, {'Name': 'ResourceName', 'Value': 'group'}])}
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': wanted})
        done(cluster, stack_id, 'CREATE')
        until(cluster, lambda: stored(cluster, 's-watch').state == 'ALARM')
        metric = stored(cluster, 's-watch').rule.metric
        with cluster.database.reader() as tx:
            [number] = metrics.find(tx, PROJECT, [metric]).values()
            found = metrics.statistics(tx, [number], 0, 1 << 33, 60)
        assert found and {(each.unit, each.found.samples, each.found.total) for each in found} == {('Count', 1, 1)}


def stored(cluster, name):
    with cluster.database.reader() as tx:
        return alarms.get(tx, PROJECT, name)


@pytest.mark.parametrize('dimensions, known', [
    ({'StackName': 's'}, True),
    ({'StackName': 's', 'ResourceName': 'group'}, True),
    ({'StackName': 's', 'ResourceName': 'nothing'}, False),
    ({'StackName': 'other'}, False),
    ({'ResourceName': 'group'}, False),
    ({'StackName': 's', 'colour': 'red'}, False),
    ({}, False),
])
def test_the_dimensions_of_stacks(dimensions, known):
    with Cluster(**QUICK) as cluster:
        done(cluster, cluster.create('s', {
            'heat_template_version': '2018-08-31', 'resources': {'group': GROUP}}), 'CREATE')
        with cluster.database.reader() as tx:
            given = tuple(sorted(dimensions.items()))
            assert (own_metrics.StackMeter(tx, PROJECT).measured(given) is not None) == known
            assert own_metrics.StackMeter(tx, 'another project').measured(given) is None


def watching(tx, stack_id, number):
    """Store alarms of one project on the metrics of one stack, all with other dimensions. Return the lease of their
    shard."""
    for each in range(number):
        for dimensions in ((('StackId', f'{"x" * each}/{stack_id}'),),
                           (('ResourceName', f'r{each}'), ('StackId', stack_id))):
            metric = Metric(own_metrics.NAMESPACE, 'Members', dimensions)
            metrics.identify(tx, PROJECT, {metric.digest: metric}, 1.0)
            rule = dataclasses.replace(RULE, metric=metric)
            alarms.put(tx, new_alarm(f'{each}-{len(dimensions)}', PROJECT, rule=rule, due_at=1e12))
    found = leases.insert(tx, shards.lease_id(shards.of_project(PROJECT)), 'e1')
    assert found is not None
    return found


def test_alarms_on_one_stack_count_it_once_a_minute_without_the_lock_of_their_shard():
    looked = {}
    for number in (5, 50):
        with Cluster(engines=1, interleaved=False) as cluster:
            stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
                f'r{each}': {'type': 'Sim::Thing'} for each in range(3)}})
            done(cluster, stack_id, 'CREATE')
            with cluster.database.writer() as tx:
                lease = watching(tx, stack_id, number)
            with noted(lambda statement: True) as statements:
                assert own_metrics.record(cluster.database, lease, -1) == number
            counts = [at for at, each in enumerate(statements) if 'GROUP BY resource.type' in each]
            locks = [at for at, each in enumerate(statements) if 'UPDATE lease' in each or 'FROM lease' in each]
            assert len(counts) == 1 and counts[0] < min(locks)
            with noted(lambda statement: True) as again:
                assert own_metrics.record(cluster.database, lease, -1) == 0
            assert not any('GROUP BY resource.type' in each for each in again)
            looked[number] = len(statements)
    assert looked[50] <= looked[5] + 45         # one for each name of a resource: it may be a nested stack


A, B, AB = (('a', '1'),), (('b', '2'),), (('a', '1'), ('b', '2'))


@pytest.mark.parametrize('watched, given, found', [
    ([A], AB, [A]),
    ([A, B], AB, [A, B]),
    ([()], AB, [()]),
    ([AB], A, []),
    ([AB], AB, []),
    ([(('a', '3'),)], AB, []),
    ([A], (('metering.a', '1'),), [A]),
    ([A, A], AB, [A]),
])
def test_matching(watched, given, found):
    index = matching.indexed(Metric('n', 'm', each) for each in watched)
    assert [each.dimensions for each in matching.others(index, Metric('n', 'm', given))] == found
    assert matching.others(index, Metric('n', 'other', given)) == []
    assert matching.others(index, Metric('other', 'm', given)) == []


def test_copies_are_bounded():
    many = [Metric('n', 'm', ((f'd{number}', '1'),)) for number in range(3 * matching.MOST_KINDS)]
    given = Metric('n', 'm', tuple((f'd{number}', '1') for number in range(3 * matching.MOST_KINDS)))
    assert len(matching.others(matching.indexed(many), given)) == matching.MOST_KINDS


def test_the_story_with_engines_that_die():
    assert kill_engines_in(story, stride=211, **QUICK) > 5


def test_a_signal_to_a_stack_that_was_deleted():
    """It is forgotten: engines claimed the lease of the stack again and again."""
    with Cluster(**QUICK) as cluster:
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {'group': GROUP}})
        done(cluster, stack_id, 'CREATE')
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        with cluster.database.writer() as tx:
            signals.insert(tx, stack_id, 'group', {}, datetime.datetime(2026, 1, 1))
        done(cluster, stack_id, 'DELETE')
        with cluster.database.reader() as tx:
            assert signals.pending(tx, stack_id) == []
