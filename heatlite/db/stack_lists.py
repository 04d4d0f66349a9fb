"""Lists and numbers of stacks. Never opens, commits or retries a transaction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import sqlalchemy as sa

from heatlite.db import codec
from heatlite.db.listing import Keys, Page, Position, after, in_slices, ordered
from heatlite.db.tables import stack, stack_tag


@dataclass(frozen=True, eq=False)
class Summary(codec.CachedRow):
    """The columns that lists show."""

    id: str
    name: str
    project_id: str
    username: str | None
    owner_id: str | None
    user_project_id: str | None
    action: str
    status: str
    reason: str
    description: str
    tags: Sequence[str] | None
    created_at: datetime
    updated_at: datetime | None
    deleted_at: datetime | None


class StackFilter(Page, Protocol):
    """Which stacks a list has, and in which order; names are those of columns.

    `tags`: has all, `tags_any`: has one, `not_`: the opposite.
    """

    @property
    def show_deleted(self) -> bool: ...

    @property
    def show_nested(self) -> bool: ...

    @property
    def tags(self) -> Sequence[str]: ...

    @property
    def tags_any(self) -> Sequence[str]: ...

    @property
    def not_tags(self) -> Sequence[str]: ...

    @property
    def not_tags_any(self) -> Sequence[str]: ...


SUMMARY = codec.columns(stack, Summary)
_LIVE_ROOTS = sa.select(sa.func.count()).select_from(stack).where(
    stack.c.project_id == sa.bindparam('project'), stack.c.live == 1, stack.c.owner_id.is_(None))
_summaries = codec.cached_reader(Summary, 'tags')
NEVER = datetime(1970, 1, 1)                        # stands for null where rows are sorted by `updated_at`


def page(tx: sa.Connection, project_id: str | None, wanted: StackFilter, hidden_tags: Sequence[str] = (),
         yield_control: Callable[[], None] = lambda: None, position: Position | None = None) -> list[Summary]:
    """Stacks of a project (None: of all), newest first unless sorted, at most `limit`, after `marker`. `position`: of a
    stack of such a list that is not sorted; the page begins after it.

    Calls `yield_control` after each whole slice of rows, as resource_lists.page. An unknown marker is ignored. One
    statement, two with a marker. Index of the usual list, that of live roots:
    (project_id, live, owner_id, created_at, id); of the others (project_id, created_at, id).
    """
    if wanted.limit == 0:
        return []
    query = _listing(project_id is not None, wanted.show_deleted, wanted.show_nested, tuple(wanted.sort_keys),
                     wanted.sort_dir, wanted.limit is not None)
    filters = _filters(wanted, hidden_tags)
    if filters:
        query = query.where(*filters)
    if wanted.marker or position:
        keys, ascending = _order(wanted.sort_keys, wanted.sort_dir)
        if wanted.marker:
            position = tx.execute(sa.select(*keys).where(
                stack.c.id == wanted.marker,
                *([] if project_id is None else [stack.c.project_id == project_id]))).first()
        if position is not None:
            query = query.where(after(keys, position, ascending))
    return in_slices(tx.execute(query, {'project': project_id, 'limit': wanted.limit}), _summaries, yield_control)


@functools.lru_cache(maxsize=128)
def _listing(is_within: bool, show_deleted: bool, show_nested: bool, sort_keys: tuple[str, ...], sort_dir: str | None,
             is_limited: bool) -> sa.Select[tuple[object, ...]]:
    """Return the statement of `page` without filters, built once: that costs more than executing it. Parameters:
    `project` (`is_within`), `limit` (`is_limited`)."""
    keys, ascending = _order(sort_keys, sort_dir)
    query = sa.select(*SUMMARY).where(*_scope(is_within, show_deleted, show_nested))
    return ordered(query, keys, ascending, is_limited)


def count(tx: sa.Connection, project_id: str | None, wanted: StackFilter, hidden_tags: Sequence[str] = ()) -> int:
    """Return the number of stacks for `page`, without its limit and marker."""
    return int(tx.execute(sa.select(sa.func.count()).select_from(stack)
                          .where(*_scope(project_id is not None, wanted.show_deleted, wanted.show_nested),
                                 *_filters(wanted, hidden_tags)), {'project': project_id}).scalar_one())


def newest_roots(tx: sa.Connection, project_id: str | None = None) -> dict[str, list[str]]:
    """Return the ids of all live root stacks of each project, or of one; those with credentials first, then the
    newest."""
    query = sa.select(stack.c.project_id, stack.c.id).where(stack.c.live == 1, stack.c.owner_id.is_(None))
    if project_id is not None:
        query = query.where(stack.c.project_id == project_id)
    found: dict[str, list[str]] = {}
    for project, stack_id in tx.execute(query.order_by(
            stack.c.project_id, stack.c.credentials_id.is_(None), stack.c.created_at.desc(), stack.c.id)):
        found.setdefault(project, []).append(stack_id)
    return found


def count_live_roots(tx: sa.Connection, project_id: str) -> int:
    """Return the number of live root stacks of a project. Index: (project_id, live, owner_id, ...)."""
    return int(tx.execute(_LIVE_ROOTS, {'project': project_id}).scalar_one())


def _scope(is_within: bool, show_deleted: bool, show_nested: bool) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for all stacks of a list, in the parameter `project` if it `is_within` one."""
    found: list[sa.ColumnElement[bool]] = []
    if is_within:
        found.append(stack.c.project_id == sa.bindparam('project'))
    if not show_deleted:
        found.append(stack.c.live == 1)
    if not show_nested:
        # For all projects: filters by a column without an index, so that the planner uses the index of the order.
        found.append(stack.c.owner_id.is_(None) if is_within else stack.c.depth == 0)
    return found


def _filters(wanted: StackFilter, hidden_tags: Sequence[str]) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of one request."""
    found: list[sa.ColumnElement[bool]] = []
    if hidden_tags:
        found.append(~_has_any(hidden_tags))
    found += [stack.c[column].in_(list(values)) for column, values in wanted.filters.items()]
    if wanted.tags:
        found += [_has_any(wanted.tags), _has_all(wanted.tags)]
    if wanted.tags_any:
        found.append(_has_any(wanted.tags_any))
    if wanted.not_tags:
        found.append(~_has_all(wanted.not_tags))
    if wanted.not_tags_any:
        found.append(~_has_any(wanted.not_tags_any))
    return found


def _has_all(tags: Iterable[str]) -> sa.ColumnElement[bool]:
    """One condition for any number of tags: with one for each, PostgreSQL plans for minutes and SQLite refuses."""
    wanted = list(dict.fromkeys(tags))
    return sa.select(sa.func.count()).select_from(stack_tag).where(
        stack_tag.c.stack_id == stack.c.id, stack_tag.c.tag.in_(wanted)).scalar_subquery() == len(wanted)


def _has_any(tags: Iterable[str]) -> sa.ColumnElement[bool]:
    return sa.exists().where(stack_tag.c.stack_id == stack.c.id, stack_tag.c.tag.in_(list(tags)))


def _order(sort_keys: Sequence[str], sort_dir: str | None) -> tuple[Keys, bool]:
    """Return the columns to sort by, and whether ascending. Ties are broken by the id, in the same direction."""
    if not sort_keys:
        return [stack.c.created_at, stack.c.id], sort_dir == 'asc'
    keys: list[sa.ColumnElement[object]] = [
        sa.func.coalesce(stack.c.updated_at, sa.literal(NEVER, stack.c.updated_at.type)).label('updated')
        if name == 'updated_at' else stack.c[name] for name in dict.fromkeys(sort_keys)]
    return [*(key.element if isinstance(key, sa.Label) else key for key in keys), stack.c.id], sort_dir != 'desc'


def count_live(tx: sa.Connection) -> int:
    """Return the number of live root stacks of all projects, for operators: reads all rows of stacks."""
    return int(tx.execute(sa.select(sa.func.count()).select_from(stack).where(
        stack.c.live == 1, stack.c.owner_id.is_(None), stack.c.departed.is_(None))).scalar_one())
