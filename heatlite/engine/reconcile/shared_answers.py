"""Computes the answer to a question once for all threads that ask it at the same time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from heatlite.common import allowance
from heatlite.common.expiring_cache import ExpiringCache
from heatlite.common.runtime import Runtime
from heatlite.common.shared_computations import Computation
from heatlite.rpc import slots

MOST_DURATIONS = 1000           # of questions: how long their last computation took
DURATION_SECONDS = 600.0        # for which that is remembered
MARGIN = 2                      # times as long as the last one a computation may take

T = TypeVar('T')


class _Numbered(Computation[T]):
    """A computation. `number`: in the order in which they begin; `began`: monotonic time in seconds."""

    def __init__(self, runtime: Runtime, number: int) -> None:
        super().__init__(runtime)
        self.number = number
        self.began = runtime.monotonic()


class SharedAnswers(Generic[T]):
    """For the green threads of one process. One thread at a time computes the answer to a question; those that ask it
    meanwhile wait, and share the next computation: no answer is older than its question.

    A request has a deadline: it waits only while there is time for a computation after that, else it computes for
    itself at once. It has no slot while it waits.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._numbers = itertools.count()
        self._running: dict[Hashable, _Numbered[T]] = {}
        self._durations: ExpiringCache[float] = ExpiringCache(      # by hash: questions may be large
            MOST_DURATIONS, DURATION_SECONDS, runtime.monotonic)

    def answer(self, question: Hashable, compute: Callable[[], T]) -> T:
        """Return `compute()`, or what another thread has computed since this was called. An error is raised in the
        thread that computes only; the next one that waits computes for itself. Raises TooLate at the deadline of the
        request."""
        asked = next(self._numbers)
        while (running := self._running.get(question)) is not None:
            if not self._wait(question, running):
                return self._timed(question, compute)
            if running.has_result and running.number > asked:
                return running.outcome()
        mine: _Numbered[T] = _Numbered(self._runtime, next(self._numbers))
        self._running[question] = mine
        try:
            return mine.run(lambda: self._timed(question, compute))
        finally:
            del self._running[question]
            mine.ended.set()

    def _wait(self, question: Hashable, running: _Numbered[T]) -> bool:
        """Wait for the end of a computation. False: it has not ended, and there is no time to wait longer.

        A request for which no slot is free goes on waiting: it would wait for one of those that compute the same."""
        request = allowance.current()
        if request is None:
            return running.ended.wait()
        seconds = self._spare_seconds(question, running, request.left())
        if seconds > 0:
            slots.release()
            if running.ended.wait(seconds):
                return True
        return not slots.is_at_hand() and running.ended.wait(request.left())

    def _spare_seconds(self, question: Hashable, running: _Numbered[T], left: float) -> float:
        """Return how long a request that has `left` seconds may wait. After that it has `MARGIN` times the seconds that
        the last computation took, and that the running one will have taken by then."""
        age = self._runtime.monotonic() - running.began
        last = self._durations.get(hash(question), 0.0)
        return min(left - MARGIN * last, (left - MARGIN * age) / (MARGIN + 1))

    def _timed(self, question: Hashable, compute: Callable[[], T]) -> T:
        """Return `compute()`, in a slot of the request."""
        request = allowance.current()
        if request is not None:
            slots.take_again(request.left())
        began = self._runtime.monotonic()
        try:
            return compute()
        finally:
            self._durations.put(hash(question), self._runtime.monotonic() - began)
