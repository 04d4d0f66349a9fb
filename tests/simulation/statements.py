"""Which statements are executed, on any connection."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

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
