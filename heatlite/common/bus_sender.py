"""Sends notifications to the message bus in order, and never delays the thread that has one. Bounded: while the bus
hangs, what is too much is lost, and reported as an outage.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from heatlite.common import outages

WAITING = 1000                  # most notifications of one sender that wait for the bus; further ones are lost


class BusSender:
    """One at a time, by a thread that ends when none waits. For threads of all kinds."""

    def __init__(self, bus: str, spawn: Callable[[Callable[[], None]], object]) -> None:
        """`bus`: its name in `outages`, whose failures are the notifications that were lost. `spawn(function)`: runs it
        in a new thread, which may block; may raise RuntimeError."""
        self._bus = bus
        self._spawn = spawn
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_sending = False
        self._lock = threading.Lock()           # nothing waits while it is held

    def put(self, send: Callable[[], None]) -> None:
        """Have `send` called after those that wait. It may block or raise: then its notification is lost."""
        with self._lock:
            is_full = len(self._waiting) >= WAITING
            if not is_full:
                self._waiting.append(send)
            begins = not is_full and not self._is_sending
            self._is_sending = self._is_sending or begins
        if is_full:
            outages.away(self._bus, f'{WAITING} notifications wait for it; further ones are lost')
        if begins:
            try:
                self._spawn(self._send_all)
            except RuntimeError as error:       # the system has no thread left: the next notification tries again
                self._is_sending = False
                outages.away(self._bus, error)

    def _send_all(self) -> None:
        while (send := self._next()) is not None:
            try:
                send()
            except Exception as error:          # of any driver; the others are sent
                outages.away(self._bus, error)
            else:
                if outages.current:
                    outages.back(self._bus)

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._is_sending = False
            return None
