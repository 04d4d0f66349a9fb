"""Statements on the stacks that are stack sets: root stacks with one resource of the type, under one name."""

from __future__ import annotations

import sqlalchemy as sa

from heatlite.db import listing, stacks
from heatlite.db.stacks import Identity, StoredStack
from heatlite.db.tables import resource, stack

RESOURCE, TYPE = 'set', 'OS::Heatlite::StackSet'
ACTING_BY_TOKEN = frozenset({TYPE, 'OS::Heat::Stack'})      # the types with `keeps_token`

_IS_SET = sa.exists().where(resource.c.stack_id == stack.c.id, resource.c.name == RESOURCE, resource.c.type == TYPE)


def page(tx: sa.Connection, project_id: str | None, limit: int | None, marker: str | None) -> list[Identity]:
    """Live stack sets of a project (None: of all), newest first, at most `limit`, after the one with the id `marker`.

    An unknown marker is ignored. Indexes: live roots, and (stack_id, name) of resources for each of them.
    """
    keys = (stack.c.created_at, stack.c.id)
    query = sa.select(*stacks.IDENTITY).where(stack.c.live == 1, stack.c.owner_id.is_(None), _IS_SET)
    if project_id is not None:
        query = query.where(stack.c.project_id == project_id)
    if marker is not None:
        position = tx.execute(sa.select(*keys).where(
            stack.c.id == marker, *([] if project_id is None else [stack.c.project_id == project_id]))).first()
        if position is not None:
            query = query.where(listing.after(keys, position, ascending=False))
    query = query.order_by(*(key.desc() for key in keys))
    return [Identity(*row) for row in tx.execute(query if limit is None else query.limit(limit))]


def acts_by_token(tx: sa.Connection, stack_id: str) -> bool:
    """Whether a stack has resources that act by the token of its requests. Index: (stack_id, name)."""
    return tx.execute(sa.select(resource.c.id).where(
        resource.c.stack_id == stack_id, resource.c.type.in_(ACTING_BY_TOKEN)).limit(1)).first() is not None


def show(tx: sa.Connection, stack_id: str) -> StoredStack | None:
    """Return the stack with this id, if it is a live stack set. By primary key; index: (stack_id, name)."""
    is_set = tx.execute(sa.select(stack.c.id).where(
        stack.c.id == stack_id, stack.c.live == 1, stack.c.owner_id.is_(None), _IS_SET)).first()
    return None if is_set is None else stacks.get(tx, stack_id)
