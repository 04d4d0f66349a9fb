"""The CloudWatch API on the production profile, with boto3 as it is today: signatures, actions, signals."""

import datetime
from urllib.parse import urlencode

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.system import aws, doors, production
from tests.system.processes import eventually
from tests.system.production import Production
from tests.system.servers import HOST

HANDLE = {'heat_template_version': '2018-08-31', 'resources': {
    'handle': {'type': 'AWS::CloudFormation::WaitConditionHandle'}}}
RULE = {'Namespace': 'Test', 'MetricName': 'load', 'Statistic': 'Average', 'Period': 86400, 'EvaluationPeriods': 1,
        'Threshold': 5.0, 'ComparisonOperator': 'GreaterThanThreshold', 'TreatMissingData': 'ignore'}


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    if not production.is_possible():
        pytest.skip(production.REASON)
    with Production(tmp_path_factory.mktemp('cloud'), engines=1) as made:
        yield made
        assert [log for log in made.folder.glob('*.log') if 'Traceback' in log.read_text()] == []


def client(cloud, person, key=None, path='/v1', **more):
    access, secret = key or cloud.people[person].ec2
    return boto3.client('cloudwatch', endpoint_url=f'{cloud.cloudwatch_url}{path}', aws_access_key_id=access,
                        aws_secret_access_key=secret, region_name='RegionOne',
                        config=Config(retries={'max_attempts': 0}, **more))


@pytest.fixture(scope='module')
def alpha(cloud):
    return client(cloud, 'alpha')


def code(raised):
    return raised.value.response['Error']['Code']


@pytest.mark.parametrize('path', ['/v1', '/v1/', ''])
def test_with_and_without_the_version(cloud, path):
    client(cloud, 'alpha', path=path).list_metrics()


def test_metrics(alpha):
    at = datetime.datetime.now(datetime.UTC).replace(second=0, microsecond=0) - datetime.timedelta(minutes=20)
    dimensions = [{'Name': 'host', 'Value': 'a'}]
    alpha.put_metric_data(Namespace='Test', MetricData=[
        {'MetricName': 'load', 'Dimensions': dimensions, 'Value': value, 'Unit': 'Percent',
         'Timestamp': at + datetime.timedelta(minutes=value)} for value in range(5)])
    alpha.put_metric_data(Namespace='Test', MetricData=[
        {'MetricName': 'set', 'Values': [1.0, 2.0], 'Counts': [3.0, 1.0], 'StorageResolution': 1},
        {'MetricName': 'set', 'StatisticValues': {'SampleCount': 2, 'Sum': 9, 'Minimum': 4, 'Maximum': 5}}])
    pages = alpha.get_paginator('list_metrics').paginate(Namespace='Test')
    listed = [each for page in pages for each in page['Metrics']]
    assert {'Namespace': 'Test', 'MetricName': 'load', 'Dimensions': dimensions} in listed
    found = alpha.get_metric_statistics(
        Namespace='Test', MetricName='load', Dimensions=dimensions, StartTime=at, Period=300, Statistics=['Sum'],
        EndTime=at + datetime.timedelta(minutes=10))
    assert sum(each['Sum'] for each in found['Datapoints']) == 10
    assert {each['Unit'] for each in found['Datapoints']} == {'Percent'}
    query = {'Id': 'a', 'MetricStat': {'Metric': {'Namespace': 'Test', 'MetricName': 'load', 'Dimensions': dimensions},
                                       'Period': 60, 'Stat': 'Average'}}
    result, = alpha.get_metric_data(
        MetricDataQueries=[query], StartTime=at, EndTime=at + datetime.timedelta(minutes=10),
        ScanBy='TimestampAscending')['MetricDataResults']
    assert result['Values'] == [0, 1, 2, 3, 4]
    assert result['Timestamps'][0] == at


def test_a_large_batch_is_compressed(alpha):
    sent = []
    alpha.meta.events.register('before-send.cloudwatch.PutMetricData', lambda request, **_: sent.append(
        (request.headers.get('Content-Encoding'), len(request.body))))
    alpha.put_metric_data(Namespace='Batch', MetricData=[
        {'MetricName': f'm{number:03}', 'Value': number, 'Unit': 'Count'} for number in range(1000)])
    encoding, length = sent[0]
    assert encoding in (b'gzip', 'gzip')
    assert length < 60_000
    assert sum(len(page['Metrics']) for page in alpha.get_paginator('list_metrics').paginate(Namespace='Batch')) == 1000


def test_an_alarm_and_its_signal(cloud, alpha):
    """The state that is set from outside signals a wait handle of a stack."""
    member = cloud.people['alpha']
    path = cloud.create(member, 'waits', HANDLE)
    assert cloud.finished(member, path) == 'CREATE_COMPLETE'
    name, stack_id = path.split('/')[-2:]
    action = f'arn:openstack:heat::{member.project_id}:stacks/{name}/{stack_id}/resources/handle'
    alpha.put_metric_alarm(AlarmName='high', AlarmDescription='too much', AlarmActions=[action], **RULE)
    found, = alpha.describe_alarms(AlarmNames=['high'])['MetricAlarms']
    assert (found['StateValue'], found['Threshold'], found['AlarmActions']) == ('INSUFFICIENT_DATA', 5.0, [action])
    alpha.set_alarm_state(AlarmName='high', StateValue='ALARM', StateReason='a test')
    assert alpha.describe_alarms(StateValue='ALARM')['MetricAlarms'][0]['StateReason'] == 'a test'
    found, = alpha.describe_alarms_for_metric(Namespace='Test', MetricName='load')['MetricAlarms']
    assert found['AlarmName'] == 'high'
    eventually('an action in the history', lambda: alpha.describe_alarm_history(
        AlarmName='high', HistoryItemType='Action')['AlarmHistoryItems'])
    alpha.disable_alarm_actions(AlarmNames=['high'])
    assert alpha.describe_alarms(AlarmNames=['high'])['MetricAlarms'][0]['ActionsEnabled'] is False
    alpha.enable_alarm_actions(AlarmNames=['high'])
    alpha.delete_alarms(AlarmNames=['high'])
    assert alpha.describe_alarms()['MetricAlarms'] == []


def test_errors_have_their_classes(alpha):
    with pytest.raises(alpha.exceptions.ResourceNotFound):
        alpha.delete_alarms(AlarmNames=['nobody'])
    with pytest.raises(alpha.exceptions.InvalidParameterValueException):
        alpha.put_metric_data(Namespace='Test', MetricData=[{'MetricName': 'm', 'Value': 1, 'Unit': 'Furlongs'}])
    with pytest.raises(alpha.exceptions.InvalidParameterCombinationException):
        alpha.get_metric_statistics(Namespace='Test', MetricName='m', StartTime=0, EndTime=10 ** 7, Period=60,
                                    Statistics=['Sum'])
    with pytest.raises(alpha.exceptions.InvalidNextToken):
        alpha.describe_alarms(NextToken='x')
    with pytest.raises(ClientError) as raised:
        alpha.get_metric_data(MetricDataQueries=[{'Id': 'a', 'Expression': 'SUM(METRICS())'}], StartTime=0, EndTime=60)
    assert code(raised) == 'ValidationError'
    with pytest.raises(ClientError) as raised:
        alpha.list_dashboards()
    assert code(raised) == 'InvalidAction'


def test_other_projects(cloud, alpha):
    alpha.put_metric_data(Namespace='Mine', MetricData=[{'MetricName': 'm', 'Value': 1}])
    alpha.put_metric_alarm(AlarmName='mine', **RULE)
    beta = client(cloud, 'beta')
    assert beta.list_metrics()['Metrics'] == []
    assert beta.describe_alarms()['MetricAlarms'] == []
    assert beta.describe_alarm_history()['AlarmHistoryItems'] == []
    with pytest.raises(beta.exceptions.ResourceNotFound):
        beta.set_alarm_state(AlarmName='mine', StateValue='OK', StateReason='')
    admin = client(cloud, 'admin')
    assert admin.describe_alarms(AlarmNames=['mine'])['MetricAlarms'] == []
    alpha.delete_alarms(AlarmNames=['mine'])


def test_readers_read(cloud):
    reader = client(cloud, 'alpha_reader')
    reader.list_metrics()
    with pytest.raises(ClientError) as raised:
        reader.put_metric_data(Namespace='Test', MetricData=[{'MetricName': 'm', 'Value': 1}])
    assert code(raised) == 'AccessDenied'


@pytest.mark.parametrize('key, expected', [
    (('nobody', 'secret'), 'InvalidClientTokenId'), (('{access}', 'wrong'), 'AccessDenied')])
def test_wrong_keys(cloud, key, expected):
    access, _secret = cloud.people['alpha'].ec2
    with pytest.raises(ClientError) as raised:
        client(cloud, 'alpha', key=(key[0].format(access=access), key[1])).list_metrics()
    assert code(raised) == expected


@pytest.mark.parametrize('minutes', [-60, 60])
def test_skewed_clocks(cloud, minutes):
    """As the CloudFormation API answers them: Keystone compares the time that is signed with its own."""
    at = (aws.now() + datetime.timedelta(minutes=minutes)).strftime('%Y-%m-%dT%H:%M:%SZ')
    said = {}
    for name, port, action in (('cloudwatch', cloud.cloudwatch_port, 'ListMetrics'),
                               ('cfn', cloud.cfn_port, 'ListStacks')):
        signed = aws.version_2(cloud.people['alpha'].ec2, 'GET', f'{HOST}:{port}', '/v1/', Action=action, Timestamp=at)
        answer = cloud.send(port, 'GET', f'/v1/?{urlencode(signed)}', None, {})
        said[name] = answer.status, answer.text.partition('<Code>')[2].partition('<')[0]
    assert said['cloudwatch'] == said['cfn']
    assert minutes > 0 or said['cloudwatch'] == (403, 'AccessDenied')


def test_without_a_signature(cloud):
    answer = cloud.send(cloud.cloudwatch_port, 'GET', '/v1/?Action=ListMetrics', None, {})
    assert (answer.status, '<Code>IncompleteSignature</Code>' in answer.text) == (400, True)


def test_old_signatures(cloud):
    member = cloud.people['alpha']
    answer = cloud.ask_cloudwatch(member, 'ListMetrics', ContentType='JSON')
    assert answer.status == 200, answer.text
    assert 'Metrics' in answer.json['ListMetricsResponse']['ListMetricsResult']


def test_reads_need_no_engine(cloud, alpha):
    for engine in cloud.engines:
        engine.kill()
    alpha.list_metrics()
    alpha.describe_alarms()
    cloud.start_engine().said('takes requests')


def test_heatlite_all(tmp_path):
    with doors.running(tmp_path) as one:
        access, secret = one.ec2_key()
        client = boto3.client('cloudwatch', endpoint_url=f'http://127.0.0.1:{one.cloudwatch_port}', region_name='heat',
                              aws_access_key_id=access, aws_secret_access_key=secret,
                              config=Config(retries={'max_attempts': 0}, proxies={}))
        client.put_metric_data(Namespace='Test', MetricData=[{'MetricName': 'm', 'Value': 1}])
        assert client.list_metrics()['Metrics'] == [{'Namespace': 'Test', 'MetricName': 'm', 'Dimensions': []}]
        client.put_metric_alarm(AlarmName='a', **RULE)
        assert client.describe_alarms()['MetricAlarms'][0]['AlarmName'] == 'a'
        assert 'Traceback' not in one.program.log.read_text()
