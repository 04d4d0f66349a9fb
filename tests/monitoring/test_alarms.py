"""Rules of alarms: what they accept, and what they decide."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import exception
from heatlite.monitoring import alarms
from heatlite.monitoring.alarms import AlarmRule, Datapoint, Metric, Statistics, evaluate

CPU = Metric('system/linux', 'CPUUtilization', (('host', 'a'),))


def rule(**changed):
    return AlarmRule(**{'metric': CPU, 'statistic': 'Average', 'period': 60, 'evaluation_periods': 3,
                        'comparison': 'GreaterThanThreshold', 'threshold': 50.0, **changed})


def periods(text):
    """'0': a value that does not breach; 'X': one that does; '-': no data."""
    values = {'0': Statistics(1.0, 10.0, 10.0, 10.0), 'X': Statistics(1.0, 90.0, 90.0, 90.0), '-': None}
    return [values[each] for each in text]


# data, needed, and the state for each treatment, for an alarm that is in state S.
TABLE = [
    ('0-X-X', 3, 'NORMAL', 'NORMAL', 'NORMAL', 'NORMAL'),
    ('0----', 3, 'NORMAL', 'NORMAL', 'NORMAL', 'NORMAL'),
    ('-----', 3, 'NODATA', 'S', 'ALARM', 'NORMAL'),
    ('0XX-X', 3, 'ALARM', 'ALARM', 'ALARM', 'ALARM'),
    ('--X--', 3, 'ALARM', 'S', 'ALARM', 'NORMAL'),
    ('----X', 3, 'S', 'S', 'ALARM', 'NORMAL'),
    ('00X0X', 2, 'ALARM', 'ALARM', 'ALARM', 'ALARM'),
    ('0-X--', 2, 'NORMAL', 'NORMAL', 'ALARM', 'NORMAL'),
    ('----0', 2, 'NORMAL', 'NORMAL', 'ALARM', 'NORMAL'),
    ('---X-', 2, 'ALARM', 'S', 'ALARM', 'NORMAL'),
    ('XX000', 2, 'NORMAL', 'NORMAL', 'NORMAL', 'NORMAL'),
    ('XX0X0', 2, 'NORMAL', 'NORMAL', 'NORMAL', 'NORMAL'),
]


@pytest.mark.parametrize('treatment', range(4), ids=alarms.TREATMENTS)
@pytest.mark.parametrize('row', TABLE, ids=[f'{row[0]} {row[1]}' for row in TABLE])
@pytest.mark.parametrize('state', ['NORMAL', 'ALARM', 'NODATA'])
def test_missing_data(row, treatment, state):
    data, needed, *expected = row
    found = evaluate(rule(datapoints_to_alarm=needed, missing=alarms.TREATMENTS[treatment]), state, periods(data))
    assert found.state == (state if expected[treatment] == 'S' else expected[treatment])
    assert 0 < len(found.reason) <= alarms.MOST_REASON


@pytest.mark.parametrize('statistic, expected', [
    ('SampleCount', 'NORMAL'), ('Sum', 'NORMAL'), ('Average', 'NODATA'), ('Minimum', 'NODATA'), ('Maximum', 'NODATA')])
def test_no_data_is_zero_for_heats_rules(statistic, expected):
    found = rule(statistic=statistic, evaluation_periods=1, no_data_is_zero=True)
    assert found.range == 1
    assert evaluate(found, 'ALARM', [None]).state == expected


@pytest.mark.parametrize('statistic, value', [
    ('SampleCount', 4.0), ('Sum', 40.0), ('Average', 10.0), ('Minimum', 1.0), ('Maximum', 25.0)])
def test_statistics(statistic, value):
    assert Statistics(4.0, 40.0, 1.0, 25.0).value(statistic) == value


@pytest.mark.parametrize('comparison, breaching', [
    ('GreaterThanOrEqualToThreshold', [50.0, 51.0]), ('GreaterThanThreshold', [51.0]),
    ('LessThanThreshold', [49.0]), ('LessThanOrEqualToThreshold', [49.0, 50.0])])
def test_comparisons(comparison, breaching):
    found = rule(comparison=comparison, evaluation_periods=1)
    assert [value for value in (49.0, 50.0, 51.0)
            if evaluate(found, 'NORMAL', [Statistics(1.0, value, value, value)]).state == 'ALARM'] == breaching


def test_the_figures_of_a_decision():
    found = evaluate(rule(unit='Percent'), 'NORMAL', periods('00X0X'))
    assert found.reason == ('2 of the last 3 datapoints [90, 10, 90] are greater than the threshold (50).')
    assert found.reason_data == {'version': '1.0', 'statistic': 'Average', 'period': 60, 'threshold': 50.0,
                                 'recentDatapoints': [90.0, 10.0, 90.0], 'unit': 'Percent'}


NUMBERS = st.floats(-1e6, 1e6)
RULES = st.builds(
    rule, statistic=st.sampled_from(alarms.STATISTICS), period=st.sampled_from([10, 60, 300, 3600]),
    evaluation_periods=st.integers(1, 5), datapoints_to_alarm=st.just(0), threshold=NUMBERS,
    comparison=st.sampled_from(sorted(alarms.COMPARISONS)), missing=st.sampled_from(alarms.TREATMENTS),
    no_data_is_zero=st.booleans(), every_time=st.booleans(), unit=st.sampled_from([None, 'Percent']),
    description=st.text(max_size=20), alarm_actions=st.lists(st.text(min_size=1, max_size=9), max_size=5).map(tuple))
DATA = st.lists(st.none() | st.builds(lambda a, b: Statistics(2.0, a + b, min(a, b), max(a, b)), NUMBERS, NUMBERS),
                min_size=1, max_size=7)


@given(RULES, st.sampled_from(['NORMAL', 'ALARM', 'NODATA']), DATA)
def test_any_data_lead_to_a_state(found, state, data):
    verdict = evaluate(found, state, data)
    assert verdict.state in ('NORMAL', 'ALARM', 'NODATA')
    assert verdict == evaluate(found, state, data)
    if verdict.state == 'NODATA' and state != 'NODATA':
        assert all(each is None for each in data)


@pytest.mark.parametrize('changed, state, newest, repeated', [
    ({}, 'ALARM', alarms.ZERO, False),
    ({'every_time': True}, 'ALARM', alarms.ZERO, True),
    ({'every_time': True}, 'NORMAL', alarms.ZERO, True),
    ({'every_time': True}, 'ALARM', None, False),
    ({'every_time': True}, 'NORMAL', None, False),
    ({'every_time': True}, 'NODATA', None, True),
    ({'every_time': True, 'missing': 'ignore'}, 'ALARM', None, True),
    ({'every_time': True, 'missing': 'breaching'}, 'ALARM', None, True),
    ({'every_time': True, 'no_data_is_zero': True}, 'NORMAL', None, True),
])
def test_when_actions_are_repeated(changed, state, newest, repeated):
    assert alarms.repeats(rule(**changed), state, newest) is repeated


@given(RULES)
def test_a_rule_survives_its_json(found):
    assert AlarmRule.from_json(found.to_json()) == AlarmRule.stored(found.to_json()) == found


@given(st.floats(0, 4e9), st.sampled_from([10, 60, 300, 86400]), st.floats(0, 300))
def test_periods_begin_at_multiples_of_their_length(now, period, delay):
    end = alarms.last_period(now, period, delay)
    assert end % period == 0
    assert end <= now - delay < end + period or math.isclose(end + period, now - delay)


@given(st.integers(0, 10 ** 6), st.floats(0, 4e9), st.sampled_from([10, 60, 300, 86400]), st.floats(0, 300),
       st.floats(0, 1000))
def test_each_period_is_next_once(number, now, period, delay, most):
    """Until none is left; only those that are too old are skipped."""
    newest = alarms.last_period(now, period, delay)
    evaluated = newest - number % 200 * period
    ends = []
    while True:
        end = alarms.next_period(evaluated, now, period, delay, most)
        if end <= evaluated:
            break
        ends.append(end)
        evaluated = end
    kept = math.floor(most / period) + 1
    assert ends == list(range(newest - (min(number % 200, kept) - 1) * period, newest + 1, period))


def test_no_period_is_next_when_the_clock_was_set_back():
    assert alarms.next_period(1000, 500.0, 10, 5.0, 300.0) <= 1000


@pytest.mark.parametrize('changed, told', [
    ({'statistic': 'Median'}, 'Statistic'), ({'comparison': 'Equal'}, 'ComparisonOperator'),
    ({'missing': 'maybe'}, 'TreatMissingData'), ({'unit': 'Furlong'}, 'Unit'), ({'period': 15}, 'period'),
    ({'period': 90}, 'period'), ({'period': 0}, 'period'), ({'period': 86460}, 'period'), ({'period': '60'}, 'period'),
    ({'period': True}, 'period'), ({'evaluation_periods': 0}, 'EvaluationPeriods'),
    ({'evaluation_periods': 1.5}, 'EvaluationPeriods'), ({'datapoints_to_alarm': 4}, 'DatapointsToAlarm'),
    ({'datapoints_to_alarm': -1}, 'DatapointsToAlarm'), ({'evaluation_periods': 1441}, 'together'),
    ({'threshold': math.nan}, 'Threshold'), ({'threshold': math.inf}, 'Threshold'), ({'threshold': '5'}, 'Threshold'),
    ({'threshold': 10 ** 500}, 'Threshold'), ({'description': 'd' * 1025}, 'description'),
    ({'ok_actions': ['a'] * 6}, 'actions'), ({'alarm_actions': 'http://a'}, 'list'),
    ({'alarm_actions': ['']}, 'action'),
    ({'alarm_actions': ['a' * 2049]}, 'action'), ({'alarm_actions': [5]}, 'action'), ({'namespace': ''}, 'Namespace'),
    ({'name': 'n' * 256}, 'MetricName'), ({'name': 5}, 'MetricName'), ({'dimensions': [['a']]}, 'dimension'),
    ({'dimensions': [['a', 'b'], ['a', 'c']]}, 'twice'), ({'dimensions': [['a', '']]}, 'Value'),
    ({'dimensions': [[str(number), 'x'] for number in range(31)]}, '30'),
])
def test_a_wrong_rule_is_refused_with_its_field(changed, told):
    with pytest.raises(exception.HTTPBadRequest, match=told):
        AlarmRule.from_json({**rule().to_json(), **changed})


@pytest.mark.parametrize('lacking', alarms.REQUIRED)
def test_a_rule_that_lacks_a_field_is_refused(lacking):
    with pytest.raises(exception.HTTPBadRequest, match=lacking):
        AlarmRule.from_json({name: value for name, value in rule().to_json().items() if name != lacking})


POINT = {'name': 'CPU', 'dimensions': [['b', '2'], ['a', '1']], 'at': 5.5, 'unit': 'Percent', 'samples': 2,
         'total': 30, 'smallest': 10, 'largest': 20}


def test_a_datapoint():
    found = Datapoint.from_json('mine', POINT)
    assert found == Datapoint(Metric('mine', 'CPU', (('a', '1'), ('b', '2'))), 5.5, 'Percent', 2.0, 30.0, 10.0, 20.0)
    assert Datapoint.from_json('mine', {**POINT, 'at': None, 'unit': None}).unit == 'None'


@pytest.mark.parametrize('changed', [
    {'unit': 'Furlong'}, {'samples': 0}, {'samples': math.nan}, {'total': math.inf}, {'smallest': 21}, {'at': 'now'},
    {'total': '30'}, {'total': None}, {'largest': 1e300}, {'name': ''}, {'name': 'n' * 10 ** 6}, {'dimensions': 'ab'}])
def test_a_wrong_datapoint_is_refused(changed):
    with pytest.raises(exception.HTTPBadRequest):
        Datapoint.from_json('mine', {**POINT, **changed})


def test_a_metric_is_identified_by_all_of_it():
    metrics = [Metric('a', 'b', ()), Metric('a', 'b', (('c', 'd'),)), Metric('a', 'c', ()), Metric('b', 'b', ()),
               Metric('ab', '', ()), Metric('a', 'b', (('c', 'e'),))]
    assert len({each.digest for each in metrics}) == len(metrics)
    assert Metric.of('a', 'b', [['y', '1'], ['x', '2']]).digest == Metric.of('a', 'b', [['x', '2'], ['y', '1']]).digest
