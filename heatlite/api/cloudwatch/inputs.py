"""The input of each action as a dataclass: names, types, bounds and what is required, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from heatlite.api.cloudwatch.shapes import (
    FlagShape,
    IntegerShape,
    ListOf,
    MomentShape,
    NumberShape,
    Structure,
    TextShape,
    WordShape,
    optional,
    preset,
    required,
)
from heatlite.common.i18n import _
from heatlite.monitoring.alarms import COMPARISONS, STATISTICS, TREATMENTS, UNITS

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

NAME = TextShape(255)
NEW_NAME = TextShape(255, pattern=('.*[^ ]', _('it must not end with a blank')))
NAMESPACE = TextShape(255, pattern=('[^:].*', _('it must not begin with a colon')))
LONG_NAME = TextShape(1024)
TOKEN = TextShape(2048)
SENTENCE = TextShape(1023, least=0)
# cfn-push-stats of heat-cfntools writes some units in lower case.
UNIT = WordShape(UNITS, {unit.lower(): unit for unit in sorted(UNITS)})
STATISTIC = WordShape(STATISTICS)
STATE = WordShape(STATES)
ORDER = WordShape(ORDERS)
PERIOD = IntegerShape(1, LONGEST_PERIOD)
RECORDS = IntegerShape(1, MOST_RECORDS)
COUNT = IntegerShape(1, LONGEST_PERIOD)

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
    sample_count: float = required(NumberShape())
    sum: float = required(NumberShape())
    minimum: float = required(NumberShape())
    maximum: float = required(NumberShape())


@dataclass(frozen=True, kw_only=True)
class MetricDatum:
    metric_name: str = required(NAME)
    dimensions: tuple[Dimension, ...] = preset(DIMENSIONS, ())
    timestamp: float | None = optional(MomentShape())
    value: float | None = optional(NumberShape())
    statistic_values: StatisticSet | None = optional(Structure(StatisticSet))
    values: tuple[float, ...] = preset(ListOf(NumberShape(), MOST_VALUES), ())
    counts: tuple[float, ...] = preset(ListOf(NumberShape(), MOST_VALUES), ())
    unit: str = preset(UNIT, 'None')
    storage_resolution: int = preset(IntegerShape(1, 60), 60)


@dataclass(frozen=True, kw_only=True)
class PutMetricDataInput:
    namespace: str = required(NAMESPACE)
    metric_data: tuple[MetricDatum, ...] = required(ListOf(Structure(MetricDatum), MOST_DATA, least=1))


@dataclass(frozen=True, kw_only=True)
class ListMetricsInput:
    namespace: str | None = optional(NAMESPACE)
    metric_name: str | None = optional(NAME)
    dimensions: tuple[DimensionFilter, ...] = preset(ListOf(Structure(DimensionFilter), 10), ())
    recently_active: str | None = optional(WordShape(['PT3H']))
    next_token: str | None = optional(TOKEN)


@dataclass(frozen=True, kw_only=True)
class GetMetricStatisticsInput:
    namespace: str = required(NAMESPACE)
    metric_name: str = required(NAME)
    dimensions: tuple[Dimension, ...] = preset(DIMENSIONS, ())
    start_time: float = required(MomentShape())
    end_time: float = required(MomentShape())
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
    id: str = required(TextShape(255, pattern=(
        '[a-z][a-zA-Z0-9_]*', _('it must be a letter in lower case, and letters, digits and underscores'))))
    metric_stat: MetricStat = required(Structure(MetricStat))
    label: str | None = optional(LONG_NAME)
    return_data: bool = preset(FlagShape(), True)


@dataclass(frozen=True, kw_only=True)
class GetMetricDataInput:
    metric_data_queries: tuple[MetricDataQuery, ...] = required(ListOf(
        Structure(MetricDataQuery, {'Expression': _MATH, 'AccountId': _ACCOUNTS}), MOST_QUERIES, least=1))
    start_time: float = required(MomentShape())
    end_time: float = required(MomentShape())
    scan_by: str = preset(ORDER, DESCENDING)
    max_datapoints: int = preset(IntegerShape(1, MOST_DATAPOINTS), MOST_DATAPOINTS)
    next_token: str | None = optional(TOKEN)


_ACTIONS = ListOf(TextShape(1024), 5)


@dataclass(frozen=True, kw_only=True)
class PutMetricAlarmInput:
    alarm_name: str = required(NEW_NAME)
    alarm_description: str = preset(TextShape(1024, least=0), '')
    actions_enabled: bool = preset(FlagShape(), True)
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
    threshold: float = required(NumberShape())
    comparison_operator: str = required(WordShape(COMPARISONS))
    treat_missing_data: str = preset(WordShape(TREATMENTS), 'missing')


@dataclass(frozen=True, kw_only=True)
class DescribeAlarmsInput:
    alarm_names: tuple[str, ...] = preset(ListOf(NAME, MOST_RECORDS), ())
    alarm_name: str | None = optional(NAME)             # as Heat had it
    alarm_name_prefix: str | None = optional(NAME)
    alarm_types: tuple[str, ...] = preset(ListOf(WordShape(ALARM_TYPES), len(ALARM_TYPES)), ())
    state_value: str | None = optional(STATE)
    action_prefix: str | None = optional(LONG_NAME)
    max_records: int = preset(RECORDS, 50)
    next_token: str | None = optional(TOKEN)


@dataclass(frozen=True, kw_only=True)
class DescribeAlarmsForMetricInput:
    namespace: str = required(NAMESPACE)
    metric_name: str = required(NAME)
    dimensions: tuple[Dimension, ...] = preset(DIMENSIONS, ())
    statistic: str | None = optional(STATISTIC)
    period: int | None = optional(PERIOD)
    unit: str | None = optional(UNIT)


@dataclass(frozen=True, kw_only=True)
class DescribeAlarmHistoryInput:
    alarm_name: str | None = optional(NAME)
    alarm_types: tuple[str, ...] = preset(ListOf(WordShape(ALARM_TYPES), len(ALARM_TYPES)), ())
    history_item_type: str | None = optional(WordShape(KINDS))
    start_date: float | None = optional(MomentShape())
    end_date: float | None = optional(MomentShape())
    max_records: int = preset(RECORDS, MOST_RECORDS)
    scan_by: str = preset(ORDER, DESCENDING)
    next_token: str | None = optional(TOKEN)


@dataclass(frozen=True, kw_only=True)
class SetAlarmStateInput:
    alarm_name: str = required(NAME)
    state_value: str = required(STATE)
    state_reason: str = preset(SENTENCE, '')            # Heat did not read it
    state_reason_data: str | None = optional(TextShape(4000, least=0))


@dataclass(frozen=True, kw_only=True)
class AlarmNamesInput:
    alarm_names: tuple[str, ...] = required(ListOf(NAME, MOST_RECORDS, least=1))


PUT_METRIC_DATA = Structure(PutMetricDataInput, {'EntityMetricData': _('entities are not stored')})
LIST_METRICS = Structure(ListMetricsInput, {'OwningAccount': _ACCOUNTS})
GET_METRIC_STATISTICS = Structure(GetMetricStatisticsInput, {'ExtendedStatistics': _PERCENTILES})
GET_METRIC_DATA = Structure(GetMetricDataInput)
PUT_METRIC_ALARM = Structure(PutMetricAlarmInput, {
    'Metrics': _MATH, 'ThresholdMetricId': _('anomalies are not detected'), 'ExtendedStatistic': _PERCENTILES,
    'EvaluateLowSampleCountPercentile': _PERCENTILES, 'EvaluationCriteria': _('PromQL is not evaluated'),
    'EvaluationInterval': _('an alarm is evaluated after each period'),
    'EvaluationWindow': _('an alarm is evaluated after each period'),
    'WarmUpConfiguration': _('an alarm is evaluated from the first period on'),
    'Tags': _('alarms have no tags'), 'ActionConfiguration': _('alarms have no tags')})
DESCRIBE_ALARMS = Structure(DescribeAlarmsInput, {'ChildrenOfAlarmName': _COMPOSITE, 'ParentsOfAlarmName': _COMPOSITE})
DESCRIBE_ALARMS_FOR_METRIC = Structure(DescribeAlarmsForMetricInput, {'ExtendedStatistic': _PERCENTILES})
DESCRIBE_ALARM_HISTORY = Structure(DescribeAlarmHistoryInput, {
    'AlarmContributorId': _('an alarm watches one metric')})
SET_ALARM_STATE = Structure(SetAlarmStateInput)
ALARM_NAMES = Structure(AlarmNamesInput)
