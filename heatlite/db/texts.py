"""Conditions for texts that may end with blanks, which MariaDB and MySQL leave out of account (PAD SPACE).

For statements that have a limit or change rows; others compare again what they have read. One that groups rows by such
a text groups them by its length as well.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

END = '.'                               # after it, no text ends with a blank


def is_exactly(column: sa.ColumnElement[str], text: str) -> sa.ColumnElement[bool]:
    """Return the condition that a column is this text. An index of the column serves it."""
    return sa.and_(column == text, column + END == text + END)


def is_one_of(column: sa.ColumnElement[str], texts: Iterable[object]) -> sa.ColumnElement[bool]:
    """Return the condition that a column is one of these texts. An index of the column serves it."""
    wanted = list(texts)
    return sa.and_(column.in_(wanted), (column + END).in_([f'{text}{END}' for text in wanted]))
