"""The clock of the simulated cloud, and what is due on it.

Nothing runs in the background: whatever a service does by itself is written down with its due time and happens before
the next request is looked at. So one request is one atomic step, and a test that moves the clock decides what happens.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import UTC, datetime

from heatlite.common.runtime import Runtime

Action = Callable[[], None]


class Clock:
    """Runs with the runtime's clock; may be moved forward, and stopped so that only `advance` moves it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._started = runtime.now().replace(tzinfo=UTC).timestamp() - runtime.monotonic()
        self._skipped = 0.0
        self._stopped_at: float | None = None
        self._moment: float | None = None       # while an action runs: when it was due
        self._due: list[tuple[float, int, Action]] = []
        self._count = 0
        self._stamped: tuple[int, str] | None = None
        self._stamp = ''

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        if self._moment is not None:
            return self._moment
        if self._stopped_at is not None:
            return self._stopped_at
        return self._started + self._runtime.monotonic() + self._skipped

    def stamp(self, form: str = '%Y-%m-%dT%H:%M:%SZ', later: float = 0.0) -> str:
        """Now, or `later` seconds from now, as text."""
        moment = self.now() + later
        if '%f' in form:
            return datetime.fromtimestamp(moment, UTC).strftime(form)
        key = (int(moment), form)
        if key != self._stamped:                # within one second they are all the same
            self._stamped = key
            self._stamp = datetime.fromtimestamp(moment, UTC).strftime(form)
        return self._stamp

    def after(self, seconds: float, action: Action) -> None:
        self._count += 1
        heapq.heappush(self._due, (self.now() + seconds, self._count, action))

    def catch_up(self) -> None:
        """Does everything that is due, in the order of its due times; also what that makes due."""
        due = self._due
        if not due:
            return
        now = self.now()
        while due and due[0][0] <= now:
            self._moment, _, action = heapq.heappop(due)
            try:
                action()
            finally:
                self._moment = None

    def advance(self, seconds: float) -> None:
        if self._stopped_at is None:
            self._skipped += seconds
        else:
            self._stopped_at += seconds
        self.catch_up()

    def stop(self) -> None:
        """From now on only `advance` moves it."""
        self._stopped_at = self.now()

    def go(self) -> None:
        """Runs again, from where it is."""
        if self._stopped_at is not None:
            behind, self._stopped_at = self._stopped_at, None
            self._skipped += behind - self.now()

    @property
    def waiting(self) -> int:
        """How many actions are not due yet."""
        return len(self._due)
