"""Caches lists of servers by state: one request serves all servers that are being made at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from heatlite.common import runtime as runtimes

FRESH = 0.5                                 # seconds that a list holds


class StatusListCache:
    """Ids of the servers in one state, as the service last listed them."""

    def __init__(self, ask: Callable[[], Iterable[str]]) -> None:
        self._ask = ask
        self._ids: frozenset[str] = frozenset()
        self._fresh_until = 0.0             # of the runtime's monotonic clock
        self._answered: runtimes.Flag | None = None     # set when the request under way is answered

    def has(self, server_id: str) -> bool:
        """Whether the list has the server. False is no proof: the server may have entered the state since. Raises the
        errors of the service."""
        runtime = runtimes.current()
        while self._answered is not None:
            self._answered.wait()
        if runtime.monotonic() >= self._fresh_until:
            self._answered = answered = runtime.flag()
            try:
                self._ids = frozenset(self._ask())
                self._fresh_until = runtime.monotonic() + FRESH
            finally:
                self._answered = None
                answered.set()
        return server_id in self._ids
