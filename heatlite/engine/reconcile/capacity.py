"""How many stacks an engine drives at once, and how much of one tree of stacks.

A step that begins an action of a nested stack waits here while there is no slot for the stack, so memory follows what
is in progress and not the size of a tree. A stack waits for those that are nested in it: if it took away their slots,
none of them would ever end. Therefore each depth has slots of its own. The deepest stacks wait for no others and end,
then those above them, and so on. Of each depth, each project has a share (`durability.stack_slots`), and each tree a
share of what its project may take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from heatlite.db.leases import Lease, Place
from heatlite.db.stacks import StoredStack
from heatlite.engine.durability.pool import Pool
from heatlite.engine.durability.stack_slots import SHARE, StackSlots
from heatlite.engine.reconcile.leased_stack import LeasedStack

STARTS = 64                         # calls of a tree under way at once, of which the nested stack's size is not known

Call = Callable[[], None]
Owners = tuple[str, str]            # of a call, as those of a pool


class _Waiting(NamedTuple):
    """A call that waits for capacity, to begin a nested stack. Made in the thread of the runner of its parent."""

    place: Place
    owners: Owners
    stack_id: str | None


@dataclass(eq=False)
class _Level:
    """What an engine drives of one depth of a tree, below its root."""

    stacks: int = 0
    resources: int = 0              # of these stacks
    largest: int = 0                # resources of the largest one so far, at least 1; 0: there was none yet
    starting: int = 0               # calls that begin an action of one, and those that are being read for it


class StackCapacity:
    """Used by all green threads of an engine; no method lets others run."""

    def __init__(self, pool: Pool, stacks: int, resources: int) -> None:
        """`pool`: runs the calls; `stacks`: the most of one depth; `resources`: the most in nested stacks of one depth
        of one tree, 0: any number. A nested stack with more of them is driven alone."""
        self._pool = pool
        self._slots = StackSlots(stacks)                        # of stacks that are driven, being read or starting
        self._resources = resources
        self._loading: dict[str, Place | None] = {}             # stacks that are being read
        self._driven: dict[str, tuple[Place, int]] = {}         # stack -> where it is, number of resources
        self._levels: dict[Place, _Level] = {}
        self._calls: dict[Call, _Waiting] = {}                  # those that wait
        self._waiting: dict[Place, dict[Call, None]] = {}       # the same, in the order in which they came
        self._of_stacks: dict[str, Call] = {}                   # the same, for stacks that exist
        self._started: dict[Call, Place] = {}

    # --- the stacks of the engine -----------------------------------------------------------------------

    def free_slots_at(self, depth: int) -> int:
        """Return how many more stacks of that depth the engine may drive."""
        return self._slots.left(depth)

    def has_root_slot(self, project: Callable[[], str]) -> bool:
        """Whether the engine may drive one more root. `project()`: whose it is; called only if few slots are free."""
        return self._slots.has_room_for_any(0) or (self._slots.left(0) > 0 and self._slots.room(project(), 0) > 0)

    def slots(self) -> StackSlots:
        """Return the slots that are taken at present."""
        return self._slots.copy()

    def begin_loading(self, lease: Lease, row: StoredStack | None) -> None:
        """A stack is about to be read. `row`: its own row, if a request for it has just been accepted here."""
        if lease.stack_id in self._loading:
            return
        place = lease.place if row is None else _place(row)
        self._loading[lease.stack_id] = place
        self._slots.take(place)
        if place is not None:
            self._levels.setdefault(place, _Level()).starting += 1

    def end_loading(self, stack_id: str) -> None:
        """A stack was read, and `add` was called if it is driven."""
        if stack_id in self._loading:
            place = self._loading.pop(stack_id)
            self._slots.give_back(place)
            if place is not None:
                self._levels[place].starting -= 1
                self._forget_unused(place)
        self._start_waiting()

    def add(self, leased: LeasedStack) -> None:
        """The engine drives a stack from now on."""
        place = _place(leased.row)
        size = max(len(leased.definition.snippets), leased.traversal.rows_in_memory)
        self._driven[leased.id] = place, size
        self._slots.take(place)
        level = self._levels.setdefault(place, _Level())
        level.stacks += 1
        level.resources += size
        level.largest = max(level.largest, size, 1)         # an empty one shows their size, too
        call = self._of_stacks.get(leased.id)
        if call is not None:                        # it may end what the stack does, so it must not wait for that
            self._begin(call, self._forget(call))

    def remove(self, stack_id: str) -> None:
        """The engine no longer drives a stack."""
        place, size = self._driven.pop(stack_id)
        self._slots.give_back(place)
        level = self._levels[place]
        level.stacks -= 1
        level.resources -= size
        self._forget_unused(place)
        self._start_waiting()

    # --- the steps of parents ---------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a slot."""
        return len(self._calls)

    def run(self, call: Call, parent: LeasedStack, stack_id: str | None) -> bool:
        """Run `call`, which begins an action of a nested stack of `parent`, in the pool, now or when there is a slot.

        Return whether it waits. `stack_id`: of the nested stack, if it exists. One that is driven needs no slot,
        and its call does not wait: it may end what the stack does now."""
        if stack_id in self._driven:
            self._pool.run(call, *parent.owners)
            return False
        place = Place(parent.row.project_id, parent.row.root_id, parent.row.depth + 1)
        self._calls[call] = _Waiting(place, parent.owners, stack_id)
        self._waiting.setdefault(place, {})[call] = None
        if stack_id is not None:
            self._of_stacks[stack_id] = call
        self._start(place)
        return call in self._calls

    def returned(self, call: Call) -> None:
        """A call has ended. If it began the action of a nested stack, that is driven or about to be read."""
        place = self._started.pop(call, None)
        if place is not None:
            self._levels[place].starting -= 1
            self._slots.give_back(place)
            self._forget_unused(place)
            self._start_waiting()

    def withdraw(self, call: Call) -> bool:
        """Forget a call that waits for a slot. Return False if it does not."""
        if call not in self._calls:
            return False
        self._forget(call)
        return True

    def _forget(self, call: Call) -> _Waiting:
        """Take a call that waits out of the queues."""
        found = self._calls.pop(call)
        calls = self._waiting[found.place]
        del calls[call]
        if not calls:
            del self._waiting[found.place]
        if found.stack_id is not None and self._of_stacks.get(found.stack_id) is call:
            del self._of_stacks[found.stack_id]
        return found

    def _forget_unused(self, place: Place) -> None:
        level = self._levels[place]
        if not (level.stacks or level.starting):
            del self._levels[place]

    # --- deciding ---------------------------------------------------------------------------------------

    def _start_waiting(self) -> None:
        """Start the calls for which there is a slot now."""
        for place in list(self._waiting):
            self._start(place)

    def _start(self, place: Place) -> None:
        while place in self._waiting and self._has_capacity(place):
            call = next(iter(self._waiting[place]))
            self._begin(call, self._forget(call))

    def _begin(self, call: Call, waited: _Waiting) -> None:
        self._levels.setdefault(waited.place, _Level()).starting += 1
        self._slots.take(waited.place)
        self._started[call] = waited.place
        self._pool.run(call, *waited.owners)

    def _has_capacity(self, place: Place) -> bool:
        """Whether the engine may begin to drive one more stack there."""
        level, room = self._levels.get(place), self._slots.room(place.project_id, place.depth)
        if level is None:
            return room > 0
        if level.stacks + level.starting >= SHARE * room:
            return False
        if not self._resources:
            return True
        if not level.largest or level.starting >= STARTS:       # the first one shows how large they are
            return False
        return level.resources + level.starting * level.largest < self._resources


def _place(row: StoredStack) -> Place:
    return Place(row.project_id, row.root_id, row.depth)
