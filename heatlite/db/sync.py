"""Creates the schema of a database, upgrades it and reads its version."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from oslo_db import exception as db_exception

from heatlite.common import exception, retries
from heatlite.common.i18n import _
from heatlite.db.connection import Database
from heatlite.db.errors import Contention
from heatlite.db.tables import lease, metadata

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = '0020'                               # the newest revision under migrations/versions
# Engines that sweep at the same time skip each other's rows with this clause; old servers do not support it.
NEEDED = sa.select(lease.c.stack_id).where(sa.false()).with_for_update(skip_locked=True)
# How long a migration waits for a table that a transaction uses: seconds.
SET_LOCK_TIMEOUT = {'mysql': 'SET SESSION lock_wait_timeout = 3', 'postgresql': "SET LOCAL lock_timeout = '3s'"}
LOCK_WAIT_TIMEOUT = 1205                    # of MariaDB and MySQL, after that time
_OUR_VERSION = re.compile(r'\d{4}')
FORMER = 'that of migrate_version'       # a Heat before Antelope has no other table for its version
VERSION_TABLE = sa.Table('alembic_version', sa.MetaData(), sa.Column('version_num', sa.String(32), primary_key=True))


def version(database: Database) -> str | None:
    """Return the revision of the schema; None for an empty database, FORMER for that of an old Heat. Raises
    DatabaseUnavailable."""
    with database.reader() as tx:
        inspector = sa.inspect(tx)
        if not inspector.has_table(VERSION_TABLE.name):
            return FORMER if inspector.has_table('migrate_version') else None
        return tx.execute(sa.select(VERSION_TABLE.c.version_num)).scalar()


def has_needed(found: str | None) -> bool:
    """Whether a schema of that version has all that this release uses: newer ones have, those of the next two releases
    (docs/operators/upgrade.rst)."""
    return found is not None and bool(_OUR_VERSION.fullmatch(found)) and found >= HEAD


def check_owner(found: str | None) -> None:
    """Raise Error if a version is none of heatlite's, which have four digits: the tables belong to something else."""
    if found is not None and not _OUR_VERSION.fullmatch(found):
        raise exception.Error(_('The database belongs to something else, such as Heat: the version of its tables is '
                                '%s. Set [database] connection to a database of its own.') % found)


def up(database: Database) -> str:
    """Create or upgrade the schema and return its version. Does nothing when it is up to date.

    An empty database gets the tables at once, as the migrations would leave them (a test compares both).
    """
    found = version(database)
    if found is None:
        with database.writer() as tx:
            if sa.inspect(tx).has_table('stack'):
                raise exception.Error(_('The database has tables but no version: it belongs to something else.'))
            metadata.create_all(tx)
            VERSION_TABLE.create(tx)
            tx.execute(VERSION_TABLE.insert().values(version_num=HEAD))
    elif found != HEAD:
        upgrade(database)
    _check_server(database)
    return HEAD


def upgrade(database: Database) -> None:
    """Run the missing revisions in order, each in a transaction of its own, while programs use the database.

    Raises Error for a database that is newer than this release, and when a table was in use for too long.
    """
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    config = Config()
    config.set_main_option('script_location', str(Path(__file__).with_name('migrations')))
    found = version(database)
    check_owner(found)
    if found is not None and found > HEAD:
        raise exception.Error(_('The database cannot be upgraded: its version %s is of a newer release.') % found)
    missing = [each.revision for each in ScriptDirectory.from_config(config).iterate_revisions(HEAD, found or 'base')]
    for revision in reversed(missing):
        retries.call(partial(_migrate, database, config, revision), retries.MIGRATION, _InUse)


class _InUse(exception.Error):
    """A transaction of another process has used a table for longer than a migration may wait."""


def _migrate(database: Database, config: Config, revision: str) -> None:
    """Run one revision. Raises _InUse.

    A statement that waits for a table makes all later ones wait behind it, so it waits for a short time only.
    """
    from alembic import command
    try:
        with database.writer() as tx:
            if statement := SET_LOCK_TIMEOUT.get('mysql' if tx.dialect.name == 'mariadb' else tx.dialect.name):
                tx.exec_driver_sql(statement)
            config.attributes['connection'] = tx
            try:
                command.upgrade(config, revision)
            finally:
                if tx.dialect.name in ('mysql', 'mariadb'):
                    tx.exec_driver_sql('SET SESSION lock_wait_timeout = DEFAULT')
    except (Contention, sa.exc.OperationalError) as error:
        if isinstance(error, sa.exc.OperationalError) and getattr(error.orig, 'args', ())[:1] != (
                LOCK_WAIT_TIMEOUT,):
            raise
        raise _InUse(_('Revision %(revision)s: a table is in use: %(reason)s')
                     % {'revision': revision, 'reason': error}) from error


def check(database: Database) -> None:
    """Raise Error with advice unless this release supports the schema (`has_needed`) and the server."""
    found = version(database)
    check_owner(found)
    if not has_needed(found):
        raise exception.Error(
            _('The database has version %(found)s, this release needs %(head)s: run heatlite-manage db_sync.')
            % {'found': found or _('none'), 'head': HEAD})
    _check_server(database)


def _check_server(database: Database) -> None:
    try:
        with database.writer() as tx:
            tx.execute(NEEDED)
    except (sa.exc.DBAPIError, db_exception.DBError) as error:
        raise exception.Error(_('The database server is too old: MariaDB 10.6, MySQL 8.0.1 or PostgreSQL 9.5 will do.')
                              ) from error
