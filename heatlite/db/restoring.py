"""Prepares a database that was restored from a backup, before engines use it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db import events, plans
from heatlite.db.connection import clock
from heatlite.db.tables import engine, event, lease, plan, signal_error, stack
from heatlite.planning.states import Status

EPOCHS = 1_000_000              # by which epochs grow: more changes of owner than there were after the backup
NUMBERS = 10_000_000            # ... and numbers of events


@dataclass(frozen=True)
class Prepared:
    """What was prepared. `taken_at`: when the backup was taken, UTC; None: the database has no stack and no engine.

    `unfinished`: stacks with work, which the first engine takes; `plans`: that are void."""

    taken_at: datetime | None
    stacks: int
    unfinished: int
    engines: int
    plans: int


def taken_at(tx: sa.Connection) -> datetime | None:
    """When the backup was taken: the last time that an engine renewed its leases, or anything happened to a stack."""
    found = [tx.execute(sa.select(sa.func.max(column))).scalar()
             for column in (engine.c.created_at, engine.c.updated_at, event.c.created_at, stack.c.created_at,
                            stack.c.updated_at)]
    return max((each for each in found if each is not None), default=None)


def prepare(tx: sa.Connection, at: datetime | None, now: datetime) -> Prepared:
    """Release what engines of the former site held, refuse what they may still write, and mark all stacks.

    `at`: when the backup was taken; None: as `taken_at`. May be repeated. Raises Conflict while an engine uses the
    database.
    """
    alive = tx.execute(sa.select(engine.c.host).where(
        engine.c.deleted_at.is_(None), engine.c.expires_at >= clock(tx))).scalars().all()
    if alive:
        raise exception.Conflict(_('Engines use this database: %s. Stop them first.') % ', '.join(sorted(set(alive))))
    at = at or taken_at(tx)
    tx.execute(lease.update().values(engine_id=None, epoch=lease.c.epoch + EPOCHS, strikes=0, deaths=0))
    engines = tx.execute(engine.delete()).rowcount
    tx.execute(signal_error.delete())
    void = tx.execute(plan.update().where(plan.c.state.in_(plans.APPLICABLE), plan.c.expires_at > now)
                      .values(expires_at=now)).rowcount
    marked = tx.execute(stack.update().where(stack.c.live == 1, sa.or_(
        stack.c.restored_from.is_(None), stack.c.restored_from < at)).values(restored_from=at)).rowcount if at else 0
    unfinished = tx.execute(sa.select(sa.func.count()).select_from(stack).where(
        stack.c.live == 1, stack.c.status == Status.IN_PROGRESS)).scalar_one()
    events.skip_numbers(tx, NUMBERS)
    return Prepared(at, marked, unfinished, engines, void)


def restored_from(tx: sa.Connection) -> datetime | None:
    """When the newest backup was taken that stacks of this database are from; None if it was never restored."""
    found: datetime | None = tx.execute(sa.select(sa.func.max(stack.c.restored_from))).scalar()
    return found
