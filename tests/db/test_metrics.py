"""The statements of metrics: what is stored, merged, moved into longer periods and removed."""

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db import metrics, shards
from heatlite.db.tables import lease, metric, metric_period
from heatlite.monitoring.alarms import Datapoint, Metric, Statistics
from tests.db.rows import Clock

NOW = Clock.START
MINUTE = NOW - NOW % 60
CPU = Metric('system/linux', 'CPU', (('host', 'a'),))
MEMORY = Metric('system/linux', 'Memory', (('host', 'a'), ('say "what"', 'back\\slash %_/')))


def point(value, at=NOW, wanted=CPU, unit='Percent', **changed):
    return Datapoint(wanted, at, unit, 1.0, value, value, value, **changed)


def read(tx, wanted=CPU, begin=0, end=NOW + 3600, period=60, unit=None, project='p1'):
    found = metrics.find(tx, project, [wanted])
    return [(each.start, each.unit, each.found) for each in metrics.statistics(
        tx, found.values(), int(begin), int(end), period, unit)]


def lengths(tx):
    return sorted(tx.execute(sa.select(metric_period.c.length, metric_period.c.start)).tuples())


def test_datapoints_of_a_period_are_merged(db):
    for values in ([10.0, 30.0], [5.0]):
        with db.writer() as tx:
            metrics.store(tx, 'p1', [point(each) for each in values], NOW)
    with db.writer() as tx:
        metrics.store(tx, 'p1', [point(7.0, unit='Count'), point(1.0, at=None, wanted=MEMORY)], NOW)
    with db.reader() as tx:
        assert read(tx) == [(MINUTE, 'Count', Statistics(1.0, 7.0, 7.0, 7.0)),
                            (MINUTE, 'Percent', Statistics(3.0, 45.0, 5.0, 30.0))]
        assert read(tx, unit='Count') == [(MINUTE, 'Count', Statistics(1.0, 7.0, 7.0, 7.0))]
        assert read(tx, MEMORY)[0][2].samples == 1.0
        assert read(tx, project='p2') == []


def test_periods_of_any_length(db):
    with db.writer() as tx:
        metrics.store(tx, 'p1', [point(float(minute), at=MINUTE - 600 + 60 * minute) for minute in range(10)], NOW)
    with db.reader() as tx:
        begin = MINUTE - MINUTE % 300 - 900
        found = read(tx, begin=begin, period=300)
        assert sum(each.samples for _start, _unit, each in found) == 10
        assert all(start % 300 == 0 for start, _unit, _found in found)
        assert len(read(tx)) == 10
        assert read(tx, period=10) == []                # nothing so fine is stored


def test_high_resolution_and_metrics_of_short_alarms(db):
    with db.writer() as tx:
        metrics.store(tx, 'p1', [point(1.0, high_resolution=True), point(2.0, wanted=MEMORY)], NOW)
        metrics.refine(tx, 'p1', MEMORY, NOW)
        metrics.store(tx, 'p1', [point(4.0, wanted=MEMORY)], NOW)
    ten = NOW - NOW % 10
    with db.reader() as tx:
        assert read(tx, period=10) == [(ten, 'Percent', Statistics(1.0, 1.0, 1.0, 1.0))]
        assert read(tx, MEMORY, period=10) == [(ten, 'Percent', Statistics(1.0, 4.0, 4.0, 4.0))]
        assert read(tx, MEMORY, period=60)[0][2] == Statistics(2.0, 6.0, 2.0, 4.0)      # all, each once


def test_more_metrics_than_a_project_may_have(db):
    with db.writer() as tx:
        metrics.store(tx, 'p1', [point(1.0)], NOW, most=1)
        metrics.store(tx, 'p1', [point(1.0)], NOW, most=1)          # a known one
        with pytest.raises(exception.LimitExceeded, match='1'):
            metrics.store(tx, 'p1', [point(1.0), point(1.0, wanted=MEMORY)], NOW, most=1)
        metrics.store(tx, 'p2', [point(1.0, wanted=MEMORY)], NOW, most=1)
    with db.reader() as tx:
        assert metrics.count(tx, 'p1') == metrics.count(tx, 'p2') == 1
        assert read(tx)[0][2].samples == 2


def test_the_upkeep_is_wanted_once_there_is_a_metric(db):
    def wanted(tx):
        return [tuple(row) for row in tx.execute(sa.select(lease.c.stack_id, lease.c.wanted, lease.c.epoch))]

    with db.writer() as tx:
        assert metrics.is_empty(tx)
        metrics.store(tx, 'p1', [point(1.0)], NOW)
        assert wanted(tx) == [(shards.METRICS, True, 1)]
        tx.execute(lease.update().values(wanted=False, epoch=7))
        metrics.store(tx, 'p1', [point(1.0)], NOW)                  # a known metric: no need
        assert wanted(tx) == [(shards.METRICS, False, 7)]
        metrics.store(tx, 'p1', [point(1.0, wanted=MEMORY)], NOW)
        assert wanted(tx) == [(shards.METRICS, True, 7)]
        assert not metrics.is_empty(tx)


def test_known_metrics_cost_two_statements(db, counted):
    points = [point(1.0, wanted=Metric('n', f'm{number}')) for number in range(300)]
    with db.writer() as tx:
        metrics.store(tx, 'p1', points, NOW)
    with db.writer() as tx, counted(tx) as statements:
        metrics.store(tx, 'p1', points, NOW)
        assert len(statements) == 2, statements


@pytest.mark.parametrize('asked, expected', [
    ({}, [CPU, MEMORY]), ({'name': 'CPU'}, [CPU]), ({'namespace': 'system/linux'}, [CPU, MEMORY]),
    ({'namespace': 'System/linux'}, []), ({'dimensions': [('host', 'a')]}, [CPU, MEMORY]),
    ({'dimensions': [('host', None)]}, [CPU, MEMORY]), ({'dimensions': [('hos', None)]}, []),
    ({'dimensions': [('say "what"', None), ('host', 'a')]}, [MEMORY]),
    ({'dimensions': [('say "what"', 'back\\slash %_/')]}, [MEMORY]), ({'dimensions': [('say "what"', 'back_')]}, []),
    ({'name': 'CPU '}, []), ({'namespace': 'system/linux '}, []),
    ({'limit': 1}, [CPU]), ({'seen_since': NOW + 1}, []),
])
def test_page(db, asked, expected):
    with db.writer() as tx:
        for wanted in (CPU, MEMORY):
            metrics.store(tx, 'p1', [point(1.0, wanted=wanted)], NOW)
        metrics.store(tx, 'p2', [point(1.0)], NOW)
    with db.reader() as tx:
        found = metrics.page(tx, 'p1', **asked)
        assert [each.metric for each in found] == expected
        if found:
            assert [each.metric for each in metrics.page(tx, 'p1', marker=found[0].id, **asked)] == (
                expected[1:] if asked.get('limit') != 1 else [MEMORY])


def test_when_a_metric_was_seen_last(db):
    with db.writer() as tx:
        metrics.store(tx, 'p1', [point(1.0)], NOW)
        metrics.store(tx, 'p1', [point(1.0)], NOW + 60)
        assert metrics.page(tx, 'p1')[0].seen_at == NOW                 # not with each datapoint
        metrics.store(tx, 'p1', [point(1.0)], NOW + 3700)
        assert metrics.page(tx, 'p1')[0].seen_at == NOW + 3700


@pytest.mark.parametrize('limit', [1, 3, 1000])
def test_old_data_move_into_longer_periods(db, limit):
    points = [point(float(number), at=MINUTE + number, wanted=wanted, unit=unit, high_resolution=True)
              for number in range(120) for wanted in (CPU, MEMORY) for unit in ('Percent', 'Count')]
    with db.writer() as tx:
        metrics.store(tx, 'p1', points, NOW)
    with db.reader() as tx:
        before = [read(tx, wanted, period=3600) for wanted in (CPU, MEMORY)]
    for length, after in ((10, 60), (60, 300), (300, 3600)):
        total = 0
        while True:
            with db.writer() as tx:
                moved = metrics.fold(tx, length, MINUTE + 7200, limit)
            total += moved
            if not moved:
                break
        assert total > 0
        with db.reader() as tx:
            assert {found for found, _start in lengths(tx)} == {after}
            assert [read(tx, wanted, period=3600) for wanted in (CPU, MEMORY)] == before
    with db.writer() as tx:
        while metrics.fold(tx, 3600, MINUTE + 7200, limit):
            pass
        assert lengths(tx) == []


def test_rows_of_many_periods_move_at_once(db):
    """Else a metric with a datapoint in each of many old periods would take a transaction for each."""
    with db.writer() as tx:
        metrics.store(tx, 'p1', [point(1.0, at=MINUTE + 60 * number) for number in range(40)], NOW)
        before = [each[2].samples for each in read(tx, period=3600, begin=0)]
        assert metrics.fold(tx, 60, MINUTE + 7200, 30) == 30
        assert metrics.fold(tx, 60, MINUTE + 7200, 30) == 10
        assert metrics.fold(tx, 60, MINUTE + 7200, 30) == 0
        assert [each[2].samples for each in read(tx, period=3600, begin=0)] == before
        assert {length for length, _start in lengths(tx)} == {300}


def test_only_old_data_move(db):
    with db.writer() as tx:
        metrics.store(tx, 'p1', [point(1.0, at=MINUTE), point(1.0, at=MINUTE + 60)], NOW)
        assert metrics.fold(tx, 60, MINUTE, 10) == 0
        assert metrics.fold(tx, 60, MINUTE + 1, 10) == 1
        assert metrics.fold(tx, 60, MINUTE + 1, 10) == 0
        assert lengths(tx) == [(60, MINUTE + 60), (300, MINUTE - MINUTE % 300)]
        metrics.store(tx, 'p1', [point(1.0, at=MINUTE)], NOW)           # late: it is found beside what was moved
        assert read(tx, period=300, begin=0)[0][2].samples + read(tx, period=300, begin=0)[-1][2].samples >= 3


def test_purge(db):
    with db.writer() as tx:
        metrics.store(tx, 'p1', [point(1.0)], NOW)
        metrics.store(tx, 'p1', [point(1.0, wanted=MEMORY)], NOW + 100)
        assert metrics.purge(tx, NOW, 10) == 0
        assert metrics.purge(tx, NOW + 1, 10) == 1
        assert [each.metric for each in metrics.page(tx, 'p1')] == [MEMORY]
        assert tx.execute(sa.select(sa.func.count()).select_from(metric_period)).scalar() == 1
        assert tx.execute(sa.select(sa.func.count()).select_from(metric)).scalar() == 1
