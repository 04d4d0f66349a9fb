"""Looks at all stacks, each once in an interval, within a budget of requests. One thread of each engine.

Engines share the stacks by the time of the next look, which the one that begins a look stores first. The stacks of one
project are looked at together, so that they share the lists of its services.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from oslo_config.cfg import ConfigOpts
from sqlalchemy import Connection

from heatlite.common import exception, metrics
from heatlite.common.rate_limit import Rate
from heatlite.common.runtime import Runtime
from heatlite.db import drift_reports
from heatlite.db.connection import Database
from heatlite.engine.clients.batched_reads import BatchedReads
from heatlite.engine.durability.periodic import Periodic, Search
from heatlite.engine.requests.drift import SCHEDULE

FAILED: Final = 'failed'            # outcome of a look, in metrics
TOGETHER: Final = 50                # stacks of one project that share lists
COUNTED: Final = 60.0               # seconds between two counts of the stacks that are watched
MOST_IDLE: Final = 30.0             # seconds between two searches for stacks that are due
REPAIRS: Final = 'repairs'          # beside the services, in the metric of waits


@dataclass(frozen=True)
class DriftWatchSettings:
    """`interval`: seconds between two looks at one stack; 0: none. `requests_per_minute`: to each service, of one
    engine. `repairs_per_hour`: updates that this engine begins."""

    interval: float
    requests_per_minute: float
    repairs_per_hour: float

    @classmethod
    def of(cls, conf: ConfigOpts) -> DriftWatchSettings:
        found = conf.drift
        return cls(found.interval, found.requests_per_minute, found.repairs_per_hour)


class DriftWatch:
    """Runs scheduled looks in a thread of its own; the engine starts and stops it."""

    def __init__(self, runtime: Runtime, database: Database, settings: DriftWatchSettings,
                 watch: Callable[[str, BatchedReads], bool]) -> None:
        """`watch(stack_id, look)`: looks at a stack; returns whether a repair of it began."""
        self._runtime = runtime
        self._database = database
        self._settings = settings
        self._watch = watch
        self._requests = _rate(runtime, settings.requests_per_minute)       # by service
        self._count_at = 0.0
        self._repairs = _rate(runtime, settings.repairs_per_hour / 60.0)
        self._reads = BatchedReads(runtime, self._requests.wait)        # of the stacks of one project
        self._periodic = Periodic(runtime, min(MOST_IDLE, settings.interval), Search(
            'comparison with its objects, or repair, of stack', self._due, self._check))

    def start(self) -> None:
        """Begin, if scheduled checks are wanted."""
        if self._settings.interval > 0:
            self._periodic.start()

    def stop(self) -> None:
        self._periodic.stop()

    def _due(self) -> Iterator[str]:
        """Yield the stacks that are due, project by project, each once its next look is stored."""
        while stack_ids := self._next():
            self._reads = BatchedReads(self._runtime, self._requests.wait)
            for stack_id in stack_ids:
                if self._database.retry(partial(self._take, stack_id=stack_id)):
                    yield stack_id

    def _next(self) -> list[str]:
        """Return the stacks of one project that are due."""
        with self._database.reader() as tx:
            if self._runtime.monotonic() >= self._count_at:
                self._count_at = self._runtime.monotonic() + COUNTED
                metrics.drift_watched.set(drift_reports.count(tx))
            return drift_reports.due(tx, self._runtime.now(), TOGETHER)

    def _take(self, tx: Connection, stack_id: str) -> bool:
        now = self._runtime.now()
        return drift_reports.take(tx, stack_id, now, now + timedelta(seconds=self._settings.interval))

    def _check(self, stack_id: str) -> None:
        try:
            if self._watch(stack_id, self._reads):
                metrics.drift_wait.labels(metrics.service_label(REPAIRS)).inc(self._repairs.wait(REPAIRS))
        except exception.DatabaseUnavailable:
            raise
        except Exception:
            metrics.drift_looks.labels(SCHEDULE, FAILED).inc()
            raise


def _rate(runtime: Runtime, per_minute: float) -> Rate:
    """A tenth of those of a minute may come at once."""
    return Rate(per_minute, max(1.0, per_minute / 10.0), runtime)
