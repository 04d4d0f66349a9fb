"""The stacks of a tree: a root and what is nested in it. Never opens, commits or retries a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import datetime
from typing import TypeAlias

import sqlalchemy as sa

from heatlite.db import bulk, texts
from heatlite.db.stacks import IDENTITY, Identity, StoredStack, identity
from heatlite.db.tables import lease, signal, stack
from heatlite.planning.states import Status

Selected: TypeAlias = sa.Select[tuple[object, ...]] | sa.CompoundSelect[tuple[object, ...]]
DEEPEST = 1000                          # levels of nested stacks: more than any tree has
# A root, and what is at most `depth` levels below it.
IN_TREE = sa.and_(stack.c.root_id == sa.bindparam('stack_id'), stack.c.depth.between(0, sa.bindparam('depth')),
                  sa.or_(stack.c.live == 1, stack.c.id == sa.bindparam('stack_id')))
# A stack of any depth, and those that its resources own. Two parts of one statement: with an OR a server might read
# the whole table.
ITSELF = stack.c.id == sa.bindparam('stack_id')
OWNED = sa.and_(stack.c.owner_id == sa.bindparam('stack_id'), stack.c.live == 1)
OUTER_FIRST = (stack.c.depth, stack.c.created_at, stack.c.id)
_FAMILY = (*IDENTITY, stack.c.created_at)
_DEPTH, _WIDTH = [field.name for field in fields(Identity)].index('depth'), len(IDENTITY)
_WITH_DESCENDANTS: dict[bool, Selected] = {
    True: sa.union_all(sa.select(*_FAMILY).where(ITSELF), sa.select(*_FAMILY).where(OWNED)),
    False: sa.select(*_FAMILY).where(IN_TREE)}
OWNED_BY = sa.and_(stack.c.owner_id.in_(sa.bindparam('owners', expanding=True)), stack.c.live == 1)
_OWNED_IDENTITIES = sa.select(*IDENTITY, stack.c.created_at).where(OWNED_BY)


def tree(tx: sa.Connection, root_id: str, deleted: bool = False) -> list[Identity]:
    """Return a root and all stacks below it, outer ones first. Index: (root_id, depth)."""
    query = sa.select(*IDENTITY).where(stack.c.root_id == root_id)
    if not deleted:
        query = query.where(stack.c.live == 1)
    return [Identity(*row) for row in tx.execute(query.order_by(*OUTER_FIRST))]


def descendants(tx: sa.Connection, root_id: str, stack_id: str, depth: int = DEEPEST) -> list[Identity]:
    """Live stacks at most `depth` levels below `stack_id`, outer ones first, without itself.

    One SELECT for a root, by the index (root_id, depth); for others as `levels_below`.
    """
    if depth < 1:
        return []
    if stack_id != root_id:
        inner = levels_below(tx, _OWNED_IDENTITIES, stack_id, depth)
        outer_first = sorted(inner, key=lambda row: (row.depth, row.created_at, row.id))
        return [Identity(*row[:-1]) for row in outer_first]
    return below(stack_id, depth, (Identity(*row) for row in tx.execute(sa.select(*IDENTITY).where(
        stack.c.root_id == root_id, stack.c.live == 1, stack.c.depth.between(1, depth)).order_by(*OUTER_FIRST))))


def lock(tx: sa.Connection, top: Identity) -> list[Identity]:
    """Lock the leases of a stack and of all below it until the end of `tx`; return those below, as `descendants`.

    A nested stack is only made under the lease of its parent: when there are no more, all are locked. Two SELECTs of
    `descendants`, and one statement for the leases; more if stacks are made meanwhile."""
    locked: set[str] = set()
    while True:
        found = descendants(tx, top.root_id, top.id)
        new = {top.id, *(each.id for each in found)} - locked
        if not new:
            return found
        locked |= new
        for chunk in bulk.chunks(sorted(new)):
            tx.execute(lease.update().where(lease.c.stack_id.in_(chunk)).values(writes=lease.c.writes + 1))


def levels_below(tx: sa.Connection, owned: sa.Select[tuple[object, ...]], stack_id: str,
                 depth: int) -> Iterator[sa.Row[tuple[object, ...]]]:
    """Execute `owned`, with the condition OWNED_BY, for each level below a stack; reads nothing else of its tree.

    One SELECT for each 500 stacks of the level above, until there are none. Index: owner_id. One statement that goes
    down by itself takes longer: PostgreSQL expects too many rows of a recursion, and MariaDB writes texts in one to a
    file."""
    above = [stack_id]
    while above and depth > 0:
        level = [row for chunk in bulk.chunks(above) for row in tx.execute(owned, {'owners': chunk})]
        yield from level
        above, depth = [row.id for row in level], depth - 1


def below(stack_id: str, depth: int, nested: Iterable[Identity]) -> list[Identity]:
    """Those of a tree's nested stacks, outer ones first, that are at most `depth` levels below `stack_id`."""
    levels = {stack_id: 0}
    found = []
    for each in nested:
        level = levels.get(each.owner_id or '')
        if level is not None and level < depth:
            levels[each.id] = level + 1
            found.append(each)
    return found


def paths(stack_id: str, nested: Iterable[Identity], path: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """Return the path of each stack of a tree by its id. `nested`: the stacks below `stack_id`, outer ones first;
    `path`: its own."""
    found = {stack_id: path}
    for each in nested:
        found[each.id] = (*found[str(each.owner_id)], str(each.parent_resource))
    return found


def with_descendants(tx: sa.Connection, stack_id: str, depth: int) -> tuple[Identity | None, list[Identity]]:
    """Return a stack, as `identity`, and its `descendants`. One SELECT. None where more than that is needed: for a
    stack that is no root, with a `depth` of more than one.

    Indexes: primary key and (owner_id) for one level, (root_id, depth) for more.
    """
    statement = _WITH_DESCENDANTS[depth <= 1]
    return family(stack_id, depth, tx.execute(statement, {'stack_id': stack_id, 'depth': depth}))


def family(stack_id: str, depth: int,
           rows: Iterable[sa.Row[tuple[object, ...]]]) -> tuple[Identity | None, list[Identity]]:
    """As `with_descendants`, of rows in any order that begin with the columns of an Identity and `created_at`."""
    outer_first = sorted(rows, key=lambda row: (row[_DEPTH], row[_WIDTH], row[0]))
    found = [Identity(*row[:_WIDTH]) for row in outer_first]
    return (found[0], below(stack_id, depth, found[1:])) if found else (None, [])


def path(tx: sa.Connection, nested: StoredStack | Identity) -> tuple[str, ...]:
    """Return the names of the resources that lead from the root to a stack; () for a root. One SELECT for each
    level."""
    return whole_path(tx, nested)[1:]


def whole_path(tx: sa.Connection, nested: StoredStack | Identity) -> tuple[str, ...]:
    """Return the name of the root stack, then `path`. One SELECT for each level."""
    names: list[str] = []
    at: StoredStack | Identity = nested
    while at.owner_id is not None:
        names.append(str(at.parent_resource))
        above = identity(tx, at.owner_id)
        if above is None:
            return ('', *reversed(names))
        at = above
    return (at.name, *reversed(names))


def child(tx: sa.Connection, stack_id: str, resource_name: str) -> Identity | None:
    """Return the live nested stack of a resource. Index: (owner_id)."""
    row = tx.execute(sa.select(*IDENTITY).where(
        stack.c.owner_id == stack_id, texts.is_exactly(stack.c.parent_resource, resource_name), stack.c.live == 1)
        .order_by(stack.c.created_at.desc(), stack.c.id.desc()).limit(1)).first()
    return None if row is None else Identity(*row)


def is_busy(tx: sa.Connection, root_id: str, since: datetime) -> bool:
    """Whether anything of a tree may have begun before `since` and not ended: an action is in progress, a signal is not
    handled, or an engine has a stack without an action since, as for its last events.

    Indexes: (root_id, depth), and for each stack the primary key of leases and the stack of signals."""
    is_signalled = sa.exists().where(signal.c.stack_id == stack.c.id)
    is_driven = sa.and_(
        sa.exists().where(lease.c.stack_id == stack.c.id, lease.c.engine_id.is_not(None)),
        sa.func.coalesce(stack.c.started_at, stack.c.created_at) < since)
    busy = sa.or_(stack.c.status == Status.IN_PROGRESS, is_signalled, is_driven)
    return tx.execute(sa.select(stack.c.id).where(
        stack.c.root_id == root_id, stack.c.live == 1, busy).limit(1)).first() is not None


def children(tx: sa.Connection, stack_ids: Iterable[str]) -> dict[str, Identity]:
    """Select these stacks, deleted ones included, by id: parents poll for nested stacks that other engines drive.

    One SELECT for each 500, by primary key.
    """
    found: dict[str, Identity] = {}
    for chunk in bulk.chunks(list(stack_ids)):
        found.update((row.id, Identity(*row)) for row in tx.execute(sa.select(*IDENTITY).where(stack.c.id.in_(chunk))))
    return found
