"""Moves old metric data into longer periods and removes what is too old. One engine does it, under a lease of its own.

It stops when there are no metrics and no history; the first new metric begins it again.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

from heatlite.common.runtime import Runtime
from heatlite.db import alarms, leases, metrics, retention, shards
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine.alarms import evaluation
from heatlite.engine.alarms.settings import AlarmSettings
from heatlite.engine.durability.journal import LeaseLost

INTERVAL: Final = 60.0                      # seconds between two rounds
SHARE: Final = 1.0                          # pause after each slice, as a multiple of the time that it took


class Upkeep:
    def __init__(self, runtime: Runtime, database: Database, lease: Lease, settings: AlarmSettings) -> None:
        self.lease = lease
        self._runtime = runtime
        self._database = database
        self._settings = settings

    def step(self) -> float | None:
        """One round. Returns the seconds until the next; None: nothing is stored, the lease was released.

        Raises LeaseLost, and DatabaseUnavailable with some slices done.
        """
        with self._database.reader() as tx:
            now = evaluation.time(tx)
        for work in retention.steps(now, self._settings.kept, self._settings.history):
            while True:
                began = self._runtime.monotonic()
                if not self._database.retry(lambda tx: self._fenced(tx) or work(tx)):      # noqa: B023 - called at once
                    break
                self._runtime.sleep(SHARE * (self._runtime.monotonic() - began))
        return None if self._database.retry(self._release) else INTERVAL

    def _fenced(self, tx: Connection) -> int:
        if not shards.lock_exclusive(tx, self.lease):
            raise LeaseLost(self.lease.stack_id)
        return 0

    def _release(self, tx: Connection) -> bool:
        self._fenced(tx)
        if not metrics.is_empty(tx) or alarms.has_history(tx):
            return False
        return leases.release(tx, self.lease.stack_id, self.lease.engine_id, self.lease.epoch)
