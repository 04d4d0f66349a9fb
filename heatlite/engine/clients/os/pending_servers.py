"""Many servers on their way at once: one list tells of all of them, in the place of a question for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from heatlite.common import runtime as runtimes

FRESH = 0.5                                 # seconds that a list holds


class Crowd:
    """Ids of the servers that are in some state, as the service said last."""

    def __init__(self, ask: Callable[[], Iterable[str]]) -> None:
        self._ask = ask
        self._ids: frozenset[str] = frozenset()
        self._fresh_until = 0.0             # of the runtime's monotonic clock
        self._answered: runtimes.Signal | None = None         # set when the list that is asked for now has come

    def has(self, server_id: str) -> bool:
        """False tells nothing: it may have been left before, or entered since. Raises what the service answers."""
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
