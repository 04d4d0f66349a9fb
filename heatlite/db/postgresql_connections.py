"""psycopg2 connections to the first of several servers that answers as the URL demands.

The PostgreSQL library tries the hosts of a URL in turn, and leaves one that says nothing after `connect_timeout`. It
does so only where it waits itself. Services wait for it, so that other green threads run meanwhile, and then it would
wait for a frozen host for ever, and never try the next one. So each host is tried by itself here, under a time limit.
The library would block all green threads while it looks up a name, so that is done here, too.

The library sends the BEGIN of a transaction by itself. Here it is sent with the first statement.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

import psycopg2
import sqlalchemy as sa
from oslo_db.sqlalchemy import engines as oslo_engines
from psycopg2 import extensions

from heatlite.common import host_lookups
from heatlite.db import codec, server_connections
from heatlite.db.gathered import SEPARATOR, Gathered
from heatlite.db.pooling import with_pooling

CONNECT = 5                     # seconds without a reply for each of several hosts, unless the URL has connect_timeout
LISTS: Final = ('host', 'hostaddr', 'port')     # parameters with a value for each host, commas between
# target_session_attrs unless the URL has another one. A stand-by is behind its primary, so not even reads may go to it;
# and a connection to it would stay in the pool.
WRITABLE = 'read-write'
BEGIN: Final = b'BEGIN ISOLATION LEVEL READ COMMITTED'          # whatever the server's default is


def make_engine(url: sa.URL, reading: bool, options: Mapping[str, object]) -> sa.Engine:
    options = {name: value for name, value in options.items() if not name.startswith('mysql_')}
    url = url.update_query_dict({'target_session_attrs': WRITABLE, **url.query})
    engine: sa.Engine = oslo_engines.create_engine(with_pooling(url), thread_checkin=False, **options)
    use(engine)
    replace_nul(engine)
    if server_connections.is_cooperative():
        extensions.set_wait_callback(partial(let_others_run, silence=server_connections.SILENCE))

    @sa.event.listens_for(engine, 'connect')
    def _prepare(connection: extensions.connection, _record: object) -> None:
        if reading:
            connection.autocommit = True
            return
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{server_connections.LOCK_WAIT}s'; "
                           f"SET idle_in_transaction_session_timeout = '{server_connections.IDLE}s'")
        connection.commit()
    return engine


class PostgresqlConnection(extensions.connection):        # type: ignore[misc]
    """`patience`: seconds without a reply until it is given up; None: those of all connections.

    It is shorter while the connection is made or tested, which no server needs long for. `autocommit`: whether each
    statement is a transaction, in the place of the library's attribute of this name.
    """

    patience: float | None = None
    autocommit: bool = False

    def __init__(self, dsn: str, *given: object) -> None:
        timeout = extensions.parse_dsn(dsn).get('connect_timeout')
        self.patience = float(timeout) if timeout else None
        super().__init__(dsn, *given)
        self.patience = None
        self.set_session(autocommit=True)       # the library sends no BEGIN
        self.cursor_factory = PostgresqlCursor
        self.gathered = Gathered()

    def set_isolation_level(self, level: int) -> None:
        """Make each statement a transaction from now on, or not. Raises NotSupportedError for other levels."""
        if level not in (extensions.ISOLATION_LEVEL_AUTOCOMMIT, extensions.ISOLATION_LEVEL_READ_COMMITTED):
            raise psycopg2.NotSupportedError('only READ COMMITTED transactions are supported')
        self.rollback()
        self.autocommit = level == extensions.ISOLATION_LEVEL_AUTOCOMMIT

    def messages(self, statement: bytes) -> Iterator[bytes]:
        """Yield what is to be sent now of the statements that wait and this one; nothing if it waits, too."""
        if not self.autocommit and not self._is_in_transaction() and not self.gathered:
            self.gathered.add(BEGIN)
        for statements in self.gathered.messages(statement):
            yield SEPARATOR.join(statements)

    def commit(self) -> None:
        """Commit, by one message with the statements that were gathered. If one of these fails, nothing is kept."""
        self.gathered.is_wanted = False
        try:
            if self.gathered or self._is_in_transaction():
                self._end(b'COMMIT')
        except BaseException:
            with suppress(psycopg2.Error):
                self.rollback()
            raise

    def rollback(self) -> None:
        self.gathered.discard()
        if self._is_in_transaction():
            self._end(b'ROLLBACK')

    def _is_in_transaction(self) -> bool:
        return bool(self.get_transaction_status() != extensions.TRANSACTION_STATUS_IDLE)

    def _end(self, how: bytes) -> None:
        with self.cursor() as cursor:
            cursor.execute(how)

    @contextmanager
    def tested(self) -> Iterator[None]:
        self.patience = server_connections.PING
        try:
            yield
        finally:
            self.patience = None


class PostgresqlCursor(extensions.cursor):              # type: ignore[misc]
    """Sends statements with those that its connection has gathered. The error is that of the first one that fails: the
    server executes none after it."""

    def execute(self, query: str | bytes, vars: object = None) -> None:
        for message in self.connection.messages(self.mogrify(query, vars)):
            super().execute(message)

    def executemany(self, query: str | bytes, vars_list: Iterable[object]) -> None:
        for each in vars_list:
            self.execute(query, each)


def replace_nul(engine: sa.Engine) -> None:
    """Replace the characters that PostgreSQL does not have, NUL above all, in the values of statements.

    A filter with such a text then finds nothing, as on other databases. The driver refuses the text before it sends
    anything, so all other statements cost nothing more; those of several rows are looked through.
    """
    @sa.event.listens_for(engine, 'do_execute')
    def _execute(cursor: extensions.cursor, statement: str, values: object, _context: object) -> bool:
        try:
            cursor.execute(statement, values)
        except ValueError:
            cleaned = _clean(values)
            if cleaned == values:
                raise
            cursor.execute(statement, cleaned)
        return True

    @sa.event.listens_for(engine, 'do_executemany')
    def _execute_many(cursor: extensions.cursor, statement: str, rows: Iterable[object], _context: object) -> bool:
        cursor.executemany(statement, [_clean(row) for row in rows])
        return True


def _clean(values: object) -> object:
    match values:
        case str():
            return codec.clean(values)
        case dict():
            return {name: _clean(value) for name, value in values.items()}
        case tuple() | list():
            return type(values)([_clean(value) for value in values])
    return values


class Connector:
    """Makes connections, by way of the host that accepted the last one if it still does."""

    def __init__(self, connect: Callable[..., object] = psycopg2.connect) -> None:
        self._connect = connect
        self._first = 0                         # number of the host to begin with

    def __call__(self, **named: object) -> object:
        """Arguments and errors are those of psycopg2.connect()."""
        hosts = list(_each_host(named))
        if len(hosts) > 1:
            named = {'connect_timeout': CONNECT, **named}
        problems = []
        for step in range(len(hosts)):
            number = (self._first + step) % len(hosts)
            try:
                made = self._connected(named, hosts[number])
            except psycopg2.OperationalError as error:
                if len(hosts) == 1:
                    raise
                words, _newline, _advice = str(error).strip().partition('\n')
                problems.append(f"{hosts[number].get('host', '')}: {words}")
                continue
            self._first = number
            return made
        raise psycopg2.OperationalError('; '.join(problems))

    def _connected(self, named: dict[str, object], host: dict[str, object]) -> object:
        """By the first address of the host that accepts the connection."""
        addresses = _each_address(host)
        if len(addresses) > 1:
            named = {'connect_timeout': CONNECT, **named}
        for number, address in enumerate(addresses, 1):
            try:
                return self._connect(**{**named, **host, **address}, connection_factory=PostgresqlConnection)
            except psycopg2.OperationalError:
                if number == len(addresses):
                    raise
        raise psycopg2.OperationalError(f'the host {host["host"]} has no address')


def _each_address(host: dict[str, object]) -> list[dict[str, object]]:
    """Return the parameter for each address of a host that has a name, in a green process; {} leaves it to the library.

    Raises OperationalError, as the library does, for a name without addresses.
    """
    name = host.get('host')
    if not isinstance(name, str) or not name or name[0] in '/@' or host.get('hostaddr') or (
            not server_connections.is_cooperative()):
        return [{}]
    try:
        found = host_lookups.of_services().addresses(name, None, kind=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise psycopg2.OperationalError(f'could not translate host name "{name}" to address: {error}') from None
    return [{'hostaddr': str(each[4][0])} for each in found]


def use(engine: sa.Engine) -> None:
    """Make all connections of the engine by a Connector."""
    connector = Connector()

    @sa.event.listens_for(engine, 'do_connect')
    def _connect(_dialect: object, _record: object, _given: object, named: dict[str, object]) -> object:
        return connector(**named)


def _each_host(named: dict[str, object]) -> Iterator[dict[str, object]]:
    """Yield the parameters that are particular to each host. A single port counts for all of them."""
    given = {name: named.get(name) for name in LISTS}
    lists = {name: value.split(',') for name, value in given.items() if isinstance(value, str)}
    count = max((len(values) for name, values in lists.items() if name != 'port'), default=1)
    for number in range(count):
        yield {name: values[number if len(values) == count else 0] for name, values in lists.items()}


def let_others_run(connection: extensions.connection, silence: float) -> None:
    """Wait for the library, which is written in C, without blocking other green threads.

    `silence`: seconds without a reply until a server counts as down.
    """
    while (state := connection.poll()) != extensions.POLL_OK:
        place = [connection.fileno()]
        reading, writing = (place, []) if state == extensions.POLL_READ else ([], place)
        patience = getattr(connection, 'patience', None) or silence     # plug-ins may have connections of their own
        if select.select(reading, writing, [], patience) == ([], [], []):
            raise psycopg2.OperationalError(f'no word from the server for {patience:g} s')
