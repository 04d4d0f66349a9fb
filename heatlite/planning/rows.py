"""The rows of a stack's resources during a traversal, and which row is the current one of each name.

A traversal may begin before all rows are read: the others are read when one of them is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set, ValuesView
from datetime import datetime

from heatlite.planning import steps
from heatlite.planning.states import NO_REQUIREMENTS, ResourceState
from heatlite.planning.steps import Desired


class Rows:
    def __init__(self, rows: Iterable[ResourceState], next_row: int,
                 read_all: Callable[[], Iterable[ResourceState]] | None = None) -> None:
        """`next_row`: the lowest number for new rows; `read_all`: reads all rows as they are stored, if `rows` are not
        all. Each thread may cause the call; a second call at the same time does no harm."""
        self.read = {row.id: row for row in rows}   # those in memory
        self._read_all = read_all
        self._unread: Set[str] | None = None        # names whose rows are not read; None: it is not known which
        self._removed: set[int] = set()             # while some are not read
        self._next = max([next_row, *(number + 1 for number in self.read)])
        self._ranking: tuple[str, str | None] = '', None
        self.current_numbers: dict[str, int] = {}   # of the rows in memory
        self._uuids = {row.uuid for row in self.read.values()}

    @property
    def by_number(self) -> dict[int, ResourceState]:
        """All rows. Reads the rest."""
        self.complete()
        return self.read

    def complete(self) -> None:
        """Read the rows that are not in memory. Those in memory stay as they are: only their owner has newer ones."""
        if self._read_all is None:
            return
        stored = [row for row in self._read_all() if row.id not in self._removed]
        for row in stored:
            self.read.setdefault(row.id, row)
            self._uuids.add(row.uuid)
        for name, number in steps.current_rows(stored, *self._ranking).items():
            self.current_numbers.setdefault(name, number)
        self._next = max([self._next, *(row.id + 1 for row in stored)])
        self._read_all = None                       # last: another thread may wait for nothing but this

    def take(self, rows: Iterable[ResourceState], next_row: int, unread: Set[str]) -> None:
        """Take over stored rows. `unread`: the names of all others, each of which has one row."""
        for row in rows:
            self.read.setdefault(row.id, row)
            self._uuids.add(row.uuid)
        self.current_numbers = steps.current_rows(self.read.values(), *self._ranking)
        self._next = max(self._next, next_row)
        self._unread = unread

    def choose_current(self, template_id: str, avoid_template_id: str | None) -> None:
        """Find the current rows for a target (`steps.current_rows`), among those in memory."""
        self._ranking = template_id, avoid_template_id
        self.current_numbers = steps.current_rows(self.read.values(), template_id, avoid_template_id)

    def row(self, number: int) -> ResourceState:
        """Return the row of that number. Raises KeyError."""
        found = self.read.get(number)
        if found is not None:
            return found
        if number in self._removed:
            raise KeyError(number)
        return self.by_number[number]

    def _number(self, name: str) -> int | None:
        number = self.current_numbers.get(name)
        if number is None and self._read_all is not None and (self._unread is None or name in self._unread):
            self.complete()
            number = self.current_numbers.get(name)
        return number

    def current(self, name: str) -> ResourceState | None:
        """Return the current row of that resource, or None."""
        number = self._number(name)
        return self.read.get(number) if number is not None else None

    def is_current(self, row: ResourceState) -> bool:
        return self._number(row.name) == row.id

    def requirements(self, desired: Desired) -> Mapping[str, int]:
        """Return the current rows of the resources that `desired` requires: {name: row number}."""
        found = {}
        for other in desired.requires:
            number = self._number(other)
            if number is not None:
                found[other] = number
        return found or NO_REQUIREMENTS

    def has_uuid(self, uuid: str) -> bool:
        """Whether a row in memory has that id, or had it before it was removed. Rows that are not read were there
        before the request whose new rows ask."""
        return uuid in self._uuids

    def set(self, row: ResourceState) -> ResourceState:
        self.read[row.id] = row
        return row

    def add(self, name: str, resource_type: str, uuid: str, template_id: str, replaces: int | None,
            now: datetime) -> ResourceState:
        """Add the row of a new object, and make it the current one of its name."""
        row = ResourceState(id=self._next, name=name, uuid=uuid, type=resource_type, replaces=replaces,
                            template_id=template_id, created_at=now)
        self._next += 1
        self._uuids.add(uuid)
        self.current_numbers[name] = row.id
        return self.set(row)

    def remove(self, row: ResourceState) -> None:
        if self._read_all is not None:
            self._removed.add(row.id)
        del self.read[row.id]
        if self.current_numbers.get(row.name) == row.id:
            del self.current_numbers[row.name]


class RowsView(Mapping[int, ResourceState]):
    """The rows by number, read-only. A single row in memory is found without reading the others."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __getitem__(self, number: int) -> ResourceState:
        return self._rows.row(number)

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows.by_number)

    def __len__(self) -> int:
        return len(self._rows.by_number)

    def values(self) -> ValuesView[ResourceState]:
        return self._rows.by_number.values()
