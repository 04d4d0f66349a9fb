"""Refuses requests that a lock or the protections of a stack forbid, before anything of them is stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db import guards, resources
from heatlite.db.guards import Guards
from heatlite.db.stacks import Stack
from heatlite.engine.reconcile import protected
from heatlite.planning.protection import UNGUARDED, Blocked, Denial, denying

MOST_NAMED = 20                         # paths that a refusal names


def check_lock(tx: Connection, row: Stack) -> Guards:
    """Raise StackLocked if the tree of a stack is locked; return what guards it. One statement, by primary key."""
    found = guards.of(tx, row.root_id)
    if found.lock is not None:
        raise exception.StackLocked(stack_name=row.name, owner=found.lock.owner or _('somebody'),
                                    at=found.lock.locked_at, reason=found.lock.reason)
    return found


def refuse(row: Stack, blocked: Sequence[Blocked]) -> None:
    """Raise StackProtected, naming what is denied, unless nothing is."""
    if blocked:
        more = len(blocked) - MOST_NAMED
        raise exception.StackProtected(stack_name=row.name, blocked='; '.join([
            *map(str, blocked[:MOST_NAMED]), *([_('and %d more') % more] if more > 0 else [])]))


def check_delete(tx: Connection, row: Stack) -> None:
    """Raise StackProtected if the stack, or a resource in it or below it, must not be deleted."""
    _check(tx, row, Denial.DELETE, ())


def check_members(tx: Connection, row: Stack, wanted: Collection[str]) -> None:
    """Raise StackProtected if a nested stack must not be updated, or a resource deleted that is not `wanted`."""
    _check(tx, row, Denial.UPDATE, wanted)


def _check(tx: Connection, row: Stack, of_stack: Denial, wanted: Collection[str]) -> None:
    """Raise StackProtected if something is denied of an action on a stack that deletes all resources but those
    `wanted`. One statement, by primary key, if the tree has no protections."""
    guard = protected.guard(tx, row)
    if guard is UNGUARDED:
        return
    whole = denying(guard.protections, guard.path, of_stack)
    if whole is not None:
        refuse(row, [Blocked(guard.path, of_stack, whole)])
    names = resources.names(tx, [row.id]).get(row.id, [])
    refuse(row, [found for name in names if name not in wanted
                 and (found := guard.blocks(name, Denial.DELETE)) is not None])
