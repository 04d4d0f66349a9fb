"""Finds the current row of one resource of a stack (docs/spec/engine.rst, "The current row of a name").

Reads the rows of the names that match, not all of the stack. Never opens, commits or retries a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import sqlalchemy as sa

from heatlite.db import resources
from heatlite.db.stacks import StoredStack
from heatlite.planning.states import ResourceState
from heatlite.planning.steps import current_rows_of


def named(tx: sa.Connection, stack: StoredStack, name: str) -> ResourceState | None:
    """Index: (stack_id, name, id)."""
    return _first(stack, resources.named(tx, stack.id, name), lambda _row: True)


def with_physical_id(tx: sa.Connection, stack: StoredStack, physical_id: str) -> ResourceState | None:
    """Of several resources the one that was stored first. Indexes: (physical_id) and (stack_id, name, id)."""
    names = resources.names_with_physical_id(tx, stack.id, physical_id)
    return _first(stack, _of(tx, stack, names), lambda row: row.physical_id == physical_id)


def with_cached_value(tx: sa.Connection, stack: StoredStack, key: str, value: str) -> ResourceState | None:
    """Return the resource whose attribute cache has this value; of several the one that was stored first. Reads and
    decodes the caches of all rows of the stack: they may be encrypted."""
    names = resources.names_with_cached_value(tx, stack.id, key, value)
    return _first(stack, _of(tx, stack, names.values()), lambda row: row.id in names)


def _of(tx: sa.Connection, stack: StoredStack, names: Iterable[str]) -> list[ResourceState]:
    return sorted(resources.of_names(tx, stack.id, names), key=lambda row: row.id)


def _first(stack: StoredStack, rows: Iterable[ResourceState],
           is_wanted: Callable[[ResourceState], bool]) -> ResourceState | None:
    found = {row.id: row for row in rows}
    current = (found[number] for number in current_rows_of(stack, found.values()).values())
    return next(filter(is_wanted, current), None)
