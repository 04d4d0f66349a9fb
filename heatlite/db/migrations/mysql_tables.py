"""The options of all tables on MySQL and MariaDB: transactions, every character, and comparison of texts by byte."""

from __future__ import annotations

from typing import Final, TypedDict


class TableOptions(TypedDict):
    """Keyword arguments of a table that SQLAlchemy's dialect of MySQL reads."""

    mysql_engine: str
    mysql_charset: str
    mysql_collate: str


MYSQL: Final = TableOptions(mysql_engine='InnoDB', mysql_charset='utf8mb4', mysql_collate='utf8mb4_bin')
