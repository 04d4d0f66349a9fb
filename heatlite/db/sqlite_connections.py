"""Connections to SQLite: one file, which readers share with one writer at a time."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_db.sqlalchemy import exc_filters
from sqlalchemy import exc, pool

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db.errors import reason

if TYPE_CHECKING:
    import sqlite3

LOG = logging.getLogger(__name__)

LOCK_TIMEOUT = 30                           # seconds a writer waits for others
CLOSING = 100                               # milliseconds that `empty_log` waits for other writers
NEEDS_A_FILE = _('SQLite needs a file: readers and writers have a connection each.')


def make_engine(url: sa.URL, reading: bool, options: Mapping[str, object]) -> sa.Engine:
    """Connect without oslo.db, which opens the file anew for each transaction; its names for errors remain."""
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
    """Make a new file readable by our user only, and remove the access of all others from an existing one.

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


def empty_log(engine: sa.Engine) -> None:
    """Move the log into the file itself, unless another process writes. `engine`: that of readers."""
    try:
        with engine.connect() as connection:        # a connection for writers would begin a transaction
            connection.exec_driver_sql(f'PRAGMA busy_timeout={CLOSING}')    # the connection ends right after
            connection.exec_driver_sql('PRAGMA wal_checkpoint(TRUNCATE)')
    except (exc.DBAPIError, exc.TimeoutError, db_exception.DBError) as error:
        LOG.warning('The log of the database was not moved to its file: %s', reason(error))
