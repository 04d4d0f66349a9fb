"""The input of each action as a dataclass: names, types, bounds and what is required, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from heatlite.api.cloudwatch.shapes import (
    Flag,
    ListOf,
    Moment,
    Number,
    Structure,
    Text,
    Whole,
    Word,
    optional,
    preset,
    required,
)
from heatlite.common.i18n import _
from heatlite.planning.alarms import COMPARISONS, STATISTICS, TREATMENTS, UNITS

STATES: Final = ('OK', 'ALARM', 'INSUFFICIENT_DATA')
KINDS: Final = ('ConfigurationUpdate', 'StateUpdate', 'Action')
ALARM_TYPES: Final = ('MetricAlarm', 'CompositeAlarm', 'LogAlarm')
DESCENDING, ASCENDING = ORDERS = ('TimestampDescending', 'TimestampAscending')

# Bounds, in characters, items or seconds.
MOST_DATA: Final = 1000                 # datapoints of one request
MOST_VALUES: Final = 150                # values of one datapoint
MOST_QUERIES: Final = 500               # of one GetMetricData
LONGEST_PERIOD: Final = 86_400
MOST_RECORDS: Final = 100               # of a page
MOST_DATAPOINTS: Final = 100_800        # of an answer of GetMetricData

NAME = Text(255)
NAMESPACE = Text(255, pattern=('[^:].*', _('it must not begin with a colon')))
LONG_NAME = Text(1024)
TOKEN = Text(2048)
SENTENCE = Text(1023, least=0)
# cfn-push-stats of heat-cfntools writes some units in lower case.
UNIT = Word(UNITS, {unit.lower(): unit for unit in sorted(UNITS)})
STATISTIC = Word(STATISTICS)
STATE = Word(STATES)
ORDER = Word(ORDERS)
PERIOD = Whole(1, LONGEST_PERIOD)
RECORDS = Whole(1, MOST_RECORDS)
COUNT = Whole(1, LONGEST_PERIOD)

_MATH = _('expressions over several metrics')
_PERCENTILES = _('percentiles are not computed; use Statistic')
_ACCOUNTS = _('a project sees its own metrics only')
_COMPOSITE = _('there are no composite alarms')


@dataclass(frozen=True, kw_only=True)
class Dimension:
    name: str = required(NAME)
    value: str = required(NAME)


DIMENSIONS = ListOf(Structure(Dimension), 30)


@dataclass(frozen=True, kw_only=True)
class DimensionFilter:
    name: str = required(NAME)
    value: str | None = optional(NAME)


@dataclass(frozen=True, kw_only=True)
class StatisticSet:
    sample_count: float = required(Number())
    sum: float = required(Number())
    minimum: float = required(Number())
    maximum: float = required(Number())


@dataclass(frozen=True, kw_only=True)
class MetricDatum:
    metric_name: str = required(NAME)
    dimensions: tuple[Dimension, ...] = preset(DIMENSIONS, ())
    timestamp: float | None = optional(Moment())
    value: float | None = optional(Number())
    statistic_values: StatisticSet | None = optional(Structure(StatisticSet))
    values: tuple[float, ...] = preset(ListOf(Number(), MOST_VALUES), ())
    counts: tuple[float, ...] = preset(ListOf(Number(), MOST_VALUES), ())
    unit: str = preset(UNIT, 'None')
    storage_resolution: int = preset(Whole(1, 60), 60)


@dataclass(frozen=True, kw_only=True)
class PutMetricData:
    namespace: str = required(NAMESPACE)
    metric_data: tuple[MetricDatum, ...] = required(ListOf(Structure(MetricDatum), MOST_DATA, least=1))


@dataclass(frozen=True, kw_only=True)
class ListMetrics:
    namespace: str | None = optional(NAMESPACE)
    metric_name: str | None = optional(NAME)
    dimensions: tuple[DimensionFilter, ...] = preset(ListOf(Structure(DimensionFilter), 10), ())
    recently_active: str | None = optional(Word(['PT3H']))
    next_token: str | None = optional(TOKEN)


@dataclass(frozen=True, kw_only=True)
class GetMetricStatistics:
    namespace: str = required(NAMESPACE)
    metric_name: str = required(NAME)
    dimensions: tuple[Dimension, ...] = preset(DIMENSIONS, ())
    start_time: float = required(Moment())
    end_time: float = required(Moment())
    period: int = required(PERIOD)
    statistics: tuple[str, ...] = required(ListOf(STATISTIC, 5, least=1))
    unit: str | None = optional(UNIT)


@dataclass(frozen=True, kw_only=True)
class NamedMetric:
    namespace: str = required(NAMESPACE)
    metric_name: str = required(NAME)
    dimensions: tuple[Dimension, ...] = preset(DIMENSIONS, ())


@dataclass(frozen=True, kw_only=True)
class MetricStat:
    metric: NamedMetric = required(Structure(NamedMetric))
    period: int = required(PERIOD)
    stat: str = required(STATISTIC)
    unit: str | None = optional(UNIT)


@dataclass(frozen=True, kw_only=True)
class MetricDataQuery:
    id: str = required(Text(255, pattern=('[a-z][a-zA-Z0-9_]*', _('it must be a letter in lower case, and letters, '
                                                                  'digits and underscores'))))
    metric_stat: MetricStat = required(Structure(MetricStat))
    label: str | None = optional(LONG_NAME)
    return_data: bool = preset(Flag(), True)


@dataclass(frozen=True, kw_only=True)
class GetMetricData:
    metric_data_queries: tuple[MetricDataQuery, ...] = required(ListOf(
        Structure(MetricDataQuery, {'Expression': _MATH, 'AccountId': _ACCOUNTS}), MOST_QUERIES, least=1))
    start_time: float = required(Moment())
    end_time: float = required(Moment())
    scan_by: str = preset(ORDER, DESCENDING)
    max_datapoints: int = preset(Whole(1, MOST_DATAPOINTS), MOST_DATAPOINTS)
    next_token: str | None = optional(TOKEN)


_ACTIONS = ListOf(Text(1024), 5)


@dataclass(frozen=True, kw_only=True)
class PutMetricAlarm:
    alarm_name: str = required(NAME)
    alarm_description: str = preset(Text(1024, least=0), '')
    actions_enabled: bool = preset(Flag(), True)
    ok_actions: tuple[str, ...] = preset(_ACTIONS, (), name='OKActions')
    alarm_actions: tuple[str, ...] = preset(_ACTIONS, ())
    insufficient_data_actions: tuple[str, ...] = preset(_ACTIONS, ())
    metric_name: str = required(NAME)
    namespace: str = required(NAMESPACE)
    statistic: str = required(STATISTIC)
    dimensions: tuple[Dimension, ...] = preset(DIMENSIONS, ())
    period: int = required(PERIOD)
    unit: str | None = optional(UNIT)
    evaluation_periods: int = required(COUNT)
    datapoints_to_alarm: int | None = optional(COUNT)
    threshold: float = required(Number())
    comparison_operator: str = required(Word(COMPARISONS))
    treat_missing_data: str = preset(Word(TREATMENTS), 'missing')


@dataclass(frozen=True, kw_only=True)
class DescribeAlarms:
    alarm_names: tuple[str, ...] = preset(ListOf(NAME, MOST_RECORDS), ())
    alarm_name: str | None = optional(NAME)             # as Heat had it
    alarm_name_prefix: str | None = optional(NAME)
    alarm_types: tuple[str, ...] = preset(ListOf(Word(ALARM_TYPES), len(ALARM_TYPES)), ())
    state_value: str | None = optional(STATE)
    action_prefix: str | None = optional(LONG_NAME)
    max_records: int = preset(RECORDS, 50)
    next_token: str | None = optional(TOKEN)


@dataclass(frozen=True, kw_only=True)
class DescribeAlarmsForMetric:
    namespace: str = required(NAMESPACE)
    metric_name: str = required(NAME)
    dimensions: tuple[Dimension, ...] = preset(DIMENSIONS, ())
    statistic: str | None = optional(STATISTIC)
    period: int | None = optional(PERIOD)
    unit: str | None = optional(UNIT)


@dataclass(frozen=True, kw_only=True)
class DescribeAlarmHistory:
    alarm_name: str | None = optional(NAME)
    alarm_types: tuple[str, ...] = preset(ListOf(Word(ALARM_TYPES), len(ALARM_TYPES)), ())
    history_item_type: str | None = optional(Word(KINDS))
    start_date: float | None = optional(Moment())
    end_date: float | None = optional(Moment())
    max_records: int = preset(RECORDS, MOST_RECORDS)
    scan_by: str = preset(ORDER, DESCENDING)
    next_token: str | None = optional(TOKEN)


@dataclass(frozen=True, kw_only=True)
class SetAlarmState:
    alarm_name: str = required(NAME)
    state_value: str = required(STATE)
    state_reason: str = preset(SENTENCE, '')            # Heat did not read it
    state_reason_data: str | None = optional(Text(4000, least=0))


@dataclass(frozen=True, kw_only=True)
class AlarmNames:
    alarm_names: tuple[str, ...] = required(ListOf(NAME, MOST_RECORDS, least=1))


PUT_METRIC_DATA = Structure(PutMetricData, {'EntityMetricData': _('entities are not stored')})
LIST_METRICS = Structure(ListMetrics, {'OwningAccount': _ACCOUNTS})
GET_METRIC_STATISTICS = Structure(GetMetricStatistics, {'ExtendedStatistics': _PERCENTILES})
GET_METRIC_DATA = Structure(GetMetricData)
PUT_METRIC_ALARM = Structure(PutMetricAlarm, {
    'Metrics': _MATH, 'ThresholdMetricId': _('anomalies are not detected'), 'ExtendedStatistic': _PERCENTILES,
    'EvaluateLowSampleCountPercentile': _PERCENTILES, 'EvaluationCriteria': _('PromQL is not evaluated'),
    'EvaluationInterval': _('an alarm is evaluated after each period'),
    'EvaluationWindow': _('an alarm is evaluated after each period'),
    'WarmUpConfiguration': _('an alarm is evaluated from the first period on'),
    'Tags': _('alarms have no tags'), 'ActionConfiguration': _('alarms have no tags')})
DESCRIBE_ALARMS = Structure(DescribeAlarms, {'ChildrenOfAlarmName': _COMPOSITE, 'ParentsOfAlarmName': _COMPOSITE})
DESCRIBE_ALARMS_FOR_METRIC = Structure(DescribeAlarmsForMetric, {'ExtendedStatistic': _PERCENTILES})
DESCRIBE_ALARM_HISTORY = Structure(DescribeAlarmHistory, {
    'AlarmContributorId': _('an alarm watches one metric')})
SET_ALARM_STATE = Structure(SetAlarmState)
ALARM_NAMES = Structure(AlarmNames)
