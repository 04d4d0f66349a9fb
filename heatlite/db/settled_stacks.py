"""The column `settled`: which stacks an update need not visit. Never opens, commits or retries a transaction."""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa

from heatlite.db.stack_trees import DEEPEST, OWNED_BY, levels_below
from heatlite.db.tables import stack

_SETTLED = stack.c.id, stack.c.owner_id, stack.c.generation, stack.c.settled
_OWNED_SETTLED = sa.select(*_SETTLED).where(OWNED_BY)


def settled_below(tx: sa.Connection, root_id: str, stack_id: str | None) -> dict[str, str]:
    """Return the live stacks below a stack of a tree that are settled, together with all stacks below them: id ->
    digest. `stack_id`: None for all of the tree, with its root.

    A stack is settled if nothing has happened since a create or an update brought it to a definition in which only
    another definition can cause a change; `digest` is of what had an influence on it. A stack without one is not among
    them: it does not have the definition that its parent wants. `settling` makes the column, which any newer generation
    outdates. SELECTs and indexes: as of `descendants`.
    """
    if stack_id in (None, root_id):
        query = sa.select(*_SETTLED).where(stack.c.root_id == root_id, stack.c.live == 1,
                                           stack.c.depth >= (0 if stack_id is None else 1))
        rows = tx.execute(query).all()
    else:
        rows = list(levels_below(tx, _OWNED_SETTLED, stack_id, DEEPEST))
    owners = {row.id: row.owner_id for row in rows}
    nested = Counter(owners.values())
    found = {}
    unsettled = []
    for row in rows:
        state, _colon, digest = (row.settled or '').rpartition(':')
        if digest and state == f'{row.generation}:{nested[row.id]}':
            found[row.id] = digest
        else:
            unsettled.append(row.id)
    for each in unsettled:
        above = owners.get(each)
        while above is not None:
            found.pop(above, None)
            above = owners.get(above)
    return found


def is_settled(tx: sa.Connection, stack_id: str) -> bool:
    """Whether a stack is settled, whatever the stacks below it are. By primary key."""
    found = tx.execute(sa.select(stack.c.generation, stack.c.settled).where(stack.c.id == stack_id)).first()
    return found is not None and (found.settled or '').startswith(f'{found.generation}:')


def settling(generation: int, nested: int, digest: str) -> str:
    """Return the value of the column `settled` of a stack with that many nested stacks. `digest`: empty if it was
    brought to a definition which its parent does not know: by a signal."""
    return f'{generation}:{nested}:{digest}'


def keep_settled(tx: sa.Connection, stack_id: str, generation: int) -> None:
    """Has a settled stack settled in its next generation, too. Two statements by primary key."""
    before = tx.execute(sa.select(stack.c.settled).where(stack.c.id == stack_id)).scalar_one()
    _former, nested, digest = before.split(':')
    tx.execute(stack.update().where(stack.c.id == stack_id).values(settled=settling(generation, int(nested), digest)))


def unsettle(tx: sa.Connection, stack_id: str) -> None:
    """Note that the next update has to look at a stack."""
    tx.execute(stack.update().where(stack.c.id == stack_id, stack.c.settled.is_not(None)).values(settled=None))
