"""Databases that are none of a Heat 27 are refused, by name."""

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.takeover import schema
from heatlite.takeover.source import HeatDatabase
from tests.takeover.heats import KEY


def refused(heat):
    source = HeatDatabase(heat.url)
    try:
        with pytest.raises(exception.Error) as error, source.reader() as tx:
            schema.check(tx)
    finally:
        source.close()
    return str(error.value)


def test_an_earlier_release(heat):
    with heat.engine.begin() as tx:
        tx.execute(schema.alembic_version.update().values(version_num='c6214ca60943'))
    assert 'c6214ca60943, of an earlier release' in refused(heat)
    with heat.engine.begin() as tx:
        tx.execute(schema.alembic_version.update().values(version_num='ffffffffffff'))
    assert 'ffffffffffff, of a release that is not known' in refused(heat)


def test_a_database_without_a_version(heat):
    schema.alembic_version.drop(heat.engine)
    assert 'no table alembic_version' in refused(heat)


def test_a_missing_table_and_a_missing_column(heat):
    schema.resource_snapshot.drop(heat.engine)
    assert 'no table resource_snapshot' in refused(heat)
    schema.resource_snapshot.create(heat.engine)
    with heat.engine.begin() as tx:
        tx.execute(sa.text('ALTER TABLE event DROP COLUMN rsrc_prop_data_id'))
    assert 'event has no column rsrc_prop_data_id' in refused(heat)


def test_nothing_can_be_written(heat):
    source = HeatDatabase(heat.url)
    with pytest.raises(exception.DatabaseUnavailable), source.reader() as tx:
        tx.execute(schema.stack_tag.insert().values(id=1, tag='a', stack_id='s1'))
    source.close()


def test_a_url_that_is_none():
    with pytest.raises(exception.Error, match='connection of Heat cannot be used'):
        HeatDatabase('nothing of a kind')
    assert KEY not in repr(HeatDatabase('sqlite://'))
