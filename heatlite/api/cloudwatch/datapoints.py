"""PutMetricData: checks datapoints and turns them into those of a message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypedDict

from heatlite.api import wsgi
from heatlite.api.cloudwatch import clock, projects
from heatlite.api.cloudwatch.inputs import Dimension, MetricDatum, PutMetricDataInput
from heatlite.api.cloudwatch.shapes import LARGEST, InvalidCombination, InvalidParameter, MissingParameter
from heatlite.common.i18n import _
from heatlite.db import alarms
from heatlite.monitoring.alarms import Metric
from heatlite.rpc import messages

OLDEST: Final = 14 * 86_400             # seconds before now
NEWEST: Final = 2 * 3600                # seconds after now
RESOLUTIONS: Final = (1, 60)
# The dimension by which cfn-push-stats names an alarm.
ALARM_NAME: Final = 'AlarmName'


class Point(TypedDict):
    """A datapoint of a message. `dimensions`: [name, value] of each, sorted by name; `at`: seconds since 1970, or None
    for the time at which the message is handled."""

    name: str
    dimensions: list[list[str]]
    at: float | None
    unit: str
    samples: float
    total: float
    smallest: float
    largest: float
    high_resolution: bool


def put_metric_data(req: wsgi.Request, arguments: PutMetricDataInput) -> None:
    """Store all datapoints of the request, or none if one is wrong or a quota is reached.

    If dimensions AlarmName lead to several namespaces, this holds for each namespace.
    """
    now = clock.now()
    points = [_point(each, f'MetricData.member.{number}', now)
              for number, each in enumerate(arguments.metric_data, start=1)]
    for namespace, data in _of_alarms(req, arguments.namespace, points).items():
        req.call(messages.PutMetricData(namespace, tuple(data)))


def pairs(dimensions: Iterable[Dimension], at: str) -> list[list[str]]:
    """Dimensions as lists, sorted by name. Raises InvalidParameter for one that is given twice."""
    found = sorted([each.name, each.value] for each in dimensions)
    if len({name for name, _value in found}) != len(found):
        raise InvalidParameter(_('The parameter %s.Dimensions names a dimension twice.') % at if at else
                               _('The parameter Dimensions names a dimension twice.'))
    return found


def metric(namespace: str, name: str, dimensions: Iterable[Dimension], at: str = '') -> Metric:
    return Metric(namespace, name, tuple([(each, value) for each, value in pairs(dimensions, at)]))


def _point(datum: MetricDatum, at: str, now: float) -> Point:
    """One datapoint of a message. `at`: its name, for errors; `now`: seconds since 1970."""
    if datum.timestamp is not None and not now - OLDEST <= datum.timestamp <= now + NEWEST:
        raise InvalidParameter(_('The parameter %s.Timestamp must specify a time no more than two weeks ago, and no '
                                 'more than two hours in the future.') % at)
    if datum.storage_resolution not in RESOLUTIONS:
        raise InvalidParameter(_('The parameter %s.StorageResolution must be 1 or 60.') % at)
    samples, total, smallest, largest = _figures(datum, at)
    if not -LARGEST <= total <= LARGEST or not 0 < samples <= LARGEST or smallest > largest:
        raise InvalidParameter(_('The values of %s contradict each other, or are too large.') % at)
    return {'name': datum.metric_name, 'dimensions': pairs(datum.dimensions, at), 'at': datum.timestamp,
            'unit': datum.unit, 'samples': samples, 'total': total, 'smallest': smallest, 'largest': largest,
            'high_resolution': datum.storage_resolution == 1}


def _figures(datum: MetricDatum, at: str) -> tuple[float, float, float, float]:
    """Return (number of samples, total, smallest, largest) of the one form in which a datapoint has its values."""
    given = [name for name, value in (('Value', datum.value), ('StatisticValues', datum.statistic_values),
                                      ('Values', datum.values or None)) if value is not None]
    if not given:
        raise MissingParameter(f'{at}.Value')
    if len(given) > 1:
        raise InvalidCombination(_('The parameters %(one)s and %(two)s are mutually exclusive and you have specified '
                                   'both.')
                                 % {'one': f'{at}.{given[0]}', 'two': f'{at}.{given[1]}'})
    if datum.counts and (not datum.values or len(datum.counts) != len(datum.values)):
        raise InvalidCombination(_('The parameters %(at)s.Values and %(at)s.Counts must have the same number of '
                                   'members.')
                                 % {'at': at})
    if datum.value is not None:
        return 1.0, datum.value, datum.value, datum.value
    if datum.statistic_values is not None:
        each = datum.statistic_values
        return each.sample_count, each.sum, each.minimum, each.maximum
    counts = datum.counts or (1.0,) * len(datum.values)
    if any(count <= 0 for count in counts):
        raise InvalidParameter(_('The members of %s.Counts must be more than 0.') % at)
    return (sum(counts), sum(value * count for value, count in zip(datum.values, counts, strict=True)),
            min(datum.values), max(datum.values))


def _of_alarms(req: wsgi.Request, namespace: str, points: list[Point]) -> Mapping[str, list[Point]]:
    """Datapoints by namespace. Those with a dimension AlarmName go to the metric of that alarm, if it has their name:
    cfn-push-stats knows the alarm and not its dimensions."""
    names = {value for point in points for name, value in point['dimensions'] if name == ALARM_NAME}
    if not names and req.conf.heat_stack_user_role not in req.context.roles:
        return {namespace: points}
    with req.db.reader() as tx:
        project_id = projects.of_caller(req, tx)            # also for the share of a user inside a stack
        watched = {each.name: each.rule.metric for each in alarms.named(tx, project_id, names)}
    found: dict[str, list[Point]] = {}
    for point in points:
        target = watched.get(dict(point['dimensions']).get(ALARM_NAME, ''))
        if target is not None and target.name == point['name']:
            found.setdefault(target.namespace, []).append(
                {**point, 'dimensions': [list(pair) for pair in target.dimensions]})
        else:
            found.setdefault(namespace, []).append(point)
    return found
