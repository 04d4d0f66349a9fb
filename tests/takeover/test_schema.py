"""Databases of Heat from yoga on are read; others are refused, by what they lack."""

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db import snapshots
from heatlite.takeover import schema
from heatlite.takeover.source import HeatDatabase
from tests.takeover.heats import KEY, NOW, PROJECT


def refused(heat):
    source = HeatDatabase(heat.url)
    try:
        with pytest.raises(exception.Error) as error, source.reader() as tx:
            schema.check(tx)
    finally:
        source.close()
    return str(error.value)


def test_releases_before_2026(heat, ours, take):
    """They have neither the data of resources in snapshots, nor actions of these."""
    heat.word('s1')
    heat.add(schema.snapshot, id='snap', stack_id='s1', name='first', tenant=PROJECT, status='COMPLETE', created_at=NOW,
             data='{"resources": {"word": {"resource_data": {"backup": "1"}}}}')
    schema.resource_snapshot.drop(heat.engine)
    with heat.engine.begin() as tx:
        tx.execute(sa.text('ALTER TABLE snapshot DROP COLUMN action'))
    report = take()
    assert (dict(report.trees), report.problems) == ({'taken over': 1}, [])
    with ours.reader() as tx:
        found = snapshots.show(tx, 'snap')
    assert (found.action, found.status) == ('CREATE', 'COMPLETE')
    assert found.data['resources'] == {'word': {'resource_data': {'backup': '1'}}}


def test_a_missing_table_and_a_missing_column(heat):
    schema.stack_tag.drop(heat.engine)
    assert 'does not have the table stack_tag' in refused(heat)
    schema.stack_tag.create(heat.engine)
    with heat.engine.begin() as tx:
        tx.execute(sa.text('ALTER TABLE event DROP COLUMN rsrc_prop_data_id'))
    assert 'does not have event.rsrc_prop_data_id' in refused(heat)


def test_nothing_can_be_written(heat):
    source = HeatDatabase(heat.url)
    with pytest.raises(exception.DatabaseUnavailable), source.reader() as tx:
        tx.execute(schema.stack_tag.insert().values(id=1, tag='a', stack_id='s1'))
    source.close()


def test_a_url_that_is_none():
    with pytest.raises(exception.Error, match='connection of Heat cannot be used'):
        HeatDatabase('nothing of a kind')
    assert KEY not in repr(HeatDatabase('sqlite://'))
