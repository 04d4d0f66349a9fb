"""Runs calls at given times. A waiting resource is an entry in a heap, not a sleeping thread."""

from __future__ import annotations

import heapq
import itertools
import logging
from collections.abc import Callable

from heatlite.common.runtime import Runtime

LOG = logging.getLogger(__name__)


class Timers:
    """Runs calls when they are due, in one thread. A call must not block. An error of one is logged, and the others
    are made."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._earlier = runtime.flag()              # a new entry is due before the thread wakes up
        self._thread = runtime.spawn_essential('The thread of the timers', self._run)

    def __len__(self) -> int:
        """The number of calls that are not due yet."""
        return len(self._heap)

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        due = self._runtime.monotonic() + seconds
        first = not self._heap or due < self._heap[0][0]
        heapq.heappush(self._heap, (due, next(self._order), call))
        if first:
            self._earlier.set()

    def stop(self) -> None:
        self._thread.kill()

    def _run(self) -> None:
        while True:
            self._earlier.clear()
            now = self._runtime.monotonic()
            while self._heap and self._heap[0][0] <= now:
                self._make(heapq.heappop(self._heap)[2])
            self._earlier.wait(self._heap[0][0] - now if self._heap else None)

    def _make(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            LOG.exception('A call of a timer has failed')
