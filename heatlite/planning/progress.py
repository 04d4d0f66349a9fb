"""How far the action of a stack has come: resources counted by level of the tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from heatlite.planning.states import Action, Status

# After these, a resource in any state but INIT and with status COMPLETE has nothing left to do, or needs no change.
CHANGES = frozenset({Action.CREATE, Action.ADOPT, Action.UPDATE, Action.ROLLBACK, Action.RESTORE})
LEAST_DONE = 0.1                        # part that has to be complete before the rest is estimated from it


@dataclass(frozen=True, slots=True)
class StateCount:
    """How many resources of the stacks at this depth have this state. `stack_action`: what their stacks do."""

    depth: int
    stack_action: str
    action: str
    status: str
    number: int


@dataclass(frozen=True, slots=True)
class Level:
    """The resources of the stacks at one depth below the stack that is asked for, whose own depth is 0."""

    depth: int
    complete: int = 0
    in_progress: int = 0
    failed: int = 0
    waiting: int = 0

    @property
    def total(self) -> int:
        return self.complete + self.in_progress + self.failed + self.waiting


def levels(counts: Iterable[StateCount]) -> list[Level]:
    """Return the levels that have resources, outer ones first."""
    found: dict[int, dict[str, int]] = {}
    for each in counts:
        of_level = found.setdefault(each.depth, {})
        kind = _kind(each)
        of_level[kind] = of_level.get(kind, 0) + each.number
    return [Level(depth, **found[depth]) for depth in sorted(found)]


def _kind(count: StateCount) -> str:
    match count.status:
        case Status.IN_PROGRESS:
            return 'in_progress'
        case Status.FAILED:
            return 'failed'
    if count.stack_action in CHANGES:
        return 'waiting' if count.action == Action.INIT else 'complete'
    return 'complete' if count.action == count.stack_action else 'waiting'


def remaining(of_levels: Iterable[Level], so_far: timedelta, before: timedelta | None) -> timedelta | None:
    """Return how long the action will probably go on; None: nothing tells.

    `before`: what the same action took the last time. Without it, the rest is taken to be as fast as what is complete.
    """
    if before is not None and before > so_far:
        return before - so_far
    of_levels = list(of_levels)
    total, complete = sum(level.total for level in of_levels), sum(level.complete for level in of_levels)
    if not total or complete < LEAST_DONE * total:
        return None
    return so_far * ((total - complete) / complete)
