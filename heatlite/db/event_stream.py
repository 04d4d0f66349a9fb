"""The `event` table as one sequence, for streams: events of many stacks in the order of their numbers.

Numbers are given when a row is written, not when it is committed: a lower number may appear after a higher one. Within
one stack they appear in order, since its writers wait for each other. Never opens, commits or retries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from heatlite.db.bulk import chunks
from heatlite.db.events import LISTED, ShownEvent
from heatlite.db.tables import event, stack

Span = tuple[int, int]                      # first and last number, both included


@dataclass(frozen=True)
class Streamed:
    """An event with the facts of its stack by which listeners are found."""

    event: ShownEvent
    stack_name: str
    project_id: str
    root_id: str


_QUERY = sa.select(stack.c.name, stack.c.project_id, stack.c.root_id, *LISTED).join_from(
    event, stack, stack.c.id == event.c.stack_id)


def newest(tx: sa.Connection, limit: int) -> list[int]:
    """Return the `limit` highest numbers, ascending. Primary key."""
    return [row[0] for row in tx.execute(sa.select(event.c.id).order_by(event.c.id.desc()).limit(limit))][::-1]


def after(tx: sa.Connection, position: int, limit: int) -> list[Streamed]:
    """Events of all stacks with higher numbers, ascending. Primary key."""
    return _found(tx, _QUERY.where(event.c.id > position).order_by(event.c.id).limit(limit))


def numbers_within(tx: sa.Connection, spans: Sequence[Span], limit: int) -> list[int]:
    """Return the numbers that exist in these spans, ascending. Primary key."""
    within = sa.or_(*(event.c.id.between(first, last) for first, last in spans))
    return [row[0] for row in tx.execute(sa.select(event.c.id).where(within).order_by(event.c.id).limit(limit))]


def by_numbers(tx: sa.Connection, numbers: Sequence[int]) -> list[Streamed]:
    """Return these events, ascending. Primary key; one statement for each chunk."""
    return [each for chunk in chunks(list(numbers))
            for each in _found(tx, _QUERY.where(event.c.id.in_(chunk)).order_by(event.c.id))]


def end_of_span(tx: sa.Connection, position: int, last: int, count: int) -> int:
    """Return the number up to which there are at most `count` events of all projects above `position`; at most `last`.
    Primary key, of which it reads no rows."""
    found = tx.execute(sa.select(event.c.id).where(event.c.id > position, event.c.id <= last).order_by(event.c.id)
                       .offset(count - 1).limit(1)).scalar()
    return last if found is None else int(found)


def of_project(tx: sa.Connection, project_id: str, position: int, last: int, limit: int) -> list[Streamed]:
    """Events of a project's stacks with numbers above `position`, up to `last`, ascending. Primary key: reads events of
    all projects in between, so bound them by `end_of_span`."""
    return _found(tx, _QUERY.where(event.c.id > position, event.c.id <= last, stack.c.project_id == project_id)
                  .order_by(event.c.id).limit(limit))


def of_tree(tx: sa.Connection, stack_id: str, position: int, last: int, limit: int) -> list[Streamed]:
    """Return the same of one stack, and of all stacks nested in it if it is a root. Indexes: (root_id, depth),
    (stack_id, id).
    """
    own = sa.union(sa.select(stack.c.id).where(stack.c.id == stack_id),
                   sa.select(stack.c.id).where(stack.c.root_id == stack_id)).subquery()
    return _found(tx, _QUERY.where(event.c.id > position, event.c.id <= last,
                                   event.c.stack_id.in_(sa.select(own.c.id))).order_by(event.c.id).limit(limit))


def _found(tx: sa.Connection, query: sa.Select[tuple[object, ...]]) -> list[Streamed]:
    return [Streamed(ShownEvent(*row[3:]), row[0], row[1], row[2]) for row in tx.execute(query)]
