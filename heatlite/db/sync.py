"""Creates the schema of a database, upgrades it and reads its version."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from oslo_db import exception as db_exception

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db.connection import Database
from heatlite.db.tables import lease, metadata

HEAD = '0016'                               # the newest revision under migrations/versions
# Engines that sweep at the same time skip each other's rows with this clause; old servers do not support it.
NEEDED = sa.select(lease.c.stack_id).where(sa.false()).with_for_update(skip_locked=True)
VERSION_TABLE = sa.Table('alembic_version', sa.MetaData(), sa.Column('version_num', sa.String(32), primary_key=True))


def version(database: Database) -> str | None:
    """The revision of the schema; None for an empty database. Raises DatabaseUnavailable."""
    with database.reader() as tx:
        if not sa.inspect(tx).has_table(VERSION_TABLE.name):
            return None
        return tx.execute(sa.select(VERSION_TABLE.c.version_num)).scalar()


def up(database: Database) -> str:
    """Creates or upgrades the schema and returns its version. Does nothing when it is up to date.

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
    """Runs the missing revisions in order. Raises Error for a database that is newer than this release."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError
    config = Config()
    config.set_main_option('script_location', str(Path(__file__).with_name('migrations')))
    with database.writer() as tx:
        config.attributes['connection'] = tx
        try:
            command.upgrade(config, 'head')
        except CommandError as error:
            raise exception.Error(_('The database cannot be upgraded: %s') % error) from error


def check(database: Database) -> None:
    """Raises Error with advice unless this release supports the schema and the server."""
    found = version(database)
    if found != HEAD:
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
