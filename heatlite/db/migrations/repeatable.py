"""Lets a migration that was interrupted run again.

MariaDB and MySQL commit each statement that changes the schema. If db_sync is killed between two of them, the revision
is not noted, but a part of it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa


@contextmanager
def steps(impl: Any, connection: sa.Connection) -> Iterator[None]:
    """Within the block, alembic leaves out the creation of columns, tables and indexes that exist. `impl`: its
    implementation of operations for one migration context."""
    add_column, create_table, create_index = impl.add_column, impl.create_table, impl.create_index

    def add_missing_column(table: str, column: sa.Column[object], **options: object) -> None:
        if column.name not in {each['name'] for each in sa.inspect(connection).get_columns(table)}:
            add_column(table, column, **options)

    def create_missing_table(table: sa.Table, **options: object) -> None:
        if not sa.inspect(connection).has_table(table.name):
            create_table(table, **options)

    def create_missing_index(index: sa.Index, **options: object) -> None:
        assert index.table is not None
        if index.name not in {each['name'] for each in sa.inspect(connection).get_indexes(index.table.name)}:
            create_index(index, **options)

    impl.add_column, impl.create_table, impl.create_index = (
        add_missing_column, create_missing_table, create_missing_index)
    try:
        yield
    finally:
        del impl.add_column, impl.create_table, impl.create_index
