"""A text with NUL: PostgreSQL has no such texts, so it finds nothing, and where it would be stored it is replaced."""

import sqlalchemy as sa

from heatlite.db import bulk, tables

NUL = 'a\0b'


def test_a_filter_with_nul_finds_nothing(db):
    with db.reader() as tx:
        for value in (NUL, [NUL], (NUL, 'c')):
            column = tables.stack.c.name
            query = sa.select(column).where(column == value if isinstance(value, str) else column.in_(value))
            assert tx.execute(query).all() == []


def test_rows_with_nul_are_stored(db):
    """By all ways in which statements get their values; SQLite and MariaDB have such texts."""
    with db.writer() as tx:
        tx.execute(sa.text('CREATE TABLE with_nul (number INTEGER PRIMARY KEY, word VARCHAR(20))'))
        try:
            table = sa.table('with_nul', sa.column('number'), sa.column('word'))
            tx.execute(table.insert().values(number=1, word=NUL))
            tx.execute(table.insert(), [{'number': 2, 'word': NUL}, {'number': 3, 'word': 'c'}])
            bulk.texts(tx.dialect.name).insert(tx, 'with_nul', ('number', 'word'), [(4, NUL), (5, 'c')])
            tx.execute(table.update().where(table.c.number == sa.bindparam('which')).values(word=sa.bindparam('new')),
                       [{'which': 3, 'new': 'd'}, {'which': 5, 'new': NUL}])
            expected = 'a\ufffdb' if tx.dialect.name == 'postgresql' else NUL
            assert tx.execute(sa.select(table.c.word).order_by(table.c.number)).scalars().all() == [
                expected, expected, 'd', expected, expected]
        finally:
            tx.execute(sa.text('DROP TABLE with_nul'))
