"""Metrics and the rules of alarms, as values, and the evaluation of a rule.

A period is a span of seconds that begins at a multiple of its length since 1970. The words for statistics, comparisons
and missing data are those of Amazon CloudWatch, the words for states are Heat's (docs/developers/alarms.rst).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Final

from heatlite.common import document_parts, exception
from heatlite.common.i18n import _

NORMAL, ALARM, NODATA, SUSPENDED = STATES = ('NORMAL', 'ALARM', 'NODATA', 'SUSPENDED')
SAMPLES, AVERAGE, SUM, SMALLEST, LARGEST = STATISTICS = ('SampleCount', 'Average', 'Sum', 'Minimum', 'Maximum')
MISSING, IGNORE, BREACHING, NOT_BREACHING = TREATMENTS = ('missing', 'ignore', 'breaching', 'notBreaching')
UNITS: Final = frozenset([
    'None', 'Seconds', 'Microseconds', 'Milliseconds', 'Percent', 'Count', 'Count/Second',
    *(f'{size}{what}{rate}' for size in ('', 'Kilo', 'Mega', 'Giga', 'Tera')
      for what in (('Bytes', 'Bits') if not size else ('bytes', 'bits')) for rate in ('', '/Second')),
    'Counter'])                                 # sent by cfn-push-stats

COMPARISONS: Final[Mapping[str, tuple[str, Callable[[float, float], bool]]]] = {
    'GreaterThanOrEqualToThreshold': (_('greater than or equal to'), lambda value, threshold: value >= threshold),
    'GreaterThanThreshold': (_('greater than'), lambda value, threshold: value > threshold),
    'LessThanThreshold': (_('less than'), lambda value, threshold: value < threshold),
    'LessThanOrEqualToThreshold': (_('less than or equal to'), lambda value, threshold: value <= threshold),
}

SHORT_PERIODS: Final = (10, 20, 30)             # seconds; all other periods are multiples of MINUTE
MINUTE: Final = 60
LONGEST_PERIOD: Final = 86_400                  # seconds
# Seconds that all evaluated periods of a rule may span: with periods shorter than an hour, and with others.
LONGEST_RANGE: Final = (86_400, 604_800)
LOOK_BACK: Final = 2                            # periods before the evaluated ones whose data stand in for missing data

# Bounds of what users write, in characters or items.
MOST_NAME: Final = 255
MOST_DIMENSIONS: Final = 30
MOST_DESCRIPTION: Final = 1024
MOST_ACTIONS: Final = 5                         # of each kind
MOST_ACTION: Final = 2048
MOST_REASON: Final = 1023
MOST_REASON_DATA: Final = 4000
MOST_VALUE: Final = 2.0 ** 360                  # of a number, positive or negative


@dataclass(frozen=True)
class Metric:
    """What is measured. `dimensions`: (name, value), sorted by name; two with other dimensions are two metrics."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, namespace: str, name: str, dimensions: Sequence[Sequence[str]]) -> Metric:
        """Build a metric from dimensions in any order. Raises HTTPBadRequest for one that is too long."""
        for what, text in (('Namespace', namespace), ('MetricName', name)):
            _check_text(what, text)
        if len(dimensions) > MOST_DIMENSIONS:
            raise exception.HTTPBadRequest(_('A metric has at most %d dimensions.') % MOST_DIMENSIONS)
        pairs: list[tuple[str, str]] = []
        for pair in dimensions:
            if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
                raise exception.HTTPBadRequest(_('A dimension is a name and a value.'))
            _check_text('Name', pair[0])
            _check_text('Value', pair[1])
            pairs.append((pair[0], pair[1]))
        if len({each for each, _value in pairs}) != len(pairs):
            raise exception.HTTPBadRequest(_('A dimension of metric %s is given twice.') % name)
        return cls(namespace, name, tuple(sorted(pairs)))

    @property
    def text(self) -> str:
        """The dimensions as JSON in one canonical form, as the database stores them."""
        return json.dumps(self.dimensions, separators=(',', ':'))

    @cached_property
    def digest(self) -> str:
        """Identify the metric within its project: 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps([self.namespace, self.name, self.dimensions]).encode()).hexdigest()


@dataclass(frozen=True)
class Statistics:
    """What the datapoints of one period of one metric amount to."""

    samples: float
    total: float
    smallest: float
    largest: float

    def value(self, statistic: str) -> float:
        """One of STATISTICS."""
        match statistic:
            case 'SampleCount':
                return self.samples
            case 'Sum':
                return self.total
            case 'Minimum':
                return self.smallest
            case 'Maximum':
                return self.largest
        return self.total / self.samples if self.samples else 0.0

    def plus(self, other: Statistics) -> Statistics:
        return Statistics(self.samples + other.samples, self.total + other.total,
                          min(self.smallest, other.smallest), max(self.largest, other.largest))


ZERO: Final = Statistics(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Datapoint:
    """Values of a metric at one time. `at`: seconds since 1970; None: when it is stored."""

    metric: Metric
    at: float | None
    unit: str
    samples: float
    total: float
    smallest: float
    largest: float
    high_resolution: bool = False

    @classmethod
    def from_json(cls, namespace: str, values: Mapping[str, Any]) -> Datapoint:
        """Build a datapoint from its form in messages (rpc.messages.PutMetricData). Raises HTTPBadRequest."""
        metric = Metric.of(namespace, values.get('name', ''), values.get('dimensions') or ())
        numbers = [values.get(name) for name in ('samples', 'total', 'smallest', 'largest')]
        for number in numbers:
            _check_number('Value', number)
        at = values.get('at')
        if at is not None:
            _check_number('Timestamp', at)
        unit = values.get('unit') or 'None'
        if unit not in UNITS:
            raise exception.HTTPBadRequest(_('The unit "%s" is not known.') % str(unit)[:MOST_NAME])
        samples, total, smallest, largest = map(float, numbers)     # type: ignore[arg-type]
        found = cls(metric, at, unit, samples, total, smallest, largest, bool(values.get('high_resolution')))
        if found.samples <= 0 or found.smallest > found.largest:
            raise exception.HTTPBadRequest(_('The statistics of metric %s contradict each other.') % metric.name)
        return found


@dataclass(frozen=True)
class AlarmRule:
    """When an alarm is in which state, and what it does then.

    `period`: seconds. `datapoints_to_alarm`: so many of the last `evaluation_periods` must breach. `unit` None: data of
    all units. `no_data_is_zero`: Heat's rule that without data Sum and SampleCount are 0; only the last periods count.
    `every_time`: actions follow each evaluation and not only a change of the state, as in Heat. What an action may be:
    docs/developers/alarms.rst. See `repeats`.
    """

    metric: Metric
    statistic: str
    period: int
    evaluation_periods: int
    comparison: str
    threshold: float
    datapoints_to_alarm: int = 0                # 0: as many as there are periods
    unit: str | None = None
    missing: str = MISSING
    no_data_is_zero: bool = False
    every_time: bool = False
    description: str = ''
    alarm_actions: tuple[str, ...] = ()
    ok_actions: tuple[str, ...] = ()
    insufficient_data_actions: tuple[str, ...] = ()

    @property
    def needed(self) -> int:
        """How many datapoints must breach."""
        return self.datapoints_to_alarm or self.evaluation_periods

    @property
    def range(self) -> int:
        """How many periods `evaluate` needs."""
        return self.evaluation_periods + (0 if self.no_data_is_zero else LOOK_BACK)

    def actions(self, state: str) -> tuple[str, ...]:
        return {ALARM: self.alarm_actions, NORMAL: self.ok_actions,
                NODATA: self.insufficient_data_actions}.get(state, ())

    def to_json(self) -> dict[str, object]:
        found = {each.name: getattr(self, each.name) for each in fields(self) if each.name != 'metric'}
        for name in ACTIONS:
            found[name] = list(found[name])
        return {'namespace': self.metric.namespace, 'name': self.metric.name,
                'dimensions': [list(pair) for pair in self.metric.dimensions], **found}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> AlarmRule:
        """Build a rule from `to_json` or from a message, and check it. Raises HTTPBadRequest."""
        known = {each.name for each in fields(cls)} - {'metric'}
        given = {name: value for name, value in values.items() if name in known}
        for name in ACTIONS:
            actions = given.get(name) or ()
            if isinstance(actions, str) or not isinstance(actions, Sequence):
                raise exception.HTTPBadRequest(_('The actions of an alarm are a list.'))
            given[name] = tuple(actions)
        missing = [name for name in REQUIRED if name not in given]
        if missing:
            raise exception.HTTPBadRequest(_('The rule of the alarm lacks %s.') % ', '.join(missing))
        metric = Metric.of(values.get('namespace', ''), values.get('name', ''), values.get('dimensions') or ())
        found = cls(metric, **given)
        found.check()
        return found

    @classmethod
    def stored(cls, values: Mapping[str, Any]) -> AlarmRule:
        """Build a rule from `to_json`, unchecked: it was checked before it was stored."""
        given = dict(values)
        metric = Metric(given.pop('namespace'), given.pop('name'),
                        tuple([(name, value) for name, value in given.pop('dimensions')]))
        for name in ACTIONS:
            given[name] = tuple(given[name])
        return cls(metric, **document_parts.known_fields(cls, given))

    def check(self) -> None:
        """Raise HTTPBadRequest that names what is wrong."""
        for what, value, known in (('Statistic', self.statistic, STATISTICS),
                                   ('ComparisonOperator', self.comparison, COMPARISONS),
                                   ('TreatMissingData', self.missing, TREATMENTS)):
            if value not in known:
                raise _unknown(what, value, known)
        if self.unit is not None and self.unit not in UNITS:
            raise _unknown('Unit', self.unit, UNITS)
        _check_number('Threshold', self.threshold)
        check_period(self.period)
        numbers: tuple[tuple[str, object], ...] = (
            ('EvaluationPeriods', self.evaluation_periods), ('DatapointsToAlarm', self.needed))
        for what, number in numbers:
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise exception.HTTPBadRequest(_('%s must be a whole number from 1.') % what)
        if self.needed > self.evaluation_periods:
            raise exception.HTTPBadRequest(_('DatapointsToAlarm must not be more than EvaluationPeriods.'))
        longest = LONGEST_RANGE[self.period >= 3600]
        if self.period * self.evaluation_periods > longest:
            raise exception.HTTPBadRequest(
                _('All periods of an alarm together must not be longer than %d seconds.') % longest)
        if not isinstance(self.description, str) or len(self.description) > MOST_DESCRIPTION:
            raise exception.HTTPBadRequest(_('The description has at most %d characters.') % MOST_DESCRIPTION)
        for name in ACTIONS:
            actions = getattr(self, name)
            if len(actions) > MOST_ACTIONS:
                raise exception.HTTPBadRequest(_('An alarm has at most %d actions of one kind.') % MOST_ACTIONS)
            if not all(isinstance(each, str) and 0 < len(each) <= MOST_ACTION for each in actions):
                raise exception.HTTPBadRequest(_('An action is a text of at most %d characters.') % MOST_ACTION)


ACTIONS: Final = ('alarm_actions', 'ok_actions', 'insufficient_data_actions')
REQUIRED: Final = ('statistic', 'period', 'evaluation_periods', 'comparison', 'threshold')


def check_period(period: object) -> None:
    """Raise HTTPBadRequest unless it is 10, 20, 30 or a multiple of 60 up to a day, in seconds."""
    if (not isinstance(period, int) or isinstance(period, bool) or period <= 0 or period > LONGEST_PERIOD
            or (period not in SHORT_PERIODS and period % MINUTE)):
        raise exception.HTTPBadRequest(
            _('A period is 10, 20, 30 or a multiple of 60 seconds, and at most %d.') % LONGEST_PERIOD)


# --- evaluation --------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class AlarmVerdict:
    """The result of an evaluation. `reason_data`: JSON object with the figures that led to it."""

    state: str
    reason: str
    reason_data: Mapping[str, object] = field(default_factory=dict)


def last_period(now: float, period: int, delay: float) -> int:
    """Return the end of the newest period that was complete `delay` seconds ago, in seconds since 1970."""
    return math.floor((now - delay) / period) * period


def next_period(evaluated: int, now: float, period: int, delay: float, most: float) -> int:
    """Return the end of the period that is to be evaluated after the one that ended at `evaluated`; not after it if
    there is none yet. Periods that ended more than `most` seconds before the newest one are skipped."""
    newest = last_period(now, period, delay)
    return min(newest, max(evaluated + period, newest - math.floor(most / period) * period))


def evaluate(rule: AlarmRule, state: str, periods: Sequence[Statistics | None]) -> AlarmVerdict:
    """Decide the state of an alarm that is in `state`. `periods`: the last `rule.range`, the oldest first; None: no
    data.

    The newest `evaluation_periods` datapoints among them count. If there are fewer:

    ============ =============================================================================================
    missing      none at all: NODATA; if enough of them breach, or all and the oldest is old enough: ALARM; else
                 NORMAL if one of them does not breach; else the state remains
    ignore       none at all, or all breach but they are too few: the state remains; else as `missing`
    breaching    each missing one counts as breaching
    notBreaching each missing one counts as not breaching
    ============ =============================================================================================
    """
    found = [_filled(rule, each) for each in periods]
    values = [each.value(rule.statistic) for each in found if each is not None][-rule.evaluation_periods:]
    lacking = rule.evaluation_periods - len(values)
    breaches = COMPARISONS[rule.comparison][1]
    breaching = sum(1 for value in values if breaches(value, rule.threshold))
    decided = _decide(rule, state, found, len(values), lacking, breaching)
    return AlarmVerdict(decided, _reason(rule, values, lacking, breaching), {
        'version': '1.0', 'statistic': rule.statistic, 'period': rule.period, 'recentDatapoints': values,
        'threshold': rule.threshold, **({'unit': rule.unit} if rule.unit else {})})


def repeats(rule: AlarmRule, state: str, newest: Statistics | None) -> bool:
    """Whether the actions of `state` follow an evaluation that did not change it. `newest`: data of the last period.

    They do for a rule that says so - but not if that period has no data and older data stand in for them: the same
    data would lead to actions again.
    """
    stands_for_itself = newest is not None or state == NODATA or rule.no_data_is_zero or rule.missing != MISSING
    return rule.every_time and stands_for_itself


def _filled(rule: AlarmRule, statistics: Statistics | None) -> Statistics | None:
    return ZERO if statistics is None and rule.no_data_is_zero and rule.statistic in (SUM, SAMPLES) else statistics


def _decide(rule: AlarmRule, state: str, statistics: Sequence[Statistics | None], count: int, lacking: int,
            breaching: int) -> str:
    assumed = lacking if rule.missing == BREACHING else 0
    if breaching + assumed >= rule.needed:
        return ALARM
    if not lacking or rule.missing in (BREACHING, NOT_BREACHING) or breaching < count:
        return NORMAL
    if not count:
        return NODATA if rule.missing == MISSING else state
    oldest = len(statistics) - next(place for place, each in enumerate(statistics) if each is not None)
    # All data breach, but they are few: an alarm that has just begun to get data must not go off at once.
    return ALARM if rule.missing == MISSING and oldest >= rule.needed else state


def _reason(rule: AlarmRule, values: Sequence[float], lacking: int, breaching: int) -> str:
    if not values:
        text = _('There are no datapoints in the last %(periods)d periods of %(period)d seconds.') % {
            'periods': rule.evaluation_periods, 'period': rule.period}
    else:
        text = _('%(breaching)d of the last %(count)d datapoints [%(values)s] are %(comparison)s the threshold '
                 '(%(threshold)s).') % {
            'breaching': breaching, 'count': len(values), 'values': ', '.join(f'{value:g}' for value in values[-5:]),
            'comparison': COMPARISONS[rule.comparison][0], 'threshold': f'{rule.threshold:g}'}
        if lacking:
            text += ' ' + _('%d are missing.') % lacking
    return text[:MOST_REASON]


# --- checks ------------------------------------------------------------------------------------------------

def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str) or not 0 < len(text) <= MOST_NAME:
        raise exception.HTTPBadRequest(_('%(what)s is a text of 1 to %(most)d characters.')
                                       % {'what': what, 'most': MOST_NAME})


def _check_number(what: str, number: object) -> None:
    if (not isinstance(number, int | float) or isinstance(number, bool)
            or not -MOST_VALUE <= number <= MOST_VALUE):
        raise exception.HTTPBadRequest(_('%s must be a number from -2**360 to 2**360.') % what)


def _unknown(what: str, value: object, known: Iterable[str]) -> exception.HTTPBadRequest:
    return exception.HTTPBadRequest(_('Unknown %(what)s "%(value)s": it is one of %(known)s.') % {
        'what': what, 'value': str(value)[:MOST_NAME], 'known': ', '.join(sorted(known))})
