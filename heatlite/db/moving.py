"""Moves a project from one cell to another, with its stacks while they run (docs/operators/cells.rst).

Each step is stored before the next one, and may be repeated: `CellMove.run` may be ended at any moment and called
again.

1. The map says that the project is being moved: APIs hold its changes back, and read from the former cell. Once all do,
   updates of resources that are under way may end: an interrupted one counts as failed, so that the next update would
   replace its resource.
2. The project leaves the former cell: in one transaction its stacks lose their leases (`presence.leave`).
3. All its rows are copied. What an earlier try has copied is removed before. Meanwhile the engines of the former cell
   notice that they have no leases.
4. The map names the new cell: APIs read from there. Changes wait until all of them do, so that no reader sees
   an older state than it saw before.
5. The project arrives (`presence.arrive`): engines of the new cell find its stacks with work, as after the death of an
   engine.
6. The map allows changes. The rows in the former cell are removed; that the project has left it stays noted there until
   it comes back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import belongings, engines, events, presence, project_cells
from heatlite.db.belongings import TABLES, Belonging, Belongings, Row
from heatlite.db.connection import Database
from heatlite.db.project_cells import Numbers, ProjectPlace
from heatlite.db.tables import event, metric, metric_period, resource, stack
from heatlite.planning.states import Action, Status

MAP_SECONDS = 1.0                           # how long an API uses what it has read of the map
# Seconds after which every process knows that a database is a cell, and each transaction that did not has ended.
SETTLED = presence.KNOWN_SECONDS + 15.0
NUMBERS_APART = 10_000                      # numbers that transactions under way may have been given already
POLL_SECONDS = 0.1                          # between two polls whether engines have noticed
LAST_NUMBERS = 1_000                        # events whose former numbers are remembered for streams


@dataclass(frozen=True)
class MoveDelays:
    """Seconds to wait: until all APIs have read the map again, until a database is known to be a cell, and at most for
    updates of resources to end."""

    map_seconds: float = 2 * MAP_SECONDS
    settled: float = SETTLED
    updates: float = 10.0


@dataclass
class MoveReport:
    """`rows`: copied, by table. `removed`: rows that were removed in the former cell. `waited`: the longest that
    changes of the project waited, in seconds; None: it was moved already."""

    source: str = ''
    rows: Counter[str] = field(default_factory=Counter)
    removed: int = 0
    waited: float | None = None


class CellMove:
    def __init__(self, cells: Mapping[str, Database], project_id: str, target: str, runtime: Runtime,
                 pace: MoveDelays | None = None, reached: Callable[[str], None] = lambda step: None) -> None:
        """`cells`: the databases by name, the home cell among them. `reached(step)`: called after each stored step, and
        each portion of rows."""
        self._cells = cells
        self._home = cells[project_cells.HOME]
        self._project_id = project_id
        self._target = target
        self._runtime = runtime
        self._pace = pace or MoveDelays()
        self._reached = reached
        self.report = MoveReport()

    def run(self) -> MoveReport:
        """Move the project. Raises Error for an unknown cell, and if rows of the project are where they cannot be;
        Conflict while it is being moved elsewhere; DatabaseUnavailable."""
        if self._target not in self._cells:
            raise exception.Error(_('There is no cell "%(name)s"; there are: %(names)s.') % {
                'name': self._target, 'names': ', '.join(self._cells)})
        place = self._place()
        if place.moving_to is not None and place.moving_to != self._target:
            raise exception.Conflict(
                _('The project is being moved to cell "%s"; let that end first.') % place.moving_to)
        if place.leaving is not None and place.moving_to is None:
            self._remove(place.leaving)
            place = self._put(replace(place, leaving=None))
        if place.cell == self._target and place.moving_to is None:
            return self.report
        for name in (place.leaving or place.cell, self._target):
            self._settle(name)
        began = self._runtime.monotonic()
        if place.moving_to is None:
            self._check_room()
            place = self._put(replace(place, moving_to=self._target))
        if place.cell != self._target:
            place = self._transfer(place)
        self._runtime.sleep(self._pace.map_seconds)     # every API reads from the new cell now
        self._cells[self._target].retry(lambda tx: presence.arrive(tx, self._project_id, self._now()))
        self._reached('arrived')
        place = self._put(replace(place, moving_to=None))
        self.report.waited = self._runtime.monotonic() - began
        assert place.leaving is not None
        self.report.source = place.leaving
        self._remove(place.leaving)
        self._put(replace(place, leaving=None))
        return self.report

    def _now(self) -> datetime:
        return self._runtime.now()

    def _place(self) -> ProjectPlace:
        with self._home.reader() as tx:
            return project_cells.find(tx, self._project_id)

    def _put(self, place: ProjectPlace) -> ProjectPlace:
        self._home.retry(lambda tx: project_cells.put(tx, self._project_id, place, self._now()))
        self._reached('map')
        return place

    def _settle(self, name: str) -> None:
        """Make the database a cell, and wait until all its engines know."""
        since = self._cells[name].retry(lambda tx: presence.become_cell(tx, self._now()))
        age = (self._now() - since).total_seconds()
        if age < self._pace.settled:
            self._runtime.sleep(self._pace.settled - max(age, 0.0))

    def _check_room(self) -> None:
        """Raise Error if the new cell has stacks of the project that no move has left there."""
        with self._cells[self._target].reader() as tx:
            if presence.has_left(tx, self._project_id):
                return
            if tx.execute(sa.select(stack.c.id).where(stack.c.project_id == self._project_id).limit(1)).first():
                raise exception.Error(_('Cell "%s" has stacks of this project, though the map says that it is '
                                        'elsewhere.') % self._target)

    # --- rows -------------------------------------------------------------------------------------------

    def _transfer(self, place: ProjectPlace) -> ProjectPlace:
        """Leave the former cell, copy all rows, and have the map name the new cell."""
        source, target = self._cells[place.cell], self._cells[self._target]
        target.retry(lambda tx: presence.mark(tx, self._project_id, True, self._now()))
        self._remove(self._target)
        self._let_updates_end(source)
        deadlines = source.retry(self._leave)
        self._reached('left')
        with source.reader() as tx:
            found = Belongings(tx, self._project_id)
            numbered = found.event_numbers(tx)
            top = tx.execute(sa.select(sa.func.max(event.c.id))).scalar() or 0
        numbers = target.retry(lambda tx: _reserve(tx, numbered, top))
        copy = _Copy(source, target, found, numbered, numbers, self._count)
        copy.run()
        self._reached('copied')
        self._quiesce(source, deadlines)
        return self._put(ProjectPlace(self._target, self._target, place.cell, numbers))

    def _let_updates_end(self, source: Database) -> None:
        self._runtime.sleep(self._pace.map_seconds)     # every API holds changes back now
        end = self._runtime.monotonic() + self._pace.updates
        while self._runtime.monotonic() < end and source.retry_until_available(self._is_updating, reading=True):
            self._runtime.sleep(POLL_SECONDS)

    def _is_updating(self, tx: sa.Connection) -> bool:
        """Whether the project, before it has left, has an update of a resource under way."""
        if presence.has_left(tx, self._project_id):
            return False
        found = sa.select(resource.c.id).join(stack, stack.c.id == resource.c.stack_id).where(
            stack.c.project_id == self._project_id, stack.c.live == 1, stack.c.status == Status.IN_PROGRESS,
            resource.c.action == Action.UPDATE, resource.c.status == Status.IN_PROGRESS)
        return tx.execute(found.limit(1)).first() is not None

    def _leave(self, tx: sa.Connection) -> dict[str, float]:
        presence.leave(tx, self._project_id, self._now())
        return engines.doubt(tx)

    def _quiesce(self, source: Database, deadlines: Mapping[str, float]) -> None:
        """Wait until no engine of the former cell sends requests for the project: each has renewed its leases since,
        which has it read them again, or has passed its deadline."""
        while source.retry_until_available(lambda tx: engines.unsure(tx, deadlines), reading=True):
            self._runtime.sleep(POLL_SECONDS)

    def _count(self, table: str, rows: int) -> None:
        self.report.rows[table] += rows
        self._reached('rows')

    def _remove(self, name: str) -> None:
        """Remove all rows of the project in a cell that it has left, portion by portion."""
        database = self._cells[name]
        with database.reader() as tx:
            if not presence.has_left(tx, self._project_id):
                raise exception.Error(_('The project has not left cell "%s": its rows are not removed.') % name)
            found = Belongings(tx, self._project_id)
        for belonging in reversed(TABLES):
            for group in found.groups(belonging):
                while done := database.retry(lambda tx: belongings.remove(tx, belonging, group)):   # noqa: B023
                    self.report.removed += done
                    self._reached('removed')


def _reserve(tx: sa.Connection, numbered: list[int], top: int) -> Numbers:
    """Numbers for the events in the new cell: above all that it has given, and above all of the former cell, whose
    clients' streams continue after one of these."""
    here = tx.execute(sa.select(sa.func.max(event.c.id))).scalar() or 0
    first = max(here, top) + NUMBERS_APART
    events.skip_numbers(tx, first - here + len(numbered) + 1)
    return Numbers(top, first, len(numbered), tuple(numbered[-LAST_NUMBERS:]))


class _Copy:
    """Copies the rows of a project as they are; what is sealed stays sealed. Numbers that a database gives are given
    anew, in the same order."""

    def __init__(self, source: Database, target: Database, found: Belongings, numbered: list[int], numbers: Numbers,
                 count: Callable[[str, int], None]) -> None:
        self._source = source
        self._target = target
        self._found = found
        self._numbered = numbered
        self._first = numbers.first
        self._count = count
        self._metrics: dict[int, int] = {}          # former number -> number

    def run(self) -> None:
        for belonging in TABLES:
            for group in self._found.groups(belonging):
                self._copy(belonging, group)
            if belonging.table is metric:
                self._metrics = self._paired()

    def _copy(self, belonging: Belonging, group: sa.ColumnElement[bool]) -> None:
        after = None
        while True:
            with self._source.reader() as tx:
                rows = belongings.page(tx, belonging, group, after)
            if not rows:
                return
            after = belongings.key_of(belonging, rows[-1])
            made = [self._made(belonging, row) for row in rows]
            self._target.retry(lambda tx: tx.execute(belonging.table.insert(), made))       # noqa: B023
            self._count(belonging.table.name, len(made))

    def _made(self, belonging: Belonging, row: Row) -> dict[str, object]:
        made = dict(row)
        if belonging.table is event:
            made['id'] = self._first + bisect_left(self._numbered, _number(row['id']))
        elif belonging.table is metric_period:
            made['metric_id'] = self._metrics[_number(row['metric_id'])]
        elif belonging.is_numbered:
            del made['id']
        return made

    def _paired(self) -> dict[int, int]:
        """Return the metrics by their numbers in both cells; a digest identifies one within its project."""
        numbers = []
        for database in (self._source, self._target):
            with database.reader() as tx:
                numbers.append({row.digest: row.id for row in tx.execute(sa.select(metric.c.digest, metric.c.id).where(
                    metric.c.project_id == self._found.project_id))})
        return {number: numbers[1][digest] for digest, number in numbers[0].items()}


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
