"""ListMetrics, GetMetricStatistics and GetMetricData: what is stored. No engine is asked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from heatlite.api import wsgi
from heatlite.api.cloudwatch import clock, inputs, projects, tokens
from heatlite.api.cloudwatch.datapoints import metric
from heatlite.api.cloudwatch.inputs import MetricDataQuery
from heatlite.api.cloudwatch.protocols.protocol import Result
from heatlite.api.cloudwatch.shapes import InvalidCombination, InvalidParameter
from heatlite.common import turns
from heatlite.common.i18n import _
from heatlite.db import metrics
from heatlite.db.metrics import Period
from heatlite.monitoring.alarms import Metric

PAGE: Final = 500                       # metrics of one answer
RECENT: Final = 3 * 3600                # seconds: what PT3H means
MOST_DATAPOINTS: Final = 1440           # that one GetMetricStatistics may ask for
SHORT_PERIODS: Final = (1, 5, 10, 30)   # seconds; all other ones are multiples of a minute
FINEST: Final = 10                      # seconds of the shortest periods that are stored
# Stored rows that are read for one metric, and after which a page ends: a microsecond each. A metric that is measured
# each minute in one unit has 40 000 at most.
MOST_ROWS: Final = 500_000
ROWS_A_STEP: Final = 4                  # of `turns`: rows that the database sums up


def list_metrics(req: wsgi.Request, arguments: inputs.ListMetricsInput) -> Result:
    marker = tokens.whole('ListMetrics', arguments.next_token)
    with req.db.reader() as tx:
        found = metrics.page(
            tx, projects.of_caller(req, tx), namespace=arguments.namespace, name=arguments.metric_name,
            dimensions=[(each.name, each.value) for each in arguments.dimensions],
            seen_since=clock.now() - RECENT if arguments.recently_active else 0.0, marker=marker or 0, limit=PAGE + 1)
    shown, more = found[:PAGE], found[PAGE:]
    return {'Metrics': [{'Namespace': each.metric.namespace, 'MetricName': each.metric.name,
                         'Dimensions': dimensions(each.metric)} for each in shown],
            'NextToken': tokens.make('ListMetrics', shown[-1].id) if more else None}


def dimensions(of: Metric) -> list[Result]:
    return [{'Name': name, 'Value': value} for name, value in of.dimensions]


def check_period(period: int, at: str) -> None:
    """Raise InvalidParameter for a period for which there are no statistics."""
    if period % 60 and period not in SHORT_PERIODS:
        raise InvalidParameter(_('The parameter %s must be 1, 5, 10, 30 or a multiple of 60.') % at)


def _check_times(begin: float, end: float) -> None:
    if begin >= end:
        raise InvalidParameter(_('The parameter StartTime must be less than the parameter EndTime.'))


def _window(begin: float, end: float, period: int) -> tuple[int, int]:
    """Return the periods that begin between two times, as the multiples of `period` around them: [first, last)."""
    return math.floor(begin / period) * period, math.ceil(end / period) * period


def get_metric_statistics(req: wsgi.Request, arguments: inputs.GetMetricStatisticsInput) -> Result:
    check_period(arguments.period, 'Period')
    _check_times(arguments.start_time, arguments.end_time)
    begin, end = _window(arguments.start_time, arguments.end_time, arguments.period)
    if (asked := (end - begin) // arguments.period) > MOST_DATAPOINTS:
        raise InvalidCombination(_('You have requested up to %(asked)d datapoints, which exceeds the limit of '
                                   '%(most)d. You may reduce the datapoints requested by increasing Period, or '
                                   'decreasing the time range.')
                                 % {'asked': asked, 'most': MOST_DATAPOINTS})
    measured = metric(arguments.namespace, arguments.metric_name, arguments.dimensions)
    with req.db.reader() as tx:
        known = metrics.find(tx, projects.of_caller(req, tx), [measured])
    found = _Reading(req).statistics(known.get(measured), begin, end, arguments.period, arguments.unit)
    return {'Label': arguments.metric_name, 'Datapoints': [{
        'Timestamp': clock.moment(each.start),
        **{name: each.found.value(name) for name in dict.fromkeys(arguments.statistics)}, 'Unit': each.unit}
        for each in turns.paced(found)]}


class _Reading:
    """What one request reads of stored data. Equal questions are asked once; other requests run between two."""

    def __init__(self, req: wsgi.Request) -> None:
        self._req = req
        self._found: dict[tuple[int, int, int, int, str | None], list[Period]] = {}
        self.rows = 0                   # that were read, and that were answered

    def statistics(self, metric_id: int | None, begin: int, end: int, period: int, unit: str | None) -> list[Period]:
        """Return the statistics of a metric in the periods between two times. Raises InvalidCombination if more
        than MOST_ROWS rows are stored for it. `metric_id` None: there is no such metric."""
        if metric_id is None:
            return []
        length = max(period, FINEST)
        key = (metric_id, *_window(begin, end, length), length, unit)
        if key not in self._found:
            self._found[key] = self._read(*key)
        found = self._found[key]
        self.rows += len(found)
        return found

    def _read(self, metric_id: int, begin: int, end: int, length: int, unit: str | None) -> list[Period]:
        with self._req.db.reader() as tx:
            found = metrics.statistics(tx, [metric_id], begin, end, length, unit, MOST_ROWS + 1)
        rows = sum(each.rows for each in found)
        turns.spend(1 + rows // ROWS_A_STEP)
        if rows > MOST_ROWS:
            raise InvalidCombination(_('More than %d stored periods of this metric are in the time range. You may '
                                       'reduce them by decreasing the time range, or by asking for one Unit.')
                                     % MOST_ROWS)
        self.rows += rows
        return found


# --- GetMetricData -----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class _Span:
    """The periods of one query that one answer covers. `rest`: where the next answer goes on; None: it is done."""

    begin: int
    end: int
    rest: int | None


def get_metric_data(req: wsgi.Request, arguments: inputs.GetMetricDataInput) -> Result:
    """Return a page, which has the queries in their order, each with at most what is left of `max_datapoints`. It ends
    after the query with which MOST_ROWS are read."""
    _check_queries(arguments)
    number, place = tokens.wholes('GetMetricData', arguments.next_token) or (0, None)
    queries = [each for each in arguments.metric_data_queries if each.return_data]
    left, results, token = arguments.max_datapoints, list[Result](), None
    measured = {each.id: _metric(each) for each in queries}
    with req.db.reader() as tx:
        known = metrics.find(tx, projects.of_caller(req, tx), set(measured.values()))
    reading = _Reading(req)
    for index, query in enumerate(queries[number:], start=number):
        span = _span(arguments, query, place, left)
        place = None
        found = reading.statistics(known.get(measured[query.id]), span.begin, span.end, query.metric_stat.period,
                                   query.metric_stat.unit)
        results += _results(query, found, arguments.scan_by, span.rest is None)
        left -= (span.end - span.begin) // query.metric_stat.period
        if span.rest is not None:
            token = tokens.make('GetMetricData', index, span.rest)
            break
        if (left <= 0 or reading.rows >= MOST_ROWS) and index + 1 < len(queries):
            token = tokens.make('GetMetricData', index + 1, _edge(arguments, queries[index + 1]))
            break
    return {'MetricDataResults': results, 'NextToken': token, 'Messages': []}


def _check_queries(arguments: inputs.GetMetricDataInput) -> None:
    _check_times(arguments.start_time, arguments.end_time)
    for number, query in enumerate(arguments.metric_data_queries, start=1):
        check_period(query.metric_stat.period, f'MetricDataQueries.member.{number}.MetricStat.Period')
    if len({each.id for each in arguments.metric_data_queries}) < len(arguments.metric_data_queries):
        raise InvalidParameter(_('The values for parameter Id in MetricDataQueries are not unique.'))


def _metric(query: MetricDataQuery) -> Metric:
    of = query.metric_stat.metric
    return metric(of.namespace, of.metric_name, of.dimensions)


def _bounds(arguments: inputs.GetMetricDataInput, query: MetricDataQuery) -> tuple[int, int]:
    return _window(max(arguments.start_time, 0.0), max(arguments.end_time, 0.0), query.metric_stat.period)


def _edge(arguments: inputs.GetMetricDataInput, query: MetricDataQuery) -> int:
    """Where a query begins in the order that is asked for."""
    begin, end = _bounds(arguments, query)
    return begin if arguments.scan_by == inputs.ASCENDING else end


def _span(arguments: inputs.GetMetricDataInput, query: MetricDataQuery, place: int | None, left: int) -> _Span:
    """`place`: where the last answer ended; `left`: periods that this one may have."""
    begin, end = _bounds(arguments, query)
    size = left * query.metric_stat.period
    if arguments.scan_by == inputs.ASCENDING:
        begin = min(max(begin, place or begin), end)
        return _Span(begin, begin + size, begin + size) if end - begin > size else _Span(begin, end, None)
    end = max(min(end, end if place is None else place), begin)
    return _Span(end - size, end, end - size) if end - begin > size else _Span(begin, end, None)


def _results(query: MetricDataQuery, periods: list[Period], scan_by: str, is_complete: bool) -> Iterable[Result]:
    """Yield the results of a query: one, or, when there are data of several units, one for each."""
    units = sorted({each.unit for each in periods}) or ['']
    for unit in units:
        rows = sorted((each for each in turns.paced(periods) if each.unit == unit), key=lambda each: each.start,
                      reverse=scan_by == inputs.DESCENDING)
        label = query.label or query.metric_stat.metric.metric_name
        yield {'Id': query.id, 'Label': label if len(units) == 1 else f'{label} {unit}',
               'Timestamps': [clock.moment(each.start) for each in rows],
               'Values': [each.found.value(query.metric_stat.stat) for each in rows],
               'StatusCode': 'Complete' if is_complete else 'PartialData'}
