"""Bad input of the CloudWatch API: AWS's code in the form of the protocol, and nothing is stored."""

import gzip
import json as texts
import math
import time

import cbor2
import pytest
import sqlalchemy as sa

from heatlite.db import tables
from tests.api import cloudwatch
from tests.api.cloudwatch import FORM, TARGET, Cbor, Client, Json, Query, QueryGet

VALUE, VALIDATION, TYPE = 'InvalidParameterValue', 'ValidationError', 'SerializationException'
COMBINATION, MISSING = 'InvalidParameterCombination', 'MissingParameter'
NOW = time.time()
RULE = {'AlarmName': 'a', 'Namespace': 'N', 'MetricName': 'm', 'Statistic': 'Sum', 'Period': 60, 'EvaluationPeriods': 1,
        'Threshold': 1.0, 'ComparisonOperator': 'LessThanThreshold'}
TABLES = (tables.metric, tables.metric_period, tables.alarm, tables.alarm_history)


@pytest.fixture(scope='module')
def served(tmp_path_factory):
    with cloudwatch.serving(tmp_path_factory.mktemp('refusals'), alarms__max_metrics_per_project=3,
                            alarms__max_alarms_per_project=0) as found:
        yield found


@pytest.fixture(params=[Query, Json, Cbor], ids=lambda each: each.__name__)
def client(request, served):
    return request.param(served[0])


@pytest.fixture(autouse=True)
def unchanged(served):
    """No test stores anything."""
    before = rows(served[1])
    yield
    assert rows(served[1]) == before


def rows(database):
    with database.reader() as tx:
        return [tx.execute(sa.select(sa.func.count()).select_from(table)).scalar() for table in TABLES]


def datum(**values):
    return {'Namespace': 'N', 'MetricData': [{'MetricName': 'm', 'Value': 1.0}, {'MetricName': 'm', **values}]}


def dimensions(*pairs):
    return [{'Name': name, 'Value': value} for name, value in pairs]


def statistics(**values):
    return {'Namespace': 'N', 'MetricName': 'm', 'StartTime': 0, 'EndTime': 3600, 'Period': 60, 'Statistics': ['Sum'],
            **values}


def queries(*given, **more):
    return {'StartTime': 0, 'EndTime': 3600, 'MetricDataQueries': list(given), **more}


def query(**more):
    return {'Id': 'a', 'MetricStat': {'Metric': {'Namespace': 'N', 'MetricName': 'm'}, 'Period': 60, 'Stat': 'Sum'},
            **more}


def stat(**more):
    return query(MetricStat={**query()['MetricStat'], **more})


def rule(**more):
    return {name: value for name, value in {**RULE, **more}.items() if value is not None}


PUT = [
    (datum(Value=1, Unit='Furlongs'), VALUE), (datum(Value=1, Timestamp=0), VALUE),
    (datum(Value=1, Timestamp='1970-01-01T00:00:00Z'), VALUE), (datum(Value=1, Timestamp=4102444800), VALUE),
    (datum(Value=1, Timestamp=int(NOW) - 15 * 86400), VALUE), (datum(Value=1, Timestamp=int(NOW) + 3 * 3600), VALUE),
    (datum(Value=1, Timestamp=1e300), VALUE), (datum(Value=1, Timestamp='yesterday'), TYPE),
    (datum(Value=2.0 ** 361), VALUE), (datum(Value=-2.0 ** 361), VALUE), (datum(Value='much'), TYPE),
    (datum(Value='1_000'), TYPE), (datum(Value=True), TYPE), (datum(), MISSING),
    (datum(Values=[1] * 151), VALUE), (datum(Values=[1], Counts=[1, 2]), COMBINATION),
    (datum(Value=1, Counts=[1]), COMBINATION), (datum(Values=[1], Counts=[0]), VALUE),
    (datum(Values=[1], Counts=[-1]), VALUE), (datum(Value=1, Values=[1]), COMBINATION),
    (datum(Values=[2.0 ** 359] * 9), VALUE),
    (datum(StatisticValues={'SampleCount': 1, 'Sum': 1, 'Minimum': 1}), MISSING),
    (datum(StatisticValues={'SampleCount': 0, 'Sum': 1, 'Minimum': 1, 'Maximum': 1}), VALUE),
    (datum(StatisticValues={'SampleCount': 1, 'Sum': 1, 'Minimum': 2, 'Maximum': 1}), VALUE),
    (datum(Value=1, StatisticValues={'SampleCount': 1, 'Sum': 1, 'Minimum': 1, 'Maximum': 1}), COMBINATION),
    (datum(Value=1, StorageResolution=30), VALUE), (datum(Value=1, StorageResolution='x'), TYPE),
    (datum(Value=1, Dimensions=dimensions(*((str(each), 'v') for each in range(31)))), VALUE),
    (datum(Value=1, Dimensions=dimensions(('n', 'v'), ('n', 'w'))), VALUE),
    (datum(Value=1, Dimensions=dimensions(('n' * 256, 'v'))), VALUE),
    (datum(Value=1, Dimensions=dimensions(('n', 'v' * 1025))), VALUE),
    (datum(Value=1, Dimensions=[{'Name': 'n'}]), MISSING), (datum(Value=1, Dimensions='x'), TYPE),
    (datum(Value=1, MetricName='m' * 256), VALUE), (datum(Value=1, MetricName='m\x01'), VALUE),
    (datum(Value=1, MetricName='m' * 900_000), VALUE),
    ({'Namespace': ':N', 'MetricData': [{'MetricName': 'm', 'Value': 1}]}, VALUE),
    ({'Namespace': 'N' * 256, 'MetricData': [{'MetricName': 'm', 'Value': 1}]}, VALUE),
    ({'Namespace': 'N', 'MetricData': [{'Value': 1}]}, MISSING), ({'Namespace': 'N'}, MISSING),
    ({'MetricData': [{'MetricName': 'm', 'Value': 1}]}, MISSING), ({'Namespace': 'N', 'MetricData': 'x'}, TYPE),
    ({'Namespace': 'N', 'MetricData': [{'MetricName': 'm', 'Value': 1}] * 1001}, VALUE),
    ({'Namespace': 'N', 'EntityMetricData': [{'MetricData': [{'MetricName': 'm', 'Value': 1}]}]}, VALUE),
    ({'Namespace': 'N', 'MetricData': [{'MetricName': f'm{each}', 'Value': 1} for each in range(4)]}, 'LimitExceeded'),
]
READ = [
    ('ListMetrics', {'NextToken': 'x'}, 'InvalidNextToken'), ('ListMetrics', {'NextToken': 'é'}, 'InvalidNextToken'),
    ('ListMetrics', {'NextToken': 'W10'}, 'InvalidNextToken'), ('ListMetrics', {'RecentlyActive': 'PT4H'}, VALUE),
    ('ListMetrics', {'NextToken': 'WyJMaXN0TWV0cmljcyIsLTFd'}, 'InvalidNextToken'),
    ('ListMetrics', {'Dimensions': dimensions(*((str(each), 'v') for each in range(11)))}, VALUE),
    ('ListMetrics', {'OwningAccount': '1'}, VALUE),
    *(('GetMetricStatistics', statistics(Period=period), VALUE) for period in (0, 2, 20, 59, 61, 90, -60, 86460)),
    ('GetMetricStatistics', statistics(Period='x'), TYPE),
    ('GetMetricStatistics', statistics(Statistics=['p99']), VALUE),
    ('GetMetricStatistics', statistics(Statistics=[]), None),
    ('GetMetricStatistics', statistics(ExtendedStatistics=['p99']), VALUE),
    ('GetMetricStatistics', statistics(StartTime=3600), VALUE),
    ('GetMetricStatistics', statistics(StartTime='x'), TYPE),
    ('GetMetricStatistics', statistics(EndTime=1441 * 60), COMBINATION),
    ('GetMetricStatistics', statistics(Unit='Furlongs'), VALUE),
    ('GetMetricStatistics', statistics(EndTime='9999-12-31T00:00:00Z'), VALUE),
    ('GetMetricData', queries(), None), ('GetMetricData', queries({'Id': 'a', 'Expression': 'b + 1'}), VALIDATION),
    ('GetMetricData', queries(query(), query()), VALIDATION), ('GetMetricData', queries(query(Id='A')), VALIDATION),
    ('GetMetricData', queries(stat(Stat='p90')), VALIDATION), ('GetMetricData', queries(stat(Period=7)), VALIDATION),
    ('GetMetricData', queries(query(), StartTime=7200), VALIDATION), ('GetMetricData', queries({'Id': 'a'}), MISSING),
    ('GetMetricData', queries(query(), NextToken='x'), 'InvalidNextToken'),
    ('GetMetricData', queries(query(), MaxDatapoints=0), VALIDATION),
    ('GetMetricData', queries(query(), ScanBy='Sideways'), VALIDATION),
    ('GetMetricData', queries(*(query(Id=f'a{each}') for each in range(501))), VALIDATION),
    ('DescribeAlarms', {'MaxRecords': 101}, VALIDATION), ('DescribeAlarms', {'StateValue': 'NODATA'}, VALIDATION),
    ('DescribeAlarms', {'AlarmTypes': ['Odd']}, VALIDATION), ('DescribeAlarms', {'NextToken': 'x'}, 'InvalidNextToken'),
    ('DescribeAlarms', {'AlarmNames': ['a'], 'AlarmNamePrefix': 'a'}, COMBINATION),
    ('DescribeAlarms', {'AlarmNames': [f'{each}' for each in range(101)]}, VALIDATION),
    ('DescribeAlarms', {'ChildrenOfAlarmName': 'a'}, VALIDATION),
    ('DescribeAlarmHistory', {'HistoryItemType': 'Odd'}, VALIDATION),
    ('DescribeAlarmHistory', {'NextToken': 'x'}, 'InvalidNextToken'),
    ('DescribeAlarmsForMetric', {'MetricName': 'm'}, MISSING),
]
CHANGE = [
    *(('PutMetricAlarm', rule(**{name: None}), MISSING) for name in RULE),
    ('PutMetricAlarm', rule(Period=45), VALIDATION), ('PutMetricAlarm', rule(Period=0), VALIDATION),
    ('PutMetricAlarm', rule(EvaluationPeriods=0), VALIDATION),
    ('PutMetricAlarm', rule(EvaluationPeriods=1441), VALIDATION),
    ('PutMetricAlarm', rule(DatapointsToAlarm=2), VALIDATION), ('PutMetricAlarm', rule(Threshold='x'), TYPE),
    ('PutMetricAlarm', rule(Threshold=2.0 ** 361), VALIDATION), ('PutMetricAlarm', rule(Statistic='p99'), VALIDATION),
    ('PutMetricAlarm', rule(ComparisonOperator='GreaterThanUpperThreshold'), VALIDATION),
    ('PutMetricAlarm', rule(TreatMissingData='odd'), VALIDATION), ('PutMetricAlarm', rule(Unit='Odd'), VALIDATION),
    ('PutMetricAlarm', rule(AlarmName='a '), VALIDATION),
    ('PutMetricAlarm', rule(AlarmName='a' * 256), VALIDATION), ('PutMetricAlarm', rule(AlarmName='a\nb'), VALIDATION),
    ('PutMetricAlarm', rule(AlarmActions=['https://example.com'] * 6), VALIDATION),
    ('PutMetricAlarm', rule(AlarmActions=['arn:aws:sns:eu-west-1:1:topic']), VALIDATION),
    ('PutMetricAlarm', rule(AlarmActions=['arn:openstack:heat::' + 'e' * 32 + ':stacks/s/1/resources/r']), VALIDATION),
    ('PutMetricAlarm', rule(AlarmDescription='d' * 1025), VALIDATION),
    ('PutMetricAlarm', rule(ActionsEnabled='maybe'), TYPE), ('PutMetricAlarm', rule(), 'LimitExceeded'),
    *(('PutMetricAlarm', rule(**{name: value}), VALIDATION) for name, value in (
        ('ExtendedStatistic', 'p99'), ('Metrics', [{'Id': 'a'}]), ('ThresholdMetricId', 'a'),
        ('EvaluateLowSampleCountPercentile', 'ignore'), ('Tags', [{'Key': 'a', 'Value': 'b'}]))),
    ('SetAlarmState', {'AlarmName': 'a', 'StateValue': 'NODATA', 'StateReason': ''}, VALIDATION),
    ('SetAlarmState', {'AlarmName': 'a', 'StateValue': 'OK', 'StateReason': 'r' * 1024}, VALIDATION),
    ('SetAlarmState', {'AlarmName': 'a', 'StateValue': 'OK', 'StateReason': '', 'StateReasonData': '{'},
     'InvalidFormat'),
    ('SetAlarmState', {'AlarmName': 'nobody', 'StateValue': 'OK', 'StateReason': ''}, 'ResourceNotFound'),
    ('SetAlarmState', {'StateValue': 'OK', 'StateReason': ''}, MISSING),
    ('DeleteAlarms', {'AlarmNames': ['nobody']}, 'ResourceNotFound'), ('DeleteAlarms', {}, MISSING),
    ('EnableAlarmActions', {}, MISSING), ('DisableAlarmActions', {'AlarmNames': ['']}, VALIDATION),
    ('DeleteAlarms', {'AlarmNames': [str(each) for each in range(101)]}, VALIDATION),
]
STATUS = {'ResourceNotFound': 404}
# A list without members is none in the query protocol.
EMPTY = {('GetMetricStatistics', 'Query'): MISSING, ('GetMetricStatistics', 'Json'): VALUE,
         ('GetMetricData', 'Query'): MISSING, ('GetMetricData', 'Json'): VALIDATION}


def refused(client, action, wanted, code):
    if type(client) is Query and code == TYPE and True in flat_values(wanted):
        pytest.skip('a text like others')
    code = code or EMPTY[action, 'Query' if type(client) is Query else 'Json']
    answer = client.ask(action, wanted)
    assert (answer.status, answer.code) == (STATUS.get(code, 400), code), answer.message
    assert answer.message and len(answer.message) < 2000


def flat_values(value):
    if isinstance(value, dict | list):
        return [each for inner in (value.values() if isinstance(value, dict) else value) for each in flat_values(inner)]
    return [value] if value is True else []


@pytest.mark.parametrize('wanted, code', PUT)
def test_datapoints(client, wanted, code):
    refused(client, 'PutMetricData', wanted, code)


@pytest.mark.parametrize('action, wanted, code', READ)
def test_reads(client, action, wanted, code):
    refused(client, action, wanted, code)


@pytest.mark.parametrize('action, wanted, code', CHANGE)
def test_alarms(client, action, wanted, code):
    refused(client, action, wanted, code)


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
def test_no_numbers(served, value):
    refused(Cbor(served[0]), 'PutMetricData', datum(Value=value), VALUE)
    refused(Query(served[0]), 'PutMetricData', datum(Value=value), VALUE)
    refused(Json(served[0]), 'PutMetricData', datum(Value=value), TYPE)      # JSON has no such numbers


def test_numbers_beyond_all_bounds(served):
    refused(Json(served[0]), 'PutMetricData', datum(Value=10 ** 400), VALUE)
    refused(Query(served[0]), 'PutMetricData', datum(Value=10 ** 400), VALUE)


@pytest.mark.parametrize('action', ['Nope', 'PutDashboard', '', 'x' * 200_000])
def test_unknown_actions(client, action):
    if isinstance(client, Cbor) and not 0 < len(action) < 100:
        pytest.skip('no path of this protocol')
    answer = client.ask(action)
    assert (answer.status, answer.code) == (400, 'InvalidAction')


def test_a_longer_query_string(served):
    answer = QueryGet(served[0]).ask('PutMetricData', {'Namespace': 'N', 'MetricData': [
        {'MetricName': 'm', 'Value': 1}] * 600})
    assert (answer.status, answer.code) == (400, VALUE)


# --- bodies ------------------------------------------------------------------------------------------------

CBOR_HEADERS = {'Content-Type': 'application/cbor', 'smithy-protocol': 'rpc-v2-cbor'}
JSON_HEADERS = {'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': f'{TARGET}.PutMetricData'}
CBOR_PATH = f'/service/{TARGET}/operation/PutMetricData'


@pytest.mark.parametrize('body', [
    b'\xff', b'\x81' * 1000, b'\x9b' + b'\x7f' * 8, b'\xa1\x01\x02', b'\xc5\x82\x1b' + b'\x7f' * 8 + b'\x03',
    b'\xd8\x1c\x81\xd8\x1d\x00', b'\xd8\x23\x65(a+)+', b'\x01', b'\x80', b'\xa1',
    cbor2.dumps({'Namespace': cbor2.CBORTag(777, 'N'), 'MetricData': [{'MetricName': 'm', 'Value': 1}]})])
def test_bodies_that_are_no_cbor_input(served, body):
    status, headers, content = Client(served[0]).send('POST', CBOR_PATH, body, **CBOR_HEADERS)
    assert (status, headers['x-amzn-query-error']) == (400, 'SerializationException;Sender')
    assert cbor2.loads(content)['__type'] == 'SerializationException'


@pytest.mark.parametrize('body', [b'{', b'\xff', b'[' * 100_000, b'[]', b'1', b'{"Namespace": "\\ud800"}',
    b'{"a": NaN}'])
def test_bodies_that_are_no_json_input(served, body):
    status, headers, content = Client(served[0]).send('POST', '/', body, **JSON_HEADERS)
    assert (status, headers['x-amzn-query-error']) == (400, 'SerializationException;Sender')
    assert texts.loads(content)['__type'] == 'SerializationException'


@pytest.mark.parametrize('path, headers', [(CBOR_PATH, CBOR_HEADERS), ('/', JSON_HEADERS),
                                           ('/', {'Content-Type': FORM})], ids=['cbor', 'json', 'query'])
@pytest.mark.parametrize('body, encoding, status, code', [
    (gzip.compress(b'x' * 5_000_000), 'gzip', 413, 'RequestEntityTooLarge'), (b'x', 'gzip', 400, VALUE),
    (b'x' * 2_000_000, 'identity', 413, 'RequestEntityTooLarge'), (b'x', 'br', 400, VALUE)],
    ids=['bomb', 'no gzip', 'long', 'unknown'])
def test_bodies_that_are_not_read(served, path, headers, body, encoding, status, code):
    found, said, content = Client(served[0]).send('POST', path, body, **headers, **{'Content-Encoding': encoding})
    assert found == status, content
    if path == '/' and 'X-Amz-Target' not in headers:
        assert f'<Code>{code}</Code>'.encode() in content
    elif (found, code) != (400, VALUE):
        assert said['x-amzn-query-error'] == f'{code};Sender'


@pytest.mark.parametrize('method, path, headers, status', [
    ('GET', '/', {}, 300), ('GET', '/v1/nowhere', {}, 404), ('PUT', '/v1/', {}, 404), ('GET', '/v2/', {}, 300),
    ('POST', '/v1/x', JSON_HEADERS, 404), ('POST', '/', CBOR_HEADERS, 300), ('POST', '/v1/', CBOR_HEADERS, 404),
    ('GET', f'/v1{CBOR_PATH}', CBOR_HEADERS, 404), ('POST', f'/v1{CBOR_PATH}', {}, 404),
    ('POST', f'/v1{CBOR_PATH}/more', CBOR_HEADERS, 404),
    ('POST', '/v1/service/Other/operation/PutMetricData', CBOR_HEADERS, 400),
    ('POST', '/', {**JSON_HEADERS, 'X-Amz-Target': 'Other.PutMetricData'}, 400)])
def test_paths(served, method, path, headers, status):
    assert Client(served[0]).send(method, path, **headers)[0] == status
