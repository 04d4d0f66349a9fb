"""The table `guard`: protections and locks of stacks. One row for the tree of a root stack that has some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from heatlite.common.document_parts import known_fields
from heatlite.db import codec
from heatlite.db.tables import guard
from heatlite.planning.protection import Protection

_GUARD = sa.select(guard.c.protections, guard.c.lock).where(guard.c.stack_id == sa.bindparam('root_id'))


@dataclass(frozen=True)
class Lock:
    """Why a stack may not be changed, and who locked it. `locked_at`: as text for clients."""

    reason: str
    owner_id: str | None
    owner: str | None
    locked_at: str


@dataclass(frozen=True)
class TreeGuards:
    """What a tree is guarded by."""

    protections: tuple[Protection, ...] = ()
    lock: Lock | None = None


NONE = TreeGuards()


def of(tx: sa.Connection, root_id: str) -> TreeGuards:
    """Return the protections and the lock of a tree. By primary key."""
    row = tx.execute(_GUARD, {'root_id': root_id}).first()
    if row is None:
        return NONE
    return TreeGuards(tuple(map(Protection.from_json, codec.decode(row.protections) if row.protections else ())),
                      Lock(**known_fields(Lock, codec.decode(row.lock))) if row.lock else None)


def set_protections(tx: sa.Connection, root_id: str, protections: Sequence[Protection]) -> None:
    """Replace the protections. The caller has locked the stack's row."""
    _set(tx, root_id, 'protections', [each.to_json() for each in protections] or None)


def set_lock(tx: sa.Connection, root_id: str, lock: Lock | None) -> None:
    """Set or remove the lock. The caller has locked the stack's row."""
    _set(tx, root_id, 'lock', None if lock is None else asdict(lock))


def _set(tx: sa.Connection, root_id: str, column: str, value: object) -> None:
    stored = {column: codec.encode_or_null(value, codec.encode)}
    if not tx.execute(guard.update().where(guard.c.stack_id == root_id).values(**stored)).rowcount:
        tx.execute(guard.insert().values(stack_id=root_id, **stored))
