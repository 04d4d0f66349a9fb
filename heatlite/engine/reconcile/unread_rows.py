"""Reads those rows of a stack that its update needs, when it needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from sqlalchemy import Connection

from heatlite.db import resources
from heatlite.db.connection import Database
from heatlite.planning.states import ResourceState

T = TypeVar('T')


class UnreadRows:
    """The stored rows of a stack that this engine has leased, which alone writes them. Waits for the database."""

    def __init__(self, database: Database, stack_id: str) -> None:
        self.kept: dict[int, Mapping[str, object]] = {}    # the attribute cache of the stack (`LeasedStack.kept`)
        self._database = database
        self._stack_id = stack_id
        self._known: set[int] = set()               # rows that were read, whose cached values may have changed since

    def kinds(self) -> list[resources.AppliedType]:
        """Return the kinds of all rows. One SELECT."""
        return self._read(lambda tx: resources.kinds(tx, self._stack_id))

    def unlike_applied(self, types: Iterable[str]) -> list[ResourceState]:
        """Return the rows that `resources.unlike_applied` finds, with their cached values. Two SELECTs."""
        return self._with_values(lambda tx: resources.unlike_applied(tx, self._stack_id, types))

    def of_names(self, names: Iterable[str]) -> list[ResourceState]:
        """Return all rows of these names, with their cached values. Two SELECTs for each 500."""
        return self._with_values(lambda tx: resources.of_names(tx, self._stack_id, names))

    def all(self) -> list[ResourceState]:
        """Return all rows, with the cached values of those that were not read. Two SELECTs."""
        def read(tx: Connection) -> tuple[list[ResourceState], dict[int, Mapping[str, object]]]:
            return resources.light(tx, self._stack_id), resources.kept_values(tx, self._stack_id)

        rows, kept = self._read(read)
        for number, values in kept.items():
            if number not in self._known:
                self.kept.setdefault(number, values)
        return rows

    def _with_values(self, find: Callable[[Connection], list[ResourceState]]) -> list[ResourceState]:
        def read(tx: Connection) -> tuple[list[ResourceState], dict[int, Mapping[str, object]]]:
            rows = [row for row in find(tx) if row.id not in self._known]
            return rows, resources.kept_values(tx, self._stack_id, [row.id for row in rows]) if rows else {}

        rows, kept = self._read(read)
        self.kept.update(kept)
        self._known.update(row.id for row in rows)
        return rows

    def _read(self, read: Callable[[Connection], T]) -> T:
        return self._database.retry_until_available(read, reading=True)
