"""The `lease` table: which engine may write. A lease is valid until its engine's own row expires.

The epoch of a lease grows at each change of owner, and `changes.write` refuses changes made under an older one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import sqlalchemy as sa

from heatlite.common.limits import MOST_ENDED_ENGINES, MOST_STRIKES
from heatlite.db import bulk
from heatlite.db.connection import certifies, clock, clock_text
from heatlite.db.tables import engine, event, lease, signal, stack

# Seconds an engine may go without renewal. A later deadline was written before the clock was set back: it is expired.
LONGEST = 600
COLUMNS = ('stack_id', 'engine_id', 'epoch', 'wanted')
NO_PROJECTS: Mapping[int, Sequence[str]] = {}
# Built once: putting a statement together costs more than running it.
_HELD = sa.select(lease.c.stack_id, lease.c.epoch, lease.c.strikes).where(
    lease.c.wanted == sa.true(), lease.c.engine_id == sa.bindparam('holder'))
_EPOCH = sa.select(lease.c.engine_id, lease.c.epoch, lease.c.strikes, lease.c.wanted).where(
    lease.c.stack_id == sa.bindparam('wanted_stack'))
_HOLDER = _EPOCH.with_for_update()
_SHARED = _EPOCH.with_for_update(read=True)
_WRITE = lease.update().where(lease.c.stack_id == sa.bindparam('wanted_stack')).values(writes=lease.c.writes + 1)
_WANT = _WRITE.values(wanted=True)


class Place(NamedTuple):
    """Where a stack is: its project, its root, and its depth below that."""

    project_id: str
    root_id: str
    depth: int


@dataclass(frozen=True)
class Lease:
    """The right to drive one stack. Every write carries `epoch`; the database refuses an old one."""

    stack_id: str
    engine_id: str
    epoch: int                          # grows by one at each change of owner
    is_new: bool = field(default=False, compare=False)      # nothing was written under this epoch yet
    former: str | None = field(default=None, compare=False)     # in a sweep: the previous owner; '': none
    among: int = field(default=1, compare=False)            # in a sweep: how many were claimed from `former` at once
    strikes: int = field(default=0, compare=False)          # engines that ended while executing the stack, see `strike`
    place: Place | None = field(default=None, compare=False)    # of the stack; None: not known, or of no stack


def insert(tx: sa.Connection, stack_id: str, engine_id: str | None, wanted: bool = True) -> Lease | None:
    """Insert the lease of a new stack. Without `engine_id` it is free for the next sweep, and the result is None."""
    bulk.texts(tx.dialect.name).insert(tx, 'lease', COLUMNS, [(stack_id, engine_id, 1, wanted)])
    return None if engine_id is None else Lease(stack_id, engine_id, 1)


def is_idle(tx: sa.Connection, stack_id: str) -> bool:
    """Whether no engine has the lease and the stack has no work; locks it until the end of `tx`."""
    row = tx.execute(_HOLDER, {'wanted_stack': stack_id}).first()
    return row is not None and row.engine_id is None and not row.wanted


def driven_trees(tx: sa.Connection, root_ids: Sequence[str]) -> set[str]:
    """Those roots in whose trees an engine has ever driven a stack, if their leases were inserted without an owner.

    Indexes: stack (root_id, depth), primary key.
    """
    return set(tx.execute(sa.select(stack.c.root_id).join(lease, lease.c.stack_id == stack.c.id).where(
        stack.c.root_id.in_(root_ids), sa.or_(lease.c.epoch > 1, lease.c.engine_id.is_not(None))).distinct()).scalars())


def claim(tx: sa.Connection, stack_id: str, engine_id: str,
          may_be_alive: Callable[[], bool] = lambda: False) -> Lease | None:
    """Return the stack's lease if it is free, already ours, or its engine has expired; mark the stack as having work.

    `may_be_alive()`: whether an engine that has expired keeps its stacks for now; asked once it is found expired.
    """
    row = tx.execute(_HOLDER, {'wanted_stack': stack_id}).first()
    if row is None:
        return None
    if row.engine_id == engine_id:
        tx.execute(_WANT, {'wanted_stack': stack_id})
        return Lease(stack_id, engine_id, row.epoch, strikes=row.strikes)
    if row.engine_id is not None and (tx.execute(sa.select(engine.c.id).where(
            engine.c.id == row.engine_id, engine.c.expires_at >= clock(tx))).first() or may_be_alive()):
        return None
    tx.execute(lease.update().where(lease.c.stack_id == stack_id)
               .values(engine_id=engine_id, epoch=row.epoch + 1, wanted=True))
    return Lease(stack_id, engine_id, row.epoch + 1, is_new=True, strikes=row.strikes)


def lock_shared(tx: sa.Connection, known: Lease) -> bool:
    """Whether the lease still has the owner and the epoch that it had when it was claimed. Needs a writer.

    Locks it until the end of `tx`, as others may at the same time: for what the owner of a stack writes to other
    stacks, and before it calls a cloud after a late renewal. A transaction that takes the lease is waited for: it has
    seen the engine expired, and may not be committed yet. On Galera it writes, which fails with Contention while the
    node has not applied changes of the lease by other nodes: the node's data may be old."""
    if certifies(tx):
        tx.execute(_WRITE, {'wanted_stack': known.stack_id})
    return _is_of(tx.execute(_SHARED, {'wanted_stack': known.stack_id}).first(), known)


def is_held(tx: sa.Connection, known: Lease) -> bool:
    """As `lock_shared`, as far as this node of the database knows: enough to read by, not to write or call by."""
    return _is_of(tx.execute(_EPOCH, {'wanted_stack': known.stack_id}).first(), known)


def _is_of(row: sa.Row[tuple[str | None, int, int, bool]] | None, known: Lease) -> bool:
    return row is not None and (row.engine_id, row.epoch) == (known.engine_id, known.epoch)


def claim_expired(tx: sa.Connection, engine_id: str, limit: int, *, of_silent: bool = True,
                  except_depths: Sequence[int] = (), except_projects: Mapping[int, Sequence[str]] = NO_PROJECTS,
                  may_take: Callable[[Place], bool] = lambda place: True) -> list[Lease]:
    """Take at most `limit` stacks that have work and no live owner.

    `of_silent`: also those of engines which have expired, not only free ones; `except_depths`: none of stacks of these
    depths; `except_projects`: depth -> projects, none of their stacks of that depth; `may_take`: asked for each stack,
    once. Several engines may sweep at once: each skips rows that another one has locked, so no stack is given twice.
    Two statements when there is nothing to do, one more for leases of expired engines. Index: (wanted, engine_id); with
    exceptions the primary key of stacks, for each stack that is found.
    """
    statements, (time, moment) = bulk.texts(tx.dialect.name), clock_text(tx)
    mark = statements.mark
    # Only those with work: a row of each engine that has ended stays for a day.
    dead = [row[0] for row in statements.run(
        tx, f'SELECT id FROM engine WHERE {_has_expired(time)} AND id <> {mark} '
            f'AND EXISTS (SELECT 1 FROM lease WHERE {_wanted(statements)} AND lease.engine_id = engine.id)',
        (*moment, *moment, engine_id))] if of_silent else []
    full = {depth: list(projects) for depth, projects in except_projects.items()}
    claimed: list[Lease] = []
    while True:
        taken, refused = _free(tx, dead, limit - len(claimed), _excluded(statements, except_depths, full), may_take)
        for chunk in bulk.chunks(taken):
            statements.run(tx, f'UPDATE lease SET engine_id = {mark}, epoch = epoch + 1 '
                               f'WHERE stack_id IN ({statements.marks(len(chunk))})',
                           (engine_id, *(each.stack_id for each in chunk)))
        claimed += [Lease(each.stack_id, engine_id, each.epoch + 1, is_new=True, former=each.engine_id or '',
                          strikes=each.strikes, place=each.place) for each in taken]
        if not refused or len(claimed) >= limit:
            return claimed
        for place in refused:                       # what these leave is for stacks of others, behind theirs
            full.setdefault(place.depth, []).append(place.project_id)


class _Free(NamedTuple):
    """A lease that may be claimed."""

    stack_id: str
    epoch: int
    engine_id: str | None
    strikes: int
    place: Place | None


def _free(tx: sa.Connection, dead: Sequence[str], limit: int, excluded: tuple[str, tuple[object, ...]],
          may_take: Callable[[Place], bool]) -> tuple[list[_Free], list[Place]]:
    """Lock at most `limit` leases without a live owner. Return those that `may_take` allows, and where the others are,
    once for each project and depth."""
    found = _take(tx, 'engine_id IS NULL', (), limit, excluded)
    if dead and len(found) < limit:
        marks = bulk.texts(tx.dialect.name).marks(len(dead))
        silent = _take(tx, f'engine_id IN ({marks})', tuple(dead), limit - len(found), excluded)
        alive = _alive(tx, {str(row[2]) for row in silent})
        found += [row for row in silent if row[2] not in alive]
    places = _places(tx, [row[0] for row in found])
    taken, refused = [], {}
    for row in found:
        place = places.get(row[0])
        if place is None or may_take(place):
            taken.append(_Free(*row, place))
        else:
            refused[place.project_id, place.depth] = place
    return taken, [*refused.values()]


def _alive(tx: sa.Connection, holders: Collection[str]) -> set[str]:
    """Return those of these engines that have renewed their leases since they were found expired. Call it with their
    leases locked: an engine that renews later waits for the locks (`lock_shared`)."""
    if not holders:
        return set()
    statements, (time, moment) = bulk.texts(tx.dialect.name), clock_text(tx)
    return {str(row[0]) for row in statements.run(
        tx, f'SELECT id FROM engine WHERE id IN ({statements.marks(len(holders))}) AND NOT {_has_expired(time)}',
        (*sorted(holders), *moment, *moment))}


def _has_expired(time: str) -> str:
    """Return the condition on the row of an engine. `time`: as of `clock_text`, twice in the condition."""
    return f'(expires_at < {time} OR expires_at > {time} + {LONGEST})'


def _places(tx: sa.Connection, stack_ids: Sequence[str]) -> dict[str, Place]:
    """Return where these stacks are; shards of alarms are nowhere. Primary key."""
    statements = bulk.texts(tx.dialect.name)
    return {str(row[0]): Place(*row[1:]) for chunk in bulk.chunks(stack_ids)
            for row in statements.select(tx, 'id, project_id, root_id, depth', 'stack', 'id', chunk)}


def _excluded(statements: bulk.Texts, depths: Sequence[int],
              projects: Mapping[int, Sequence[str]]) -> tuple[str, tuple[object, ...]]:
    """Return a condition for leases of stacks that are in none of these places, and its values; empty: any.

    A value, not a condition with EXISTS: that might be made a join, and the rows of the stacks be locked. The leases of
    shards of alarms have no stack.
    """
    cases: list[str] = []
    values: list[object] = []
    if depths:
        cases.append(f'WHEN depth IN ({statements.marks(len(depths))}) THEN 1')
        values += depths
    for depth, names in projects.items():
        cases.append(f'WHEN depth = {statements.mark} AND project_id IN ({statements.marks(len(names))}) THEN 1')
        values += [depth, *names]
    if not cases:
        return '', ()
    return (f' AND COALESCE((SELECT CASE {" ".join(cases)} ELSE 0 END FROM stack WHERE stack.id = lease.stack_id), '
            f'{int(0 in depths)}) = 0'), tuple(values)


def _take(tx: sa.Connection, held: str, holders: tuple[str, ...], limit: int,
          excluded: tuple[str, tuple[object, ...]]) -> list[tuple[str, int, str | None, int]]:
    """Lock leases of stacks with work, at most `limit`, that are `held` by these, and not `excluded`."""
    statements, (condition, values) = bulk.texts(tx.dialect.name), excluded
    locking = '' if statements.dialect == 'sqlite' else ' FOR UPDATE SKIP LOCKED'
    return [(row[0], row[1], row[2], row[3]) for row in statements.run(
        tx, f'SELECT stack_id, epoch, engine_id, strikes FROM lease WHERE {_wanted(statements)} AND {held}{condition} '
            f'LIMIT {int(limit)}{locking}', (*holders, *values))]


def _wanted(statements: bulk.Texts) -> str:
    return 'wanted' if statements.dialect == 'postgresql' else 'wanted = 1'


def release(tx: sa.Connection, stack_id: str, engine_id: str, epoch: int, *, wanted: bool = False) -> bool:
    """Release the lease; `wanted`: with work left for other engines, as always while signals wait.

    False when it was no longer ours.
    """
    work = sa.true() if wanted else sa.exists().where(signal.c.stack_id == lease.c.stack_id)
    done = tx.execute(lease.update().where(
        lease.c.stack_id == stack_id, lease.c.engine_id == engine_id, lease.c.epoch == epoch)
        .values(engine_id=None, wanted=work))
    return bool(done.rowcount)


def hand_over(tx: sa.Connection, engine_id: str) -> int:
    """Free all leases of an engine in one statement and return how many. Index: (engine_id)."""
    return int(tx.execute(lease.update().where(lease.c.engine_id == engine_id).values(engine_id=None)).rowcount)


def free(tx: sa.Connection, engine_id: str, stack_ids: Sequence[str]) -> None:
    """Free these leases, if the engine holds them. What is left to do for their stacks stays wanted. Primary key."""
    for chunk in bulk.chunks(sorted(stack_ids)):    # in the order in which all others lock several
        tx.execute(lease.update().where(lease.c.stack_id.in_(chunk), lease.c.engine_id == engine_id)
                   .values(engine_id=None))


def held(tx: sa.Connection, engine_id: str) -> list[Lease]:
    """Return the leases of an engine on whose stacks work is left. Index: (wanted, engine_id)."""
    return [Lease(row.stack_id, engine_id, row.epoch, strikes=row.strikes)
            for row in tx.execute(_HELD, {'holder': engine_id})]


def lock(tx: sa.Connection, stack_id: str) -> bool:
    """Until the end of `tx`, prevents other engines from claiming the stack and its owner from writing. False when the
    stack has no lease."""
    has_one = tx.execute(_HOLDER, {'wanted_stack': stack_id}).first() is not None
    if certifies(tx):
        tx.execute(_WRITE, {'wanted_stack': stack_id})
    return has_one


def start_over(tx: sa.Connection, stack_id: str) -> str | None:
    """Make the owner, if there is one, read the stack again.

    Refuses writes based on what an engine has in memory: the owner still holds the lease, but under a new epoch. Also
    for a free lease, as the last write of its last owner may come again, if its answer was lost. Returns the id of
    the owner; None: the stack has no owner or no work. Locks the lease.
    """
    row = tx.execute(sa.select(lease.c.engine_id, lease.c.wanted).where(
        lease.c.stack_id == stack_id).with_for_update()).first()
    if row is None:
        return None
    tx.execute(lease.update().where(lease.c.stack_id == stack_id).values(epoch=lease.c.epoch + 1))
    return str(row.engine_id) if row.engine_id is not None and row.wanted else None


def want(tx: sa.Connection, stack_id: str) -> None:
    """Mark the stack as having work. Locks the lease until the end of `tx`."""
    tx.execute(_WANT, {'wanted_stack': stack_id})


def owner(tx: sa.Connection, stack_id: str) -> str | None:
    """Return the id of the engine that holds the lease and has not expired, or None."""
    return tx.execute(sa.select(lease.c.engine_id).join(engine, engine.c.id == lease.c.engine_id).where(
        lease.c.stack_id == stack_id, engine.c.expires_at >= clock(tx))).scalar()


# --- engines that end because of a stack -------------------------------------------------------------------

def strike(tx: sa.Connection, stack_id: str) -> int:
    """Count one more engine that ended while it executed code for the stack. Returns how many did in a row.

    A series of strikes ends with progress: a step of the stack that completed, or a newer request. There is no cost
    without failures: the progress of the stack is read only here.
    """
    row = tx.execute(sa.select(lease.c.strikes, lease.c.deaths, lease.c.struck_at)
                     .where(lease.c.stack_id == stack_id).with_for_update()).first()
    if row is None:
        return 0
    generation, last = _progress(tx, stack_id)
    before = (row.struck_at or ':').split(':')
    strikes = row.strikes + 1 if tuple(before) == (generation, last) else 1
    in_total = row.deaths + 1 if before[0] == generation else 1
    tx.execute(lease.update().where(lease.c.stack_id == stack_id)
               .values(strikes=strikes, deaths=in_total, struck_at=f'{generation}:{last}'))
    return strikes


def excessive_strikes(tx: sa.Connection, stack_id: str) -> int:
    """Return how many engines have ended executing the stack, if that is enough to give the stack up; else 0."""
    row = tx.execute(sa.select(lease.c.strikes, lease.c.deaths, lease.c.struck_at)
                     .where(lease.c.stack_id == stack_id)).first()
    if row is None or row.strikes == 0:
        return 0
    if row.strikes < MOST_STRIKES and row.deaths < MOST_ENDED_ENGINES:
        return 0
    generation, last = _progress(tx, stack_id)
    before = (row.struck_at or ':').split(':')
    if row.strikes >= MOST_STRIKES and tuple(before) == (generation, last):
        return int(row.strikes)
    return int(row.deaths) if row.deaths >= MOST_ENDED_ENGINES and before[0] == generation else 0


def _progress(tx: sa.Connection, stack_id: str) -> tuple[str, str]:
    """Return the stack's generation, and the number of the last step of it that completed.

    A step that a dead engine left interrupted may fail, be removed and begin again whenever another engine takes the
    stack over: failures are no progress, nor are deletes unless the stack is being deleted.
    """
    row = tx.execute(sa.select(stack.c.generation, stack.c.action).where(stack.c.id == stack_id)).first()
    steps = sa.select(sa.func.max(event.c.id)).where(event.c.stack_id == stack_id, event.c.status == 'COMPLETE')
    if row is not None and row.action != 'DELETE':
        steps = steps.where(event.c.action != 'DELETE')
    return str(row.generation if row is not None else None), str(tx.execute(steps).scalar())
