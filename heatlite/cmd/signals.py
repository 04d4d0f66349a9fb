"""Signals of the operating system, as values one waits for.

A Python handler runs late while a process sleeps in the system; a byte in a pipe wakes it. Works with
cooperative threads (world.patch) and without.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

STOP = (signal.SIGTERM, signal.SIGINT)
RELOAD = (signal.SIGHUP,)


class Inbox:
    """Signals in the order they came. One per process, made in its main thread."""

    def __init__(self, *extra: int) -> None:
        """Hears SIGTERM, SIGINT, SIGHUP and `extra`."""
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (*STOP, *RELOAD, *extra):
            signal.signal(number, _nothing)

    def fileno(self) -> int:
        """For select(): readable when a signal is there."""
        return self._reader

    def take(self) -> list[int]:
        """Signals that came since the last time; none: an empty list. Cooperative threads wait for one."""
        try:
            return list(os.read(self._reader, 512))
        except BlockingIOError:
            return []

    def __iter__(self) -> Iterator[int]:
        while True:
            yield from self.take()


def until_stopped(inbox: Inbox, reload: Callable[[], None]) -> None:
    """Returns at SIGTERM or SIGINT, calls `reload` at each SIGHUP. Needs cooperative threads."""
    for number in inbox:
        if number in STOP:
            return
        if number in RELOAD:
            reload()


def _nothing(number: int, frame: object) -> None:
    """The handler itself: the byte in the pipe says it all."""
