"""How much a database reads: counted, since times differ between machines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import sqlalchemy as sa

from heatlite.db.connection import Database

EVERY = 20                              # steps of SQLite's virtual machine between two calls


@dataclass
class Work:
    """What was executed on a database. `steps`: of SQLite's virtual machine, some for each row that it looks at, in
    whatever index or table; 0 for other databases."""

    statements: list[str] = field(default_factory=list)
    steps: int = 0

    def _count(self) -> None:
        self.steps += EVERY


@contextlib.contextmanager
def counted(database: Database) -> Iterator[Work]:
    """Count what is executed in the block, by any thread."""
    work, metered = Work(), set()

    def note(connection, _cursor, statement, *_rest):
        work.statements.append(statement)
        if connection.dialect.name == 'sqlite':
            metered.add(connection.connection.dbapi_connection)
            connection.connection.dbapi_connection.set_progress_handler(work._count, EVERY)

    engines = database._reading, database._writing
    for engine in engines:
        sa.event.listen(engine, 'before_cursor_execute', note)
    try:
        yield work
    finally:
        for engine in engines:
            sa.event.remove(engine, 'before_cursor_execute', note)
        for connection in metered:
            with contextlib.suppress(Exception):        # it is closed
                connection.set_progress_handler(None, EVERY)
