"""What an engine knows of the requests of alarms that wait: to count them costs all of a shard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from heatlite.common import limits
from heatlite.db import alarms, sync
from heatlite.db.alarms import Alarm
from heatlite.db.connection import Database
from heatlite.db.metrics import moment
from heatlite.engine.alarms import transitions
from heatlite.engine.alarms.transitions import COUNTED, Transition, WaitingRequests
from heatlite.monitoring.alarms import AlarmRule, Metric

NOW = 1_800_000_000.0
HOOK = 'https://hooks.example/in'
RULE = AlarmRule(Metric('n', 'm'), 'Sum', 60, 1, 'GreaterThanThreshold', 5.0, alarm_actions=(HOOK,))
BEFORE = Alarm('a', 'p', 'a', None, None, RULE, True, 'NORMAL', 'new', None, moment(NOW), moment(NOW), 1, 0, NOW)
CHANGE = Transition(BEFORE, replace(BEFORE, state='ALARM'))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f'sqlite:///{tmp_path}/x.sqlite')
    sync.up(made)
    yield made
    made.close()


def stored(tx: Connection, requests: WaitingRequests, now: float = NOW) -> bool:
    """Whether a change of an alarm has stored a request."""
    return transitions.store(tx, [CHANGE], now, moment(now), requests).webhooks


def test_those_that_wait_are_counted_once_in_a_while(database: Database) -> None:
    requests, counts = WaitingRequests(), []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        counts.append('count(' in statement and 'alarm_webhook' in statement)

    with database.writer() as tx:
        sa.event.listen(tx, 'before_cursor_execute', note)
        assert all(stored(tx, requests, NOW + number) for number in range(int(COUNTED)))
        assert sum(counts) == 1
        assert stored(tx, requests, NOW + COUNTED)
        assert sum(counts) == 2


def test_the_limit_holds_in_between(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were sent make room at the next count, also after the clock was set back."""
    monkeypatch.setattr(limits, 'MOST_REQUESTS', 3)
    requests = WaitingRequests()
    with database.writer() as tx:
        assert [stored(tx, requests) for _again in range(4)] == [True, True, True, False]
        [first, *_others] = alarms.waiting(tx, BEFORE.shard, NOW, 9)
        alarms.sent(tx, first)
        assert not stored(tx, requests, NOW + COUNTED - 1)
        assert stored(tx, requests, NOW + COUNTED)
        assert not stored(tx, requests, NOW + COUNTED)
        alarms.sent(tx, alarms.waiting(tx, BEFORE.shard, NOW + COUNTED, 9)[0])
        assert stored(tx, requests, NOW - 1)
