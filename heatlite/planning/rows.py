"""The rows of a stack's resources during a traversal, and which row is the current one of each name."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from heatlite.planning import steps
from heatlite.planning.states import ResourceState
from heatlite.planning.steps import Desired


class Rows:
    def __init__(self, rows: Iterable[ResourceState], next_row: int) -> None:
        """`next_row`: the lowest number for new rows."""
        self.by_number = {row.id: row for row in rows}
        self._next = max([next_row, *(number + 1 for number in self.by_number)])
        self.current_numbers: dict[str, int] = {}
        self._uuids = {row.uuid for row in self.by_number.values()}

    def choose_current(self, template_id: str, avoid_template_id: str | None) -> None:
        """Find the current rows for a target (`steps.current_rows`)."""
        self.current_numbers = steps.current_rows(self.by_number.values(), template_id, avoid_template_id)

    def current(self, name: str) -> ResourceState | None:
        """Return the current row of that resource, or None."""
        number = self.current_numbers.get(name)
        return self.by_number.get(number) if number is not None else None

    def is_current(self, row: ResourceState) -> bool:
        return self.current_numbers.get(row.name) == row.id

    def requirements(self, wanted: Desired) -> dict[str, int]:
        """Return the current rows of the resources that `wanted` requires: {name: row number}."""
        found = {}
        for other in wanted.requires:
            number = self.current_numbers.get(other)
            if number is not None:
                found[other] = number
        return found

    def has_uuid(self, uuid: str) -> bool:
        """Whether a row has that id, or had it before it was removed in this traversal."""
        return uuid in self._uuids

    def set(self, row: ResourceState) -> ResourceState:
        self.by_number[row.id] = row
        return row

    def add(self, name: str, kind: str, uuid: str, template_id: str, replaces: int | None,
            now: datetime) -> ResourceState:
        """Add the row of a new object, and make it the current one of its name."""
        row = ResourceState(id=self._next, name=name, uuid=uuid, type=kind, replaces=replaces, template_id=template_id,
                            created_at=now)
        self._next += 1
        self._uuids.add(uuid)
        self.current_numbers[name] = row.id
        return self.set(row)

    def remove(self, row: ResourceState) -> None:
        del self.by_number[row.id]
        if self.is_current(row):
            del self.current_numbers[row.name]
