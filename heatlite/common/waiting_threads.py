"""Green threads of one process that wait until another one passes its place on to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from heatlite.common import exception
from heatlite.common.runtime import Flag, Runtime

K = TypeVar('K')


class WaitingThreads(Generic[K]):
    """A queue of threads that wait for a place, in the order of arrival.

    The owner of the queue defines what a place is, counts the places, and passes each free one on.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._waiting: dict[Flag, K] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(self, wanted: K, seconds: float, give_back: Callable[[K], object]) -> None:
        """Wait until `pass_on` has taken a place for `wanted`. Raises TooLate after `seconds`. A place that was taken
        for a thread which no longer waits for it goes to `give_back(wanted)`."""
        turn = self._runtime.flag()
        self._waiting[turn] = wanted
        is_mine = False
        try:
            is_mine = turn.wait(seconds)
        finally:                                        # the thread may have been killed
            if not is_mine:
                if turn in self._waiting:
                    del self._waiting[turn]
                else:
                    give_back(wanted)
        if not is_mine:
            raise exception.TooLate

    def pass_on(self, take: Callable[[K], bool], is_last_first: bool = False) -> bool:
        """Let the first thread go on, or the last one, for which `take(wanted)` takes a place, which says whether it
        does. Returns whether there was one."""
        for turn in reversed(self._waiting) if is_last_first else self._waiting:
            if take(self._waiting[turn]):
                del self._waiting[turn]
                turn.set()
                return True
        return False
