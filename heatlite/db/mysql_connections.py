"""PyMySQL connections that make only once what is the same for all of them, and read results many packets at a time.

The library makes a TLS context for each connection, even if the server then wants none, and reads the certificates of
the system for it: 20 ms during which no other thread runs, so the first sixteen requests at once would wait for 0.3 s.

Most values of the rows that are written are texts, whole numbers and NULL. The library needs three calls for each of
them, which is a third of what writing a row costs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Final

import pymysql
import sqlalchemy as sa
from oslo_db.sqlalchemy import engines as oslo_engines
from pymysql import err
from pymysql.constants import CLIENT, CR, FIELD_TYPE, SERVER_STATUS
from pymysql.converters import escape_string

from heatlite.db import server_connections
from heatlite.db.gathered import SEPARATOR, Gathered
from heatlite.db.mysql_results import MysqlResult
from heatlite.db.pooling import with_pooling

PACKET_NUMBERS: Final = 256     # of the packets of a result, from 0 again after the last one
MOST_CONTEXTS: Final = 16       # more than there are databases and renewals of their certificates at one time
# wsrep_sync_wait on Galera unless [database] mysql_wsrep_sync_wait is set: a SELECT, UPDATE or DELETE that is alone or
# the first of a transaction waits until its node has applied what all nodes have accepted. Otherwise a node that is
# behind would answer 404 for a stack that exists.
WAIT_FOR_OTHERS: Final = 3

_contexts: dict[tuple[object, ...], object] = {}


def make_engine(url: sa.URL, reading: bool, options: Mapping[str, object]) -> sa.Engine:
    """Return an engine with the library of this module, or with another one that the URL names."""
    if server_connections.is_cooperative():
        given = {name: str(server_connections.SILENCE) for name in ('read_timeout', 'write_timeout')}
        url = url.update_query_dict({**given, **url.query})
    engine: sa.Engine = oslo_engines.create_engine(
        with_pooling(url), thread_checkin=False, **{'mysql_sql_mode': 'TRADITIONAL', **options})
    if url.get_driver_name() == 'pymysql':
        @sa.event.listens_for(engine, 'do_connect')
        def _connect(_dialect: object, _record: object, given: list[object], named: dict[str, object]) -> object:
            return MysqlConnection(*given, gathers=not reading, **named)

    @sa.event.listens_for(engine, 'connect')
    def _prepare(connection: pymysql.connections.Connection, record: sa.pool.ConnectionPoolEntry) -> None:
        with connection.cursor() as cursor:
            cursor.execute('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
            if not reading:
                cursor.execute(f'SET SESSION innodb_lock_wait_timeout = {server_connections.LOCK_WAIT}')
                if 'MariaDB' in connection.get_server_info():
                    cursor.execute(f'SET SESSION idle_transaction_timeout = {server_connections.IDLE}')
            cursor.execute("SHOW VARIABLES LIKE 'wsrep_on'")
            known = cursor.fetchone()
            record.info[server_connections.CERTIFIES] = known is not None and str(known[1]).upper() == 'ON'
            if record.info[server_connections.CERTIFIES] and options.get('mysql_wsrep_sync_wait') is None:
                cursor.execute(f'SET SESSION wsrep_sync_wait = @@SESSION.wsrep_sync_wait | {WAIT_FOR_OTHERS}')
        if reading:
            connection.autocommit(True)

    if reading:
        engine.dialect.skip_autocommit_rollback = True      # saves a round trip for each read
    return engine


class MysqlConnection(pymysql.connections.Connection):       # type: ignore[misc]
    _result: MysqlResult | None
    _read_timeout: float | None
    _write_timeout: float | None

    def __init__(self, *given: object, gathers: bool = False, **named: object) -> None:
        """`gathers`: it may gather statements, which the server has to know from the beginning."""
        self.gathered = Gathered() if gathers else None
        super().__init__(*given, **named)
        self.decoders[FIELD_TYPE.DATETIME] = datetime.fromisoformat     # twenty times as fast as the library's

    def connect(self, sock: object = None) -> None:
        if self.gathered is not None:
            self.client_flag |= CLIENT.MULTI_STATEMENTS
        with self._patient(self.connect_timeout):
            super().connect(sock)

    @contextmanager
    def tested(self) -> Iterator[None]:
        """Wait for the test of a connection that has rested in the pool no longer than a server needs for it."""
        with self._patient(server_connections.PING):
            yield

    @contextmanager
    def _patient(self, seconds: float) -> Iterator[None]:
        """Wait at most so long for each reply. A server that is frozen still accepts connections, and says nothing: a
        request that tries another connection would wait as long again as for its first statement."""
        kept = self._read_timeout, self._write_timeout
        self._read_timeout, self._write_timeout = (min(seconds, kept[0] or seconds), min(seconds, kept[1] or seconds))
        try:
            yield
        finally:
            self._read_timeout, self._write_timeout = kept

    def query(self, sql: str | bytes, unbuffered: bool = False) -> int:
        """Send a statement after those that were gathered, or gather it: it affects 0 rows then. Raises the error of
        the first one that fails: the server executes none after it."""
        if self.gathered is None or (not self.gathered and not self.gathered.is_wanted):
            affected: int = super().query(sql, unbuffered)
            return affected
        text = sql.encode(self.encoding) if isinstance(sql, str) else bytes(sql)
        sent = [self._send(message) for message in self.gathered.messages(text)]
        if self.gathered:
            self._result = result = MysqlResult(self)
            result.affected_rows = result.insert_id = 0
            return 0
        return sent[-1]

    def commit(self) -> None:
        """Commit, by one message with the statements that were gathered. If one of these fails, nothing is kept."""
        if not self.gathered:
            super().commit()
            return
        self.gathered.is_wanted = False
        try:
            self.query('COMMIT')
        except BaseException:
            with suppress(err.Error):
                self.rollback()
            raise

    def rollback(self) -> None:
        if self.gathered is not None:
            self.gathered.discard()
        super().rollback()

    def _send(self, statements: Sequence[bytes]) -> int:
        """Return how many rows the last one has affected. Unless the server has answered each, closes the connection
        and raises OperationalError, as if it were lost."""
        affected: int = super().query(SEPARATOR.join(statements))
        answers = 1
        while self._result is not None and self._result.has_next:
            affected = self.next_result()
            answers += 1
        if answers != len(statements):
            self._force_close()
            raise err.OperationalError(CR.CR_COMMANDS_OUT_OF_SYNC,
                                       f'{answers} of {len(statements)} statements were answered')
        return affected

    def _read_query_result(self, unbuffered: bool = False) -> int:
        if unbuffered:
            found: int = super()._read_query_result(unbuffered)
            return found
        self._result = None
        result = MysqlResult(self)
        result.read()
        self._result = result
        if result.server_status is not None:
            self.server_status = result.server_status
        affected: int = result.affected_rows
        return affected

    def arrived(self) -> bytes:
        """Return what the server has sent and is not read yet, at most a buffer of it. Waits until there is something.

        Raises OperationalError if the connection ends, and closes it then."""
        try:
            found: bytes = self._rfile.peek()
        except OSError as error:
            self._force_close()
            raise err.OperationalError(CR.CR_SERVER_LOST, f'The connection to the server ended: {error}') from error
        except BaseException:               # the thread ends: nothing knows how far the result is read
            self._force_close()
            raise
        return found

    def number(self, packets: int) -> int:
        """Return the number of the packet after so many."""
        number: int = (self._next_seq_id + packets) % PACKET_NUMBERS
        return number

    def advance(self, size: int, packets: int) -> None:
        """Read over so many bytes of what has arrived, which are so many packets."""
        self._rfile.read(size)
        self._next_seq_id = self.number(packets)

    def escape(self, obj: object, mapping: object = None) -> str:
        kind = type(obj)
        if kind is str and not self.server_status & SERVER_STATUS.SERVER_STATUS_NO_BACKSLASH_ESCAPES:
            return f"'{escape_string(obj)}'"
        if obj is None:
            return 'NULL'
        if kind is int:
            return str(obj)
        found: str = super().escape(obj, mapping)
        return found

    def _create_ssl_ctx(self, sslp: object) -> object:
        if not isinstance(sslp, Mapping):               # a context
            return super()._create_ssl_ctx(sslp)
        key = tuple((name, value, _changed(value)) for name, value in sorted(sslp.items()))
        found = _contexts.get(key)
        if found is None:
            found = super()._create_ssl_ctx(sslp)
            if len(_contexts) >= MOST_CONTEXTS:
                _contexts.clear()
            _contexts[key] = found
        return found


def _changed(value: object) -> int | None:
    """Return when the file of this name was changed, in nanoseconds; None if there is none. New certificates are used
    from the next connection on."""
    try:
        return os.stat(value).st_mtime_ns if isinstance(value, str) else None
    except OSError:
        return None
