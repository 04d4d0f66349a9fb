"""Which statements are executed, on any connection, and when."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa


@contextlib.contextmanager
def noted(is_wanted: Callable[[str], object]) -> Iterator[list[str]]:
    """Collect the statements of which `is_wanted` says so, while the block is executed."""
    seen: list[str] = []

    def note(_connection, _cursor, statement, *_rest):
        if is_wanted(statement):
            seen.append(statement)

    sa.event.listen(sa.Engine, 'before_cursor_execute', note)
    try:
        yield seen
    finally:
        sa.event.remove(sa.Engine, 'before_cursor_execute', note)


@contextlib.contextmanager
def delayed(runtime: Any, number: int, after: str) -> Iterator[None]:
    """The first thread that executes a statement with the text `after` waits before its statement of that number after
    it, counted from 1, for two seconds of the simulation."""
    universe, threads, left = runtime.universe, list[Any](), [number]

    def wait(_connection, _cursor, statement, *_rest):
        if threads == [universe.running]:
            left[0] -= 1
            if left[0] == 0:
                runtime.sleep(2.0)
        elif not threads and after in statement:
            threads.append(universe.running)

    sa.event.listen(sa.Engine, 'before_cursor_execute', wait)
    try:
        yield
    finally:
        sa.event.remove(sa.Engine, 'before_cursor_execute', wait)


@contextlib.contextmanager
def rows_fetched(is_wanted: Callable[[str], object]) -> Iterator[list[int]]:
    """Count the rows that SQLite returns for the statements of which `is_wanted` says so, while the block is executed.
    The list has one number for each statement."""
    found: list[int] = []

    def count(_connection, cursor, statement, *_rest):
        if is_wanted(statement):
            place = len(found)
            found.append(0)

            def one(_cursor, row):
                found[place] += 1
                return row

            cursor.row_factory = one

    sa.event.listen(sa.Engine, 'before_cursor_execute', count)
    try:
        yield found
    finally:
        sa.event.remove(sa.Engine, 'before_cursor_execute', count)
