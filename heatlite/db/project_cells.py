"""The `project_cell` table of the home cell: in which cell each project is.

Projects without a row are in the home cell.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa

from heatlite.common.document_parts import known_fields
from heatlite.db import codec
from heatlite.db.tables import project_cell

HOME = 'home'                               # the cell of [database] connection


@dataclass(frozen=True)
class Numbers:
    """The numbers of a project's events, before the last move and after it: streams continue after a number.

    `top`: up to which they were those of the former cell; `first`: the first one in this cell, `count`: how many there
    are; `last`: the former numbers of the last ones, ascending.
    """

    top: int
    first: int
    count: int
    last: Sequence[int]

    def translated(self, position: int) -> int:
        """Return the position in this cell of a client whose stream may have begun in the former one. Never too
        high."""
        if position > self.top:
            return position
        passed = bisect_right(self.last, position)
        if passed == 0 and len(self.last) < self.count:
            return self.first - 1           # all events come again: which of them it has is not known
        return self.first + self.count - len(self.last) + passed - 1


@dataclass(frozen=True)
class ProjectPlace:
    """Where a project is. `moving_to`: the cell to which it is being moved; `leaving`: the one that still has rows."""

    cell: str
    moving_to: str | None = None
    leaving: str | None = None
    numbers: Numbers | None = None


@dataclass(frozen=True)
class PlacedProject(ProjectPlace):
    """A project with its place. `since`: when the place was stored."""

    project_id: str = ''
    since: datetime | None = None


COLUMNS = (project_cell.c.cell, project_cell.c.moving_to, project_cell.c.leaving, project_cell.c.numbers)
# Built once: a statement of each request, where there are cells.
_FIND = sa.select(*COLUMNS).where(project_cell.c.project_id == sa.bindparam('project'))


def find(tx: sa.Connection, project_id: str) -> ProjectPlace:
    """Where a project is. Primary key."""
    row = tx.execute(_FIND, {'project': project_id}).first()
    if row is None:
        return ProjectPlace(HOME)
    return ProjectPlace(row.cell, row.moving_to, row.leaving, _numbers(row.numbers))


def page(tx: sa.Connection, project_id: str | None = None) -> list[PlacedProject]:
    """All projects with a row, or this one, by id."""
    query = sa.select(*COLUMNS, project_cell.c.project_id, project_cell.c.since).order_by(project_cell.c.project_id)
    if project_id is not None:
        query = query.where(project_cell.c.project_id == project_id)
    return [PlacedProject(row.cell, row.moving_to, row.leaving, _numbers(row.numbers), row.project_id, row.since)
            for row in tx.execute(query)]


def counts(tx: sa.Connection) -> dict[str, int]:
    """Return the number of projects with a row, by cell. Index: (cell)."""
    return {row[0]: row[1] for row in tx.execute(
        sa.select(project_cell.c.cell, sa.func.count()).group_by(project_cell.c.cell))}


def put(tx: sa.Connection, project_id: str, place: ProjectPlace, now: datetime) -> None:
    """Store where a project is."""
    numbers = None if place.numbers is None else codec.encode({**asdict(place.numbers), 'last': list(
        place.numbers.last)})
    values = {'cell': place.cell, 'moving_to': place.moving_to, 'leaving': place.leaving, 'since': now,
              'numbers': numbers}
    if not tx.execute(project_cell.update().where(project_cell.c.project_id == project_id).values(**values)).rowcount:
        tx.execute(project_cell.insert().values(project_id=project_id, **values))


def _numbers(text: str | None) -> Numbers | None:
    return None if text is None else Numbers(**known_fields(Numbers, codec.decode(text)))
