"""The rows of a stack's resources during a traversal, and which row is the current one of each name.

A traversal may begin before all rows are in memory. Nothing here reads the others: their owner fills them in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from datetime import datetime

from heatlite.planning import steps
from heatlite.planning.states import NO_REQUIREMENTS, ResourceState
from heatlite.planning.steps import Desired

NO_NAMES: frozenset[str] = frozenset()


class NotRead(LookupError):
    """A row that is not in memory is asked for. The owner of the rows fills them in, and asks again."""


class Rows:
    """One thread changes the rows, but for `set` and `fill`; others may ask meanwhile."""

    def __init__(self, rows: Iterable[ResourceState], next_row: int, is_partial: bool = False) -> None:
        """`next_row`: the lowest number for new rows; `is_partial`: `rows` are all rows of some names only."""
        self.in_memory = {row.id: row for row in rows}
        self._unread: Set[str] | None = None if is_partial else NO_NAMES    # names; None: all that are not in memory
        self._removed: set[int] = set()             # while some are not in memory
        self._next = max([next_row, *(number + 1 for number in self.in_memory)])
        self._ranking: tuple[str, str | None] = '', None
        self.current_numbers: dict[str, int] = {}   # of the rows in memory
        self._uuids = {row.uuid for row in self.in_memory.values()}

    @property
    def is_partial(self) -> bool:
        """Whether some rows are not in memory."""
        return self._unread is None or bool(self._unread)

    @property
    def by_number(self) -> dict[int, ResourceState]:
        """All rows. Raises NotRead."""
        if self.is_partial:
            raise NotRead
        return self.in_memory

    def fill(self, stored: Collection[ResourceState], unread: Set[str] = NO_NAMES, next_row: int = 0) -> set[int]:
        """Take over rows as they are stored, all of each name. Return the numbers of those that were not in memory.
        Rows in memory, and those removed since, are newer and stay.

        `unread`: the names of all other rows, each of which has one; `next_row`: the lowest number for new rows.
        Other threads may run before the first change, and none after it: several may fill in the rows at once.
        """
        numbers = steps.current_rows(stored, *self._ranking)
        if not self.is_partial:
            return set()                            # another thread has filled them in meanwhile
        added = {row.id: row for row in stored if row.id not in self.in_memory and row.id not in self._removed}
        self.in_memory.update(added)
        self._uuids.update(row.uuid for row in added.values())
        for name, number in numbers.items():
            if number in added:
                self.current_numbers.setdefault(name, number)
        self._next = max([self._next, next_row, *(number + 1 for number in added)])
        self._unread = unread
        return set(added)

    def choose_current(self, template_id: str, avoid_template_id: str | None) -> None:
        """Find the current rows for a target (`steps.current_rows`), among those in memory."""
        self._ranking = template_id, avoid_template_id
        self.current_numbers = steps.current_rows(tuple(self.in_memory.values()), template_id, avoid_template_id)

    def get(self, number: int) -> ResourceState | None:
        """Return the row of that number, or None. Raises NotRead."""
        row = self.in_memory.get(number)
        if row is None and self.is_partial and number not in self._removed:
            raise NotRead(number)
        return row

    def row(self, number: int) -> ResourceState:
        """Return the row of that number. Raises KeyError, NotRead."""
        row = self.get(number)
        if row is None:
            raise KeyError(number)
        return row

    def _number(self, name: str) -> int | None:
        number = self.current_numbers.get(name)
        if number is None and (self._unread is None or name in self._unread):
            raise NotRead(name)
        return number

    def current(self, name: str) -> ResourceState | None:
        """Return the current row of that resource, or None. Raises NotRead."""
        number = self._number(name)
        return self.in_memory.get(number) if number is not None else None

    def of_signal(self, name: str) -> ResourceState | None:
        """Return the row that a signal to that resource is for (`steps.row_of_signal`). Raises NotRead."""
        return self.current(name) or steps.row_of_signal(name, self.by_number.values(), *self._ranking)

    def is_current(self, row: ResourceState) -> bool:
        return self._number(row.name) == row.id

    def requirements(self, desired: Desired) -> Mapping[str, int]:
        """Return the current rows of the resources that `desired` requires: {name: row number}. Raises NotRead."""
        found = {}
        for other in desired.requires:
            number = self._number(other)
            if number is not None:
                found[other] = number
        return found or NO_REQUIREMENTS

    def has_uuid(self, uuid: str) -> bool:
        """Whether a row in memory has that id, or had it before it was removed. Rows that are not in memory were there
        before the request whose new rows ask."""
        return uuid in self._uuids

    def set(self, row: ResourceState) -> ResourceState:
        self.in_memory[row.id] = row
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
        if self.is_partial:
            self._removed.add(row.id)
        del self.in_memory[row.id]
        if self.current_numbers.get(row.name) == row.id:
            del self.current_numbers[row.name]
