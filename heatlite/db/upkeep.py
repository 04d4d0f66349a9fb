"""Statements for operators across all tables: purge deleted stacks, reset stuck ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db import plans, resources, stack_trees, stacks, templates
from heatlite.db.credentials import replaced_ids
from heatlite.db.tables import (
    alarm,
    credentials,
    drift,
    event,
    forced_delete,
    guard,
    lease,
    resource,
    resource_data,
    revision,
    signal,
    signal_error,
    snapshot,
    stack,
    stack_tag,
    template,
)
from heatlite.planning.states import Status

RESET = _('Stack status manually reset')
# Tables with a `stack_id`.
OF_A_STACK = (resource_data, resource, event, signal, signal_error, snapshot, revision, lease, stack_tag,
              alarm, guard, drift, forced_delete)


def purge(tx: sa.Connection, older_than: datetime, project_id: str | None = None, batch: int = 20) -> int:
    """Remove at most `batch` stacks deleted before `older_than`, with all their rows; return how many.

    Call it, each time in a new transaction, until it returns 0. Index: (deleted_at).
    """
    query = sa.select(stack.c.id, stack.c.template_id, stack.c.previous_template_id, stack.c.credentials_id).where(
        stack.c.deleted_at < older_than)
    if project_id is not None:
        query = query.where(stack.c.project_id == project_id)
    return _remove(tx, tx.execute(query.order_by(stack.c.deleted_at, stack.c.id).limit(batch)).all())


def remove_tree(tx: sa.Connection, root_id: str) -> int:
    """Remove a stack and all stacks below it, deleted ones included, with all their rows; return how many.

    The caller has locked the lease of the root. Index: (root_id, depth).
    """
    return _remove(tx, tx.execute(sa.select(
        stack.c.id, stack.c.template_id, stack.c.previous_template_id, stack.c.credentials_id).where(
        stack.c.root_id == root_id)).all())


def _remove(tx: sa.Connection, found: Sequence[sa.Row[tuple[object, ...]]]) -> int:
    """Remove stacks; `found`: their id, template_id, previous_template_id and credentials_id."""
    if not found:
        return 0
    ids = [row.id for row in found]
    used = {each for row in found for each in (row.template_id, row.previous_template_id) if each}
    used.update(tx.execute(sa.select(template.c.id).where(template.c.stack_id.in_(ids))).scalars())
    plans.remove_of_stacks(tx, ids)
    for table in OF_A_STACK:
        tx.execute(table.delete().where(table.c.stack_id.in_(ids)))
    tx.execute(stack.delete().where(stack.c.id.in_(ids)))
    templates.remove(tx, _unused(tx, used))
    _remove_credentials(tx, [row.credentials_id for row in found if row.credentials_id])
    return len(ids)


def _unused(tx: sa.Connection, template_ids: set[str]) -> list[str]:
    """Return the templates that no remaining stack refers to."""
    wanted = list(template_ids)
    still = set(tx.execute(sa.select(stack.c.template_id).where(stack.c.template_id.in_(wanted))).scalars())
    return [each for each in wanted if each not in still]


def _remove_credentials(tx: sa.Connection, ids: Sequence[str]) -> None:
    if ids:
        still = set(tx.execute(sa.select(stack.c.credentials_id).where(stack.c.credentials_id.in_(ids))).scalars())
        gone = {each for each in ids if each not in still}
        gone.update(other for each in list(gone) for other in replaced_ids(each))
        tx.execute(credentials.delete().where(credentials.c.id.in_(gone)))


def resettable(tx: sa.Connection, stack_id: str) -> stacks.Identity:
    """Return the stack of an id. Raises Error, which asks for an id."""
    top = stacks.identity(tx, stack_id)
    if top is None or top.deleted_at is not None:
        raise exception.Error(_('The stack %s could not be found: give its id, not its name.') % stack_id)
    return top


def reset(tx: sa.Connection, stack_id: str, now: datetime) -> list[str]:
    """Mark what is IN_PROGRESS as FAILED, in a stack and in all below it; return the ids of the stacks that were.

    The owners of these stacks are fenced off. Raises Error, which asks for an id.
    """
    top = resettable(tx, stack_id)
    below = stack_trees.lock(tx, top)
    changed = []
    for each in [top, *below]:
        tx.execute(lease.update().where(lease.c.stack_id == each.id)
                   .values(engine_id=None, wanted=False, epoch=lease.c.epoch + 1))
        resources.fail_in_progress(tx, each.id, RESET, now)
        done = tx.execute(stack.update().where(stack.c.id == each.id, stack.c.status == Status.IN_PROGRESS.value)
                          .values(status=Status.FAILED.value, reason=RESET, generation=stack.c.generation + 1))
        if done.rowcount:
            changed.append(each.id)
    return changed
