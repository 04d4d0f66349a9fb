"""Refuses requests that a lock or the protections of a stack forbid, before anything of them is stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.wording import first_few
from heatlite.db import guards, resources
from heatlite.db.guards import TreeGuards
from heatlite.db.stacks import StoredStack
from heatlite.engine.reconcile import guard_reader
from heatlite.planning.protection import UNGUARDED, Denial, DeniedAction, Guard, denying

MOST_NAMED = 20                         # paths that a refusal names


def check_lock(tx: Connection, row: StoredStack) -> TreeGuards:
    """Raise StackLocked if the tree of a stack is locked; return what guards it. One statement, by primary key."""
    found = guards.of(tx, row.root_id)
    if found.lock is not None:
        raise exception.StackLocked(stack_name=row.name, owner=found.lock.owner or _('an unknown user'),
                                    at=found.lock.locked_at, reason=found.lock.reason)
    return found


def refuse(row: StoredStack, blocked: Iterable[DeniedAction]) -> None:
    """Raise StackProtected, naming what is denied, unless nothing is."""
    found = list(blocked)
    if found:
        raise exception.StackProtected(stack_name=row.name, blocked=first_few(found, MOST_NAMED, '; '))


@dataclass(frozen=True)
class ProtectedStack:
    """A stack with what protections deny in it. Checks come after the transaction that has read it: they take a while
    in a large tree, and let others run."""

    row: StoredStack
    guard: Guard
    names: Sequence[str]                # of its resources

    def check_delete(self) -> None:
        """Raise StackProtected if the stack, or a resource in it or below it, must not be deleted."""
        refuse(self.row, self._blocked(Denial.DELETE, ()))

    def check_members(self, names: Collection[str]) -> None:
        """Raise StackProtected if the stack must not be updated, or a resource deleted that is not `names`."""
        refuse(self.row, self._blocked(Denial.UPDATE, names))

    def _blocked(self, of_stack: Denial, names: Collection[str]) -> Iterator[DeniedAction]:
        whole = denying(self.guard.protections, self.guard.path, of_stack)
        if whole is not None:
            yield DeniedAction(self.guard.path, of_stack, whole)
            return
        for name in self.names:
            found = self.guard.blocks(name, Denial.DELETE) if name not in names else None
            if found is not None:
                yield found


def read(tx: Connection, row: StoredStack) -> ProtectedStack:
    """Read what protections deny in a stack. One statement, by primary key, if its tree has none."""
    found = guard_reader.guard(tx, row)
    return ProtectedStack(row, found, [] if found is UNGUARDED else resources.names(tx, [row.id]).get(row.id, []))
