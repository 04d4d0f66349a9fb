"""Counts what is under way by a key, such as a project, so that a caller can limit it."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

K = TypeVar('K', bound=Hashable)


class KeyedCount(Generic[K]):
    """Stores only the keys that have a count. Makes no checks: the limits, and their errors, are the callers'.

    Not safe among threads of the system, which have `LimitedCount`.
    """

    __slots__ = ('_counts', '_total')

    def __init__(self) -> None:
        self._counts: dict[K, int] = {}
        self._total = 0

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._counts)

    def count(self, key: K) -> int:
        return self._counts.get(key, 0)

    def total(self) -> int:
        """Return the count of all keys together; takes the same time for any number of them."""
        return self._total

    def add(self, key: K, number: int = 1) -> None:
        self._counts[key] = self._counts.get(key, 0) + number
        self._total += number

    def remove(self, key: K, number: int = 1) -> None:
        """Count so many less of the key. Raises KeyError if the key has no count."""
        left = self._counts[key] - number
        if left:
            self._counts[key] = left
        else:
            del self._counts[key]
        self._total -= number

    @contextmanager
    def held(self, key: K) -> Iterator[None]:
        """Count one of the key until the end of the block."""
        self.add(key)
        try:
            yield
        finally:
            self.remove(key)


class LimitedCount(Generic[K]):
    """Counts with a limit, for threads of all kinds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: KeyedCount[K] = KeyedCount()

    def count(self, key: K) -> int:
        return self._counts.count(key)

    @contextmanager
    def held(self, key: K, most: int, error: Exception, in_all: int | None = None) -> Iterator[None]:
        """Count one of the key until the end of the block. Raises `error` if `most` of the key, or `in_all` of all keys
        together, are counted already."""
        with self._lock:
            if self._counts.count(key) >= most or (in_all is not None and self._counts.total() >= in_all):
                raise error
            self._counts.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._counts.remove(key)
