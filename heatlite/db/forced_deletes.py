"""The table `forced_delete`: deletes of stacks that end in any case, and what they have left in the cloud."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa

from heatlite.common.document_parts import known_fields
from heatlite.db import codec
from heatlite.db.tables import forced_delete, lease, stack
from heatlite.planning.states import Action, Status

AT_ONCE = 50                            # stacks that one statement finds


@dataclass(frozen=True)
class Left:
    """An object that stays in the cloud. `path`: names of resources from the stack down; `reason`: why."""

    path: tuple[str, ...]
    type: str
    physical_resource_id: str
    reason: str


@dataclass(frozen=True)
class ForcedDelete:
    """`left_behind`: None until it is decided what stays; nothing stays if the stack is gone by then."""

    due_at: datetime
    left_behind: tuple[Left, ...] | None = None


def begin(tx: sa.Connection, stack_id: str, due_at: datetime) -> None:
    """Note that a forced delete begins, perhaps anew. The caller has locked the stack's row."""
    values = {'due_at': due_at, 'is_over': False, 'left_behind': None}
    if not tx.execute(forced_delete.update().where(forced_delete.c.stack_id == stack_id).values(**values)).rowcount:
        tx.execute(forced_delete.insert().values(stack_id=stack_id, **values))


def is_open(tx: sa.Connection, stack_id: str) -> bool:
    """Whether a forced delete, or a release, of the stack has begun and not ended. By primary key."""
    return tx.execute(sa.select(forced_delete.c.stack_id).where(
        forced_delete.c.stack_id == stack_id, forced_delete.c.is_over.is_(False))).first() is not None


def show(tx: sa.Connection, stack_id: str) -> ForcedDelete | None:
    """By primary key."""
    row = tx.execute(sa.select(forced_delete.c.due_at, forced_delete.c.left_behind).where(
        forced_delete.c.stack_id == stack_id)).first()
    if row is None:
        return None
    left = codec.decode(row.left_behind)
    return ForcedDelete(row.due_at, None if left is None else tuple(
        Left(**{**known_fields(Left, each), 'path': tuple(each['path'])}) for each in left))


def is_decided(tx: sa.Connection, stack_id: str) -> bool | None:
    """Whether it is decided what stays; None: there is no forced delete of the stack. By primary key."""
    decided: bool | None = tx.execute(sa.select(forced_delete.c.left_behind.is_not(None)).where(
        forced_delete.c.stack_id == stack_id)).scalar()
    return None if decided is None else bool(decided)


def leave(tx: sa.Connection, stack_id: str, left: Iterable[Left]) -> None:
    """Store what stays in the cloud. The caller has locked the stack's lease, or its row."""
    tx.execute(forced_delete.update().where(forced_delete.c.stack_id == stack_id).values(
        left_behind=codec.encoder(tx)([asdict(each) for each in left])))


def to_end(tx: sa.Connection, now: datetime, after: str = '') -> list[str]:
    """Stacks whose delete has failed, or is not over in time: at most AT_ONCE, by id, after that id. Index:
    (is_over)."""
    return _open(tx, after, sa.or_(
        sa.and_(forced_delete.c.due_at <= now, forced_delete.c.left_behind.is_(None)),
        sa.and_(stack.c.action == Action.DELETE.value, stack.c.status == Status.FAILED.value)))


def late(tx: sa.Connection, due: datetime, after: str = '') -> list[str]:
    """Stacks that were due by `due`, and are still there though it is decided what they leave: as `to_end`."""
    return _open(tx, after, forced_delete.c.due_at <= due, forced_delete.c.left_behind.is_not(None))


def _open(tx: sa.Connection, after: str, *wanted: sa.ColumnElement[bool]) -> list[str]:
    return list(tx.execute(sa.select(forced_delete.c.stack_id).join(
        stack, stack.c.id == forced_delete.c.stack_id).where(
        forced_delete.c.is_over.is_(False), forced_delete.c.stack_id > after, stack.c.live == 1,
        stack.c.departed.is_(None), *wanted).order_by(forced_delete.c.stack_id).limit(AT_ONCE)).scalars())


def remove(tx: sa.Connection, stack_ids: Sequence[str], reason: str, now: datetime) -> None:
    """Mark stacks as deleted, whatever engines do with them: their leases get a new epoch, so that no write and no
    request of a former owner is done any more. The caller has locked the leases."""
    tx.execute(lease.update().where(lease.c.stack_id.in_(stack_ids)).values(
        engine_id=None, wanted=False, epoch=lease.c.epoch + 1))
    tx.execute(stack.update().where(stack.c.id.in_(stack_ids), stack.c.live == 1).values(
        live=None, deleted_at=now, action=Action.DELETE.value, status=Status.COMPLETE.value,
        reason=codec.stored_text('reason', reason), generation=stack.c.generation + 1))


def gone(tx: sa.Connection, after: str = '') -> list[str]:
    """Stacks that are gone, and whose forced delete is not marked as over: as `to_end`."""
    return list(tx.execute(sa.select(forced_delete.c.stack_id).outerjoin(stack, sa.and_(
        stack.c.id == forced_delete.c.stack_id, stack.c.live == 1)).where(
        forced_delete.c.is_over.is_(False), forced_delete.c.stack_id > after, stack.c.id.is_(None)).order_by(
        forced_delete.c.stack_id).limit(AT_ONCE)).scalars())


def end(tx: sa.Connection, stack_id: str) -> None:
    """Mark the forced delete of a stack that is gone as over. By primary key."""
    tx.execute(forced_delete.update().where(forced_delete.c.stack_id == stack_id).values(is_over=True))
