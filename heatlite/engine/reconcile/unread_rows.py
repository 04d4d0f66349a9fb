"""Reads those rows of a stack that its update, or a question about one resource, needs, when it needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from heatlite.db import resources
from heatlite.db.connection import Database
from heatlite.planning.rows import NO_NAMES
from heatlite.planning.states import ResourceState

T = TypeVar('T')


@dataclass(frozen=True)
class ReadRows:
    """Rows as they are stored, all of each name, with their cached values by row number. Arguments of `Rows.fill`."""

    rows: Sequence[ResourceState]
    cached_values: Mapping[int, Mapping[str, object]]
    unread: Set[str] = NO_NAMES
    next_row: int = 0

    def __add__(self, other: ReadRows) -> ReadRows:
        """Return the rows of both, which have no name in common."""
        return ReadRows([*self.rows, *other.rows], {**self.cached_values, **other.cached_values})


NOTHING_READ = ReadRows((), {})


class UnreadRows:
    """The stored rows of a stack. Waits for the database. Has no state: what it reads belongs to the caller.

    Where this engine drives the stack, it alone writes them. For a question, another engine may write them meanwhile:
    rows that are read later are newer."""

    def __init__(self, database: Database, stack_id: str, is_driven: bool) -> None:
        """`is_driven`: by this engine, not read for a question."""
        self._database = database
        self._stack_id = stack_id
        self._rows = resources.light_in_parts if is_driven else resources.light

    def kinds(self) -> list[resources.AppliedType]:
        """Return the kinds of all rows. One SELECT."""
        return self._read(lambda tx: resources.kinds(tx, self._stack_id))

    def unlike_applied(self, types: Iterable[str]) -> ReadRows:
        """Return the rows that `resources.unlike_applied` finds. Two SELECTs."""
        return self._with_values(lambda tx: resources.unlike_applied(tx, self._stack_id, types))

    def of_names(self, names: Iterable[str]) -> ReadRows:
        """Return all rows of these names. Two SELECTs for each 500."""
        return self._with_values(lambda tx: resources.of_names(tx, self._stack_id, names))

    def of_name(self, tx: Connection, name: str) -> ReadRows:
        """Return all rows of one name. Two SELECTs in `tx`."""
        return self._add_values(tx, resources.named(tx, self._stack_id, name))

    def all(self) -> ReadRows:
        """Return all rows. Two SELECTs, or one more for each 10 000 rows."""
        return self._read(self.all_in)

    def all_in(self, tx: Connection) -> ReadRows:
        """As `all`, in `tx`."""
        rows = self._rows(tx, self._stack_id)
        return ReadRows(rows, resources.cached_values(tx, self._stack_id) if rows else {})

    def _with_values(self, find: Callable[[Connection], Sequence[ResourceState]]) -> ReadRows:
        return self._read(lambda tx: self._add_values(tx, find(tx)))

    def _add_values(self, tx: Connection, rows: Sequence[ResourceState]) -> ReadRows:
        numbers = [row.id for row in rows]
        return ReadRows(rows, resources.cached_values(tx, self._stack_id, numbers) if numbers else {})

    def _read(self, read: Callable[[Connection], T]) -> T:
        return self._database.retry_until_available(read, reading=True)
