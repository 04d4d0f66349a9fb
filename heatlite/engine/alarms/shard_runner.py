"""Drives one shard: evaluates the alarms of its projects when they are due, and has their requests sent."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa
from sqlalchemy import Connection

from heatlite.common import defects, exception
from heatlite.common import metrics as figures
from heatlite.common.runtime import Runtime
from heatlite.db import alarms, leases
from heatlite.db.connection import Database, clock
from heatlite.db.leases import Lease
from heatlite.engine.alarms import evaluation, own_metrics, webhooks
from heatlite.engine.alarms.settings import AlarmSettings
from heatlite.engine.alarms.transitions import Followed, WaitingRequests
from heatlite.engine.alarms.webhooks import Webhooks

LOG = logging.getLogger(__name__)

CLOCK_CHECK: Final = 60.0                   # seconds between two looks whether the clock was set back
OWN_METRICS: Final = 25.0                   # seconds between two looks at the metrics of stacks: once in each minute
SOONEST: Final = 0.05                       # seconds between two looks, at least
ROUND: Final = 5.0                          # seconds of evaluations after which requests and metrics have their turn
PUT_OFF: Final = 60.0                       # seconds until an alarm that cannot be evaluated is tried again


@dataclass(frozen=True)
class _State:
    """`alarm`, `request`: seconds until the next one is due, perhaps negative; None: there is none."""

    alarm: float | None
    request: float | None


class ShardRunner:
    def __init__(self, runtime: Runtime, database: Database, lease: Lease, settings: AlarmSettings, sender: Webhooks,
                 tell: Callable[[Followed], None]) -> None:
        """`tell(followed)`: after each commit with signals; wakes up the engines that drive those stacks."""
        self.lease = lease
        self._runtime = runtime
        self._database = database
        self._settings = settings
        self._sender = sender
        self._tell = tell
        self._shard = int(lease.stack_id.rpartition('-')[2])
        self._clock_checked = runtime.monotonic()
        self._measured: float | None = None
        self._requests = WaitingRequests()

    def step(self) -> float | None:
        """Do what is due. Returns the seconds until the next call; None: there is no work, the lease was released.

        Raises LeaseLost, and DatabaseUnavailable with nothing of one batch stored.
        """
        state = self._read()
        if state.alarm is None and state.request is None:
            return None if self._database.retry(self._release) else 0.0
        if self._measured is None or self._runtime.monotonic() - self._measured >= OWN_METRICS:
            self._measured = self._runtime.monotonic()
            self._apart('The metrics of stacks were not recorded', self._record)
        is_behind = state.alarm is not None and state.alarm <= 0 and not self._evaluate()
        if state.request is not None and state.request <= 0:
            self._apart('The requests of alarms were not sent', self._send)
        if self._runtime.monotonic() - self._clock_checked >= CLOCK_CHECK:
            self._clock_checked = self._runtime.monotonic()
            self._apart('The clock was not checked', self._check_clock)
        if is_behind:
            return 0.0
        next_due = min(each for each in (state.alarm, state.request) if each is not None)
        return self._settings.tick if next_due <= 0 else max(SOONEST, min(next_due, self._settings.tick))

    def _apart(self, what: str, work: Callable[[], object]) -> None:
        """Do a part of a step. Its errors do not end the other parts. Raises LeaseLost and DatabaseUnavailable."""
        try:
            work()
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            defects.log(LOG, error, f'{what}, shard %d', self._shard)

    def _record(self) -> None:
        own_metrics.record(self._database, self.lease, self._settings.max_metrics)

    def _read(self) -> _State:
        """One statement."""
        with self._database.reader() as tx:
            now, alarm, request = tx.execute(sa.select(
                clock(tx), alarms.first_alarm(self._shard), alarms.first_request(self._shard))).one()
        return _State(*(None if each is None else each - now for each in (alarm, request)))

    def _evaluate(self) -> bool:
        """Evaluate alarms that are due, a batch at a time; other threads run in between. False: some are left, as
        after an outage, when there are more than a ROUND can do."""
        size, end = self._settings.batch, self._runtime.monotonic() + ROUND
        while True:
            batch = self._batch(size)
            if batch is None:
                size = 1
            elif batch.looked_at < size:
                return True
            self._runtime.sleep(0)
            if self._runtime.monotonic() > end:
                return False

    def _batch(self, size: int) -> evaluation.EvaluatedBatch | None:
        """One transaction. None if it failed for one of the alarms: that one is searched for, and put off."""
        try:
            batch = self._database.retry(lambda tx: evaluation.run(
                tx, self.lease, self._settings.delay, size, self._requests))
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            if size == 1:
                defects.log(LOG, error, 'An alarm of shard %d cannot be evaluated', self._shard)
                self._database.retry(lambda tx: evaluation.put_off_first(tx, self.lease, PUT_OFF))
            return None
        figures.evaluations.inc(batch.evaluated)
        if batch.followed.stacks:
            self._tell(batch.followed)
        return batch

    def _send(self) -> None:
        with self._database.reader() as tx:
            most = webhooks.BATCH + self._sender.under_way      # those are in the table yet, and among the first
            waiting = alarms.waiting(tx, self._shard, evaluation.time(tx), most, self._sender.busy())
        self._sender.send(self.lease, waiting)

    def _check_clock(self) -> None:
        while self._database.retry(lambda tx: evaluation.restart_clock(
                tx, self.lease, self._settings.delay, self._settings.batch)) >= self._settings.batch:
            self._runtime.sleep(0)

    def _release(self, tx: Connection) -> bool:
        """Give the lease back if there is still no work: a change of an alarm locks the lease first."""
        evaluation.held(tx, self.lease)
        if alarms.next_due(tx, self._shard) is not None:
            return False
        return leases.release(tx, self.lease.stack_id, self.lease.engine_id, self.lease.epoch)
