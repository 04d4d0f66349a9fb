"""Statements that are made once: each call gets the one that it asks for."""

import pytest

from heatlite.db import bulk, presence
from tests.db.rows import NOW

COLUMNS = ('project_id', 'has_left', 'since', 'uses')
KEY = ('project_id',)


@pytest.fixture
def statements(db):
    """Without those that other tests have made."""
    return bulk.Texts(db.engine.dialect.name)


def stored(tx):
    return tuple(tx.exec_driver_sql('SELECT has_left, uses FROM project_presence').one())


@pytest.mark.parametrize('first_keeps', [True, False])
def test_an_upsert_overwrites_what_its_call_says(db, statements, first_keeps):
    def upsert(tx, has_left, keeps):
        statements.upsert(tx, 'project_presence', COLUMNS, KEY, [('p', has_left, bulk.Times()(NOW), 1)],
                          ('has_left', 'uses') if keeps else ())

    with db.writer() as tx:
        for keeps in (first_keeps, not first_keeps):
            upsert(tx, False, keeps)
        upsert(tx, True, True)
        assert stored(tx) == (False, 1)
        upsert(tx, True, False)
        assert stored(tx) == (True, 1)


def test_a_merge_is_that_of_its_call(db, statements):
    with db.writer() as tx:
        for how, uses, expected in (('sum', 2, 2), ('greatest', 5, 5), ('sum', 5, 10), ('least', 3, 3)):
            statements.merge(tx, 'project_presence', COLUMNS, KEY, [('p', False, bulk.Times()(NOW), uses)],
                             {'uses': how})
            assert stored(tx) == (False, expected)


def test_a_project_leaves_after_it_has_entered(db):
    """By one process, in which both statements write the same row. Engines only enter, and a command only marks."""
    bulk.texts.cache_clear()
    with db.writer() as tx:
        presence.become_cell(tx, NOW)
    bulk.texts.cache_clear()
    with db.writer() as tx:
        presence.enter(tx, 'p')
        presence.mark(tx, 'p', True, NOW)
        assert presence.has_left(tx, 'p') is True
