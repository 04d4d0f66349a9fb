"""The tables, the migrations and what `sync` makes are one and the same schema."""

from contextlib import closing

import pytest
import sqlalchemy as sa
import tenacity
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from heatlite.common import exception, retries
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


@pytest.mark.parametrize('version', ['97b2a986f922', 'c6214ca60943', '0018b', ''])
def test_the_database_of_another_service_is_left_alone(make_database, version):
    """Heat's versions are texts that compare as greater, or as less."""
    database = make_database()
    with database.writer() as tx:
        sync.VERSION_TABLE.create(tx)
        tx.execute(sync.VERSION_TABLE.insert().values(version_num=version))
    for use in (sync.check, sync.up, sync.upgrade):
        with pytest.raises(exception.Error, match='belongs to something else, such as Heat'):
            use(database)


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


def test_a_newer_schema_is_supported_by_the_commands_of_this_release(make_database):
    database = make_database()
    sync.up(database)
    note(database, '9999')
    sync.check(database)
    note(database, '0001')
    with pytest.raises(exception.Error, match='db_sync'):
        sync.check(database)


def note(database, revision):
    with database.writer() as tx:
        tx.execute(sync.VERSION_TABLE.update().values(version_num=revision))


def test_a_migration_that_was_interrupted_runs_again(make_database):
    """MariaDB commits each statement, and the revision is noted after them: here none is noted."""
    database, made = make_database(), make_database()
    sync.up(made)
    sync.upgrade(database)
    note(database, '0001')
    sync.upgrade(database)
    assert shape(database) == shape(made)
    assert sync.version(database) == sync.HEAD


def test_a_migration_gives_way_while_a_table_is_in_use(make_database, kind, monkeypatch):
    """A backup may read for minutes. What waits for the table meanwhile would wait behind the migration."""
    if kind == 'galera':
        pytest.skip('a change of tables is made on all nodes at once: it ends the transactions that are in its way')
    database = make_database()
    if database.dialect == 'sqlite':
        pytest.skip('SQLite has one writer at a time, and no locks of tables')
    sync.upgrade(database)
    with database.writer() as tx:
        tx.exec_driver_sql('ALTER TABLE stack DROP COLUMN restored_from')
    note(database, '0015')
    waited = []

    def policy(times):
        return retries.RetryPolicy('migration', tenacity.wait_fixed(0), tenacity.stop_after_attempt(times))
    monkeypatch.setattr(retries, 'MIGRATION', policy(2))
    with closing(sa.create_engine(database.url).connect()) as other:       # ours end transactions that are idle
        other.exec_driver_sql('SELECT id FROM stack')
        with pytest.raises(exception.Error, match='is in use'):
            sync.upgrade(database)
        with database.writer() as tx:           # nothing waits for the migration any more
            waited.append(tx.exec_driver_sql('SELECT count(*) FROM stack').scalar_one())
    sync.upgrade(database)
    assert waited == [0] and sync.version(database) == sync.HEAD
