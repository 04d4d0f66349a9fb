"""A cache whose values expire. Time may be virtual: it is that of the runtime, or of the clock that is passed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, overload

import cachetools

from heatlite.common import runtime

D = TypeVar('D')
V = TypeVar('V')


def _now() -> float:
    return runtime.current().monotonic()


class ExpiringCache(Generic[V]):
    """Holds at most `most` values, each for `seconds`; of too many, the one that was used least recently goes.

    Threads of all kinds may use it.
    """

    __slots__ = ('_lock', '_values')

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = _now) -> None:
        """`clock`: monotonic time in seconds, by default that of the present runtime of this process."""
        self._values: cachetools.TTLCache[Hashable, V] = cachetools.TTLCache(most, seconds, timer=clock)
        # The library's lists are not safe among threads of the system. Nothing waits while it is held.
        self._lock = runtime.system_threading().Lock()

    @overload
    def get(self, key: Hashable) -> V | None: ...

    @overload
    def get(self, key: Hashable, default: D) -> V | D: ...

    def get(self, key: Hashable, default: object = None) -> object:
        """Return the value, or `default`."""
        with self._lock:
            return self._values.get(key, default)

    def put(self, key: Hashable, value: V) -> None:
        with self._lock:
            self._values[key] = value

    def add(self: ExpiringCache[bool], key: Hashable) -> bool:
        """Add a key for its time. False, and nothing changes, if it is there."""
        with self._lock:
            if key in self._values:
                return False
            self._values[key] = True
            return True

    def remove(self, key: Hashable) -> None:
        """Remove the value, if there is one."""
        with self._lock:
            self._values.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
