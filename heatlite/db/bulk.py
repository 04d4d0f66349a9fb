"""Writes and reads many rows in few round trips, by statements prepared as text for each dialect.

For the statements that run for every resource; compiling an expression would cost more than running it. MySQL and
PostgreSQL spell parameters %s, SQLite ?; each has its own upsert.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import TypeVar

import sqlalchemy as sa

from heatlite.db.gathered import Gathered

T = TypeVar('T')

TOGETHER = 'together'                       # execution option: rows by table and columns
LAST = 'SELECT 0'                           # what a message of several statements ends with: it changes nothing
AT_ONCE = 500                               # values in an IN list, rows in a statement


class Times:
    """Times as all databases read them. SQLite compares them as texts, so all have the same length."""

    __slots__ = ('_known',)

    def __init__(self) -> None:
        self._known: dict[datetime, str] = {}       # rows written together share most of their times

    def __call__(self, at: datetime | None) -> str | None:
        if at is None:
            return None
        text = self._known.get(at)
        if text is None:
            text = self._known[at] = at.isoformat(' ', 'microseconds')
        return text


class Texts:
    """The statements for one dialect."""

    def __init__(self, dialect: str) -> None:
        self.dialect = 'mysql' if dialect == 'mariadb' else dialect
        self.mark = '?' if dialect == 'sqlite' else '%s'
        self._made: dict[tuple[object, ...], tuple[str, str]] = {}

    def quoted(self, name: str) -> str:
        """Quote a name that is a reserved word in some dialect."""
        return f'`{name}`' if self.dialect == 'mysql' else f'"{name}"'

    def marks(self, count: int) -> str:
        return ', '.join([self.mark] * count)

    def run(self, tx: sa.Connection, text: str, values: tuple[object, ...]) -> sa.CursorResult[tuple[object, ...]]:
        return tx.exec_driver_sql(text, values)

    def select(self, tx: sa.Connection, columns: str, table: str, key: str, values: Sequence[object],
               lock: bool = False) -> Iterable[sa.Row[tuple[object, ...]]]:
        """Select rows in the order of `key`, so that all transactions lock several rows in the same order."""
        locking = ' FOR UPDATE' if lock and self.dialect != 'sqlite' else ''
        return tx.exec_driver_sql(f'SELECT {columns} FROM {table} WHERE {key} IN ({self.marks(len(values))}) '
                                  f'ORDER BY {key}{locking}', tuple(values))

    def insert(self, tx: sa.Connection, table: str, columns: Sequence[str], rows: Iterable[tuple[object, ...]]) -> None:
        """Insert rows; within `together`, at its end. Other threads run between two statements: make thousands of rows
        by an iterator, which makes those of a statement at a time."""
        gathered = tx.get_execution_options().get(TOGETHER)
        if gathered is not None:
            gathered.setdefault((table, columns), []).extend(rows)
            return
        key = ('insert', table, columns)
        text = self._made.get(key)
        if text is None:
            text = self._made[key] = self._head(table, columns), ''
        self._many(tx, text, rows)

    def upsert(self, tx: sa.Connection, table: str, columns: tuple[str, ...], primary_key: Sequence[str],
               rows: list[tuple[object, ...]], kept: Collection[str] = (), counted: str = '') -> None:
        """Insert rows, or overwrite all columns but the key and `kept`; then the column `counted` grows by one.

        No two rows may have the same key.
        """
        if not rows:
            return
        key = ('upsert', table, columns, tuple(primary_key), tuple(kept), counted)
        text = self._made.get(key)
        if text is None:
            text = self._made[key] = self._upsert(table, columns, primary_key, kept, counted)
        self._many(tx, text, rows)

    def merge(self, tx: sa.Connection, table: str, columns: tuple[str, ...], primary_key: Sequence[str],
              rows: list[tuple[object, ...]], how: Mapping[str, str]) -> None:
        """Insert rows, or merge them into existing ones. `how`: {column: sum, least or greatest}.

        Give rows in the order of the key, so that all transactions lock them in the same order; no two with one key.
        """
        if not rows:
            return
        key = ('merge', table, columns, tuple(primary_key), tuple(how.items()))
        text = self._made.get(key)
        if text is None:
            text = self._made[key] = self._merge(table, columns, primary_key, how)
        self._many(tx, text, rows)

    def _merge(self, table: str, columns: Sequence[str], primary_key: Sequence[str],
               how: Mapping[str, str]) -> tuple[str, str]:
        names = {'sum': '', 'least': 'min' if self.dialect == 'sqlite' else 'least',
                 'greatest': 'max' if self.dialect == 'sqlite' else 'greatest'}
        new = 'VALUES({})' if self.dialect == 'mysql' else 'excluded.{}'
        sets = []
        for column, kind in how.items():
            old, given = f'{table}.{self.quoted(column)}', new.format(self.quoted(column))
            value = f'{old} + {given}' if kind == 'sum' else f'{names[kind]}({old}, {given})'
            sets.append(f'{self.quoted(column)} = {value}')
        conflict = (' ON DUPLICATE KEY UPDATE ' if self.dialect == 'mysql'
                    else f' ON CONFLICT ({", ".join(map(self.quoted, primary_key))}) DO UPDATE SET ')
        return self._head(table, columns), conflict + ', '.join(sets)

    def _head(self, table: str, columns: Sequence[str]) -> str:
        return f'INSERT INTO {table} ({", ".join(map(self.quoted, columns))}) VALUES '

    def _upsert(self, table: str, columns: Sequence[str], primary_key: Sequence[str], kept: Collection[str],
                counted: str) -> tuple[str, str]:
        """Return the parts of the statement before and after the values."""
        changed = [self.quoted(name) for name in columns if name not in kept and name not in primary_key]
        if self.dialect == 'mysql':
            sets = [f'{name} = VALUES({name})' for name in changed]
            conflict = ' ON DUPLICATE KEY UPDATE '
        else:
            sets = [f'{name} = excluded.{name}' for name in changed]
            conflict = f' ON CONFLICT ({", ".join(map(self.quoted, primary_key))}) DO UPDATE SET '
        if counted:
            sets.append(f'{counted} = {table}.{counted} + 1')
        return self._head(table, columns), conflict + ', '.join(sets)

    def _many(self, tx: sa.Connection, text: tuple[str, str], rows: Iterable[tuple[object, ...]]) -> None:
        """Write rows by one statement for AT_ONCE of them, which PyMySQL and sqlite3 put together, and psycopg2 does
        not."""
        for chunk in chunks(rows):
            one = f'({self.marks(len(chunk[0]))})'
            if self.dialect != 'postgresql':
                tx.exec_driver_sql(f'{text[0]}{one}{text[1]}', chunk)
            else:
                tx.exec_driver_sql(f'{text[0]}{", ".join([one] * len(chunk))}{text[1]}',
                                   tuple([value for row in chunk for value in row]))


@contextmanager
def together(tx: sa.Connection) -> Iterator[None]:
    """Gather the rows of `Texts.insert`, and insert them at the end by one statement for each table with its columns.

    Nothing within may read or change these rows."""
    gathered: dict[tuple[str, Sequence[str]], list[tuple[object, ...]]] = {}
    tx.execution_options(**{TOGETHER: gathered})
    try:
        yield
    finally:
        tx.execution_options(**{TOGETHER: None})
    with one_message(tx):
        for (table, columns), rows in gathered.items():
            texts(tx.dialect.name).insert(tx, table, columns, rows)


@contextmanager
def one_message(tx: sa.Connection, with_commit: bool = False) -> Iterator[None]:
    """Send the statements of the block as one message at its end, where the driver can. Another thread that is busy
    delays each of them otherwise.

    They must return no rows, and nothing may ask how many rows they have affected. The end raises what they raise.
    `with_commit`: they may be sent with what follows, and at last with the commit, which raises their errors then."""
    gathered: Gathered | None = getattr(tx.connection.driver_connection, 'gathered', None)
    if gathered is None:
        yield
        return
    gathered.is_wanted = True
    try:
        yield
    except BaseException:
        gathered.discard()
        raise
    gathered.is_wanted = False
    if gathered and not with_commit:
        tx.exec_driver_sql(LAST).close()


@cache
def texts(dialect: str) -> Texts:
    return Texts(dialect)


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """Yield the values in lists of at most AT_ONCE, made when they are asked for."""
    left = iter(values)
    while chunk := list(itertools.islice(left, AT_ONCE)):
        yield chunk
