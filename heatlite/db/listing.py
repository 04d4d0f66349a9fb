"""What lists of rows are asked for, whichever rows they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import sqlalchemy as sa

from heatlite.db.bulk import AT_ONCE, chunks
from heatlite.db.codec import CachedRow, ListReader

Keys = Sequence[sa.ColumnElement[object]]       # what a list is sorted by
Position = Sequence[object]                      # the values of these in one row
Row = TypeVar('Row', bound=tuple[object, ...])
K = TypeVar('K', bound=CachedRow)
R = TypeVar('R')


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
    """Return the statement of a list in the order of `keys`, with a limit in its parameter `limit` if it
    `is_limited`."""
    found = query.order_by(*(key.asc() if ascending else key.desc() for key in keys))
    return found.limit(sa.bindparam('limit', type_=sa.Integer)) if is_limited else found


def in_slices(rows: Iterable[Sequence[object]], read: ListReader[K], yield_control: Callable[[], None]) -> list[K]:
    """Read the rows of a list. Calls `yield_control` after each AT_ONCE of them: making the objects of a long list at
    once would block other green threads."""
    found: list[K] = []
    for chunk in chunks(rows):
        found += read(chunk, len(found))
        if len(chunk) == AT_ONCE:
            yield_control()
    return found


def cut(rows: Iterable[R], size: Callable[[R], int], most: int) -> Iterator[R]:
    """Yield rows up to the one with which their sizes reach `most`: at least one."""
    total = 0
    for row in rows:
        yield row
        total += size(row)
        if total >= most:
            return


def after(keys: Keys, position: Position, ascending: bool) -> sa.ColumnElement[bool]:
    """Return the condition for rows after `position` in the order of `keys`.

    Spelled out because MySQL uses no index range for (a, b) < (x, y), but does for `a <= x and (a < x or b < y)`.
    """
    def beyond(key: sa.ColumnElement[object], value: object) -> sa.ColumnElement[bool]:
        found: sa.ColumnElement[bool] = key > value if ascending else key < value
        return found

    last = len(keys) - 1
    found = beyond(keys[last], position[last])
    for number in range(last - 1, -1, -1):
        key, value = keys[number], position[number]
        reached = key >= value if ascending else key <= value
        found = sa.and_(reached, sa.or_(beyond(key, value), found))
    return found
