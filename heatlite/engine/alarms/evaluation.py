"""Evaluates a batch of alarms in one transaction, under the fence of the lease of their shard.

State, history, signals, requests and the end of the evaluated period are written together: a period is evaluated, and
its actions follow, once, wherever the engine dies. Time is the database's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy import Connection

from heatlite.common.timeutils import isotime
from heatlite.db import alarms, metrics, shards
from heatlite.db.alarms import Alarm
from heatlite.db.connection import clock
from heatlite.db.leases import Lease
from heatlite.engine.alarms import transitions
from heatlite.engine.alarms.transitions import Followed, Transition, WaitingRequests
from heatlite.engine.durability.journal import LeaseLost
from heatlite.monitoring.alarms import AlarmRule, AlarmVerdict, Statistics, evaluate, last_period, next_period, repeats

CLOCK_TOLERANCE = 300.0                     # seconds by which the clock may be set back and is waited for
MADE_UP: Final = 300.0                      # seconds for which periods that no engine evaluated are evaluated later


@dataclass(frozen=True)
class EvaluatedBatch:
    """The result of one transaction. `looked_at`: how many alarms were due; `evaluated`: how many of them."""

    looked_at: int
    evaluated: int
    followed: Followed


def run(tx: Connection, lease: Lease, delay: float, most: int, requests: WaitingRequests) -> EvaluatedBatch:
    """Evaluate at most `most` alarms that are due. `delay`: seconds that data may be late; `requests`: the caller's,
    of all its batches. Raises LeaseLost.

    Each complete period is evaluated, the oldest first. After an outage of more than MADE_UP seconds, or if the clock
    was set forward by as much, older periods are skipped. An alarm that is behind is due again at once.
    """
    shard = held(tx, lease)
    now = time(tx)
    found = alarms.due(tx, shard, now, most)
    due = [_Due(alarm, metric_id, next_period(alarm.evaluated, now, alarm.rule.period, delay, MADE_UP))
           for alarm, metric_id in found]
    ready = [each for each in due if each.end > each.alarm.evaluated]
    waiting = [each for each in due if each.end <= each.alarm.evaluated]      # the option `delay` was changed
    data = _read(tx, ready)
    unchanged: dict[tuple[int, int, int], list[Alarm]] = {}
    followed: list[Transition] = []
    at = metrics.moment(now)
    for each in ready:
        before, rule = each.alarm, each.alarm.rule
        periods = each.periods(data)
        verdict = evaluate(rule, before.state, periods)
        after = replace(before, evaluated=each.end, due_at=_due_at(each.end, rule.period, delay))
        if verdict.state == before.state and not repeats(rule, verdict.state, periods[-1]):
            unchanged.setdefault((before.evaluated, each.end, rule.period), []).append(before)
            continue
        if verdict.state != before.state:
            after = alarms.with_state(after, verdict.state, verdict.reason, _with_times(verdict, each, at), at)
        if alarms.change_state(tx, after, before):
            followed.append(Transition(before, after))
    for each in waiting:
        alarms.advance(tx, [each.alarm], each.alarm.evaluated,
                       _due_at(each.alarm.evaluated, each.alarm.rule.period, delay))
    for (_evaluated, end, _period), same in unchanged.items():
        alarms.advance(tx, same, end, _due_at(end, same[0].rule.period, delay))
    return EvaluatedBatch(len(found), len(ready), transitions.store(tx, followed, now, at, requests))


def held(tx: Connection, lease: Lease) -> int:
    """Lock the lease, and return its shard. Raises LeaseLost if another engine has it now."""
    shard = shards.number(lease.stack_id)
    assert shard is not None
    if not shards.lock_exclusive(tx, lease):
        raise LeaseLost(lease.stack_id)
    return shard


def time(tx: Connection) -> float:
    """Seconds since 1970 by the database's clock."""
    return float(tx.execute(sa.select(clock(tx))).scalar_one())


def put_off_first(tx: Connection, lease: Lease, seconds: float) -> None:
    """Let the alarm that is due first wait. It may be unreadable: its rule was encrypted with another key, perhaps."""
    shard = held(tx, lease)
    alarms.put_off_first(tx, shard, time(tx) + seconds)


def restart_clock(tx: Connection, lease: Lease, delay: float, most: int) -> int:
    """Let alarms begin anew that wait for a time far ahead, because the clock was set back. Returns how many.

    Their next period is the one that runs now.
    """
    shard = held(tx, lease)
    now = time(tx)
    found = alarms.ahead(tx, shard, now, delay + CLOCK_TOLERANCE, most)
    for each in found:
        end = last_period(now, each.period, 0.0)
        alarms.advance(tx, [each], end, _due_at(end, each.period, delay))
    return len(found)


def first_due(rule: AlarmRule, now: float, delay: float) -> tuple[int, float]:
    """`evaluated` and `due_at` of an alarm that begins now: its first period is the one that runs."""
    end = last_period(now, rule.period, 0.0)
    return end, _due_at(end, rule.period, delay)


def _due_at(evaluated: int, period: int, delay: float) -> float:
    return evaluated + period + delay


@dataclass(frozen=True)
class _Due:
    alarm: Alarm
    metric_id: int | None
    end: int                                # of the period to be evaluated

    @property
    def begin(self) -> int:
        return self.end - self.alarm.rule.range * self.alarm.rule.period

    def periods(self, data: Mapping[tuple[int | None, int, int], Sequence[metrics.Period]]
                ) -> list[Statistics | None]:
        """The statistics of its periods, the oldest first."""
        rule = self.alarm.rule
        found: dict[int, Statistics] = {}
        for each in data.get((self.metric_id, rule.period, self.begin), ()):
            if rule.unit in (None, each.unit):
                known = found.get(each.start)
                found[each.start] = each.found if known is None else known.plus(each.found)
        return [found.get(start) for start in range(self.begin, self.end, rule.period)]


def _read(tx: Connection, due: Iterable[_Due]) -> dict[tuple[int | None, int, int], list[metrics.Period]]:
    """The statistics of all: by metric, length of the period and beginning. One statement for each kind of range."""
    wanted: dict[tuple[int, int, int], set[int]] = {}
    for each in due:
        if each.metric_id is not None:
            wanted.setdefault((each.alarm.rule.period, each.begin, each.end), set()).add(each.metric_id)
    found: dict[tuple[int | None, int, int], list[metrics.Period]] = {}
    for (period, begin, end), metric_ids in wanted.items():
        for row in metrics.statistics(tx, sorted(metric_ids), begin, end, period):
            found.setdefault((row.metric_id, period, begin), []).append(row)
    return found


def _with_times(verdict: AlarmVerdict, due: _Due, at: datetime) -> dict[str, object]:
    return {**verdict.reason_data, 'queryDate': isotime(at), 'startDate': isotime(metrics.moment(due.begin))}
