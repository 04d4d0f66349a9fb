"""The table `drift`: what the last look at the objects of a stack has found, and when the next one is due."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa

from heatlite.db import codec, leases
from heatlite.db.tables import drift, stack
from heatlite.planning.drift import DriftReport, from_json, to_json
from heatlite.planning.states import Action, Status

UNSEEN = (Action.DELETE, Action.SUSPEND)        # stacks whose objects may differ from their definitions
_REPORT = sa.select(drift.c.report).where(drift.c.stack_id == sa.bindparam('stack_id'))


def report(tx: sa.Connection, stack_id: str) -> DriftReport | None:
    """Return the report of the last look; None if there was none. By primary key."""
    found = tx.execute(_REPORT, {'stack_id': stack_id}).scalar()
    return None if found is None else from_json(codec.decode(found))


def repaired_at(tx: sa.Connection, stack_id: str) -> datetime | None:
    """When a look has last begun an update of the stack. By primary key."""
    found: datetime | None = tx.execute(sa.select(drift.c.mended_at).where(drift.c.stack_id == stack_id)).scalar()
    return found


def store(tx: sa.Connection, stack_id: str, new: DriftReport) -> None:
    """Replace the report. The caller has locked the lease of the stack."""
    _set(tx, stack_id, {'report': codec.encoder(tx)(to_json(new))})


def note_repair(tx: sa.Connection, stack_id: str, now: datetime) -> None:
    """Note that a look begins an update. The caller has locked the lease of the stack."""
    _set(tx, stack_id, {'mended_at': now})


def due(tx: sa.Connection, now: datetime, limit: int) -> list[str]:
    """Ids of root stacks that are to be looked at, of one project: at most `limit`, those due longest first.

    Two statements; reads the live root stacks.
    """
    seen = sa.select(stack.c.id, stack.c.project_id).select_from(
        stack.outerjoin(drift, drift.c.stack_id == stack.c.id)).where(
        stack.c.live == 1, stack.c.owner_id.is_(None), stack.c.departed.is_(None),
        stack.c.status != Status.IN_PROGRESS.value, stack.c.action.not_in([action.value for action in UNSEEN]),
        sa.or_(drift.c.due_at.is_(None), drift.c.due_at <= now))
    order = drift.c.due_at.is_not(None), drift.c.due_at, stack.c.id         # databases differ in where null goes
    first = tx.execute(seen.order_by(*order).limit(1)).first()
    if first is None:
        return []
    return list(tx.execute(seen.where(stack.c.project_id == first.project_id).order_by(*order).limit(limit)).scalars())


def count(tx: sa.Connection) -> int:
    """Return the number of stacks whose next look is planned. Reads the column `due_at` of the table."""
    return int(tx.execute(sa.select(sa.func.count(drift.c.due_at))).scalar_one())


def take(tx: sa.Connection, stack_id: str, now: datetime, next_at: datetime) -> bool:
    """Whether the stack is still due; then its next look is due at `next_at`. Locks the lease of the stack."""
    leases.lock(tx, stack_id)
    found = tx.execute(sa.select(drift.c.due_at).where(drift.c.stack_id == stack_id)).first()
    if found is not None and found.due_at is not None and found.due_at > now:
        return False
    _set(tx, stack_id, {'due_at': next_at})
    return True


def _set(tx: sa.Connection, stack_id: str, values: Mapping[str, object]) -> None:
    if not tx.execute(drift.update().where(drift.c.stack_id == stack_id).values(**values)).rowcount:
        tx.execute(drift.insert().values(stack_id=stack_id, **values))
