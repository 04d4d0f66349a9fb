"""The tables `metric` and `metric_period`: what projects measure, summed up in periods.

Each datapoint is part of one row, in a period of 10 seconds or one minute. `fold` moves old rows into longer periods.
Times are seconds since 1970 by the database's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from heatlite.common import exception, limits
from heatlite.common.i18n import _
from heatlite.common.limits import UNLIMITED
from heatlite.common.runtime import EPOCH
from heatlite.db import bulk, codec, shards, texts
from heatlite.db.errors import Contention
from heatlite.db.tables import metric, metric_period
from heatlite.monitoring.alarms import Datapoint, Metric, Statistics

FINE, COARSE, *_LONGER = LENGTHS = (10, 60, 300, 3600)      # seconds of the periods that are stored
ROW: Final = ('metric_id', 'length', 'start', 'unit', 'samples', 'total', 'smallest', 'largest')
KEY: Final = ROW[:4]
MERGED: Final = {'samples': 'sum', 'total': 'sum', 'smallest': 'least', 'largest': 'greatest'}
NEW: Final = ('project_id', 'namespace', 'name', 'dimensions', 'digest', 'length', 'created_at', 'seen_at')
SEEN: Final = 3600.0                        # seconds by which `seen_at` may be behind
BLOCK: Final = 500                          # rows of `metric` that `page` reads at once


@dataclass(frozen=True)
class MetricPlace:
    """Where the data of a metric go. `length`: seconds of their periods."""

    id: int
    length: int


@dataclass(frozen=True)
class StoredMetric:
    id: int
    metric: Metric
    seen_at: float                          # of the last datapoint, within an hour


@dataclass(frozen=True)
class Period:
    """The statistics of one metric and unit, from `start` on, for the period that was asked for. `rows`: how many
    stored ones they are made of."""

    metric_id: int
    start: int
    unit: str
    found: Statistics
    rows: int


def moment(seconds: float) -> datetime:
    """UTC without zone, as columns hold it."""
    return EPOCH + timedelta(seconds=seconds)


# --- writing -----------------------------------------------------------------------------------------------

def store(tx: sa.Connection, project_id: str, points: Sequence[Datapoint], now: float,
          most: int = UNLIMITED) -> dict[str, MetricPlace]:
    """Store datapoints; those without a time get `now`. `most`: metrics that the project may have, or UNLIMITED.

    Returns where the data of each metric go, by its digest. Raises LimitExceeded, with nothing written.
    """
    places = identify(tx, project_id, {point.metric.digest: point.metric for point in points}, now, most)
    add(tx, rows(points, places, now))
    return places


def identify(tx: sa.Connection, project_id: str, wanted: Mapping[str, Metric], now: float,
             most: int = UNLIMITED) -> dict[str, MetricPlace]:
    """Return the places of metrics, which are created if they are new. `wanted`: by digest.

    Raises LimitExceeded before anything is written. One statement for known metrics. Index: (project_id, digest).
    """
    found, late = _known(tx, project_id, wanted, now - SEEN)
    new = {digest: each for digest, each in wanted.items() if digest not in found}
    if new:
        if not limits.has_room(most, lambda: count(tx, project_id), len(new)):
            raise exception.LimitExceeded(message=_(
                'Data of new metrics are taken from this caller while the project has fewer than %d.') % most)
        shards.want(tx, shards.METRICS)     # before the rows: the upkeep stops when it finds none
        at = bulk.Times()(moment(now))
        bulk.texts(tx.dialect.name).upsert(tx, 'metric', NEW, ('project_id', 'digest'), [
            (project_id, codec.clean(each.namespace), codec.clean(each.name), each.text, digest, COARSE, at, now)
            for digest, each in sorted(new.items())], [name for name in NEW if name != 'seen_at'])
        found.update(_known(tx, project_id, new, 0.0)[0])
    for chunk in bulk.chunks(late):
        tx.execute(metric.update().where(metric.c.id.in_(chunk)).values(seen_at=now))
    return found


def _known(tx: sa.Connection, project_id: str, digests: Iterable[str],
           before: float) -> tuple[dict[str, MetricPlace], list[int]]:
    """Places by digest, and the ids of those that were last seen before that time."""
    found: dict[str, MetricPlace] = {}
    late = []
    for chunk in bulk.chunks(digests):
        for number, digest, length, seen_at in tx.execute(
                sa.select(metric.c.id, metric.c.digest, metric.c.length, metric.c.seen_at).where(
                    metric.c.project_id == project_id, metric.c.digest.in_(chunk))):
            found[digest] = MetricPlace(number, length)
            if seen_at < before:
                late.append(number)
    return found, sorted(late)


def refine(tx: sa.Connection, project_id: str, wanted: Metric, now: float, most: int = UNLIMITED) -> None:
    """From now on, data of this metric go into the shortest periods: an alarm evaluates them."""
    identify(tx, project_id, {wanted.digest: wanted}, now, most)
    tx.execute(metric.update().where(metric.c.project_id == project_id, metric.c.digest == wanted.digest)
               .values(length=FINE))


def rows(points: Iterable[Datapoint], places: Mapping[str, MetricPlace],
         now: float) -> dict[tuple[int, int, int, str], Statistics]:
    """Return what `add` takes: datapoints of the same period are merged. Values only."""
    found: dict[tuple[int, int, int, str], Statistics] = {}
    for point in points:
        place = places[point.metric.digest]
        length = FINE if point.high_resolution else place.length
        at = int(now if point.at is None else point.at)
        key = (place.id, length, at - at % length, point.unit)
        new = Statistics(point.samples, point.total, point.smallest, point.largest)
        old = found.get(key)
        found[key] = new if old is None else old.plus(new)
    return found


def add(tx: sa.Connection, new: Mapping[tuple[int, int, int, str], Statistics]) -> None:
    """Add statistics to stored ones. One statement for about a thousand rows."""
    bulk.texts(tx.dialect.name).merge(tx, 'metric_period', ROW, KEY, [
        (*key, each.samples, each.total, each.smallest, each.largest) for key, each in sorted(new.items())], MERGED)


# --- reading -----------------------------------------------------------------------------------------------

def find(tx: sa.Connection, project_id: str, wanted: Iterable[Metric]) -> dict[Metric, int]:
    """Return the ids of those metrics that there are. Index: (project_id, digest)."""
    by_digest = {each.digest: each for each in wanted}
    return {by_digest[digest]: place.id for digest, place in _known(tx, project_id, by_digest, 0.0)[0].items()}


def page(tx: sa.Connection, project_id: str, *, namespace: str | None = None, name: str | None = None,
         dimensions: Sequence[tuple[str, str | None]] = (), seen_since: float = 0.0, marker: int = 0,
         limit: int = BLOCK) -> list[StoredMetric]:
    """At most `limit` metrics of a project in the order of their ids, after the id `marker`.

    `dimensions`: all must be there, with that value unless it is None. Index: (project_id, namespace, name) or
    (project_id, digest).
    """
    query = sa.select(metric.c.id, metric.c.namespace, metric.c.name, metric.c.dimensions, metric.c.seen_at).where(
        metric.c.project_id == project_id, metric.c.id > marker, metric.c.seen_at >= seen_since)
    if namespace is not None:
        query = query.where(texts.is_exactly(metric.c.namespace, namespace))
    if name is not None:
        query = query.where(texts.is_exactly(metric.c.name, name))
    for pair in dimensions:
        # JSON text in its canonical form: a quote within a name or a value has a backslash before it.
        text = codec.encode(pair) if pair[1] is not None else codec.encode([pair[0]])[:-1] + ','
        query = query.where(sa.func.replace(metric.c.dimensions, text, '') != metric.c.dimensions)
    return [StoredMetric(number, Metric(space, named, tuple([(each, value) for each, value in codec.decode(text)])),
                         seen_at)
            for number, space, named, text, seen_at in tx.execute(query.order_by(metric.c.id).limit(limit))]


def statistics(tx: sa.Connection, metric_ids: Iterable[int], begin: int, end: int, period: int,
               unit: str | None = None, most: int | None = None) -> list[Period]:
    """Statistics in periods of `period` seconds that begin within [begin, end), ordered by metric and time.

    `begin` and `end`: multiples of `period`. `unit` None: of all units, each in rows of its own. `most`: no more stored
    rows of a chunk of metrics are read; a caller that finds as many in the periods has only a part. Primary key.
    """
    found: list[Period] = []
    for chunk in bulk.chunks(metric_ids):
        table = _stored(chunk, begin, end, period, unit, most).c
        start = (table.start - table.start % period).label('start_of_period')
        query = sa.select(table.metric_id, start, table.unit, sa.func.count(), sa.func.sum(table.samples),
                          sa.func.sum(table.total), sa.func.min(table.smallest), sa.func.max(table.largest))
        query = query.group_by(table.metric_id, start, table.unit).order_by(table.metric_id, start, table.unit)
        found += [Period(row[0], int(row[1]), row[2], Statistics(*row[4:]), int(row[3])) for row in tx.execute(query)]
    return found


def _stored(metric_ids: Iterable[int], begin: int, end: int, period: int, unit: str | None,
            most: int | None) -> sa.Subquery:
    """Return the rows that statistics are made of, at most that many."""
    table = metric_period.c
    query = sa.select(*(table[name] for name in ROW)).where(
        table.metric_id.in_(metric_ids), table.start >= begin, table.start < end,
        table.length.in_([length for length in LENGTHS if period % length == 0]))
    if unit is not None:
        query = query.where(table.unit == unit)
    return (query if most is None else query.limit(most)).subquery()


def count(tx: sa.Connection, project_id: str) -> int:
    """How many metrics the project has. Index: (project_id, digest)."""
    return int(tx.execute(sa.select(sa.func.count()).select_from(metric)
                          .where(metric.c.project_id == project_id)).scalar_one())


def is_empty(tx: sa.Connection) -> bool:
    """Whether there is no metric at all."""
    return tx.execute(sa.select(metric.c.id).limit(1)).first() is None


# --- upkeep ------------------------------------------------------------------------------------------------

def fold(tx: sa.Connection, length: int, before: float, limit: int) -> int:
    """Move at most `limit` rows into periods of the next length, the oldest first, if they begin before that time; rows
    of the last length are removed. Returns how many.

    Call it, each time in a new transaction, until it returns 0. Index: (length, start).
    """
    table = metric_period.c
    old = (table.length == length, table.start < int(before))
    found = tx.execute(sa.select(*(table[name] for name in ROW)).where(*old).order_by(
        table.start, table.metric_id, table.unit).limit(limit).with_for_update()).all()
    if not found:
        return 0
    last = found[-1]
    if length != LENGTHS[-1]:
        longer = LENGTHS[LENGTHS.index(length) + 1]
        sums: dict[tuple[int, int, int, str], Statistics] = {}
        for row in found:
            key, own = (row.metric_id, longer, row.start - row.start % longer, row.unit), Statistics(*row[4:])
            sums[key] = sums[key].plus(own) if key in sums else own
        add(tx, sums)
    gone = tx.execute(metric_period.delete().where(table.length == length, table.start <= last.start, sa.or_(
        table.start < last.start, table.metric_id < last.metric_id,
        sa.and_(table.metric_id == last.metric_id, table.unit <= last.unit))))
    if gone.rowcount != len(found):
        raise Contention(reason=_('data of this period have just arrived'))
    return len(found)


def purge(tx: sa.Connection, before: float, limit: int) -> int:
    """Remove at most `limit` metrics that were last seen before that time; return how many. Index: (seen_at)."""
    found = list(tx.execute(sa.select(metric.c.id).where(metric.c.seen_at < before).limit(limit)).scalars())
    for chunk in bulk.chunks(found):
        tx.execute(metric_period.delete().where(metric_period.c.metric_id.in_(chunk)))
        tx.execute(metric.delete().where(metric.c.id.in_(chunk), metric.c.seen_at < before))
    return len(found)
