"""The CloudWatch API with a real engine: every action, in every protocol."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest
import sqlalchemy as sa

from heatlite.api.cloudwatch import metrics
from heatlite.db import alarms
from tests.api import cloudwatch
from tests.api.cloudwatch import OTHER, Cbor, Json, Query

DAY = 86_400
NUMBERS = count()


@pytest.fixture(scope='module')
def served(tmp_path_factory):
    with cloudwatch.serving(tmp_path_factory.mktemp('cloudwatch')) as found:
        yield found


@pytest.fixture(scope='module')
def app(served):
    return served[0]


@pytest.fixture(params=cloudwatch.PROTOCOLS, ids=lambda each: each.__name__)
def client(request, app):
    return request.param(app)


@pytest.fixture
def json(app):
    return Json(app)


@pytest.fixture
def name():
    """A name that no other test uses."""
    return f'n{next(NUMBERS)}'


def ok(answer):
    assert answer.status == 200, (answer.status, answer.code, answer.message)
    return answer.result


def number(value):
    return float(value)


def seconds(value):
    """A time of any protocol as seconds since 1970."""
    match value:
        case str():
            return datetime.fromisoformat(value).timestamp()
        case datetime():
            return value.timestamp()
    return value


def put(client, name, value=1.0, **more):
    return client.ask('PutMetricData', {'Namespace': 'Test', 'MetricData': [
        {'MetricName': name, **({} if value is None else {'Value': value}), **more}]})


def statistics(client, name, period=60, **more):
    at = int(time.time())
    return ok(client.ask('GetMetricStatistics', {
        'Namespace': 'Test', 'MetricName': name, 'StartTime': at - 3600, 'EndTime': at + 3600, 'Period': period,
        'Statistics': ['SampleCount', 'Sum', 'Minimum', 'Maximum', 'Average'], **more}))['Datapoints'] or []


def alarm(name, **more):
    """A rule that stays in its state."""
    return {'AlarmName': name, 'Namespace': 'Test', 'MetricName': name, 'Statistic': 'Average', 'Period': DAY,
            'EvaluationPeriods': 1, 'Threshold': 5.0, 'ComparisonOperator': 'GreaterThanThreshold',
            'TreatMissingData': 'ignore', **more}


def described(client, **wanted):
    return ok(client.ask('DescribeAlarms', wanted))['MetricAlarms'] or []


# --- metrics -----------------------------------------------------------------------------------------------

def test_a_datapoint(client, name):
    assert ok(put(client, name, 2.5, Unit='Percent', Dimensions=[{'Name': 'a', 'Value': 'b c'}])) in (None, {})
    found, = ok(client.ask('ListMetrics', {'Namespace': 'Test', 'MetricName': name}))['Metrics']
    assert found == {'Namespace': 'Test', 'MetricName': name, 'Dimensions': [{'Name': 'a', 'Value': 'b c'}]}
    assert statistics(client, name) == []                       # of the metric without dimensions
    point, = statistics(client, name, Dimensions=[{'Name': 'a', 'Value': 'b c'}])
    assert [number(point[each]) for each in ('SampleCount', 'Sum', 'Minimum', 'Maximum', 'Average')] == [
        1, 2.5, 2.5, 2.5, 2.5]
    assert point['Unit'] == 'Percent'
    assert seconds(point['Timestamp']) % 60 == 0
    assert abs(seconds(point['Timestamp']) - time.time()) < 3600


@pytest.mark.parametrize('given, expected', [
    ({'Value': 3}, (1, 3, 3, 3)),
    ({'Value': -1e100}, (1, -1e100, -1e100, -1e100)),
    ({'Values': [1, 2, 3]}, (3, 6, 1, 3)),
    ({'Values': [1, 2], 'Counts': [10, 0.5]}, (10.5, 11, 1, 2)),
    ({'StatisticValues': {'SampleCount': 4, 'Sum': 10, 'Minimum': 1, 'Maximum': 4}}, (4, 10, 1, 4)),
])
def test_forms_of_values(client, name, given, expected):
    ok(put(client, name, None, **given))
    point, = statistics(client, name)
    assert tuple(number(point[each]) for each in ('SampleCount', 'Sum', 'Minimum', 'Maximum')) == expected


def test_a_batch_of_a_thousand(client, name):
    if isinstance(client, cloudwatch.QueryGet):
        pytest.skip('a query string has at most a thousand fields')
    at = int(time.time()) - 1800
    ok(client.ask('PutMetricData', {'Namespace': 'Test', 'MetricData': [
        {'MetricName': name, 'Value': value, 'Timestamp': at, 'Unit': 'Count', 'StorageResolution': 60,
         'Dimensions': [{'Name': 'part', 'Value': str(value % 4)}]} for value in range(1000)]}))
    assert len(ok(client.ask('ListMetrics', {'MetricName': name}))['Metrics']) == 4
    point, = statistics(client, name, Dimensions=[{'Name': 'part', 'Value': '3'}], period=300)
    assert (number(point['SampleCount']), number(point['Maximum'])) == (250, 999)


@pytest.mark.parametrize('written', ['epoch', 'iso', 'zone'])
def test_times_of_datapoints(json, app, name, written):
    at = int(time.time()) // 60 * 60 - 1200
    text = {'epoch': at, 'iso': datetime.fromtimestamp(at, UTC).strftime('%Y-%m-%dT%H:%M:%S'),
            'zone': datetime.fromtimestamp(at, UTC).isoformat()}[written]
    ok(put(Query(app), name, 1, Timestamp=text))
    ok(put(json, name, 2, Timestamp=text))
    ok(put(Cbor(app), name, 3, Timestamp=datetime.fromtimestamp(at, UTC)))
    point, = statistics(json, name)
    assert (seconds(point['Timestamp']), point['Sum']) == (at, 6)


def test_units_are_kept_apart(json, name):
    for unit, value in (('Bytes', 1), ('Kilobytes', 2), ('megabytes', 3)):      # the last as cfn-push-stats writes it
        ok(put(json, name, value, Unit=unit))
    assert sorted((each['Unit'], each['Sum']) for each in statistics(json, name, period=300)) == [
        ('Bytes', 1), ('Kilobytes', 2), ('Megabytes', 3)]
    assert [each['Sum'] for each in statistics(json, name, period=300, Unit='Kilobytes')] == [2]


def test_high_resolution(json, name):
    at = int(time.time()) // 60 * 60 - 600
    for offset in (0, 10, 20):
        ok(put(json, name, offset, Timestamp=at + offset, StorageResolution=1))
    def starts(period):
        return [each['Timestamp'] for each in ok(json.ask('GetMetricStatistics', {
            'Namespace': 'Test', 'MetricName': name, 'StartTime': at - 600, 'EndTime': at + 600, 'Period': period,
            'Statistics': ['Sum']}))['Datapoints']]

    assert starts(1) == starts(5) == starts(10) == [at, at + 10, at + 20]
    assert starts(30) == starts(60) == [at]


def test_metrics_are_listed_in_pages(client, name):
    made = {f'{name}-{each:04}' for each in range(502)}
    json = Json(client.app)
    ok(json.ask('PutMetricData', {'Namespace': name, 'MetricData': [
        {'MetricName': each, 'Value': 1} for each in sorted(made)]}))
    first = ok(client.ask('ListMetrics', {'Namespace': name}))
    second = ok(client.ask('ListMetrics', {'Namespace': name, 'NextToken': first['NextToken']}))
    assert (len(first['Metrics']), len(second['Metrics']), second.get('NextToken')) == (500, 2, None)
    assert {each['MetricName'] for each in first['Metrics'] + second['Metrics']} == made


def test_filters_of_metrics(json, name):
    for pairs in ({}, {'a': '1'}, {'a': '2', 'b': '"]'}):
        ok(put(json, name, Dimensions=[{'Name': each, 'Value': value} for each, value in pairs.items()]))

    def found(**wanted):
        return len(ok(json.ask('ListMetrics', {'Namespace': 'Test', 'MetricName': name, **wanted}))['Metrics'])

    assert found() == 3
    assert found(RecentlyActive='PT3H') == 3
    assert found(Dimensions=[{'Name': 'a'}]) == 2
    assert found(Dimensions=[{'Name': 'a', 'Value': '2'}]) == 1
    assert found(Dimensions=[{'Name': 'a'}, {'Name': 'b', 'Value': '"]'}]) == 1
    assert found(Dimensions=[{'Name': 'c'}]) == 0


# --- GetMetricData -----------------------------------------------------------------------------------------

@pytest.fixture
def statements(served):
    """The statements on stored periods, as they are executed."""
    found, engine = [], served[1]._reading

    def note(_connection, _cursor, text, *_rest):
        if 'FROM metric_period' in text:
            found.append(text)

    sa.event.listen(engine, 'before_cursor_execute', note)
    yield found
    sa.event.remove(engine, 'before_cursor_execute', note)


def query(name, metric, stat='Sum', **more):
    return {'Id': name, 'MetricStat': {'Metric': {'Namespace': 'Test', 'MetricName': metric}, 'Period': 60,
                                       'Stat': stat}, **more}


@pytest.fixture
def series(json, name):
    """(name, time of the first): ten datapoints, one a minute: 0, 1 ..."""
    at = int(time.time()) // 60 * 60 - 1200
    ok(json.ask('PutMetricData', {'Namespace': 'Test', 'MetricData': [
        {'MetricName': name, 'Value': each, 'Timestamp': at + 60 * each} for each in range(10)]}))
    return name, at


def test_metric_data(client, series):
    name, at = series
    found = ok(client.ask('GetMetricData', {
        'StartTime': at, 'EndTime': at + 600, 'ScanBy': 'TimestampAscending', 'MetricDataQueries': [
            query('a', name, Label='sums'), query('b', name, 'Maximum'), query('c', 'nothing'),
            query('d', name, ReturnData=False)]}))
    assert found.get('NextToken') is None
    shown = {each['Id']: each for each in found['MetricDataResults']}
    assert list(shown) == ['a', 'b', 'c']
    assert [number(each) for each in shown['a']['Values']] == list(range(10))
    assert [seconds(each) for each in shown['a']['Timestamps']] == [at + 60 * each for each in range(10)]
    assert (shown['a']['Label'], shown['b']['Label'], shown['a']['StatusCode']) == ('sums', name, 'Complete')
    assert not shown['c']['Values']


@pytest.mark.parametrize('scan_by', ['TimestampAscending', 'TimestampDescending'])
@pytest.mark.parametrize('most', [1, 3, 7, 10, 20, 1000])
def test_metric_data_in_pages(json, series, scan_by, most):
    name, at = series
    wanted = {'StartTime': at - 60, 'EndTime': at + 660, 'ScanBy': scan_by, 'MaxDatapoints': most,
              'MetricDataQueries': [query('a', name), query('b', name, 'Maximum')]}
    found = {'a': [], 'b': []}
    for _page in range(50):
        page = ok(json.ask('GetMetricData', wanted))
        assert sum(len(each['Values']) for each in page['MetricDataResults']) <= most
        for each in page['MetricDataResults']:
            found[each['Id']] += each['Values']
        if 'NextToken' not in page:
            break
        wanted['NextToken'] = page['NextToken']
    expected = list(range(10)) if scan_by == 'TimestampAscending' else list(range(9, -1, -1))
    assert found == {'a': expected, 'b': expected}


def test_equal_queries_of_a_request_are_read_once(json, series, statements):
    name, at = series
    found = ok(json.ask('GetMetricData', {'StartTime': at, 'EndTime': at + 600, 'MetricDataQueries': [
        query(f'a{each}', name, ('Sum', 'Maximum')[each % 2]) for each in range(500)]}))
    assert [sum(each['Values']) for each in found['MetricDataResults']] == [45] * 500
    assert len(statements) == 1


def test_a_page_ends_when_it_has_read_enough(json, series, statements, monkeypatch):
    monkeypatch.setattr(metrics, 'MOST_ROWS', 10)
    name, at = series
    wanted = {'StartTime': at, 'EndTime': at + 600, 'MetricDataQueries': [
        query(f'a{each}', name, MetricStat={**query('a', name)['MetricStat'], 'Period': 60 * (each + 1)})
        for each in range(3)]}
    pages = []
    while not pages or 'NextToken' in pages[-1]:
        pages.append(ok(json.ask('GetMetricData', wanted)))
        wanted['NextToken'] = pages[-1].get('NextToken')
    assert [[each['Id'] for each in page['MetricDataResults']] for page in pages] == [['a0'], ['a1'], ['a2']]
    assert [sum(each['Values']) for page in pages for each in page['MetricDataResults']] == [45] * 3
    assert len(statements) == 3


@pytest.mark.parametrize('action', ['GetMetricData', 'GetMetricStatistics'])
def test_a_metric_with_too_many_rows_is_refused(json, series, monkeypatch, action):
    monkeypatch.setattr(metrics, 'MOST_ROWS', 9)
    name, at = series
    answer = json.ask(action, {'StartTime': at, 'EndTime': at + 600, **({'MetricDataQueries': [query('a', name)]}
                      if action == 'GetMetricData' else {'Namespace': 'Test', 'MetricName': name, 'Period': 60,
                                                         'Statistics': ['Sum']})})
    assert (answer.status, answer.code) == (400, 'InvalidParameterCombination')
    assert 'More than 9 stored periods' in answer.message


def test_all_time_is_searched_in_bounded_pages(json, series):
    name, at = series
    found = ok(json.ask('GetMetricData', {'StartTime': 0, 'EndTime': at + 600, 'MetricDataQueries': [
        query('a', name)]}))
    assert len(found['MetricDataResults'][0]['Values']) == 10
    assert found['NextToken']


# --- alarms ------------------------------------------------------------------------------------------------

def test_an_alarm(client, name):
    assert ok(client.ask('PutMetricAlarm', alarm(
        name, AlarmDescription='too <much>', ActionsEnabled=False, OKActions=['https://example.com/ok'],
        AlarmActions=['https://example.com/a', 'https://example.com/b'], Unit='Percent', EvaluationPeriods=3,
        DatapointsToAlarm=2, Period=3600, Dimensions=[{'Name': 'b', 'Value': '2'}, {'Name': 'a', 'Value': '1'}],
    ))) in (None, {})
    found, = described(client, AlarmNames=[name])
    expected = {
        'AlarmName': name, 'AlarmArn': f'arn:openstack:cloudwatch::{"f" * 32}:alarm:{name}',
        'AlarmDescription': 'too <much>', 'OKActions': ['https://example.com/ok'],
        'AlarmActions': ['https://example.com/a', 'https://example.com/b'], 'StateValue': 'INSUFFICIENT_DATA',
        'MetricName': name, 'Namespace': 'Test', 'Statistic': 'Average', 'Unit': 'Percent',
        'Dimensions': [{'Name': 'a', 'Value': '1'}, {'Name': 'b', 'Value': '2'}],
        'ComparisonOperator': 'GreaterThanThreshold', 'TreatMissingData': 'ignore'}
    assert {key: found[key] for key in expected} == expected
    assert not found['InsufficientDataActions']
    assert found['ActionsEnabled'] in (False, 'false')
    assert [number(found[key]) for key in ('Period', 'EvaluationPeriods', 'DatapointsToAlarm', 'Threshold')] == [
        3600, 3, 2, 5]
    for key in ('StateUpdatedTimestamp', 'AlarmConfigurationUpdatedTimestamp'):
        assert abs(seconds(found[key]) - time.time()) < 3600
    assert described(client, AlarmName=name) == [found]          # as Heat had it
    ok(client.ask('DeleteAlarms', {'AlarmNames': [name]}))
    assert described(client, AlarmNames=[name]) == []


SIGNED = (f'http://h:8000/v1/signal/arn%3Aopenstack%3Aheat%3A%3A{"f" * 32}%3Astacks/s/i/resources/up'
          '?SignatureMethod=HmacSHA256&AWSAccessKeyId=KEY&Signature=SECRETSIG')
HOOK = 'https://user:SECRETWORD@hooks.example/services/SECRETHOOK?a=SECRETKEY#SECRETPART'
SHOWN = [SIGNED.partition('?')[0], 'https://hooks.example']


@pytest.mark.parametrize('kind', ['OKActions', 'AlarmActions', 'InsufficientDataActions'])
def test_a_reader_sees_no_secret_of_an_action(served, name, kind):
    """Who may change stacks sees the whole URL."""
    app, database = served
    measured = {'Namespace': 'Test', 'MetricName': name}
    ok(Json(app).ask('PutMetricAlarm', alarm(name, **{kind: [HOOK]})))
    with database.writer() as tx:                   # a signal to a resource that is not there would be refused
        stored = alarms.named(tx, 'f' * 32, {name})[0]
        field = {'OKActions': 'ok_actions', 'AlarmActions': 'alarm_actions'}.get(kind, 'insufficient_data_actions')
        alarms.put(tx, replace(stored, rule=replace(stored.rule, **{field: (SIGNED, HOOK)})))
    for roles, expected in (('member,reader', [SIGNED, HOOK]), ('reader', SHOWN)):
        asking = Json(app, roles=roles)
        found = [*described(asking, AlarmNames=[name]), *described(asking, AlarmNamePrefix=name),
                 *ok(asking.ask('DescribeAlarmsForMetric', measured))['MetricAlarms']]
        assert [each[kind] for each in found] == [expected] * 3


def test_the_prefix_of_an_action_tells_a_reader_no_more_than_what_is_shown(app, name):
    ok(Json(app).ask('PutMetricAlarm', alarm(name, AlarmActions=[HOOK])))
    for roles, prefix, number_of_alarms in (
            ('member,reader', HOOK[:-2], 1), ('reader', HOOK[:-2], 0), ('reader', HOOK[:9], 0),
            ('reader', 'https://hooks.', 1)):
        found = described(Json(app, roles=roles), AlarmNames=[name], ActionPrefix=prefix)
        assert len(found) == number_of_alarms, (roles, prefix)


def test_the_history_shows_no_secret_of_an_action(app, name):
    """Neither while a request waits nor when its host was not reached."""
    action = 'https://u:SECRETWORD@127.0.0.1:9/SECRETHOOK?SECRETKEY'
    ok(Json(app).ask('PutMetricAlarm', alarm(name, AlarmActions=[action])))
    ok(Json(app).ask('SetAlarmState', {'AlarmName': name, 'StateValue': 'ALARM', 'StateReason': 'is'}))

    def entries():
        return [each for each in ok(Json(app).ask('DescribeAlarmHistory', {'AlarmName': name}))['AlarmHistoryItems']
                if each['HistoryItemType'] == 'Action']
    for _try in range(1000):
        if len(found := entries()) > 1:
            break
    assert len(found) > 1 and 'https://127.0.0.1:9' in str(found)
    assert 'SECRET' not in str(found)


def test_states(client, name):
    ok(client.ask('PutMetricAlarm', alarm(name)))
    for state in ('ALARM', 'OK', 'INSUFFICIENT_DATA'):
        ok(client.ask('SetAlarmState', {'AlarmName': name, 'StateValue': state, 'StateReason': f'is {state}',
                                        'StateReasonData': '{"a": 1}'}))
        found, = described(client, AlarmNames=[name], StateValue=state)
        assert (found['StateValue'], found['StateReason'], found['StateReasonData']) == (
            state, f'is {state}', '{"a": 1}')
        others = {'OK', 'ALARM', 'INSUFFICIENT_DATA'} - {state}
        assert all(described(client, AlarmNames=[name], StateValue=each) == [] for each in others)


def test_actions_are_switched(client, name):
    ok(client.ask('PutMetricAlarm', alarm(name)))
    for action, expected in (('DisableAlarmActions', (False, 'false')), ('EnableAlarmActions', (True, 'true'))):
        ok(client.ask(action, {'AlarmNames': [name, f'{name}-unknown']}))
        assert described(client, AlarmNames=[name])[0]['ActionsEnabled'] in expected


def test_history(client, name):
    ok(client.ask('PutMetricAlarm', alarm(name)))
    ok(client.ask('SetAlarmState', {'AlarmName': name, 'StateValue': 'ALARM', 'StateReason': 'because'}))
    ok(client.ask('DeleteAlarms', {'AlarmNames': [name]}))

    def history(**wanted):
        return ok(client.ask('DescribeAlarmHistory', {'AlarmName': name, **wanted}))

    newest = history()['AlarmHistoryItems']
    assert [each['HistoryItemType'] for each in newest] == [
        'ConfigurationUpdate', 'StateUpdate', 'ConfigurationUpdate']
    assert {(each['AlarmName'], each['AlarmType']) for each in newest} == {(name, 'MetricAlarm')}
    assert all(each['HistorySummary'] and each['HistoryData'] for each in newest)
    assert history(ScanBy='TimestampAscending')['AlarmHistoryItems'] == newest[::-1]
    assert history(HistoryItemType='StateUpdate')['AlarmHistoryItems'] == [newest[1]]
    assert not history(HistoryItemType='Action')['AlarmHistoryItems']
    assert not history(EndDate=1)['AlarmHistoryItems']
    assert not history(StartDate='2999-01-01T00:00:00Z')['AlarmHistoryItems']
    page = history(MaxRecords=2)
    assert page['AlarmHistoryItems'] == newest[:2]
    assert history(MaxRecords=2, NextToken=page['NextToken'])['AlarmHistoryItems'] == newest[2:]


def test_alarms_are_listed(client, name):
    json = Json(client.app)
    for each, action in (('a', 'https://example.com/x'), ('b', 'https://example.org/x'), ('c', 'https://example.com/y')):
        ok(json.ask('PutMetricAlarm', alarm(f'{name}-{each}', AlarmActions=[action])))

    def names(**wanted):
        return [each['AlarmName'].removeprefix(f'{name}-') for each in described(
            client, AlarmNamePrefix=f'{name}-', **wanted)]

    assert names() == ['a', 'b', 'c']
    assert names(ActionPrefix='https://example.com/') == ['a', 'c']
    assert names(ActionPrefix='ftp:') == []
    assert names(StateValue='OK') == []
    assert names(AlarmTypes=['MetricAlarm', 'CompositeAlarm']) == ['a', 'b', 'c']
    assert names(AlarmTypes=['CompositeAlarm']) == []
    assert names(MaxRecords=2) == ['a', 'b']


@pytest.mark.parametrize('wanted', [{}, {'by name': True}, {'ActionPrefix': 'https://'}, {'StateValue': 'ALARM'}])
def test_alarms_are_listed_in_pages(json, name, wanted):
    made = [f'{name}-{each:03}' for each in range(120)]
    for each in made:
        ok(json.ask('PutMetricAlarm', alarm(each, MetricName='m', AlarmActions=['https://example.com/'])))
    for each in made[50:55]:
        ok(json.ask('SetAlarmState', {'AlarmName': each, 'StateValue': 'ALARM', 'StateReason': ''}))
    asked = {'AlarmNames': made[:30]} if 'by name' in wanted else {'AlarmNamePrefix': name, **wanted}
    expected = made[:30] if 'by name' in wanted else made[50:55] if 'StateValue' in wanted else made
    found, token = [], {}
    for _page in range(100):
        page = ok(json.ask('DescribeAlarms', {'MaxRecords': 7, **asked, **token}))
        found += [each['AlarmName'] for each in page['MetricAlarms']]
        assert len(page['MetricAlarms']) <= 7
        if 'NextToken' not in page:
            break
        token = {'NextToken': page['NextToken']}
    assert found == expected


def test_alarms_of_a_metric(client, name):
    json = Json(client.app)
    for each, more in (('a', {}), ('b', {'Statistic': 'Sum'}), ('c', {'Period': 3600}),
                       ('d', {'Dimensions': [{'Name': 'x', 'Value': 'y'}]})):
        ok(json.ask('PutMetricAlarm', alarm(f'{name}-{each}', MetricName=name, **more)))

    def names(**wanted):
        found = ok(client.ask('DescribeAlarmsForMetric', {'Namespace': 'Test', 'MetricName': name, **wanted}))
        return [each['AlarmName'][-1] for each in found['MetricAlarms'] or ()]

    assert names() == ['a', 'b', 'c']
    assert names(Statistic='Sum') == ['b']
    assert names(Period=DAY) == ['a', 'b']
    assert names(Dimensions=[{'Name': 'x', 'Value': 'y'}]) == ['d']
    assert names(Unit='Bytes') == []


def test_the_dimension_alarm_name_selects_an_alarm(client, name):
    """As cfn-push-stats sends it: what it knows is the alarm, not the dimensions that the alarm has."""
    json = Json(client.app)
    ok(json.ask('PutMetricAlarm', alarm(name, Namespace='elsewhere', Dimensions=[{'Name': 'g', 'Value': 'h'}])))
    ok(put(client, name, 7, Unit='Counter', Dimensions=[
        {'Name': 'AlarmName', 'Value': name}, {'Name': 'InstanceId', 'Value': 'i'}]))
    point, = statistics(json, name, Namespace='elsewhere', Dimensions=[{'Name': 'g', 'Value': 'h'}])
    assert (point['Sum'], point['Unit']) == (7, 'Counter')
    ok(put(client, f'{name}-other', 7, Dimensions=[{'Name': 'AlarmName', 'Value': name}]))
    found, = ok(json.ask('ListMetrics', {'MetricName': f'{name}-other'}))['Metrics']
    assert (found['Namespace'], found['Dimensions']) == ('Test', [{'Name': 'AlarmName', 'Value': name}])


# --- other projects ----------------------------------------------------------------------------------------

def test_another_project_sees_and_changes_nothing(app, name):
    mine, theirs = Json(app), Json(app, OTHER)
    ok(put(theirs, name, 5))
    ok(theirs.ask('PutMetricAlarm', alarm(name)))
    assert ok(mine.ask('ListMetrics', {'MetricName': name}))['Metrics'] == []
    assert statistics(mine, name) == []
    assert ok(mine.ask('GetMetricData', {'StartTime': int(time.time()) - 3600, 'EndTime': int(time.time()) + 60,
                                         'MetricDataQueries': [query('a', name)]}))['MetricDataResults'][0][
        'Values'] == []
    assert described(mine, AlarmNames=[name]) == described(mine, AlarmNamePrefix=name) == []
    assert ok(mine.ask('DescribeAlarmsForMetric', {'Namespace': 'Test', 'MetricName': name}))['MetricAlarms'] == []
    assert ok(mine.ask('DescribeAlarmHistory', {'AlarmName': name}))['AlarmHistoryItems'] == []
    assert mine.ask('DeleteAlarms', {'AlarmNames': [name]}).code == 'ResourceNotFound'
    assert mine.ask('SetAlarmState', {'AlarmName': name, 'StateValue': 'ALARM', 'StateReason': ''}
                    ).code == 'ResourceNotFound'
    for switch in ('Disable', 'Enable', 'Disable'):
        ok(mine.ask(f'{switch}AlarmActions', {'AlarmNames': [name]}))
    ok(mine.ask('PutMetricAlarm', alarm(name, Threshold=6)))             # a name is one of its project
    ok(put(mine, name, 1, Dimensions=[{'Name': 'AlarmName', 'Value': name}]))
    ok(mine.ask('DeleteAlarms', {'AlarmNames': [name]}))
    found, = described(theirs, AlarmNames=[name])
    assert (found['ActionsEnabled'], found['StateValue'], found['Threshold']) == (True, 'INSUFFICIENT_DATA', 5)
    assert [each['SampleCount'] for each in statistics(theirs, name)] == [1]


def test_an_administrator_has_the_own_project_only(app, name):
    ok(Json(app).ask('PutMetricAlarm', alarm(name)))
    admin = Json(app, OTHER, 'admin,member,reader')
    assert described(admin, AlarmNames=[name]) == []
    assert admin.ask('DeleteAlarms', {'AlarmNames': [name]}).code == 'ResourceNotFound'


@pytest.mark.parametrize('roles, allowed', [
    ('heat_stack_user', {'PutMetricData'}),
    ('reader', {'ListMetrics', 'GetMetricStatistics', 'GetMetricData', 'DescribeAlarms', 'DescribeAlarmsForMetric',
                'DescribeAlarmHistory'}),
    ('', set())])
def test_policy(app, roles, allowed):
    from heatlite.api.cloudwatch.application import ACTIONS
    caller = Query(app, roles=roles)
    refused = {action: caller.ask(action) for action in ACTIONS}
    assert {action for action, answer in refused.items() if answer.code != 'AccessDenied'} == allowed
    assert all(answer.status == 403 for answer in refused.values() if answer.code == 'AccessDenied')
