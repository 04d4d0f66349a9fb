"""The slots of an engine for stacks in progress: so many for each depth of nesting, in shares by project.

A stack takes its slot until its action ends, also while it only waits: for a user at a hook, for a signal, for a slow
service. So the stacks of one project must not take all slots, however long they wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Self

from heatlite.db.leases import Place

SHARE = 4       # a project has at most so many times as many stacks of a depth as it leaves to others
RESERVED = 8    # of so many slots, one is for projects that have few of them:
FEW = 16        # of those that are left, they get one of so many


class StackSlots:
    """Counts the slots that are taken. No method lets other threads run. The caller limits itself by `left`, `room`."""

    def __init__(self, most: int) -> None:
        """`most`: stacks of one depth."""
        self._most = most
        self._reserved = most // RESERVED
        self._unplaced = 0                                  # stacks of unknown depth
        self._taken: dict[int, Counter[str]] = {}           # depth -> project -> number of stacks; no zeros
        self._totals: Counter[int] = Counter()              # depth -> number of stacks

    def copy(self) -> Self:
        """Return one with the same counts, to find out what may be taken together."""
        found = type(self)(self._most)
        found._unplaced = self._unplaced
        found._taken = {depth: Counter(projects) for depth, projects in self._taken.items()}
        found._totals = Counter(self._totals)
        return found

    def take(self, place: Place | None) -> None:
        """Count one more stack; None: its depth is not known yet, so it counts at each."""
        if place is None:
            self._unplaced += 1
        else:
            self._totals[place.depth] += 1
            self._taken.setdefault(place.depth, Counter())[place.project_id] += 1

    def take_if_room(self, place: Place) -> bool:
        """As `take`, if the project has room there; else return False."""
        if not self.room(place.project_id, place.depth):
            return False
        self.take(place)
        return True

    def give_back(self, place: Place | None) -> None:
        """Count one stack less that was counted with `take`."""
        if place is None:
            self._unplaced -= 1
            return
        projects = self._taken[place.depth]
        self._totals[place.depth] -= 1
        projects[place.project_id] -= 1
        if not projects[place.project_id]:
            del projects[place.project_id]
            if not projects:
                del self._taken[place.depth], self._totals[place.depth]

    def left(self, depth: int) -> int:
        """Return how many slots of a depth are free; negative: too many are taken."""
        return self._most - self._unplaced - self._totals[depth]

    def room(self, project_id: str, depth: int) -> int:
        """Return how many of the free slots of a depth a project may take. One that has none may take one."""
        projects = self._taken.get(depth)
        has, left = 0 if projects is None else projects[project_id], self.left(depth)
        return max(0, _more(SHARE * (left - self._reserved) - has, SHARE), _more(left - FEW * has, FEW))

    def has_room_for_any(self, depth: int) -> bool:
        """Whether each project may take a slot of that depth. False may be wrong."""
        return self._totals[depth] < SHARE * (self.left(depth) - self._reserved)

    def all_left(self) -> dict[int, int]:
        """As `left`, for all depths of which slots are taken, and the next one."""
        return {depth: self.left(depth) for depth in range(max(self._taken, default=-1) + 2)}

    def without_room(self) -> dict[int, Sequence[str]]:
        """Return the projects that have no room, by depth, of the depths with free slots."""
        found: dict[int, Sequence[str]] = {}
        for depth, projects in self._taken.items():
            if self.left(depth) > 0 and not self.has_room_for_any(depth):
                without = [each for each in projects if not self.room(each, depth)]
                if without:
                    found[depth] = without
        return found


def _more(difference: int, factor: int) -> int:
    """How often one can be taken while `difference` is positive, which falls by `factor` + 1 each time."""
    return -(-difference // (factor + 1))
