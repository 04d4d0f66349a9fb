"""Reads those rows of a stack that its update, or a question about one resource, needs, when it needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from sqlalchemy import Connection

from heatlite.db import resources
from heatlite.db.connection import Database
from heatlite.planning.states import ResourceState

T = TypeVar('T')


class UnreadRows:
    """The stored rows of a stack. Waits for the database.

    Where this engine drives the stack, it alone writes them. For a question, another engine may write them meanwhile:
    rows that are read later are newer."""

    def __init__(self, database: Database, stack_id: str) -> None:
        self.cached_values: dict[int, Mapping[str, object]] = {}  # those of `LeasedStack`
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

    def of_name(self, tx: Connection, name: str) -> list[ResourceState]:
        """Return all rows of one name, with their cached values. Two SELECTs in `tx`."""
        rows = resources.named(tx, self._stack_id, name)
        self._take(rows, resources.cached_values(tx, self._stack_id, [row.id for row in rows]) if rows else {})
        return rows

    def all(self) -> list[ResourceState]:
        """Return all rows, with the cached values of those that were not read. Two SELECTs."""
        def read(tx: Connection) -> tuple[list[ResourceState], dict[int, Mapping[str, object]]]:
            return resources.light(tx, self._stack_id), resources.cached_values(tx, self._stack_id)

        rows, cached_values = self._read(read)
        for number, values in cached_values.items():
            if number not in self._known:
                self.cached_values.setdefault(number, values)
        return rows

    def _with_values(self, find: Callable[[Connection], list[ResourceState]]) -> list[ResourceState]:
        def read(tx: Connection) -> tuple[list[ResourceState], dict[int, Mapping[str, object]]]:
            rows = [row for row in find(tx) if row.id not in self._known]
            return rows, resources.cached_values(tx, self._stack_id, [row.id for row in rows]) if rows else {}

        rows, cached_values = self._read(read)
        self._take(rows, cached_values)
        return rows

    def _take(self, rows: Iterable[ResourceState], cached_values: Mapping[int, Mapping[str, object]]) -> None:
        self.cached_values.update(cached_values)
        self._known.update(row.id for row in rows)

    def _read(self, read: Callable[[Connection], T]) -> T:
        return self._database.retry_until_available(read, reading=True)
