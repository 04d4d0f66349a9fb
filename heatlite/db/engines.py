"""The `engine` table: one row per engine process. Its deadline is the deadline of all its leases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from heatlite.db import bulk, leases
from heatlite.db.connection import clock, clock_text
from heatlite.db.tables import engine, lease


@dataclass(frozen=True)
class Engine:
    """A process that drives stacks, as it has registered itself. Times are UTC."""

    id: str
    host: str
    hostname: str
    binary: str
    topic: str
    report_interval: int                # seconds
    created_at: datetime
    updated_at: datetime | None
    deleted_at: datetime | None
    is_up: bool                         # not stopped, and its deadline has not passed


def register(tx: sa.Connection, *, engine_id: str, host: str, hostname: str, binary: str, topic: str,
             report_interval: int, ttl: float, now: datetime) -> None:
    """Insert a row, or renew the existing one.

    `ttl`: seconds without renewal until other engines may take its stacks. Removes earlier processes of the same host,
    hostname and binary that no longer report and hold no lease, frees leases of engines that have no row, and deletes
    rows as `clean`. Leases of silent engines are left to sweeps: these notice when the database's clock was set.
    """
    former = tx.execute(sa.select(engine.c.id, engine.c.expires_at).where(
        engine.c.host == host, engine.c.hostname == hostname, engine.c.binary == binary, engine.c.id != engine_id,
        engine.c.deleted_at.is_(None), engine.c.expires_at < clock(tx) - 3 * report_interval,
        ~sa.exists().where(lease.c.engine_id == engine.c.id))).all()
    for each in former:
        remove(tx, each.id, now, each.expires_at)
    holders = tx.execute(sa.select(lease.c.engine_id).where(
        lease.c.engine_id.is_not(None), lease.c.engine_id.not_in(sa.select(engine.c.id))).distinct()).scalars()
    for holder in list(holders):
        leases.hand_over(tx, holder)
    values = {'host': host, 'hostname': hostname, 'binary': binary, 'topic': topic,
              'report_interval': report_interval, 'expires_at': clock(tx) + ttl, 'deleted_at': None}
    known = tx.execute(engine.update().where(engine.c.id == engine_id).values(**values, updated_at=now))
    if not known.rowcount:
        tx.execute(engine.insert().values(id=engine_id, created_at=now, **values))
    _forget(tx, now)


def renew(tx: sa.Connection, engine_id: str, ttl: float, now: datetime) -> bool:
    """Extend all leases of the engine, in one statement. False: the engine must register again."""
    statements, (time, moment) = bulk.texts(tx.dialect.name), clock_text(tx)
    mark = statements.mark
    done = statements.run(tx, f'UPDATE engine SET expires_at = {time} + {mark}, updated_at = {mark} '
                              f'WHERE id = {mark} AND deleted_at IS NULL',
                          (*moment, ttl, bulk.Times()(now), engine_id))
    return bool(done.rowcount)


def left(tx: sa.Connection, engine_id: str) -> float | None:
    """Seconds until the deadline of a live engine, by the database's clock. Primary key."""
    statements, (time, moment) = bulk.texts(tx.dialect.name), clock_text(tx)
    found = statements.run(tx, f'SELECT expires_at - {time} FROM engine WHERE id = {statements.mark} '
                               f'AND deleted_at IS NULL', (*moment, engine_id)).scalar()
    return None if found is None else float(found)


def standing(tx: sa.Connection, engine_id: str, lock: bool = False) -> tuple[float, int] | None:
    """As `left`, and the number of its doubts (`doubt`). `lock`: there are no more of them before the end of `tx`.
    Primary key."""
    statements, (time, moment) = bulk.texts(tx.dialect.name), clock_text(tx)
    locking = ' FOR UPDATE' if lock and statements.dialect != 'sqlite' else ''
    found = statements.run(tx, f'SELECT expires_at - {time}, doubts FROM engine WHERE id = {statements.mark} '
                               f'AND deleted_at IS NULL{locking}', (*moment, engine_id)).first()
    return None if found is None else (float(found[0]), int(found[1]))


def doubt(tx: sa.Connection) -> dict[str, float]:
    """Has all engines read their leases again before their next requests; returns the deadlines of those that live."""
    tx.execute(engine.update().values(doubts=engine.c.doubts + 1))
    return {row.id: row.expires_at for row in tx.execute(
        sa.select(engine.c.id, engine.c.expires_at).where(_lives(tx)))}


def unsure(tx: sa.Connection, deadlines: Mapping[str, float]) -> int:
    """How many of these engines have neither renewed their leases since `doubt`, nor passed their deadline."""
    found = tx.execute(sa.select(engine.c.id, engine.c.expires_at).where(_lives(tx)))
    return sum(deadlines.get(row.id) == row.expires_at for row in found)


def _lives(tx: sa.Connection) -> sa.ColumnElement[bool]:
    """Whether an engine may still rely on its leases; see `leases.LONGEST` for deadlines that are far ahead."""
    return engine.c.expires_at.between(clock(tx), clock(tx) + leases.LONGEST)


def page(tx: sa.Connection) -> list[Engine]:
    """All engines that were not stopped, in the order of their start."""
    query = sa.select(*(engine.c[name] for name in Engine.__dataclass_fields__ if name != 'is_up'),
                      engine.c.expires_at >= clock(tx)).where(engine.c.deleted_at.is_(None))
    return [Engine(*(*values, bool(is_up)))
            for *values, is_up in tx.execute(query.order_by(engine.c.created_at, engine.c.id))]


def host_of(tx: sa.Connection, engine_id: str) -> str | None:
    """Return the name of the host on which an engine runs. Primary key."""
    return tx.execute(sa.select(engine.c.hostname).where(engine.c.id == engine_id)).scalar()


def any_lives(tx: sa.Connection, stopped_after: datetime) -> bool:
    """Whether an engine holds the right to drive stacks, or was stopped after this time, perhaps to be started again.
    One row at most is read."""
    return tx.execute(sa.select(engine.c.id).where(
        sa.or_(_lives(tx), engine.c.deleted_at >= stopped_after)).limit(1)).first() is not None


def any_ended(tx: sa.Connection, since: datetime, seconds: float) -> bool:
    """Whether an engine fell silent less than `seconds` ago by the database's clock, or has been removed after the time
    `since`. Reads one row at most."""
    return tx.execute(sa.select(engine.c.id).where(sa.or_(
        engine.c.deleted_at >= since,
        sa.and_(engine.c.deleted_at.is_(None), engine.c.expires_at.between(clock(tx) - seconds, clock(tx)))))
        .limit(1)).first() is not None


def living(tx: sa.Connection) -> list[str]:
    """Return the ids of the engines that hold the right to drive stacks."""
    return [str(found) for found in tx.execute(sa.select(engine.c.id).where(_lives(tx))).scalars()]


def remove(tx: sa.Connection, engine_id: str, now: datetime, deadline: float | None = None) -> bool:
    """Mark an engine as stopped and free the leases it still holds. False if it was already removed.

    `deadline`: the one with which it was found silent. If it has renewed its leases since, it relies on them: then
    nothing is done, and the result is False."""
    query = engine.update().where(engine.c.id == engine_id, engine.c.deleted_at.is_(None))
    if deadline is not None:
        query = query.where(engine.c.expires_at == deadline)
    is_removed = bool(tx.execute(query.values(deleted_at=now, expires_at=0.0)).rowcount)
    if is_removed or deadline is None:
        leases.hand_over(tx, engine_id)
    return is_removed


def remove_dead(tx: sa.Connection, engine_id: str, stack_id: str | None, now: datetime) -> bool:
    """Remove an engine whose process is known to be dead.

    `stack_id`: the stack for which it was executing code; it gets a strike. False, and no strike, when the engine was
    already removed.
    """
    if not remove(tx, engine_id, now):
        return False
    if stack_id is not None:
        leases.strike(tx, stack_id)
    return True


def silent(tx: sa.Connection) -> dict[str, float]:
    """Return the deadlines of expired engines that were not stopped. Live ones are among them while the database's
    clock has just been set forward: those that renew their leases within `lease_ttl` seconds."""
    return {row.id: row.expires_at for row in tx.execute(sa.select(engine.c.id, engine.c.expires_at).where(
        engine.c.deleted_at.is_(None), engine.c.expires_at < clock(tx)))}


def clean(tx: sa.Connection, now: datetime, deadlines: Mapping[str, float]) -> list[str]:
    """Mark those engines as stopped that have been silent since they had these deadlines, and return their ids.
    Removes rows of engines stopped more than a day ago."""
    ended = [engine_id for engine_id, deadline in silent(tx).items() if deadlines.get(engine_id) == deadline]
    _forget(tx, now)
    return [engine_id for engine_id in ended if remove(tx, engine_id, now, deadlines[engine_id])]


def _forget(tx: sa.Connection, now: datetime) -> None:
    """Remove rows of engines stopped more than a day ago.

    Not at once: a process that wakes up late may take a lease before it finds that it must register again. They are
    looked for without locks: a DELETE that reads all rows would wait for, and deadlock with, engines that register.
    """
    ended = tx.execute(sa.select(engine.c.id).where(engine.c.deleted_at < now - timedelta(days=1)).order_by(
        engine.c.id)).scalars().all()
    if ended:
        tx.execute(engine.delete().where(engine.c.id.in_(ended)))
