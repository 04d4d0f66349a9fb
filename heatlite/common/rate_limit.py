"""Limits how often something happens, counted by a key such as a project, in the memory of one process."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

from heatlite.common import runtime as runtimes
from heatlite.common.expiring_cache import ExpiringCache
from heatlite.common.runtime import Runtime

PERIOD: Final = 60.0                # seconds
MOST_KEYS: Final = 10_000           # of too many, the one that was used least recently begins anew


class Rate:
    """Permits `at_once` at once, and `most` in each minute after that, spread evenly (GCRA, as in ATM Forum TM 4.0).

    Threads of all kinds may use it.
    """

    def __init__(self, most: float, at_once: float | None = None, runtime: Runtime | None = None) -> None:
        """`at_once`: at least 1, by default `most`. `runtime`: its clock and its sleep, by default those of the present
        runtime of this process."""
        self.most = most
        self._runtime = runtime
        self._interval = PERIOD / most
        self._burst = PERIOD if at_once is None else self._interval * at_once      # seconds
        # key -> when all that it used is permitted again
        self._paid: ExpiringCache[float] = ExpiringCache(MOST_KEYS, self._burst, self._now)
        self._lock = threading.Lock()

    def take(self, key: Hashable) -> float:
        """Count one of `key` and return 0.0; or count nothing and return the seconds until one is permitted."""
        now = self._now()
        with self._lock:
            paid = max(self._paid.get(key, now), now) + self._interval
            wait = paid - now - self._burst
            if wait > self._interval / 1000:                # no more than rounding
                return float(wait)
            self._paid.put(key, paid)
            return 0.0

    def wait(self, key: Hashable) -> float:
        """Sleep until one of `key` is permitted, and count it. Return the seconds of sleep. Threads that wait at once
        have no order."""
        slept = 0.0
        while pause := self.take(key):
            (self._runtime or runtimes.current()).sleep(pause)
            slept += pause
        return slept

    def _now(self) -> float:
        return (self._runtime or runtimes.current()).monotonic()
