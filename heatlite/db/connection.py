"""Connections and transactions. Statements are in the files of their nouns and take the `tx` made here.

A reader is in autocommit: each SELECT sees what is committed, and costs one round trip. A writer is one transaction at
READ COMMITTED: it commits at the end of its block and is rolled back by any error. SQLite takes its write lock at the
beginning, so a writer never fails half-way for a lock.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

import sqlalchemy as sa
from oslo_db import exception as db_exception
from sqlalchemy import exc

from heatlite.common import commits, config, crypt, exception, outages, retries, settings, turns
from heatlite.common.i18n import _
from heatlite.common.options import MAX_POOL_SIZE
from heatlite.db import server_connections, sqlite_connections
from heatlite.db.errors import Busy, Contention, reason, translated

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

T = TypeVar('T')

# Options of [database] that describe connections. `max_retries` and the like are not among them: connections are made
# at first use and each caller waits for the database in its own way, so no start fails because it is down.
OPTIONS = ('mysql_sql_mode', 'mysql_wsrep_sync_wait', 'connection_recycle_time', 'connection_debug', 'max_pool_size',
           'max_overflow', 'pool_timeout', 'connection_trace', 'connection_parameters')
DRIVERS = {'mysql': 'mysql+pymysql', 'mariadb': 'mysql+pymysql', 'mariadb+pymysql': 'mysql+pymysql',
           'postgresql': 'postgresql+psycopg2', 'postgres': 'postgresql+psycopg2'}
OVERFLOW = 50                               # connections beyond those that a pool keeps, for short bursts

# Seconds since 1970 by the database's clock. From UTC: a local time is ambiguous for an hour each autumn.
CLOCKS = {
    'sqlite': "((julianday('now') - 2440587.5) * 86400.0)",
    'mysql': "(timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) / 1e6)",
    'postgresql': 'cast(extract(epoch from clock_timestamp()) as double precision)',
}


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
        options = {'max_pool_size': MAX_POOL_SIZE, 'max_overflow': OVERFLOW, **options, 'max_retries': 0}
        with translated():
            shared: dict[str, object] = {'clock': now, 'files': WeakValueDictionary()}    # `files`: of db.templates
            self._writing = _make_engine(self.url, False, options).execution_options(       # `cell`: of db.presence
                seal=seal, seal_sources=seal_sources, writes=True, cell={}, **shared)
            self._reading = _make_engine(self.url, True, options).execution_options(**shared)

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
        """Yield a connection to read from. Raises DatabaseUnavailable."""
        with translated(), _connected(self._reading) as tx:
            yield tx
        self._answered()

    @contextmanager
    def writer(self) -> Iterator[sa.Connection]:
        """Yield a transaction. Raises Contention, or DatabaseUnavailable; if the latter comes at the commit, its
        outcome is unknown."""
        with translated(), self._turn(), turns.held(), _connected(self._writing) as tx, tx.begin():
            yield tx
            commits.begin()
        self._answered()

    def _answered(self) -> None:
        if outages.current and not self._is_apart:
            outages.back(outages.DATABASE)

    def retry(self, function: Callable[[sa.Connection], T]) -> T:
        """Run `function(tx)` in a transaction, again after a deadlock: it must be safe to call more than once."""
        def transaction() -> T:
            with self.writer() as tx:
                return function(tx)

        return retries.call(transaction, retries.CONTENTION, Contention, sleep=self._sleep)

    def separate(self) -> Database:
        """Return the same database through connections of its own, for an OS thread (Runtime.spawn_os_thread)."""
        now, seal, seal_sources, options = self._given
        found = Database(self.url.render_as_string(hide_password=False), now, self._sleep, seal, seal_sources,
                         **options)
        found._is_apart = True                      # that thread may not write to the log
        return found

    def retry_until_available(self, function: Callable[[sa.Connection], T], reading: bool = False) -> T:
        """As `retry`, and again for as long as the database is down, or ends the statement before its end: for work
        that has begun and must complete. Other errors, such as those of `function`, are raised: nothing is known then
        of what was to be read."""
        def read() -> T:
            with self.reader() as tx:
                return function(tx)

        return until_available(read if reading else lambda: self.retry(function), self._sleep)

    def clock(self) -> sa.ColumnElement[float]:
        """Seconds since 1970, by the clock that all engines share."""
        return _clock(self.dialect, self._writing.get_execution_options().get('clock'))

    def close(self) -> None:
        """Close idle connections of the pools. The database may be used again.

        SQLite: moves its log into the file itself, which is complete then, unless another process writes.
        """
        if self.dialect == 'sqlite' and os.path.exists(str(self.url.database)):
            sqlite_connections.empty_log(self._reading)
        self._writing.dispose()
        self._reading.dispose()

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
        if not self._one_writer.acquire(timeout=sqlite_connections.LOCK_TIMEOUT):
            raise Contention(reason=_('another transaction of this process does not end'))
        try:
            yield
        finally:
            self._one_writer.release()


def until_available(work: Callable[[], T], sleep: Callable[[float], None],
                    gives_up: Callable[[], bool] = lambda: False) -> T:
    """Return `work()`, called again for as long as the database is down. Raises its DatabaseUnavailable once
    `gives_up()` is true."""
    return retries.call(work, retries.DATABASE, exception.DatabaseUnavailable, gives_up=lambda _error: gives_up(),
                        before_pause=lambda error, _seconds: outages.away(outages.DATABASE, error), sleep=sleep)


def clock(tx: sa.Connection) -> sa.ColumnElement[float]:
    """Seconds since 1970, by the clock of the database `tx` belongs to."""
    return _clock(tx.dialect.name, tx.get_execution_options().get('clock'))


def moment(tx: sa.Connection) -> datetime:
    """Return the time by the same clock, in UTC, as the columns have it."""
    return datetime.fromtimestamp(float(tx.execute(sa.select(clock(tx))).scalar_one()), UTC).replace(tzinfo=None)


def certifies(tx: sa.Connection) -> bool:
    """Whether the server is a node of a Galera cluster.

    The locks of a node are local: only what transactions write excludes those of other nodes.
    """
    return bool(tx.info.get(server_connections.CERTIFIES))


def clock_text(tx: sa.Connection) -> tuple[str, tuple[float, ...]]:
    """Return the same clock for statements that are texts: SQL, and its parameters."""
    now = tx.get_execution_options().get('clock')
    if now is not None:
        return '?' if tx.dialect.name == 'sqlite' else '%s', (now(),)
    return CLOCKS['mysql' if tx.dialect.name == 'mariadb' else tx.dialect.name], ()


def _clock(dialect: str, now: Callable[[], float] | None) -> sa.ColumnElement[float]:
    if now is not None:
        return sa.literal(now(), sa.Double())
    return sa.literal_column(CLOCKS['mysql' if dialect == 'mariadb' else dialect], sa.Double())


def url_of(conf: ConfigOpts) -> str:
    """Return [database] connection. Raises Error with an example if it is not set."""
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
    """Raise Error, naming the option, unless [database] connection is a URL with which a program can connect: of a
    kind that is supported, with a driver that can be imported. Connects to nothing."""
    url = url_of(conf)
    option = f'{settings.place(conf, "database", "connection")}[database] connection'
    try:
        made = parsed_url(url)
        check_driver(made)
    except (ImportError, exc.ArgumentError, exception.HeatException) as error:
        raise exception.Error(f'{option}: {error}') from None
    if made.get_backend_name() == 'sqlite' and made.database in (None, '', ':memory:'):
        raise exception.Error(f'{option}: {sqlite_connections.NEEDS_A_FILE}')


# --- how each kind is reached ------------------------------------------------------------------------------

def parsed_url(url: str) -> sa.URL:
    """Return the URL with the drivers this service uses, and with all of Unicode on MySQL. Raises Error."""
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


def _make_engine(url: sa.URL, reading: bool, options: Mapping[str, object]) -> sa.Engine:
    match url.get_backend_name():
        case 'sqlite':
            return sqlite_connections.make_engine(url, reading, options)
        case 'mysql':
            from heatlite.db import mysql_connections  # the driver is loaded with the first such database
            return mysql_connections.make_engine(url, reading, options)
        case _:
            from heatlite.db import postgresql_connections  # as that of MySQL
            return postgresql_connections.make_engine(url, reading, options)


@contextmanager
def _connected(engine: sa.Engine) -> Iterator[sa.Connection]:
    try:
        connection = engine.connect()
    except exc.TimeoutError as error:
        raise Busy(reason=_('all connections are busy')) from error
    except (exc.DBAPIError, db_exception.DBError) as error:
        raise exception.DatabaseUnavailable(reason=reason(error)) from error
    with connection:
        yield connection
