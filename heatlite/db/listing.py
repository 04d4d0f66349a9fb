"""What lists of rows are asked for, whichever rows they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import sqlalchemy as sa

Keys = Sequence[sa.ColumnElement[object]]       # what a list is sorted by
Row = TypeVar('Row', bound=tuple[object, ...])


class Page(Protocol):
    """The part of a list that a request asks for. Names are those of columns; `marker`: of the row before the first."""

    @property
    def limit(self) -> int | None: ...

    @property
    def marker(self) -> str | None: ...

    @property
    def sort_keys(self) -> Sequence[str]: ...

    @property
    def sort_dir(self) -> str | None: ...

    @property
    def filters(self) -> Mapping[str, Sequence[object]]: ...


def ordered(query: sa.Select[Row], keys: Keys, ascending: bool, is_limited: bool) -> sa.Select[Row]:
    """The statement of a list in the order of `keys`, with a limit in its parameter `limit` if it `is_limited`."""
    found = query.order_by(*(key.asc() if ascending else key.desc() for key in keys))
    return found.limit(sa.bindparam('limit', type_=sa.Integer)) if is_limited else found
