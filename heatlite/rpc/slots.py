"""Shares the threads of an engine that answer messages among the projects, and the users inside stacks of each.

The messaging library has a fixed number of threads. A sixteenth of them may work at once, on slots; the others are for
requests that wait, which costs some pages of memory for each. A project gets a third of the slots; its further requests
wait for one of these until their deadline, in an eighth of all threads. Of more than these nothing is stored, and their
callers ask other engines for some seconds (heatlite.rpc.client): messages of other projects always find a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from heatlite.common import exception, metrics
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.keyed_count import KeyedCount
from heatlite.common.runtime import Runtime
from heatlite.common.waiting_threads import WaitingThreads

THREADS_OF_SLOT = 16            # threads of the engine for each slot
SLOTS_PART = 3                  # a project may have one of so many parts of the slots
THREADS_PART = 8                # and of the threads

_held: ContextVar[_Slot | None] = ContextVar('slot of a request', default=None)


def release() -> None:
    """Give back the slot of the request that this green thread answers, if any. For one that waits for something that
    others do."""
    slot = _held.get()
    if slot is not None:
        slot.give_back()


def take_again(seconds: float) -> None:
    """Wait for a slot for the request that this green thread answers, if it has given its slot back. For one that works
    after all. Raises TooLate if it gets none within `seconds`."""
    slot = _held.get()
    if slot is not None:
        slot.take(seconds)


def is_at_hand() -> bool:
    """Whether the request that this green thread answers has a slot, or `take_again` would not wait for one."""
    slot = _held.get()
    return slot is None or slot.is_at_hand()


class _Slot:
    """The slot of one request, which it has or has given back."""

    def __init__(self, slots: Slots, share: str) -> None:
        self._slots = slots
        self._share = share
        self._is_held = False

    def is_at_hand(self) -> bool:
        return self._is_held or self._slots.has_room(self._share)

    def take(self, seconds: float) -> None:
        if not self._is_held:
            self._slots.take(self._share, seconds)
            self._is_held = True

    def give_back(self) -> None:
        if self._is_held:
            self._is_held = False
            self._slots.give_back(self._share)


class Slots:
    """For the green threads of one process. `threads`: how many of them answer messages; `of_project`: how many of
    these for one project, by default its part."""

    def __init__(self, runtime: Runtime, threads: int, of_project: int | None = None) -> None:
        self._runtime = runtime
        self.slots = max(threads // THREADS_OF_SLOT, 1)
        self.most_slots_of_share = max(self.slots // SLOTS_PART, 1)
        self.most_threads_of_share = of_project or max(threads // THREADS_PART, 1)
        self._taken: KeyedCount[str] = KeyedCount()     # slots, by share
        self._present: KeyedCount[str] = KeyedCount()   # requests with a slot, or waiting for one
        self._waiting: WaitingThreads[str] = WaitingThreads(runtime)        # of shares
        self._full_since: float | None = None           # when the last slot was taken, or given from one to another

    def full_seconds(self) -> float:
        """Seconds since all slots are taken by the same requests; 0.0 while one is free."""
        return 0.0 if self._full_since is None else self._runtime.monotonic() - self._full_since

    @contextmanager
    def taken(self, context: RequestContext, seconds: float) -> Iterator[None]:
        """Hold a slot of the share of a request (`RequestContext.share`), until the end of the block or until
        `release`, and from `take_again` on. Raises EngineIsFull if too many of its requests are in this engine, TooLate
        if it gets none within `seconds`."""
        share = context.share
        if self._present.count(share) >= self.most_threads_of_share:
            raise exception.EngineIsFull(_('Too many requests of this project wait for an engine.'))
        with self._present.held(share):
            slot = _Slot(self, share)
            slot.take(seconds)
            token = _held.set(slot)
            try:
                yield
            finally:
                _held.reset(token)
                slot.give_back()

    def take(self, share: str, seconds: float) -> None:
        """Wait for a slot. Raises TooLate."""
        if not self._take(share):
            with metrics.rpc_waiting_for_slot.track_inprogress():
                self._waiting.wait(share, seconds, self.give_back)

    def has_room(self, share: str) -> bool:
        return self._taken.total() < self.slots and self._taken.count(share) < self.most_slots_of_share

    def _take(self, share: str) -> bool:
        if not self.has_room(share):
            return False
        self._taken.add(share)
        if self._taken.total() >= self.slots:
            self._full_since = self._runtime.monotonic()
        return True

    def give_back(self, share: str) -> None:
        """Free a slot, and give it to the first that waits and may have it."""
        self._taken.remove(share)
        self._full_since = None
        self._waiting.pass_on(self._take)
