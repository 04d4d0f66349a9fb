"""Limits the calls to one service that are under way at once, by how long they take.

A service that has more requests than it can answer in time answers all of them too late, for as long as their senders
repeat them. So while calls are slow, fewer of them are sent: each slow one halves the limit, quick ones raise it again,
by one for as many calls as the limit allows. Of the threads that wait, the last one that came goes first: the others
may have little time left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from heatlite.common import exception
from heatlite.common.runtime import Flag, Runtime


class AdaptiveLimit:
    """For the green threads of one process. `most`: calls at once; `slow`: seconds from which on a call is slow."""

    def __init__(self, runtime: Runtime, most: int, slow: float) -> None:
        self._runtime = runtime
        self._most = most
        self._slow = slow
        self._limit = float(most)
        self._lowered_at = float('-inf')
        self._under_way = 0
        self._waiting: dict[Flag, None] = {}            # in the order of their arrival

    @property
    def limit(self) -> int:
        """The number of calls that may be under way now, at least 1."""
        return int(self._limit)

    def has_room(self) -> bool:
        return self._under_way < self.limit

    @contextmanager
    def room(self, seconds: float) -> Iterator[None]:
        """Wait until there is room for a call, and keep it for the block. Raises TooLate after `seconds`."""
        self._take(seconds)
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

    def _take(self, seconds: float) -> None:
        if self.has_room():
            self._under_way += 1
            return
        turn = self._runtime.flag()
        self._waiting[turn] = None
        try:
            is_mine = turn.wait(seconds)
        except BaseException:                           # the thread is killed
            self._leave(turn)
            raise
        if not is_mine:
            self._leave(turn)
            raise exception.TooLate

    def _leave(self, turn: Flag) -> None:
        if turn in self._waiting:
            del self._waiting[turn]
        else:
            self._give_back()                           # it has got room meanwhile

    def _give_back(self) -> None:
        self._under_way -= 1
        while self._waiting and self.has_room():
            turn, _none = self._waiting.popitem()
            self._under_way += 1
            turn.set()
