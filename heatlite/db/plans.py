"""The tables `plan` and `plan_permission`: plans of actions on stacks, and what they allow in each stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from heatlite.common import crypt
from heatlite.db import codec
from heatlite.db.listing import after
from heatlite.db.tables import plan, plan_permission
from heatlite.planning import plan as plans
from heatlite.planning.plan import NOTHING, Path, Permissions

READY, APPROVED, APPLIED = 'READY', 'APPROVED', 'APPLIED'
APPLICABLE = (READY, APPROVED)
AT_ONCE = 100                           # the most plans that one statement removes
APPLIED_KEPT = 20                       # the newest applied plans of a stack


@dataclass(frozen=True)
class StoredPlan:
    """A plan's row, with JSON decoded. In lists `document` and `request` are empty."""

    id: str
    project_id: str
    stack_id: str | None
    stack_name: str
    action: str
    state: str
    generation: int | None
    digest: str
    author_id: str | None
    author: str | None
    approver_id: str | None
    approver: str | None
    summary: Mapping[str, int]
    document: Mapping[str, Any]
    request: Mapping[str, object]
    created_at: datetime
    expires_at: datetime
    approved_at: datetime | None
    applied_at: datetime | None


COLUMNS = codec.columns(plan, StoredPlan)
LISTED = [sa.literal('{}').label(column.name) if column.name in ('document', 'request') else column
          for column in COLUMNS]
_read = codec.reader(StoredPlan, 'summary', 'document', 'request')


def insert(tx: sa.Connection, new: StoredPlan, permissions: Mapping[Path, Permissions]) -> None:
    """Insert a plan, and what it allows in each stack."""
    encode = codec.encoder(tx)
    values = {field.name: getattr(new, field.name) for field in fields(StoredPlan)}
    tx.execute(plan.insert().values(**values | {
        'summary': codec.encode(new.summary), 'document': encode(new.document), 'request': encode(new.request)}))
    tx.execute(plan_permission.insert(), [
        {'plan_id': new.id, 'place': plans.place(path), 'permissions': codec.encode(each.to_json())}
        for path, each in permissions.items()])


def show(tx: sa.Connection, plan_id: str, project_id: str) -> StoredPlan | None:
    """Return the plan, if it belongs to the project. By primary key."""
    return _found(tx, COLUMNS, plan_id, project_id)


def listed(tx: sa.Connection, plan_id: str, project_id: str) -> StoredPlan | None:
    """As `show`, as in lists: an action on a plan need not read what it shows, which grows with the stack."""
    return _found(tx, LISTED, plan_id, project_id)


def _found(tx: sa.Connection, columns: Sequence[sa.Label[str] | sa.Column[object]], plan_id: str,
           project_id: str) -> StoredPlan | None:
    row = tx.execute(sa.select(*columns).where(plan.c.id == plan_id, plan.c.project_id == project_id)).first()
    return None if row is None else _read(row)


def digest(document: str, request: str) -> str:
    """Return the digest of what a plan shows and of the request that it carries out, both as JSON text: 64 hex
    digits."""
    return crypt.digest((document, request), '')


def with_digest(tx: sa.Connection, plan_id: str, project_id: str) -> tuple[StoredPlan, str] | None:
    """As `show`, with the digest of what is stored. The document is decoded only if it is read."""
    row = tx.execute(sa.select(*COLUMNS).where(plan.c.id == plan_id, plan.c.project_id == project_id)).first()
    if row is None:
        return None
    values = dict(row._mapping) | {name: codec.clear(row._mapping[name]) for name in ('document', 'request')}
    found = _read(list((values | {'document': '{}'}).values()))
    return replace(found, document=codec.Undecoded(values['document'])), digest(values['document'], values['request'])


def page(tx: sa.Connection, project_id: str, stack_id: str | None = None, limit: int | None = None,
         marker: str | None = None) -> list[StoredPlan]:
    """Plans of a project, newest first, at most `limit`, after `marker`; of one stack, if given.

    One statement, two with a marker. Index: (project_id, created_at, id).
    """
    if limit == 0:
        return []
    within = [plan.c.project_id == project_id, *([plan.c.stack_id == stack_id] if stack_id else [])]
    keys = (plan.c.created_at, plan.c.id)
    query = sa.select(*LISTED).where(*within)
    if marker:
        position = tx.execute(sa.select(*keys).where(plan.c.id == marker, *within)).first()
        if position is not None:
            query = query.where(after(keys, position, ascending=False))
    query = query.order_by(*(key.desc() for key in keys))
    return [_read(row) for row in tx.execute(query.limit(limit) if limit is not None else query)]


def count_applicable(tx: sa.Connection, project_id: str, now: datetime) -> int:
    """Return the number of plans of a project that can still be applied."""
    return int(tx.execute(sa.select(sa.func.count()).select_from(plan).where(
        plan.c.project_id == project_id, plan.c.state.in_(APPLICABLE), plan.c.expires_at > now)).scalar_one())


def approve(tx: sa.Connection, plan_id: str, approver_id: str | None, approver: str | None, now: datetime) -> bool:
    """Mark a plan as approved. False if it is not READY."""
    return bool(tx.execute(plan.update().where(plan.c.id == plan_id, plan.c.state == READY).values(
        state=APPROVED, approver_id=approver_id, approver=approver, approved_at=now)).rowcount)


def apply(tx: sa.Connection, plan_id: str, stack_id: str, now: datetime) -> bool:
    """Mark a plan as applied, and remove old applied plans of the stack. False if another request was faster."""
    done = tx.execute(plan.update().where(plan.c.id == plan_id, plan.c.state.in_(APPLICABLE)).values(
        state=APPLIED, stack_id=stack_id, applied_at=now))
    if not done.rowcount:
        return False
    old = tx.execute(sa.select(plan.c.id).where(plan.c.stack_id == stack_id, plan.c.state == APPLIED).order_by(
        plan.c.applied_at.desc()).offset(APPLIED_KEPT).limit(AT_ONCE)).scalars().all()
    _remove(tx, old)
    return True


def delete(tx: sa.Connection, plan_id: str) -> bool:
    """Delete a plan that was not applied. False for an applied one, and for one that is gone."""
    # Locked: an engine needs the permissions of a plan that is applied from now on.
    found = tx.execute(sa.select(plan.c.id).where(
        plan.c.id == plan_id, plan.c.state.in_(APPLICABLE)).with_for_update()).scalars().all()
    return _remove(tx, found) > 0


def remove_expired(tx: sa.Connection, now: datetime) -> int:
    """Remove at most AT_ONCE plans that expired before they were applied; return how many. Leaves those that another
    transaction is about to apply, or remove. Index: (expires_at)."""
    return _remove(tx, tx.execute(sa.select(plan.c.id).where(
        plan.c.expires_at < now, plan.c.state.in_(APPLICABLE)).limit(AT_ONCE).with_for_update(
        skip_locked=True)).scalars().all())


def remove_of_stacks(tx: sa.Connection, stack_ids: list[str]) -> int:
    """Remove all plans of these stacks; return how many. Index: (stack_id)."""
    return _remove(tx, tx.execute(sa.select(plan.c.id).where(plan.c.stack_id.in_(stack_ids))).scalars().all())


def _remove(tx: sa.Connection, ids: Sequence[str]) -> int:
    if not ids:
        return 0
    tx.execute(plan_permission.delete().where(plan_permission.c.plan_id.in_(ids)))
    return int(tx.execute(plan.delete().where(plan.c.id.in_(ids))).rowcount)


def permissions(tx: sa.Connection, plan_id: str, path: Path) -> Permissions:
    """Return what the plan allows in the stack with this path: nothing if the plan does not know that stack."""
    found = tx.execute(sa.select(plan_permission.c.permissions).where(
        plan_permission.c.plan_id == plan_id, plan_permission.c.place == plans.place(path))).scalar()
    return NOTHING if found is None else Permissions.from_json(codec.decode(found))
