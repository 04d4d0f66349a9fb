"""The tables, the migrations and what `sync` makes are one and the same schema."""

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from heatlite.common import exception
from heatlite.db import changes, migrations, stacks, sync
from heatlite.db.tables import metadata
from heatlite.planning.states import Change


def shape(database):
    """What a schema looks like from outside."""
    with database.reader() as tx:
        found = sa.inspect(tx)
        return {table: ({column['name']: (str(column['type']), column['nullable'], bool(column['default']))
                         for column in found.get_columns(table)},
                        found.get_pk_constraint(table)['constrained_columns'],
                        sorted((index['name'], tuple(index['column_names']), bool(index['unique']))
                               for index in found.get_indexes(table)),
                        sorted((unique['name'], tuple(unique['column_names']))
                               for unique in found.get_unique_constraints(table)),
                        found.get_table_options(table) if database.dialect == 'mysql' else None)
                for table in found.get_table_names() if table != 'alembic_version'}


def test_the_migrations_lead_to_the_tables(make_database):
    migrated, made = make_database(), make_database()
    sync.upgrade(migrated)
    sync.up(made)
    assert shape(migrated) == shape(made)
    assert set(shape(made)) == set(metadata.tables)
    with migrated.reader() as tx:
        assert compare_metadata(MigrationContext.configure(tx), metadata) == []
    assert sync.version(migrated) == sync.version(made) == sync.HEAD


def test_head_is_the_newest_revision():
    config = Config()
    config.set_main_option('script_location', migrations.__path__[0])
    assert ScriptDirectory.from_config(config).get_heads() == [sync.HEAD]


def test_an_empty_database_has_no_version(make_database):
    database = make_database()
    assert sync.version(database) is None
    with pytest.raises(exception.Error, match='db_sync'):
        sync.check(database)
    assert sync.up(database) == sync.HEAD
    sync.check(database)
    assert sync.up(database) == sync.HEAD


def test_a_newer_database_is_left_alone(make_database):
    database = make_database()
    sync.up(database)
    with database.writer() as tx:
        tx.execute(sync.VERSION_TABLE.update().values(version_num='9999'))
    with pytest.raises(exception.Error, match='cannot be upgraded'):
        sync.up(database)


def test_a_server_that_is_too_old_is_named(make_database, monkeypatch):
    database = make_database()
    monkeypatch.setattr(sync, 'NEEDED', sa.text('SELECT stack_id FROM lease FOR UPDATE SKIP WHAT'))
    with pytest.raises(exception.Error, match='too old'):
        sync.up(database)


def test_a_service_without_tables_waits_for_them(make_database):
    database = make_database()
    for block in (database.reader, database.writer):
        with pytest.raises(exception.DatabaseUnavailable, match='db_sync'), block() as tx:
            stacks.get(tx, 's1')
    with pytest.raises(exception.DatabaseUnavailable, match='db_sync'), database.writer() as tx:
        changes.write(tx, [Change('s1', 1)])
    sync.up(database)
    with database.reader() as tx:
        assert stacks.get(tx, 's1') is None


def test_somebody_elses_tables_are_left_alone(make_database):
    database = make_database()
    with database.writer() as tx:
        sa.Table('stack', sa.MetaData(), sa.Column('id', sa.Integer, primary_key=True)).create(tx)
    with pytest.raises(exception.Error, match='something else'):
        sync.up(database)
