"""aws-cli 1, and boto3 as it was in January 2020: the CloudWatch API with the EC2 key of an ordinary member."""

import datetime
import json
from pathlib import Path

import pytest

from tests.foreign.conftest import run

OLD = Path(__file__).with_name('old_boto3.py')
RULE = {'Namespace': 'Test', 'MetricName': 'load', 'Statistic': 'Average', 'Period': 86400, 'EvaluationPeriods': 1,
        'Threshold': 5.0, 'ComparisonOperator': 'GreaterThanThreshold', 'TreatMissingData': 'ignore'}


class AwsCli:
    """`ask(action, **input)`: what `aws cloudwatch ACTION` prints, parsed, or the code of its error."""

    def __init__(self, venvs, url, environment):
        self.program, self.url, self.environment = venvs / 'aws/bin/aws', url, environment

    def ask(self, action, **wanted):
        done = run(self.program, '--endpoint-url', self.url, '--output', 'json', 'cloudwatch', action,
                   '--cli-input-json', json.dumps(wanted), code=None, env=self.environment)
        if done.returncode:
            assert 'An error occurred (' in done.stderr, done.stderr
            return done.stderr.partition('An error occurred (')[2].partition(')')[0]
        return json.loads(done.stdout) if done.stdout.strip() else {}


class Boto3:
    """The same by boto3 of 2020."""

    def __init__(self, venvs, url, environment):
        self.program, self.url, self.environment = venvs / 'boto3-2020/bin/python', url, environment

    def ask(self, action, **wanted):
        done = run(self.program, '-W', 'ignore', OLD, self.url, action.replace('-', '_'), json.dumps(wanted),
                   env=self.environment)
        return json.loads(done.stdout)


@pytest.fixture(scope='module', params=[AwsCli, Boto3], ids=['aws-cli', 'boto3'])
def client(request, cloud, venvs, member, tmp_path_factory):
    access, secret = member.ec2
    return request.param(venvs, f'{cloud.cloudwatch_url}/v1', {
        'AWS_ACCESS_KEY_ID': access, 'AWS_SECRET_ACCESS_KEY': secret, 'AWS_DEFAULT_REGION': 'RegionOne',
        'AWS_MAX_ATTEMPTS': '1', 'HOME': str(tmp_path_factory.mktemp('home')), 'PATH': '/usr/bin:/bin'})


@pytest.fixture(scope='module')
def name(client):
    """A name that the other client does not use."""
    return type(client).__name__.lower()


def moment(**ago):
    return (datetime.datetime.now(datetime.UTC) - datetime.timedelta(**ago)).strftime('%Y-%m-%dT%H:%M:00Z')


def test_metrics(client, name):
    dimensions = [{'Name': 'host', 'Value': 'a & b'}]
    assert client.ask('put-metric-data', Namespace=name, MetricData=[
        {'MetricName': 'load', 'Dimensions': dimensions, 'Value': 2.5, 'Unit': 'Percent',
         'Timestamp': moment(minutes=9)},
        {'MetricName': 'load', 'Dimensions': dimensions, 'Values': [1.5, 2], 'Counts': [2, 1], 'Unit': 'Percent',
         'Timestamp': moment(minutes=9)}]) == {}
    assert client.ask('list-metrics', Namespace=name)['Metrics'] == [
        {'Namespace': name, 'MetricName': 'load', 'Dimensions': dimensions}]
    window = {'StartTime': moment(hours=2), 'EndTime': moment(hours=-1)}
    found = client.ask('get-metric-statistics', Namespace=name, MetricName='load', Dimensions=dimensions, Period=3600,
                       Statistics=['Sum', 'SampleCount'], **window)
    assert (found['Label'], [(each['Sum'], each['SampleCount'], each['Unit']) for each in found['Datapoints']]) == (
        'load', [(7.5, 4.0, 'Percent')])
    result, = client.ask('get-metric-data', **window, MetricDataQueries=[{'Id': 'q', 'MetricStat': {
        'Metric': {'Namespace': name, 'MetricName': 'load', 'Dimensions': dimensions}, 'Period': 3600,
        'Stat': 'Maximum'}}])['MetricDataResults']
    assert (result['Id'], result['Values'], result['StatusCode']) == ('q', [2.5], 'Complete')


def test_a_large_batch(client, name):
    assert client.ask('put-metric-data', Namespace=f'{name}-batch', MetricData=[
        {'MetricName': f'm{number:03}', 'Value': number, 'Unit': 'Count'} for number in range(600)]) == {}
    first = client.ask('list-metrics', Namespace=f'{name}-batch')       # aws-cli reads all pages by itself
    found = first['Metrics']
    if 'NextToken' in first:
        found += client.ask('list-metrics', Namespace=f'{name}-batch', NextToken=first['NextToken'])['Metrics']
    assert len(found) == 600


def test_alarms(client, name):
    assert client.ask('put-metric-alarm', AlarmName=name, AlarmActions=['https://example.com/'],
                      Dimensions=[{'Name': 'who', 'Value': name}], **RULE) == {}
    assert client.ask('set-alarm-state', AlarmName=name, StateValue='OK', StateReason='so',
                      StateReasonData='{"a": 1}') == {}
    assert client.ask('disable-alarm-actions', AlarmNames=[name]) == {}
    found, = client.ask('describe-alarms', AlarmNames=[name])['MetricAlarms']
    expected = {**RULE, 'AlarmName': name, 'AlarmActions': ['https://example.com/'], 'StateValue': 'OK',
                'StateReason': 'so', 'StateReasonData': '{"a": 1}', 'ActionsEnabled': False, 'OKActions': []}
    assert {key: found[key] for key in expected} == expected
    assert client.ask('enable-alarm-actions', AlarmNames=[name]) == {}
    assert client.ask('describe-alarms', AlarmNamePrefix=name, StateValue='ALARM')['MetricAlarms'] == []
    found, = client.ask('describe-alarms-for-metric', Namespace='Test', MetricName='load',
                        Dimensions=[{'Name': 'who', 'Value': name}])['MetricAlarms']
    assert found['ActionsEnabled'] is True
    kinds = [each['HistoryItemType'] for each in client.ask(
        'describe-alarm-history', AlarmName=name)['AlarmHistoryItems']]
    assert {'ConfigurationUpdate', 'StateUpdate'} <= set(kinds)
    assert client.ask('delete-alarms', AlarmNames=[name]) == {}
    assert client.ask('describe-alarms', AlarmNames=[name])['MetricAlarms'] == []


@pytest.mark.parametrize('action, wanted, code', [
    ('delete-alarms', {'AlarmNames': ['nobody']}, 'ResourceNotFound'),
    ('set-alarm-state', {'AlarmName': 'nobody', 'StateValue': 'OK', 'StateReason': ''}, 'ResourceNotFound'),
    ('set-alarm-state', {'AlarmName': 'nobody', 'StateValue': 'BAD', 'StateReason': ''}, 'ValidationError'),
    ('put-metric-data', {'Namespace': 'N', 'MetricData': [{'MetricName': 'm', 'Value': 1, 'Unit': 'Furlongs'}]},
     'InvalidParameterValue'),
    ('put-metric-data', {'Namespace': 'N', 'MetricData': [{'MetricName': 'm'}]}, 'MissingParameter'),
    ('get-metric-statistics', {'Namespace': 'N', 'MetricName': 'm', 'StartTime': '2026-01-01T00:00:00Z',
                               'EndTime': '2026-02-01T00:00:00Z', 'Period': 60, 'Statistics': ['Sum']},
     'InvalidParameterCombination'),
    ('put-metric-alarm', {**RULE, 'AlarmName': 'a', 'Period': 45}, 'ValidationError'),
    ('list-dashboards', {}, 'InvalidAction')])
def test_errors_are_told(client, action, wanted, code):
    assert client.ask(action, **wanted) == code
