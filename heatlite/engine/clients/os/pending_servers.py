"""Caches lists of servers by state: one request serves all servers that are being made at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from heatlite.common import runtime as runtimes
from heatlite.common.shared_computations import SharedComputations

FRESH = 0.5                                 # seconds that a list holds


class StatusListCache:
    """Ids of the servers in one state, as the service last listed them."""

    def __init__(self, ask: Callable[[], Iterable[str]]) -> None:
        self._ask = ask
        self._runtime = runtimes.current()
        self._ids: frozenset[str] = frozenset()
        self._fresh_until = 0.0             # of the runtime's monotonic clock
        self._requests: SharedComputations[frozenset[str]] = SharedComputations(self._runtime)

    def has(self, server_id: str) -> bool:
        """Whether the list has the server. False is no proof: the server may have entered the state since. Raises the
        errors of the service."""
        is_fresh = self._runtime.monotonic() < self._fresh_until
        return server_id in (self._ids if is_fresh else self._requests.get('', self._list))

    def _list(self) -> frozenset[str]:
        self._ids = frozenset(self._ask())
        self._fresh_until = self._runtime.monotonic() + FRESH
        return self._ids
