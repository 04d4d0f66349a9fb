"""Holds the actions on a stack to the plan that is applied to its tree, and to the protections of the tree.

The request of a stack's row names the plan and the path of the stack in it, so that a restart, another engine and
nested stacks are held to it, too. A plan holds for the action that applies it and for its rollback, not for what comes
after.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from sqlalchemy import Connection

from heatlite.db import plans
from heatlite.db.stacks import StoredStack
from heatlite.engine.durability.request_ids import PLAN
from heatlite.engine.reconcile import guard_reader
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.planning.plan import EVERYTHING, Path, Permissions
from heatlite.planning.states import Action, Status


class PlanReference(TypedDict):
    """The plan of an action, as stored with its request. `path`: of the stack, in the plan."""

    id: str
    path: list[str]
    is_open: bool
    is_rolled_back: bool


def reference(plan_id: str, path: Path = (), *, is_open: bool = False, is_rolled_back: bool = False) -> PlanReference:
    return {'id': plan_id, 'path': list(path), 'is_open': is_open, 'is_rolled_back': is_rolled_back}


def of(row: StoredStack) -> PlanReference | None:
    """Return the plan to which the action in progress is held, or None."""
    found: PlanReference | None = (row.request or {}).get(PLAN) if row.status == Status.IN_PROGRESS else None
    return found


def below(parent: LeasedStack, resource_name: str) -> PlanReference | None:
    """Return the reference for the nested stack of a resource, or None."""
    found = of(parent.row)
    if found is None:
        return None
    is_open = found['is_open'] or parent.traversal.permissions.opens(resource_name)
    return reference(found['id'], (*found['path'], resource_name), is_open=is_open,
                     is_rolled_back=found['is_rolled_back'] or parent.row.action == Action.ROLLBACK)


def permissions(tx: Connection, row: StoredStack) -> Permissions:
    """Return what may be done in a stack: what its plan allows, and no protection denies."""
    return replace(of_plan(tx, row), guard=guard_reader.guard(tx, row))


def of_plan(tx: Connection, row: StoredStack) -> Permissions:
    """Return what the plan allows in a stack: everything without one. Nothing can be protected in a new stack."""
    found = of(row)
    if found is None or found['is_open']:
        return EVERYTHING
    allowed = plans.permissions(tx, found['id'], tuple(found['path']))
    is_rolled_back = found['is_rolled_back'] or row.action == Action.ROLLBACK
    return allowed.when_rolled_back() if is_rolled_back else allowed
