"""Computations that several green threads share: one thread computes, and the others wait for its result or its error.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from heatlite.common.runtime import Flag, Runtime
from heatlite.common.shared_errors import SharedError

T = TypeVar('T')


class Computation(Generic[T]):
    """One computation and its outcome: a result, or an Exception.

    It has no outcome if its thread was killed, passed its deadline, or lost the lease of its stack, which are no
    Exceptions: the next waiting thread computes then."""

    def __init__(self, runtime: Runtime) -> None:
        self.ended: Flag = runtime.flag()
        self._results: list[T] = []                 # at most one
        self._error: SharedError | None = None

    def run(self, compute: Callable[[], T]) -> T:
        """Return `compute()`, or raise its error, and store which it was. The caller sets `ended` afterwards."""
        try:
            result = compute()
        except Exception as error:
            self._error = SharedError(error)
            raise
        self._results.append(result)
        return result

    @property
    def has_result(self) -> bool:
        return bool(self._results)

    @property
    def has_outcome(self) -> bool:
        return self.has_result or self._error is not None

    def outcome(self) -> T:
        """Return the result, or raise the error, of a computation that `has_outcome`."""
        if self._error is not None:
            raise self._error.again()
        return self._results[0]


class SharedComputations(Generic[T]):
    """One computation at a time for each key."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._running: dict[Hashable, Computation[T]] = {}

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return `compute()`, or the result of the computation of this key that is under way, which may have begun
        before this call. Raises the error of either. If that computation has no outcome, the next thread computes."""
        while (running := self._running.get(key)) is not None:
            running.ended.wait()
            if running.has_outcome:
                return running.outcome()
        mine = self._running[key] = Computation(self._runtime)
        try:
            return mine.run(compute)
        finally:
            del self._running[key]
            mine.ended.set()

    def wait(self, key: Hashable) -> bool:
        """Wait for the computation of this key that is under way; False: there is none. Raises its error."""
        running = self._running.get(key)
        if running is None:
            return False
        running.ended.wait()
        if running.has_outcome:
            running.outcome()
        return True
