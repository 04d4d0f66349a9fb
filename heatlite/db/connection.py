"""Connections and transactions. Statements are in the files of their nouns and take the `tx` made here.

A reader is in autocommit: each SELECT sees what is committed, and costs one round trip. A writer is one transaction at
READ COMMITTED: it commits at the end of its block and is rolled back by any error. SQLite takes its write lock at the
beginning, so a writer never fails half-way for a lock.
"""

from __future__ import annotations

import inspect
import logging
import os
import select
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypedDict, TypeVar
from weakref import WeakValueDictionary

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_db.sqlalchemy import engines as oslo_engines
from oslo_db.sqlalchemy import exc_filters
from sqlalchemy import exc, pool

from heatlite.common import commits, config, crypt, exception, outages, retries, settings, turns
from heatlite.common.i18n import _
from heatlite.common.options import MAX_POOL_SIZE
from heatlite.db.pooling import with_pooling

if TYPE_CHECKING:
    import sqlite3

    import pymysql
    from oslo_config.cfg import ConfigOpts
    from psycopg2 import extensions

LOG = logging.getLogger(__name__)

T = TypeVar('T')

# Options of [database] that describe connections. `max_retries` and the like are not among them: connections are made
# at first use and each caller waits for the database in its own way, so no start fails because it is down.
OPTIONS = ('mysql_sql_mode', 'mysql_wsrep_sync_wait', 'connection_recycle_time', 'connection_debug', 'max_pool_size',
           'max_overflow', 'pool_timeout', 'connection_trace', 'connection_parameters')
CERTIFIES = 'certifies'                     # key in `tx.info`
ER_ERROR_DURING_COMMIT = 1180               # MySQL's number of this error
DRIVERS = {'mysql': 'mysql+pymysql', 'mariadb': 'mysql+pymysql', 'mariadb+pymysql': 'mysql+pymysql',
           'postgresql': 'postgresql+psycopg2', 'postgres': 'postgresql+psycopg2'}
OVERFLOW = 50                               # connections beyond those that a pool keeps, for short bursts
LOCK_TIMEOUT = 30                           # seconds a writer waits for others on SQLite
CLOSING = 100                               # milliseconds that `close` waits for other writers, on SQLite
LOCK_WAIT = 10                              # seconds for a lock another transaction holds, on a server
# Seconds without a reply until a server counts as down, for processes with cooperative threads: all services. A machine
# that vanishes, or a proxy that drops the connection, sends nothing; the operating system would wait for hours.
# heatlite-manage does wait: a migration may take that long.
SILENCE = 30
# target_session_attrs on PostgreSQL unless the URL has another one. A stand-by is behind its primary, so not even reads
# may go to it; and a connection to it would stay in the pool.
WRITABLE = 'read-write'
# wsrep_sync_wait on Galera unless [database] mysql_wsrep_sync_wait is set: a SELECT, UPDATE or DELETE that is alone or
# the first of a transaction waits until its node has applied what all nodes have accepted. Otherwise a node that is
# behind would answer 404 for a stack that exists.
WAIT_FOR_OTHERS = 3
# Seconds between two statements of a transaction, on servers that can limit it. A machine that is frozen must not
# retain its locks: other engines take its stacks over meanwhile.
IDLE = 5

NEEDS_A_FILE = _('SQLite needs a file: readers and writers have a connection each.')

# Errors of a server that answers but for now cannot write, or even read: the disk is full or broken, a fail-over has
# connected us to a replica, there are too many connections, an administrator ends it. Work waits for it as for one that
# is down.
class OutOfOrder(TypedDict):
    sqlite: tuple[str, ...]
    mysql: tuple[int, ...]
    postgresql: tuple[str, ...]


OUT_OF_ORDER: OutOfOrder = {
    'sqlite': ('SQLITE_FULL', 'SQLITE_IOERR', 'SQLITE_READONLY', 'SQLITE_CANTOPEN', 'SQLITE_PROTOCOL'),     # beginnings
    'mysql': (1021, 1030, 1040, 1053, 1114, ER_ERROR_DURING_COMMIT, 1203, 1226, 1290, 1792, 1836, 1927),
    'postgresql': ('53', '57P', '58', '25006'),                                                             # beginnings
}

# Seconds since 1970 by the database's clock. From UTC: a local time is ambiguous for an hour each autumn.
CLOCKS = {
    'sqlite': "((julianday('now') - 2440587.5) * 86400.0)",
    'mysql': "(timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) / 1e6)",
    'postgresql': 'cast(extract(epoch from clock_timestamp()) as double precision)',
}


class Busy(exception.DatabaseUnavailable):
    """All connections of the pool were in use for as long as a request waits for one."""

    wire_name = 'DatabaseUnavailable'


class Contention(exception.DatabaseUnavailable):
    """A deadlock or a lock held too long. Nothing was written; the same transaction may succeed if it is repeated."""

    msg_fmt = _('Too many writers at once: %(reason)s')


class TakesNoWrites(exception.DatabaseUnavailable):
    """The server answers, but for now cannot write, see OUT_OF_ORDER. Statements that need no space may succeed."""

    wire_name = 'DatabaseUnavailable'


class Database:
    """A database and its connections, which are made at first use.

    `now`: seconds since 1970, for tests with a clock of their own; by default the database's clock. `seal`: encrypts
    columns that may hold secrets; None: they are written in clear. `seal_sources`: also what users wrote. `options`:
    any of OPTIONS.
    """

    def __init__(self, url: str, now: Callable[[], float] | None = None,
                 sleep: Callable[[float], None] = time.sleep, seal: Callable[[str], str] | None = None,
                 seal_sources: bool = True, **options: object) -> None:
        self.url = parsed_url(url)
        self.dialect = self.url.get_backend_name()
        self._sleep = sleep
        self._given = now, seal, seal_sources, options
        self._is_apart = False
        self._one_writer: threading.Lock | None = threading.Lock() if self.dialect == 'sqlite' else None
        make = {'sqlite': _sqlite, 'mysql': _mysql, 'postgresql': _postgresql}[self.dialect]
        options = {'max_pool_size': MAX_POOL_SIZE, 'max_overflow': OVERFLOW, **options, 'max_retries': 0}
        with _translated():
            shared: dict[str, object] = {'clock': now, 'files': WeakValueDictionary()}    # `files`: of db.templates
            self._writing = make(self.url, False, options).execution_options(       # `cell`: of db.presence
                seal=seal, seal_sources=seal_sources, writes=True, cell={}, **shared)
            self._reading = make(self.url, True, options).execution_options(**shared)

    @classmethod
    def from_options(cls, conf: ConfigOpts, now: Callable[[], float] | None = None,
                     connection: str | None = None) -> Database:
        """Made from the [database] group, `auth_encryption_key` and `encrypt_parameters_and_properties`.

        `connection`: the URL of another database with the same options.
        """
        config.register(conf)
        url = connection or url_of(conf)
        given = {name: conf.database[name] for name in OPTIONS}
        return cls(url, now, seal=partial(crypt.seal, encryption_key=conf.auth_encryption_key),
                   seal_sources=conf.encrypt_parameters_and_properties, **given)

    @contextmanager
    def reader(self) -> Iterator[sa.Connection]:
        """A connection to read from. Raises DatabaseUnavailable."""
        with _translated(), _connected(self._reading) as tx:
            yield tx
        self._answered()

    @contextmanager
    def writer(self) -> Iterator[sa.Connection]:
        """A transaction. Raises Contention, or DatabaseUnavailable; if the latter comes at the commit, its outcome is
        unknown."""
        with _translated(), self._turn(), turns.held(), _connected(self._writing) as tx, tx.begin():
            yield tx
            commits.begin()
        self._answered()

    def _answered(self) -> None:
        if outages.current and not self._is_apart:
            outages.back(outages.DATABASE)

    def retry(self, function: Callable[[sa.Connection], T]) -> T:
        """Runs `function(tx)` in a transaction, again after a deadlock: it must be safe to call more than once."""
        def transaction() -> T:
            with self.writer() as tx:
                return function(tx)

        return retries.call(transaction, retries.CONTENTION, Contention, sleep=self._sleep)

    def separate(self) -> Database:
        """The same database through connections of its own, for an OS thread (Runtime.spawn_os_thread)."""
        now, seal, seal_sources, options = self._given
        found = Database(self.url.render_as_string(hide_password=False), now, self._sleep, seal, seal_sources,
                         **options)
        found._is_apart = True                      # that thread may not write to the log
        return found

    def retry_until_available(self, function: Callable[[sa.Connection], T], reading: bool = False) -> T:
        """As `retry`, and again for as long as the database is down: for work that has begun and must complete."""
        def read() -> T:
            with self.reader() as tx:
                return function(tx)

        return until_available(read if reading else lambda: self.retry(function), self._sleep)

    def clock(self) -> sa.ColumnElement[float]:
        """Seconds since 1970, by the clock that all engines share."""
        return _clock(self.dialect, self._writing.get_execution_options().get('clock'))

    def close(self) -> None:
        """Closes idle connections of the pools. The database may be used again.

        SQLite: moves its log into the file itself, which is complete then, unless another process writes.
        """
        if self.dialect == 'sqlite' and os.path.exists(str(self.url.database)):
            self._empty_log()
        self._writing.dispose()
        self._reading.dispose()

    def _empty_log(self) -> None:
        try:
            with self._reading.connect() as connection:         # a connection for writers would begin a transaction
                connection.exec_driver_sql(f'PRAGMA busy_timeout={CLOSING}')    # the connection ends right after
                connection.exec_driver_sql('PRAGMA wal_checkpoint(TRUNCATE)')
        except (exc.DBAPIError, exc.TimeoutError, db_exception.DBError) as error:
            LOG.warning('The log of the database was not moved to its file: %s', _reason(error))

    @property
    def engine(self) -> sa.Engine:
        """The SQLAlchemy engine, for migrations and tests."""
        return self._writing

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """SQLite only: writers of this process queue here, where green threads can wait, not in the library."""
        if self._one_writer is None:
            yield
            return
        if not self._one_writer.acquire(timeout=LOCK_TIMEOUT):
            raise Contention(reason=_('another transaction of this process does not end'))
        try:
            yield
        finally:
            self._one_writer.release()


def until_available(work: Callable[[], T], sleep: Callable[[float], None],
                    gives_up: Callable[[], bool] = lambda: False) -> T:
    """Returns `work()`, called again for as long as the database is down. Raises its DatabaseUnavailable once
    `gives_up()` is true."""
    return retries.call(work, retries.DATABASE, exception.DatabaseUnavailable, gives_up=lambda _error: gives_up(),
                        before_pause=lambda error, _seconds: outages.away(outages.DATABASE, error), sleep=sleep)


def clock(tx: sa.Connection) -> sa.ColumnElement[float]:
    """Seconds since 1970, by the clock of the database `tx` belongs to."""
    return _clock(tx.dialect.name, tx.get_execution_options().get('clock'))


def moment(tx: sa.Connection) -> datetime:
    """The time by the same clock, in UTC, as the columns have it."""
    return datetime.fromtimestamp(float(tx.execute(sa.select(clock(tx))).scalar_one()), UTC).replace(tzinfo=None)


def certifies(tx: sa.Connection) -> bool:
    """Whether the server is a node of a Galera cluster.

    The locks of a node are local: only what transactions write excludes those of other nodes.
    """
    return bool(tx.info.get(CERTIFIES))


def clock_text(tx: sa.Connection) -> tuple[str, tuple[float, ...]]:
    """The same clock for statements that are texts: SQL, and its parameters."""
    now = tx.get_execution_options().get('clock')
    if now is not None:
        return '?' if tx.dialect.name == 'sqlite' else '%s', (now(),)
    return CLOCKS['mysql' if tx.dialect.name == 'mariadb' else tx.dialect.name], ()


def _clock(dialect: str, now: Callable[[], float] | None) -> sa.ColumnElement[float]:
    if now is not None:
        return sa.literal(now(), sa.Double())
    return sa.literal_column(CLOCKS['mysql' if dialect == 'mariadb' else dialect], sa.Double())


def url_of(conf: ConfigOpts) -> str:
    """Returns [database] connection. Raises Error with an example if it is not set."""
    config.register_database(conf)
    url: str | None = conf.database.connection
    if not url:
        raise exception.Error(_('The option [database] connection is not set; an example of its value is %s.')
                              % settings.EXAMPLE_DATABASE)
    return url


def check_driver(url: sa.URL) -> None:
    """Raise ImportError without the driver of a URL, ArgumentError for a wrong part of it. Connects to nothing."""
    url.get_dialect().import_dbapi()


def check_url(conf: ConfigOpts) -> None:
    """Raises Error, naming the option, unless [database] connection is a URL with which a program can connect: of a
    kind that is supported, with a driver that can be imported. Connects to nothing."""
    url = url_of(conf)
    option = f'{settings.place(conf, "database", "connection")}[database] connection'
    try:
        made = parsed_url(url)
        check_driver(made)
    except (ImportError, exc.ArgumentError, exception.HeatException) as error:
        raise exception.Error(f'{option}: {error}') from None
    if made.get_backend_name() == 'sqlite' and made.database in (None, '', ':memory:'):
        raise exception.Error(f'{option}: {NEEDS_A_FILE}')


# --- how each kind is reached ------------------------------------------------------------------------------

def parsed_url(url: str) -> sa.URL:
    """The URL with the drivers this service uses, and with all of Unicode on MySQL. Raises Error."""
    try:
        made = sa.make_url(url)
    except (exc.ArgumentError, ValueError):
        raise exception.Error(_('This is not the URL of a database; one looks like %s.')
                              % settings.EXAMPLE_DATABASE) from None
    made = made.set(drivername=DRIVERS.get(made.drivername, made.drivername))
    if made.get_backend_name() not in CLOCKS:
        raise exception.Error(_('Databases of the kind "%s" are not supported.') % made.get_backend_name())
    if made.get_backend_name() == 'mysql' and 'charset' not in made.query:
        made = made.update_query_dict({'charset': 'utf8mb4'})
    return made


def _sqlite(url: sa.URL, reading: bool, options: Mapping[str, object]) -> sa.Engine:
    """Connects without oslo.db, which opens the file anew for each transaction; its names for errors remain."""
    if not url.database or url.database == ':memory:':
        raise exception.Error(NEEDS_A_FILE)
    engine = sa.create_engine(url, poolclass=pool.QueuePool, pool_size=options['max_pool_size'],
                              max_overflow=options['max_overflow'],
                              connect_args={'check_same_thread': False, 'timeout': LOCK_TIMEOUT})
    exc_filters.register_engine(engine)

    @sa.event.listens_for(engine, 'do_connect')
    def _protect(_dialect: object, _record: object, _arguments: object, _options: object) -> None:
        _keep_private(str(url.database))

    @sa.event.listens_for(engine, 'connect')
    def _prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None           # BEGIN is issued explicitly
        connection.execute('PRAGMA journal_mode=WAL')
        connection.execute('PRAGMA synchronous=FULL')
        connection.execute('PRAGMA temp_store=MEMORY')

    if not reading:
        @sa.event.listens_for(engine, 'begin')
        def _begin(connection: sa.Connection) -> None:
            connection.exec_driver_sql('BEGIN IMMEDIATE')
    return engine


def _keep_private(path: str) -> None:
    """Makes a new file readable by our user only, and removes the access of all others from an existing one.

    SQLite gives the modes of the file to its log and its index.
    """
    for name in (path, f'{path}-wal', f'{path}-shm'):
        try:
            mode = stat.S_IMODE(os.stat(name).st_mode)
            if mode & 0o007:
                os.chmod(name, mode & ~0o077)
        except OSError:                             # it does not exist yet, or belongs to another user
            if name == path:
                with suppress(OSError):             # SQLite reports a better error
                    os.close(os.open(name, os.O_CREAT | os.O_RDWR, 0o600))


def _mysql(url: sa.URL, reading: bool, options: Mapping[str, object]) -> sa.Engine:
    if _is_cooperative():
        given = {name: str(SILENCE) for name in ('read_timeout', 'write_timeout')}
        url = url.update_query_dict({**given, **url.query})
    engine: sa.Engine = oslo_engines.create_engine(
        with_pooling(url), thread_checkin=False, **{'mysql_sql_mode': 'TRADITIONAL', **options})
    if url.drivername == DRIVERS['mysql']:
        from heatlite.db import mysql_connections  # the driver is loaded with the first such database

        @sa.event.listens_for(engine, 'do_connect')
        def _connect(_dialect: object, _record: object, given: list[object], named: dict[str, object]) -> object:
            return mysql_connections.MysqlConnection(*given, gathers=not reading, **named)

    @sa.event.listens_for(engine, 'connect')
    def _prepare(connection: pymysql.connections.Connection, record: sa.pool.ConnectionPoolEntry) -> None:
        with connection.cursor() as cursor:
            cursor.execute('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
            if not reading:
                cursor.execute(f'SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT}')
                if 'MariaDB' in connection.get_server_info():
                    cursor.execute(f'SET SESSION idle_transaction_timeout = {IDLE}')
            cursor.execute("SHOW VARIABLES LIKE 'wsrep_on'")
            known = cursor.fetchone()
            record.info[CERTIFIES] = known is not None and str(known[1]).upper() == 'ON'
            if record.info[CERTIFIES] and options.get('mysql_wsrep_sync_wait') is None:
                cursor.execute(f'SET SESSION wsrep_sync_wait = @@SESSION.wsrep_sync_wait | {WAIT_FOR_OTHERS}')
        if reading:
            connection.autocommit(True)

    if reading:
        engine.dialect.skip_autocommit_rollback = True      # saves a round trip for each read
    return engine


def _postgresql(url: sa.URL, reading: bool, options: Mapping[str, object]) -> sa.Engine:
    from heatlite.db import postgresql_connections  # the driver is loaded with the first such database
    options = {name: value for name, value in options.items() if not name.startswith('mysql_')}
    url = url.update_query_dict({'target_session_attrs': WRITABLE, **url.query})
    engine: sa.Engine = oslo_engines.create_engine(with_pooling(url), thread_checkin=False, **options)
    postgresql_connections.use(engine)
    if _is_cooperative():
        from psycopg2 import extensions
        extensions.set_wait_callback(partial(postgresql_connections.let_others_run, silence=SILENCE))

    @sa.event.listens_for(engine, 'connect')
    def _prepare(connection: extensions.connection, _record: object) -> None:
        if reading:
            connection.autocommit = True
            return
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{LOCK_WAIT}s'; SET idle_in_transaction_session_timeout = '{IDLE}s'")
        connection.commit()
    return engine


def _is_cooperative() -> bool:
    """Whether other threads run while one waits in select()."""
    return not inspect.isbuiltin(select.select)


# --- errors ------------------------------------------------------------------------------------------------

@contextmanager
def _connected(engine: sa.Engine) -> Iterator[sa.Connection]:
    try:
        connection = engine.connect()
    except exc.TimeoutError as error:
        raise Busy(reason=_('all connections are busy')) from error
    except (exc.DBAPIError, db_exception.DBError) as error:
        raise exception.DatabaseUnavailable(reason=_reason(error)) from error
    with connection:
        yield connection


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except db_exception.DBDeadlock as error:
        raise Contention(reason=_reason(error)) from error
    except db_exception.DBConnectionError as error:
        raise exception.DatabaseUnavailable(reason=_reason(error)) from error
    except (exc.DBAPIError, db_exception.DBError) as error:
        original = _original(error)
        if _is_contention(original) or _has_ended_the_transaction(error):
            raise Contention(reason=_reason(error)) from error
        if _is_out_of_order(original):
            raise TakesNoWrites(reason=_reason(error)) from error
        if _lacks_a_table(original):
            raise exception.DatabaseUnavailable(
                reason=_('its tables are not there yet, heatlite-manage db_sync makes them')) from error
        raise


def _original(error: BaseException) -> BaseException:
    """The driver's own error."""
    inner = getattr(error, 'inner_exception', None) or error
    return getattr(inner, 'orig', None) or inner


def _is_contention(original: BaseException) -> bool:
    """PostgreSQL: lock_not_available, serialization_failure. SQLite: another process is writing."""
    return (getattr(original, 'pgcode', None) in ('55P03', '40001')
            or getattr(original, 'sqlite_errorname', '').startswith(('SQLITE_BUSY', 'SQLITE_LOCKED')))


def _has_ended_the_transaction(error: BaseException) -> bool:
    """Whether MariaDB answered a statement with the end of its transaction, as it does now and then to SKIP LOCKED.

    As answer to COMMIT, which is no statement for SQLAlchemy, the same number may mean a full disk, and what has been
    written is unknown: see OUT_OF_ORDER.
    """
    inner = getattr(error, 'inner_exception', None) or error
    return getattr(inner, 'statement', None) is not None and _original(error).args[:1] == (ER_ERROR_DURING_COMMIT,)


def _is_out_of_order(original: BaseException) -> bool:
    return ((getattr(original, 'sqlite_errorname', None) or '').startswith(OUT_OF_ORDER['sqlite'])
            or (*original.args, None)[0] in OUT_OF_ORDER['mysql']
            or (getattr(original, 'pgcode', None) or '').startswith(OUT_OF_ORDER['postgresql']))


def _lacks_a_table(original: BaseException) -> bool:
    """Whether a table is missing: a service started before the schema exists waits for it, as for a database that is
    down."""
    return (getattr(original, 'pgcode', None) == '42P01' or original.args[:1] == (1146,)
            or str(original).startswith('no such table'))


def _reason(error: BaseException) -> str:
    """The database's own message in one line, without the statement, which may hold secrets."""
    original = _original(error)
    lines = str(original.args[-1] if original.args else original).strip().splitlines()
    return lines[0] if lines else type(original).__name__
