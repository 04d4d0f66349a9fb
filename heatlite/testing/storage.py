"""The databases of a simulation: real ones, whose statements give way and whose locks are waited for in virtual time.

`SqliteFile` is a file of the simulation's own. `DatabaseServer` is a database on MariaDB or PostgreSQL, where writers
exclude each other by row: a statement that needs a lock held by another transaction is refused by the server at once,
and executed again once a transaction has ended.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa
from oslo_db import exception as db_exception
from sqlalchemy import Connection
from sqlalchemy.engine.interfaces import DBAPICursor, ExecutionContext

from heatlite.common import exception
from heatlite.common.runtime import Flag
from heatlite.db import sync
from heatlite.db.connection import Database
from heatlite.db.errors import Contention
from heatlite.db.server_connections import IDLE, LOCK_WAIT
from heatlite.db.tables import metadata
from heatlite.testing.runtime import SimulatedRuntime, Universe

Seal = Callable[[str], str]

SHARED_MEMORY = '/dev/shm'
LOCKED = (1205, '55P03')                # what servers answer at once: MariaDB with a wait of 0 s, PostgreSQL
ENDED = 1180                            # ... to a SKIP LOCKED now and then, instead: it has ended the transaction
SAVEPOINT = 'simulation'


class Outage(exception.DatabaseUnavailable):
    """The database is away because the simulation says so."""


class CompiledStatements(dict[tuple[object, ...], object]):
    """Compiled statements of all databases of one kind in this process.

    The library caches them for each engine. A simulation opens several databases, and most tests make many simulations:
    compiling each statement for each of them again was a third of their CPU time. Dialects of one kind compile alike
    here, so the key is used without its first item, the dialect.
    """

    def get(self, key: tuple[object, ...], default: object = None) -> object:
        return super().get(key[1:], default)

    def __setitem__(self, key: tuple[object, ...], compiled: object) -> None:
        super().__setitem__(key[1:], compiled)


COMPILED: defaultdict[str, CompiledStatements] = defaultdict(CompiledStatements)


class Visits(Protocol):
    """The points of a simulation at which processes die and the database goes away (`cluster.Chaos`)."""

    def point(self, label: str, runtime: SimulatedRuntime) -> None: ...

    def visit(self, label: str, runtime: SimulatedRuntime) -> None: ...


class SimDatabase(Database):
    """Every commit has two points: right before it, and right after. The database may go away at those, too - after a
    commit it is not reported - and before anything is read. As with a server, every statement gives way twice: before
    it is carried out, and before its answer is back."""

    def __init__(self, url: str, runtime: SimulatedRuntime, chaos: Visits, seal: Seal | None,
                 seal_sources: bool = True) -> None:
        super().__init__(url, now=runtime.universe.database_time, sleep=runtime.sleep, seal=seal,
                         seal_sources=seal_sources, max_overflow=-1)
        self.runtime, self._chaos = runtime, chaos
        self._open: list[Connection] = []                   # transactions that are open for writing
        self._broken: set[Connection] = set()               # those that the server has ended
        compiled = COMPILED[self.dialect]
        self._writing = self._writing.execution_options(compiled_cache=compiled)
        self._reading = self._reading.execution_options(compiled_cache=compiled)
        for engine in (self._reading, self._writing):
            sa.event.listen(engine, 'before_cursor_execute', self._round_trip)
            sa.event.listen(engine, 'after_cursor_execute', self._round_trip)
        runtime.on_kill.append(self.break_off)

    def separate(self) -> Database:
        return self

    def break_off(self) -> None:
        """Roll back what is open for writing, as a server does when its client is gone."""
        for transaction in [*self._open]:
            self._break_off(transaction)

    def _break_off(self, transaction: Connection) -> None:
        self._open.remove(transaction)
        self._broken.add(transaction)
        connection = transaction.connection.dbapi_connection
        if connection is not None:
            connection.rollback()
        self._has_ended()

    def _has_ended(self) -> None:
        """Note that a transaction was committed, was rolled back, or will be before any other thread continues."""

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        self._chaos.visit('reading', self.runtime)
        with self._observed(), super().reader() as tx:
            yield tx

    @contextmanager
    def writer(self) -> Iterator[Connection]:
        try:
            with self._observed(), super().writer() as tx:
                self._open.append(tx)
                try:
                    yield tx
                    self._chaos.point('before a commit', self.runtime)
                    self._chaos.visit('before a commit', self.runtime)
                    self._check_open(tx)
                finally:
                    self._broken.discard(tx)
                    if tx in self._open:
                        self._open.remove(tx)
                        self._has_ended()
        finally:
            self.runtime.universe.commits += 1
        self._chaos.point('after a commit', self.runtime)
        self._chaos.visit('after a commit', self.runtime)

    @contextmanager
    def _observed(self) -> Iterator[None]:
        """End the simulation if the real database fails: in virtual time it would be asked again without end."""
        try:
            with _unwrapped():
                yield
        except exception.DatabaseUnavailable as error:
            if not isinstance(error, (Outage, Contention)) and not self.runtime.dead:
                self.runtime.universe.failure = error
            raise

    def _round_trip(self, tx: Connection, cursor: DBAPICursor, statement: str, *more: object) -> None:
        if statement.startswith('BEGIN'):           # that one goes with the first statement behind it
            return
        try:
            self.runtime.give_way()
        except BaseException:                       # killed: the library drops the connection, and SQLite keeps its
            cursor.close()                          # lock as long as a statement of it is open
            connection = tx.connection.dbapi_connection
            if connection is not None:
                connection.rollback()
            raise
        self._check_open(tx)

    def _check_open(self, tx: Connection) -> None:
        if tx in self._broken:
            raise Outage(reason='the server has ended the transaction')


class Storage(Protocol):
    """Where the processes of one simulation store what they write."""

    def open(self, runtime: SimulatedRuntime, chaos: Visits, seal: Seal | None, seal_sources: bool) -> SimDatabase:
        """Return the database as that process reaches it."""

    def close(self) -> None: ...


# --- SQLite ------------------------------------------------------------------------------------------------

class WriteLock:
    """SQLite's lock for writers, shared by all processes of a simulation, which wait for it in virtual time.

    A server ends the transaction of a process that has died, and of one that stands still while others wait.
    """

    TIMEOUT = 10.0                             # seconds until a waiting writer is refused, as a server does

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._holder: tuple[SqliteDatabase, object] | None = None
        self._freed: list[Flag] = []

    def acquire(self, wanting: SqliteDatabase) -> object | None:
        """Return what `release` takes; None: the lock was not to be had in time."""
        end = self._universe.time + self.TIMEOUT
        while self._holder is not None:
            holder, _ = self._holder
            if self._universe.running is None:          # the test itself: its simulation goes on until then
                assert self._universe.run(lambda: self._holder is None, self.TIMEOUT), 'a transaction does not end'
            elif holder.runtime.is_frozen:
                holder.break_off()
            elif self._universe.time >= end:
                return None
            else:
                freed = wanting.runtime.flag()
                self._freed.append(freed)
                freed.wait(1.0)
        token = object()
        self._holder = wanting, token
        return token

    def release(self, token: object | None) -> None:
        if self._holder is not None and self._holder[1] is token:
            self._holder = None
            freed, self._freed = self._freed, []
            for each in freed:
                each.set()


class SqliteDatabase(SimDatabase):
    def __init__(self, lock: WriteLock, url: str, runtime: SimulatedRuntime, chaos: Visits, seal: Seal | None,
                 seal_sources: bool = True) -> None:
        super().__init__(url, runtime, chaos, seal, seal_sources)
        self._lock = lock
        self._token: object | None = None

    @contextmanager
    def _turn(self) -> Iterator[None]:
        token = self._lock.acquire(self)
        if token is None:
            raise Contention(reason='another transaction does not end')
        self._token = token
        try:
            yield
        finally:
            self._lock.release(token)

    def _has_ended(self) -> None:
        self._lock.release(self._token)


class SqliteFile:
    """A new database in memory that processes share."""

    def __init__(self, universe: Universe) -> None:
        self._folder = tempfile.TemporaryDirectory(dir=SHARED_MEMORY if os.path.isdir(SHARED_MEMORY) else None)
        self.url = _fresh_file(Path(self._folder.name))
        self._lock = WriteLock(universe)

    def open(self, runtime: SimulatedRuntime, chaos: Visits, seal: Seal | None, seal_sources: bool) -> SimDatabase:
        return SqliteDatabase(self._lock, self.url, runtime, chaos, seal, seal_sources)

    def close(self) -> None:
        self._folder.cleanup()


_TEMPLATE_FILE: list[bytes] = []


def _fresh_file(folder: Path) -> str:
    """Return a copy of an empty database: making the tables anew would be most of a short run."""
    path = folder / 'heatlite.sqlite'
    if not _TEMPLATE_FILE:
        made = Database(f'sqlite:///{path}')
        sync.up(made)
        with made.writer() as tx:
            refuse_long_texts(tx)
        made.close()
        with Database(f'sqlite:///{path}').writer() as tx:
            tx.exec_driver_sql('SELECT 1')
        _TEMPLATE_FILE.append(path.read_bytes())
    path.write_bytes(_TEMPLATE_FILE[0])
    return f'sqlite:///{path}'


def refuse_long_texts(tx: Connection) -> None:
    """Make a database of SQLite refuse texts that are longer than their column, as MariaDB and PostgreSQL do: it
    ignores the lengths of columns itself."""
    for table in metadata.sorted_tables:
        for column in table.columns:
            most = column.type.length if isinstance(column.type, sa.String) else None
            if most is None:
                continue
            for change in ('INSERT', f'UPDATE OF "{column.name}"'):
                tx.exec_driver_sql(
                    f'CREATE TRIGGER "{table.name}_{column.name}_{change[:6]}" BEFORE {change} ON "{table.name}" '
                    f'WHEN length(NEW."{column.name}") > {most} BEGIN SELECT RAISE(ABORT, '
                    f"'Data too long for column {table.name}.{column.name}'); END")


# --- a server ------------------------------------------------------------------------------------------------

class DatabaseServer:
    """A database on a server, which this simulation has for itself; it is emptied at the beginning."""

    def __init__(self, universe: Universe, url: str) -> None:
        self.url = url
        self.universe = universe
        self._databases: list[ServerDatabase] = []
        self._waiting: set[Connection] = set()
        self._flags: list[Flag] = []
        _empty(url)

    def open(self, runtime: SimulatedRuntime, chaos: Visits, seal: Seal | None, seal_sources: bool) -> SimDatabase:
        self._databases.append(ServerDatabase(self, self.url, runtime, chaos, seal, seal_sources))
        return self._databases[-1]

    def close(self) -> None:
        self._databases.clear()

    def has_ended(self) -> None:
        """Note that a transaction has ended: whatever waits for its locks may try again."""
        flags, self._flags = self._flags, []
        for each in flags:
            each.set()

    def wait(self, runtime: SimulatedRuntime, tx: Connection, end: float) -> bool:
        """Wait until a transaction has ended, for a second at most. False at `end`, and when all transactions wait."""
        if [each for each in self._databases if each.break_off_idle()]:
            return True
        if self.universe.time >= end:
            return False
        self._waiting.add(tx)
        try:
            if self._waiting.issuperset(each for database in self._databases for each in database.transactions):
                return False
            freed = runtime.flag()
            self._flags.append(freed)
            if self.universe.running is None:           # the test itself: its simulation goes on until then
                self.universe.run(freed.is_set, 1.0)
            else:
                freed.wait(1.0)
        finally:
            self._waiting.discard(tx)
        return True


class DriverCursor(Protocol):
    """What is used of a cursor of a driver."""

    @property
    def connection(self) -> DriverConnection: ...

    def execute(self, statement: str, parameters: object = None, /) -> object: ...

    def executemany(self, statement: str, parameters: object, /) -> object: ...

    def __enter__(self) -> DriverCursor: ...

    def __exit__(self, *error: object) -> object: ...


class DriverConnection(Protocol):
    """What is used of a connection of a driver."""

    def cursor(self) -> DriverCursor: ...

    def commit(self) -> object: ...


class ServerDatabase(SimDatabase):
    """On MariaDB or PostgreSQL. A statement waits in virtual time for locks that other transactions hold."""

    def __init__(self, server: DatabaseServer, url: str, runtime: SimulatedRuntime, chaos: Visits, seal: Seal | None,
                 seal_sources: bool = True) -> None:
        super().__init__(url, runtime, chaos, seal, seal_sources)
        self._server = server
        self._used: dict[Connection, float] = {}            # when each open transaction had its last statement
        sa.event.listen(self._writing, 'connect', self._do_not_wait)
        sa.event.listen(self._writing, 'do_execute', self._execute)
        sa.event.listen(self._writing, 'do_executemany', self._execute_many)

    @property
    def transactions(self) -> list[Connection]:
        """Those that are open for writing."""
        return self._open

    def break_off_idle(self) -> bool:
        """Roll back the transactions without a statement for longer than a server accepts. Whether there were any."""
        now = self.runtime.universe.time
        idle = [each for each in self._open if now - self._used.get(each, now) > IDLE]
        for transaction in idle:
            self._break_off(transaction)
        return bool(idle)

    def _has_ended(self) -> None:
        self._used = {each: since for each, since in self._used.items() if each in self._open}
        self._server.has_ended()

    def _do_not_wait(self, connection: DriverConnection, _record: object) -> None:
        """Lock, and transactions without a statement, are waited for in virtual time only (`DatabaseServer.wait`)."""
        with connection.cursor() as cursor:
            if self.dialect == 'mysql':
                cursor.execute('SET SESSION innodb_lock_wait_timeout = 0, SESSION idle_transaction_timeout = 0')
            else:
                cursor.execute("SET lock_timeout = '1ms'; SET idle_in_transaction_session_timeout = 0")
        connection.commit()

    def _execute(self, cursor: DriverCursor, statement: str, parameters: object, context: ExecutionContext) -> bool:
        self._until_free(cursor, context, lambda: cursor.execute(statement, parameters))
        return True

    def _execute_many(self, cursor: DriverCursor, statement: str, parameters: object,
                      context: ExecutionContext) -> bool:
        self._until_free(cursor, context, lambda: cursor.executemany(statement, parameters))
        return True

    def _until_free(self, cursor: DriverCursor, context: ExecutionContext, execute: Callable[[], object]) -> None:
        """Execute a statement, again for as long as it needs a lock that another transaction holds."""
        tx = context.root_connection
        end = self.runtime.universe.time + LOCK_WAIT
        while True:
            self._used[tx] = self.runtime.universe.time
            with cursor.connection.cursor() as beside:      # what an error has left undone, half a statement, is undone
                beside.execute(f'SAVEPOINT {SAVEPOINT}')
                try:
                    execute()
                    return
                except Exception as error:
                    if error.args[:1] == (ENDED,):
                        raise Contention(reason=str(error)) from error
                    if not _is_locked(error):
                        raise
                    beside.execute(f'ROLLBACK TO SAVEPOINT {SAVEPOINT}')
                    if not self._server.wait(self.runtime, tx, end):
                        raise
            self._check_open(tx)


def _is_locked(error: Exception) -> bool:
    return (*error.args, None)[0] in LOCKED or getattr(error, 'pgcode', None) in LOCKED


def _empty(url: str) -> None:
    """Make the tables of a database, or remove all their rows; numbers of rows begin with one."""
    database = Database(url)
    try:
        sync.up(database)
        with database.writer() as tx:
            names = [tx.dialect.identifier_preparer.quote(table.name) for table in metadata.sorted_tables]
            if database.dialect == 'postgresql':
                tx.exec_driver_sql(f'TRUNCATE {", ".join(names)} RESTART IDENTITY CASCADE')
                return
            tx.exec_driver_sql('SET SESSION foreign_key_checks = 0')
            for name in names:
                if tx.exec_driver_sql(f'SELECT 1 FROM {name} LIMIT 1').first() is not None:
                    tx.exec_driver_sql(f'TRUNCATE {name}')
    finally:
        database.close()


@contextmanager
def _unwrapped() -> Iterator[None]:
    """Raise an outage that begins within a statement: it comes out of the library as an error of its own."""
    try:
        yield
    except db_exception.DBError as error:
        if isinstance(error.inner_exception, exception.DatabaseUnavailable):
            raise error.inner_exception from None
        raise
