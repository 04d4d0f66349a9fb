"""Limits how often something happens, counted by a key such as a project, in the memory of one process."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

from heatlite.common import runtime
from heatlite.common.expiring_cache import ExpiringCache

PERIOD: Final = 60.0                # seconds
MOST_KEYS: Final = 10_000           # of too many, the one that was used least recently begins anew


class Rate:
    """Permits `most` at once, and as many in each minute after that, spread evenly (GCRA, as in ATM Forum TM 4.0).

    Threads of all kinds may use it.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._interval = PERIOD / most
        # key -> when all that it used is permitted again
        self._paid: ExpiringCache[float] = ExpiringCache(MOST_KEYS, PERIOD)
        self._lock = threading.Lock()

    def take(self, key: Hashable) -> float:
        """Counts one of `key` and returns 0.0; or counts nothing and returns the seconds until one is permitted."""
        now = runtime.current().monotonic()
        with self._lock:
            paid = max(self._paid.get(key, now), now) + self._interval
            wait = paid - now - PERIOD
            if wait > self._interval / 1000:                # no more than rounding
                return float(wait)
            self._paid.put(key, paid)
            return 0.0
