"""Group commit of metric data: all requests that wait are stored in one transaction, and answered after it.

Datapoints of the same period are merged first, so that the database gets one row for each. The places of metrics are
remembered, so that most transactions are one statement. Projects take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from heatlite.common import allowance, commits, exception, limits, turns
from heatlite.common.fair_queue import FairQueue
from heatlite.common.i18n import _
from heatlite.common.keyed_count import KeyedCount
from heatlite.common.runtime import Flag, Runtime
from heatlite.common.shared_errors import SharedError
from heatlite.db import metrics, presence
from heatlite.db.connection import Database
from heatlite.db.metrics import MetricPlace
from heatlite.engine.alarms import evaluation
from heatlite.monitoring.alarms import Datapoint, Metric, Statistics

MOST_AT_ONCE = 1_000                        # datapoints in one transaction
MOST_WAITING = 50_000                       # datapoints of all requests that wait
PART_OF_PROJECT = 2                         # a project with several requests has one of so many parts of the room left
REMEMBERED = 100_000                        # metrics whose places are remembered
PART_OF_STACK_USERS = 2                     # users inside stacks add metrics while a project has one of so many parts
REMEMBERED_SECONDS = 300.0                  # a metric may get an alarm with a short period meanwhile


class MetricPlaces:
    """Remembers the places of metrics, by project and digest, for a limited time.

    Only texts and numbers are held: the collector of the interpreter would take a long time to walk 100 000 objects.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._new: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._since = runtime.monotonic()   # of the newer half

    def get(self, project_id: str, digest: str) -> MetricPlace | None:
        number = self._new.get(project_id + digest) or self._old.get(project_id + digest)
        if number is None:
            return None
        return MetricPlace(abs(number), metrics.COARSE if number > 0 else metrics.FINE)

    def put(self, project_id: str, digest: str, place: MetricPlace) -> None:
        if len(self._new) >= REMEMBERED / 2:
            self._drop()
        self._new[project_id + digest] = place.id if place.length == metrics.COARSE else -place.id

    def remove(self, project_id: str, digest: str) -> None:
        self._new.pop(project_id + digest, None)
        self._old.pop(project_id + digest, None)

    def rotate(self) -> None:
        """Drop what is too old."""
        if self._runtime.monotonic() - self._since > REMEMBERED_SECONDS / 2:
            self._drop()

    def _drop(self) -> None:
        self._old, self._new, self._since = self._new, {}, self._runtime.monotonic()


@dataclass
class _Request:
    project_id: str
    points: Sequence[Datapoint]
    most: int                                                   # metrics up to which it may add some, or UNLIMITED
    done: Flag
    error: SharedError | None = None
    is_begun: bool = False                                      # with an error: it may be stored nevertheless
    known: dict[str, MetricPlace] = field(default_factory=dict)       # places that were remembered, by digest
    found: dict[str, MetricPlace] = field(default_factory=dict)       # those read or made in the transaction


class MetricWriter:
    def __init__(self, runtime: Runtime, database: Database, max_metrics: int) -> None:
        """`max_metrics`: of one project."""
        self._runtime = runtime
        self._database = database
        self._max_metrics = max_metrics
        self._places = MetricPlaces(runtime)
        self._waiting: FairQueue[_Request] = FairQueue()
        self._sizes: KeyedCount[str] = KeyedCount()     # datapoints of the requests that wait, by project
        self._is_writing = False

    def put(self, project_id: str, points: Sequence[Datapoint], by_stack_user: bool = False) -> None:
        """Store datapoints, all or none, and return after the commit.

        `by_stack_user`: a user inside a stack sends them, who must leave room for new metrics of the project. Raises
        LimitExceeded for too many metrics, RequestLimitExceeded if too many datapoints of the project wait.
        """
        own = self._sizes.count(project_id)
        room = MOST_WAITING - (self._sizes.total() - own)
        if own + len(points) > (room // PART_OF_PROJECT if own else room):      # something is left for other projects
            raise exception.RequestLimitExceeded(
                _('More metric data of this project wait to be stored than this engine can hold.'))
        request = _Request(project_id, points, self._most(by_stack_user), self._runtime.flag())
        self._waiting.put(request, project_id)
        self._sizes.add(project_id, len(points))
        if not self._is_writing:
            self._is_writing = True
            self._runtime.spawn(self._write_all)
        with allowance.held():          # its datapoints are written with those of others
            request.done.wait()
        if request.is_begun:
            commits.begin()                 # for this thread, too: another engine must not be asked to store it again
        if request.error is not None:
            raise request.error.again()

    def _most(self, by_stack_user: bool) -> int:
        if not by_stack_user or self._max_metrics == limits.UNLIMITED:
            return self._max_metrics
        return self._max_metrics // PART_OF_STACK_USERS

    def forget(self, project_id: str, metric: Metric) -> None:
        """Read the place of a metric anew at its next datapoint."""
        self._places.remove(project_id, metric.digest)

    def _write_all(self) -> None:
        """The thread that writes; it ends when nothing waits."""
        try:
            while self._waiting:
                self._runtime.sleep(0)      # lets other requests join
                self._write(self._next())
        finally:
            self._is_writing = False

    def _next(self) -> list[_Request]:
        found: list[_Request] = []
        size = 0
        while self._waiting and (not found or size + len(self._waiting.next().points) <= MOST_AT_ONCE):
            request = self._waiting.take()
            found.append(request)
            size += len(request.points)
            self._sizes.remove(request.project_id, len(request.points))
        return found

    def _write(self, batch: Sequence[_Request]) -> None:
        before = commits.begun()
        try:
            self._places.rotate()
            for request in batch:
                request.known = self._remembered(request)
            self._database.retry(lambda tx: self._store(tx, batch))
        except Exception as error:
            shared = SharedError(error)
            for request in batch:
                request.error = request.error or shared
        for request in batch:
            request.is_begun = commits.begun() != before
            if request.error is None:
                for digest, place in request.found.items():
                    self._places.put(request.project_id, digest, place)
            request.done.set()

    def _remembered(self, request: _Request) -> dict[str, MetricPlace]:
        found: dict[str, MetricPlace] = {}
        for point in request.points:
            turns.spend()
            place = self._places.get(request.project_id, point.metric.digest)
            if place is not None:
                found[point.metric.digest] = place
        return found

    def _store(self, tx: Connection, batch: Sequence[_Request]) -> None:
        """One transaction, perhaps not for the first time. A request that is refused does not hinder the others."""
        now = evaluation.time(tx)
        merged: dict[tuple[int, int, int, str], Statistics] = {}
        # The metrics of a project that has left and come back have other numbers.
        is_cell = presence.is_cell(tx)
        for request in batch:
            request.error = None
            if is_cell:
                request.known = {}
            new = {point.metric.digest: point.metric for point in request.points
                   if point.metric.digest not in request.known}
            try:
                presence.enter(tx, request.project_id)
                request.found = metrics.identify(tx, request.project_id, new, now, request.most) if new else {}
            except (exception.LimitExceeded, exception.ProjectMoves) as error:
                request.error = SharedError(error)
                continue
            places = {**request.known, **request.found}
            for key, found in metrics.rows(request.points, places, now).items():
                known = merged.get(key)
                merged[key] = found if known is None else known.plus(found)
        metrics.add(tx, merged)
