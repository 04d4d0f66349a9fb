"""Limits the calls to one service that are under way at once, by how long they take.

A service that has more requests than it can answer in time answers all of them too late, for as long as their senders
repeat them. So while calls are slow, fewer of them are sent: each slow one halves the limit, quick ones raise it again,
by one for as many calls as the limit allows. Of the threads that wait, the last one that came goes first: the others
may have little time left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from heatlite.common.runtime import Runtime
from heatlite.common.waiting_threads import WaitingThreads


class AdaptiveLimit:
    """For the green threads of one process. `most`: calls at once; `slow`: seconds from which on a call is slow."""

    def __init__(self, runtime: Runtime, most: int, slow: float) -> None:
        self._runtime = runtime
        self._most = most
        self._slow = slow
        self._limit = float(most)
        self._lowered_at = float('-inf')
        self._under_way = 0
        self._waiting: WaitingThreads[None] = WaitingThreads(runtime)

    @property
    def limit(self) -> int:
        """The number of calls that may be under way now, at least 1."""
        return int(self._limit)

    def has_room(self) -> bool:
        return self._under_way < self.limit

    @contextmanager
    def room(self, seconds: float) -> Iterator[None]:
        """Wait until there is room for a call, and keep it for the block. Raises TooLate after `seconds`."""
        if not self._take():
            self._waiting.wait(None, seconds, self._give_back)
        try:
            yield
        finally:
            self._give_back()

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure the block, a call within `room`: the time that it takes changes the limit."""
        begin = self._runtime.monotonic()
        try:
            yield
        finally:
            self._note(begin, self._runtime.monotonic())

    def _note(self, begin: float, end: float) -> None:
        if end - begin <= self._slow:
            self._limit = min(self._limit + 1 / self._limit, self._most)
        elif begin >= self._lowered_at:                 # else it was sent under the former limit
            self._limit = max(self._limit / 2, 1.0)
            self._lowered_at = end

    def _take(self, _none: None = None) -> bool:
        if not self.has_room():
            return False
        self._under_way += 1
        return True

    def _give_back(self, _none: None = None) -> None:
        self._under_way -= 1
        while self.has_room() and self._waiting.pass_on(self._take, is_last_first=True):
            pass
