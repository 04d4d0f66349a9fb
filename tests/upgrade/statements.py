"""The schema of a release as tables, and its recorded INSERTs and UPDATEs, for databases of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from heatlite.db import tables

State = Mapping[str, Any]
TYPES: Mapping[str, Any] = {'Text': tables.Text, 'DateTime': tables.Time}


def metadata(schema: State) -> sa.MetaData:
    """The tables of `state.schema`."""
    found = sa.MetaData()
    for name, table in schema['tables'].items():
        indexes = [sa.Index(index, *each['columns'], unique=each['unique']) for index, each in table['indexes'].items()]
        uniques = [sa.UniqueConstraint(*each, name=f'uq_{name}_{"_".join(each)}') for each in table['uniques']]
        sa.Table(name, found, *(_column(column, each, table) for column, each in table['columns'].items()),
                 *uniques, *indexes, mysql_engine='InnoDB', mysql_charset='utf8mb4', mysql_collate='utf8mb4_bin')
    return found


def _column(name: str, found: State, table: State) -> sa.Column[Any]:
    if table['key'] == [name] and found['type'] == 'BigInteger':
        kind, counts = tables.BigId, True
    else:
        kind = TYPES.get(found['type']) or getattr(sa, found['type'])
        if found['length'] is not None:
            kind = kind(found['length'])
        counts = False
    return sa.Column(name, kind, nullable=found['nullable'], server_default=found['default'],
                     primary_key=name in table['key'], autoincrement=counts)


FIRST = 10_000                      # of explicit numbers: those that the database assigns are lower


def replay(tx: sa.Connection, schema: State, statements: State) -> int:
    """Sends each recorded INSERT twice, then each UPDATE; their number. Raises what the database refuses.

    Each value is the longest that the column of that release holds. All rows have the same ones but for keys.
    """
    known, sent = metadata(schema), 0
    for name, inserts in statements['inserts'].items():
        table = known.tables[name]
        for number, columns in enumerate([*inserts, *inserts], FIRST):
            tx.execute(table.insert().values({column: _value(table.c[column], number) for column in columns}))
            sent += 1
    for name, updates in statements['updates'].items():
        table = known.tables[name]
        keys = _keys(table)
        for columns in updates:
            first = tx.execute(sa.select(*table.primary_key).limit(1)).first()
            where = [sa.false()] if first is None else [
                column == value for column, value in zip(table.primary_key, first, strict=True)]
            tx.execute(table.update().where(*where).values({
                column: table.c[column] if column in keys else _value(table.c[column], FIRST) for column in columns}))
            sent += 1
    for table in known.tables.values():
        tx.execute(sa.select(table))
    return sent


def _keys(table: sa.Table) -> set[str]:
    """Columns whose values must differ from row to row."""
    uniques = (each.columns for each in table.constraints if isinstance(each, sa.UniqueConstraint))
    return {column.name for columns in (table.primary_key, *uniques) for column in columns}


def _value(column: sa.Column[Any], number: int) -> Any:
    kind = column.type
    varies = number if column.name in _keys(column.table) else FIRST
    if isinstance(kind, sa.Boolean):
        return True
    if isinstance(kind, (sa.Integer, sa.Double)):
        return varies
    if isinstance(kind, sa.DateTime):
        return datetime(2030, 1, 1, 1, 1, 1, varies)
    if isinstance(kind, sa.Text):
        return '"' + 'x' * 70_000 + '"'
    return str(varies).ljust(kind.length or 255, 'x')
