"""The `snapshot` table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from heatlite.db import codec
from heatlite.db.tables import snapshot
from heatlite.planning.states import Action, Status

BEGUN = 'begun_deletions'               # key of `Snapshot.data`: resource -> what its type has returned for its copy


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of a stack. `status`: of the action that makes or deletes it; `created_at`: UTC. `data`: None before
    it is stored, in lists, and if it cannot be decoded: the snapshot, and its stack, can be deleted nevertheless."""

    id: str
    stack_id: str
    project_id: str
    name: str | None
    action: str                         # CREATE or DELETE
    status: str
    reason: str | None
    data: Mapping[str, Any] | None      # an export of the stack at the time of the snapshot
    created_at: datetime

    @property
    def export(self) -> Mapping[str, object] | None:
        """Return `data` without what its deletion has begun, as users see it."""
        return None if self.data is None else {key: value for key, value in self.data.items() if key != BEGUN}


COLUMNS = codec.columns(snapshot, Snapshot)
LISTED = [sa.null().label(column.name) if column.name == 'data' else column for column in COLUMNS]
_snapshot = codec.reader(Snapshot, 'data', decode=codec.document_or_none)


def insert(tx: sa.Connection, new: Snapshot) -> None:
    values = {field.name: getattr(new, field.name) for field in fields(Snapshot)}
    tx.execute(snapshot.insert().values(**values | {
        'reason': _reason(new.reason), 'data': codec.encode_or_null(new.data, codec.encoder(tx))}))


def _reason(text: str | None) -> str | None:
    return None if text is None else codec.stored_text('reason', text)


def show(tx: sa.Connection, snapshot_id: str) -> Snapshot | None:
    """By primary key. The caller checks stack and project."""
    return _found(tx, COLUMNS, snapshot_id)


def listed(tx: sa.Connection, snapshot_id: str) -> Snapshot | None:
    """As `show`, as in lists: most actions on a snapshot need not read what it holds, which grows with the stack."""
    return _found(tx, LISTED, snapshot_id)


def _found(tx: sa.Connection, columns: Sequence[sa.Label[None] | sa.Column[object]],
           snapshot_id: str) -> Snapshot | None:
    row = tx.execute(sa.select(*columns).where(snapshot.c.id == snapshot_id)).first()
    return None if row is None else _snapshot(row)


def page(tx: sa.Connection, stack_id: str, project_id: str | None = None) -> list[Snapshot]:
    """All snapshots of a stack without what they hold, oldest first; of this project only, if given. Index:
    (stack_id)."""
    query = sa.select(*LISTED).where(snapshot.c.stack_id == stack_id)
    if project_id is not None:
        query = query.where(snapshot.c.project_id == project_id)
    return [_snapshot(row) for row in tx.execute(query.order_by(snapshot.c.created_at, snapshot.c.id))]


def ids(tx: sa.Connection, stack_id: str, project_id: str) -> list[str]:
    """Those of `page`. Index: (stack_id)."""
    return list(tx.execute(sa.select(snapshot.c.id).where(
        snapshot.c.stack_id == stack_id, snapshot.c.project_id == project_id).order_by(
        snapshot.c.created_at, snapshot.c.id)).scalars())


def count(tx: sa.Connection, stack_id: str) -> int:
    return int(tx.execute(sa.select(sa.func.count()).select_from(snapshot)
                          .where(snapshot.c.stack_id == stack_id)).scalar_one())


def is_complete(tx: sa.Connection, snapshot_id: str) -> bool:
    """Whether it can be restored: it is COMPLETE, and not being deleted."""
    return tx.execute(sa.select(snapshot.c.id).where(
        snapshot.c.id == snapshot_id, snapshot.c.action == Action.CREATE,
        snapshot.c.status == Status.COMPLETE)).first() is not None


def is_being_made(tx: sa.Connection, snapshot_id: str, for_update: bool = True) -> bool:
    """Whether its end has not been stored yet, nor is it being deleted. `for_update`: locks it until the end of
    `tx`."""
    query = sa.select(snapshot.c.action, snapshot.c.status).where(snapshot.c.id == snapshot_id)
    row = tx.execute(query.with_for_update() if for_update else query).first()
    return row is not None and (row.action, row.status) == (Action.CREATE, Status.IN_PROGRESS)


def set_state(tx: sa.Connection, snapshot_id: str, *, action: str | None = None, status: str, reason: str | None,
              data: Mapping[str, Any] | codec.Encoded | None = None) -> bool:
    """Write the state. `action`, `data` None: unchanged. False when the snapshot is gone."""
    values: dict[str, object] = {'status': str(status), 'reason': _reason(reason)}
    if action is not None:
        values['action'] = str(action)
    if data is not None:
        values['data'] = codec.sealed(tx, codec.text_of(data))
    return bool(tx.execute(snapshot.update().where(snapshot.c.id == snapshot_id).values(**values)).rowcount)


def delete(tx: sa.Connection, snapshot_id: str) -> bool:
    return bool(tx.execute(snapshot.delete().where(snapshot.c.id == snapshot_id)).rowcount)


def delete_all(tx: sa.Connection, stack_id: str) -> int:
    return int(tx.execute(snapshot.delete().where(snapshot.c.stack_id == stack_id)).rowcount)
