"""Runs calls at given times. A waiting resource is an entry in a heap, not a sleeping thread."""

from __future__ import annotations

import heapq
import itertools
import logging
from collections.abc import Callable

from heatlite.common.runtime import Runtime

LOG = logging.getLogger(__name__)

FEW = 64                            # cancelled calls that may stay in the heap, however few others are in it


class Timer:
    """A call that is due at a time. `call`: None once it has begun or was cancelled."""

    __slots__ = ('_timers', 'call')

    def __init__(self, timers: Timers, call: Callable[[], object]) -> None:
        self._timers = timers
        self.call: Callable[[], object] | None = call

    def cancel(self) -> None:
        """Do not make the call, and drop all that it refers to. Does nothing once the call has begun."""
        if self.call is not None:
            self.call = None
            self._timers.note_cancelled()


class Timers:
    """Makes calls when they are due, in one thread. A call must not block. An error of one is logged, and the others
    are made."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._heap: list[tuple[float, int, Timer]] = []
        self._cancelled = 0                         # of those in the heap
        self._order = itertools.count()
        self._earlier = runtime.flag()              # a new entry is due before the thread wakes up
        self._thread = runtime.spawn_essential('The thread of the timers', self._run)

    def __len__(self) -> int:
        """The number of calls that are not due yet."""
        return len(self._heap) - self._cancelled

    def after(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Make `call` after `seconds`, unless the timer that is returned is cancelled before."""
        due, timer = self._runtime.monotonic() + seconds, Timer(self, call)
        first = not self._heap or due < self._heap[0][0]
        heapq.heappush(self._heap, (due, next(self._order), timer))
        if first:
            self._earlier.set()
        return timer

    def stop(self) -> None:
        self._thread.kill()

    def note_cancelled(self) -> None:
        """Note that an entry is of no use. They are removed together, when they are more than the others."""
        self._cancelled += 1
        if self._cancelled > max(FEW, len(self)):
            self._heap = [entry for entry in self._heap if entry[2].call is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def _run(self) -> None:
        while True:
            self._earlier.clear()
            now = self._runtime.monotonic()
            while self._heap and self._heap[0][0] <= now:
                self._make(heapq.heappop(self._heap)[2])
            # The calls have taken time, and others may be due by now.
            self._earlier.wait(max(self._heap[0][0] - self._runtime.monotonic(), 0.0) if self._heap else None)

    def _make(self, timer: Timer) -> None:
        call, timer.call = timer.call, None
        if call is None:
            self._cancelled -= 1
            return
        try:
            call()
        except Exception:
            LOG.exception('A call of a timer has failed')
