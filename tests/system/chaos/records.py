"""What is written down: by the things themselves (the ledger), by the database, and what both say in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa

from heatlite.db import postgresql_connections


@dataclass(frozen=True)
class Line:
    what: str                   # made, changed or deleted
    name: str
    process: int
    time: float                 # seconds since 1970
    note: str


class Ledger:
    def __init__(self, path: Path) -> None:
        self._path = path

    def lines(self) -> list[Line]:
        found = []
        for line in self._path.read_text().splitlines():
            what, name, process, when, *note = line.split(' ')
            found.append(Line(what, name, int(process), float(when), ' '.join(note)))
        return found

    def between(self, begin: float, end: float) -> int:
        """Calls into types in that time."""
        return sum(begin < line.time < end for line in self.lines())


@dataclass
class Things:
    """What the ledger says of all things ever made."""

    made: Counter[str] = field(default_factory=Counter)
    deleted: Counter[str] = field(default_factory=Counter)
    notes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: list[Line]) -> Things:
        found = cls()
        for line in lines:
            match line.what:
                case 'made':
                    found.made[line.name] += 1
                    found.notes[line.name] = line.note
                case 'changed':
                    found.notes[line.name] = line.note
                case 'deleted':
                    found.deleted[line.name] += 1
        return found

    @property
    def live(self) -> set[str]:
        return set(self.made) - set(self.deleted)

    @property
    def duplicated(self) -> list[str]:
        return sorted(name for name, count in self.made.items() if count > 1)


@dataclass(frozen=True)
class Lease:
    stack_id: str
    engine_id: str | None
    epoch: int
    wanted: bool


class Rows:
    """Looks into the database past everybody. It may be down at any time."""

    def __init__(self, *urls: str) -> None:
        """`urls`: of all nodes of the database; the first that answers is asked."""
        self._engines = [_mysql(url) if url.startswith('mysql') else _postgresql(url) for url in urls]

    def _all(self, statement: str) -> list[tuple]:
        for engine in self._engines:
            try:
                with engine.connect() as connection:
                    return [tuple(row) for row in connection.exec_driver_sql(statement)]
            except sa.exc.DBAPIError:
                if engine is self._engines[-1]:
                    raise
        raise AssertionError('no node is known')

    def leases(self) -> dict[str, Lease] | None:
        """None while the database is down."""
        try:
            rows = self._all('SELECT stack_id, engine_id, epoch, wanted FROM lease')
        except sa.exc.DBAPIError:
            return None
        return {row[0]: Lease(row[0], row[1], row[2], bool(row[3])) for row in rows}

    def leftovers(self) -> dict[str, int]:
        """Rows that belong to no live stack."""
        gone = 'stack_id NOT IN (SELECT id FROM stack WHERE live = 1)'
        quote = self._engines[0].dialect.identifier_preparer.quote          # `signal` is reserved in MariaDB
        return {table: int(self._all(f'SELECT COUNT(*) FROM {quote(table)} WHERE {gone}')[0][0])
                for table in ('resource', 'resource_data', 'signal')}

    def close(self) -> None:
        for engine in self._engines:
            engine.dispose()


def _mysql(url: str) -> sa.Engine:
    return sa.create_engine(url, isolation_level='AUTOCOMMIT', pool_pre_ping=True, pool_reset_on_return=None,
                            connect_args={'connect_timeout': 5, 'read_timeout': 5})


def _postgresql(url: str) -> sa.Engine:
    """Connects anew each time: a server that stands still would not answer in a connection that there is."""
    engine = sa.create_engine(url, isolation_level='AUTOCOMMIT', poolclass=sa.NullPool,
                              connect_args={'connect_timeout': 2, 'target_session_attrs': 'read-write'})
    postgresql_connections.use(engine)
    return engine


class User(Protocol):
    """Who owned a stack in the run."""

    wish: Any                   # the last accepted request; None: no stack
    stack_url: str

    def things(self) -> list[dict[str, Any]]: ...

    def delete(self) -> None: ...


@dataclass
class Reckoning:
    """What was found in the end. `lost`: not as the last accepted request wanted it; `orphaned`: no stack knows it."""

    things: int
    duplicated: list[str]
    lost: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    orphaned: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def reckon(ledger: Ledger, database_urls: Sequence[str], users: Sequence[User], is_stuck: bool) -> Reckoning:
    """What is there is what was wished; afterwards everything can be deleted, and nothing is left.

    `users`: those without problems. `is_stuck`: others had some, so that things without a stack may be theirs.
    """
    there = Things.of(ledger.lines())
    found, known = Reckoning(len(there.made), there.duplicated), set[str]()
    for user in users:
        listed = user.things()
        known.update(each['physical_resource_id'] for each in listed)
        if odd := [each for each in listed if not each['resource_status'].endswith('COMPLETE')
                   or each['physical_resource_id'] not in there.live]:
            found.lost.append(f'{user.stack_url}: {odd[:2]}')
        notes = sorted(there.notes.get(each['physical_resource_id'], '?') for each in listed)
        if user.wish is not None and notes != user.wish.notes():
            found.lost.append(f'{user.stack_url}: has {notes}, wished {user.wish.notes()}')
    if not is_stuck:
        found.orphaned = sorted(there.live - known)
    for user in users:
        if user.wish is not None:
            try:
                user.delete()
            except Exception as error:
                found.stuck.append(f'{user.stack_url}: {error}')
    if not is_stuck and not found.stuck:
        found.orphaned += sorted(Things.of(ledger.lines()).live - set(found.orphaned))
        rows = Rows(*database_urls)
        found.wrong = [f'{count} rows of {table} are left' for table, count in rows.leftovers().items() if count]
        rows.close()
    return found
