"""Keeps requests from being carried out in a cell that their project has left (docs/operators/cells.rst).

An API may have read the map before the move, and an engine may have stood still with a request in its hands. So each
transaction that accepts a request is checked in the cell's own database:

- What changes a stack reads its row. In the transaction in which a project leaves, all its stacks are marked
  (`stack.departed`), and their leases are deleted: no engine may write or drive them any more. Engines read their
  leases again before their next request to a cloud (`engines.doubt`).
- What makes a new row of a project locks the project's row in `project_presence` with `enter`. Only databases that are
  cells have such rows: any other one is asked once in KNOWN_SECONDS at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from heatlite.common import exception, runtime
from heatlite.common.i18n import _
from heatlite.db import bulk, leases, shards
from heatlite.db.connection import certifies
from heatlite.db.tables import alarm, alarm_webhook, lease, project_presence, stack

CELL = ''                                   # the row without a project: this database is a cell
KNOWN_SECONDS = 5.0                         # how long it is remembered that a database is no cell
NOWHERE = -1                                # the shard of alarms that are not evaluated here
# What `stack.departed` says about the lease that a stack had, before its epoch: the next one has a higher one.
WANTED, IDLE = 'wanted', 'idle'

_SHARED = sa.select(project_presence.c.has_left).where(
    project_presence.c.project_id == sa.bindparam('project')).with_for_update(read=True)
_USED = project_presence.update().where(project_presence.c.project_id == sa.bindparam('project')).values(
    uses=project_presence.c.uses + 1)
_CELL = sa.select(project_presence.c.project_id).where(project_presence.c.project_id == CELL)


def moved() -> exception.ProjectMoves:
    return exception.ProjectMoves(_('The project is being moved to another database. Send the request again.'))


def check_departed(tx: sa.Connection) -> None:
    """Call it for a stack whose project has left. Raises ProjectMoves within a writer; others may read."""
    if tx.get_execution_options().get('writes'):
        raise moved()


def enter(tx: sa.Connection, project_id: str | None) -> None:
    """Call it in a transaction that makes rows of a project, before them. Raises ProjectMoves if the project has left;
    it does not leave before the end of `tx`."""
    if project_id is None or not is_cell(tx):
        return
    has_left = tx.execute(_SHARED, {'project': project_id}).scalar()
    if has_left is None:
        _upsert(tx, project_id, False, datetime(1970, 1, 1), kept=('has_left', 'since'))    # another one may be faster
        has_left = tx.execute(_SHARED, {'project': project_id}).scalar()
    if has_left:
        raise moved()
    if certifies(tx):
        tx.execute(_USED, {'project': project_id})


def lock(tx: sa.Connection, project_id: str) -> None:
    """As `enter`, and exclude all others that call this for the project until the end of `tx`, in any database. Call it
    before `enter`: two transactions that both have entered would wait for each other."""
    _upsert(tx, project_id, False, datetime(1970, 1, 1), kept=('has_left', 'since'))
    enter(tx, project_id)


def is_cell(tx: sa.Connection) -> bool:
    """Whether projects may leave the database: true at most KNOWN_SECONDS after it has become a cell."""
    known = tx.get_execution_options().get('cell')
    if known is None:
        return False                        # a connection that is not of `Database`
    now = runtime.current().monotonic()
    if known.get('is_cell') or now - known.get('at', -KNOWN_SECONDS) < KNOWN_SECONDS:
        return bool(known.get('is_cell'))
    known.update(is_cell=tx.execute(_CELL).first() is not None, at=now)
    return bool(known['is_cell'])


def cell_since(tx: sa.Connection) -> datetime | None:
    """Since when the database is a cell; None: it is none."""
    found: datetime | None = tx.execute(sa.select(project_presence.c.since).where(
        project_presence.c.project_id == CELL)).scalar()
    return found


def become_cell(tx: sa.Connection, now: datetime) -> datetime:
    """Has the database be a cell from now on, if it is none; returns since when it is one."""
    found = cell_since(tx)
    if found is None:
        mark(tx, CELL, False, now)
    return found or now


def mark(tx: sa.Connection, project_id: str, has_left: bool, now: datetime) -> None:
    """Store whether a project has left this cell; wait for transactions that have entered."""
    _upsert(tx, project_id, has_left, now)


def _upsert(tx: sa.Connection, project_id: str, has_left: bool, now: datetime, kept: Sequence[str] = ()) -> None:
    bulk.texts(tx.dialect.name).upsert(tx, 'project_presence', ('project_id', 'has_left', 'since'), ('project_id',),
                                       [(project_id, has_left, bulk.Times()(now))], kept, 'uses')


def has_left(tx: sa.Connection, project_id: str) -> bool | None:
    """Whether a project has left this cell; None: it was never asked. Primary key."""
    found = tx.execute(sa.select(project_presence.c.has_left).where(
        project_presence.c.project_id == project_id)).scalar()
    return None if found is None else bool(found)


def leave(tx: sa.Connection, project_id: str, now: datetime) -> int:
    """From the end of `tx` on, no request of the project is accepted here, and no engine drives its stacks or evaluates
    its alarms. Returns how many stacks were marked. May be repeated."""
    mark(tx, project_id, True, now)
    own = stack.c.project_id == project_id
    stack_ids: set[str] = set()
    shard = shards.of_project(project_id)
    leases.lock(tx, shards.lease_id(shard))         # before leases of stacks: evaluations signal them
    # Leases before stacks, as in every transaction that locks both. A nested stack is only made under the lease of its
    # parent: when there are no more, all are locked.
    while new := set(tx.execute(sa.select(stack.c.id).where(own)).scalars()) - stack_ids:
        stack_ids |= new
        for chunk in bulk.chunks(sorted(new)):
            tx.execute(lease.update().where(lease.c.stack_id.in_(chunk)).values(writes=lease.c.writes + 1))
    epoch = sa.type_coerce(lease.c.epoch, sa.String(12))         # all databases join it to a text
    state = sa.select(sa.case((lease.c.wanted == sa.true(), f'{WANTED} '), else_=f'{IDLE} ') + epoch).where(
        lease.c.stack_id == stack.c.id).scalar_subquery()
    marked = tx.execute(stack.update().where(own, stack.c.departed.is_(None)).values(
        departed=sa.func.coalesce(state, f'{IDLE} 0'))).rowcount
    for chunk in bulk.chunks(sorted(stack_ids)):
        tx.execute(lease.delete().where(lease.c.stack_id.in_(chunk)))
    for table in (alarm, alarm_webhook):
        tx.execute(table.update().where(table.c.project_id == project_id).values(shard=NOWHERE))
    return int(marked)


def arrive(tx: sa.Connection, project_id: str, now: datetime) -> int:
    """From the end of `tx` on, the project is in this cell: engines find its stacks with work. Returns how many stacks
    it has. May be repeated."""
    own = stack.c.project_id == project_id
    found = tx.execute(sa.select(stack.c.id, stack.c.departed).where(own, stack.c.departed.is_not(None)).order_by(
        stack.c.id)).all()
    rows = []
    for stack_id, departed in found:
        word, _space, epoch = departed.partition(' ')
        rows.append({'stack_id': stack_id, 'engine_id': None, 'epoch': int(epoch) + 1, 'wanted': word == WANTED})
    if rows:
        tx.execute(lease.insert(), rows)
    tx.execute(stack.update().where(own).values(departed=None))
    shard = shards.of_project(project_id)
    has_alarms = [tx.execute(table.update().where(table.c.project_id == project_id).values(shard=shard)).rowcount
                  for table in (alarm, alarm_webhook)]
    if any(has_alarms):
        shards.want(tx, shards.lease_id(shard))
        shards.want(tx, shards.METRICS)
    mark(tx, project_id, False, now)
    return len(rows)
