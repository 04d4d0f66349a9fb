"""Alarms as resources: their names, their lives, and what others that use them wait for."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import alarms
from heatlite.engine.resources.watching import alarm_name
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, outputs

LITE, AMAZON = 'OS::Heat::CWLiteAlarm', 'AWS::CloudWatch::Alarm'


def alarm(kind=LITE, **more):
    return {'type': kind, 'properties': {
        'MetricName': 'CPUUtilization', 'Namespace': 'system/linux', 'Statistic': 'Sum', 'Period': '60',
        'EvaluationPeriods': '3', 'Threshold': '80', 'ComparisonOperator': 'GreaterThanThreshold', **more}}


def template(resources):
    return {'heat_template_version': '2018-08-31', 'resources': resources,
            'outputs': {'name': {'value': {'get_resource': 'watch'}}}}


def stored(cluster, name='s-watch', project='p'):
    with cluster.database.reader() as tx:
        return alarms.get(tx, project, name)


@pytest.fixture
def cluster():
    with Cluster() as found:
        yield found


def project(cluster):
    return cluster.context.project_id


@pytest.mark.parametrize('kind', [LITE, AMAZON])
def test_its_users_do_not_wait_for_it(cluster, kind):
    """A server that pushes to an alarm is in the group that the alarm scales: that is no circle."""
    circle = template({'watch': alarm(kind, AlarmActions=[{'get_resource': 'a'}]),
                       'a': {'type': 'Sim::Thing', 'properties': {'value': {'get_resource': 'watch'}}}})
    stack_id = cluster.create('s', circle)
    row = done(cluster, stack_id, 'CREATE')
    assert outputs(row) == {'name': 's-watch'}
    assert [each['value'] for each in cluster.cloud.objects.values()] == ['s-watch']
    made = list(cluster.cloud.objects)
    found = stored(cluster, project=project(cluster))
    assert (found.stack_id, found.resource_name, found.state) == (stack_id, 'watch', 'NODATA')
    assert found.rule.alarm_actions == tuple(made)
    cluster.update(stack_id, {**circle, 'description': 'the same'})
    done(cluster, stack_id, 'UPDATE')
    assert list(cluster.cloud.objects) == made          # the name was right from the beginning
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert stored(cluster, project=project(cluster)) is None


def test_depends_on_is_a_circle_all_the_same(cluster):
    with pytest.raises(exception.HeatException, match='Circular'):
        cluster.create('s', template({
            'watch': alarm(AlarmActions=[{'get_resource': 'a'}]),
            'a': {'type': 'Sim::Thing', 'depends_on': 'watch', 'properties': {'value': 'v'}}}))


def test_the_rules_of_both(cluster):
    stack_id = cluster.create('s', template({'watch': alarm(), 'other': alarm(
        AMAZON, Units='Percent', AlarmDescription='busy',
        Dimensions=[{'Name': 'b', 'Value': 2}, {'Name': 'a', 'Value': '1'}])}))
    done(cluster, stack_id, 'CREATE')
    lite = stored(cluster, project=project(cluster)).rule
    assert (lite.evaluation_periods, lite.no_data_is_zero, lite.every_time) == (1, True, True)
    amazon = stored(cluster, 's-other', project(cluster)).rule
    assert (amazon.evaluation_periods, amazon.no_data_is_zero, amazon.every_time) == (3, False, True)
    assert (amazon.unit, amazon.description, amazon.metric.dimensions) == (
        'Percent', 'busy', (('a', '1'), ('b', '2')))


def test_changes_keep_the_alarm(cluster):
    stack_id = cluster.create('s', template({'watch': alarm()}))
    done(cluster, stack_id, 'CREATE')
    before = stored(cluster, project=project(cluster))
    cluster.update(stack_id, template({'watch': alarm(MetricName='MemoryUtilization', Threshold='7')}))
    done(cluster, stack_id, 'UPDATE')
    after = stored(cluster, project=project(cluster))
    assert after.id == before.id
    assert (after.rule.metric.name, after.rule.threshold) == ('MemoryUtilization', 7.0)


def test_another_type_takes_over_its_name(cluster):
    """The replacement has the same name: the deletion of the replaced resource leaves the alarm alone."""
    stack_id = cluster.create('s', template({'watch': alarm()}))
    done(cluster, stack_id, 'CREATE')
    cluster.update(stack_id, template({'watch': alarm(AMAZON)}))
    done(cluster, stack_id, 'UPDATE')
    found = stored(cluster, project=project(cluster))
    assert found is not None and found.rule.evaluation_periods == 3


def test_suspended_and_resumed(cluster):
    stack_id = cluster.create('s', template({'watch': alarm()}))
    done(cluster, stack_id, 'CREATE')
    for action, state in (('SUSPEND', 'SUSPENDED'), ('RESUME', 'NODATA')):
        cluster.ask(messages.StackAction(stack_id, action.lower()))
        done(cluster, stack_id, action)
        assert stored(cluster, project=project(cluster)).state == state


@pytest.mark.parametrize('wrong, message', [
    ({'Threshold': 'high'}, 'Threshold must be a number'),
    ({'Threshold': 'nan'}, 'Threshold must be a number'),
    ({'Period': '1.5'}, 'Period must be a whole number'),
    ({'Period': '61'}, 'A period is 10, 20, 30 or a multiple of 60 seconds'),
    ({'EvaluationPeriods': '-1'}, 'EvaluationPeriods must be a whole number'),
    ({'Dimensions': ['red']}, 'map with Name and Value'),
    ({'Dimensions': [{'Name': 'a', 'Value': 'b'}] * 2}, 'is given twice'),
    ({'AlarmActions': ['http://a'] * 6}, 'at most 5 actions'),
    ({'Namespace': 'n' * 256}, 'Namespace is a text of 1 to 255 characters'),
    ({'Statistic': 'Median'}, 'is not an allowed value'),
    ({'Units': 'Apples'}, 'is not an allowed value'),
])
def test_a_wrong_rule_is_refused(cluster, wrong, message):
    with pytest.raises(exception.HeatException, match=message):
        cluster.create('s', template({'watch': alarm(AMAZON, **wrong)}))


def test_the_alarm_of_somebody_else_is_not_taken(cluster):
    first = cluster.create('a', template({'b-watch': alarm(), 'watch': {'type': 'OS::Heat::None'}}))
    done(cluster, first, 'CREATE')
    second = cluster.create('a-b', template({'watch': alarm()}))
    row = cluster.settle(second)
    assert (row.action, row.status) == ('CREATE', 'FAILED') and 'a-b-watch' in row.reason
    cluster.delete(second)
    done(cluster, second, 'DELETE')
    assert stored(cluster, 'a-b-watch', project(cluster)).stack_id == first


def test_long_names_are_bounded_and_differ():
    one, other = alarm_name('s' * 200, 'r' * 100), alarm_name('s' * 200, 'r' * 99 + 'q')
    assert len(one) == len(other) == 255 and one != other
    assert alarm_name('s' * 200, 'r' * 54) == f'{"s" * 200}-{"r" * 54}'
