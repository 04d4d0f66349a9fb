"""Signals of the operating system, as values one waits for.

A Python handler runs late while a process sleeps in the system; a byte in a pipe wakes it. Works with
cooperative threads (runtime.patch) and without.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

STOP = (signal.SIGTERM, signal.SIGINT)
RELOAD = (signal.SIGHUP,)


class Inbox:
    """Signals in the order they came. One per process, made in its main thread."""

    def __init__(self, *extra: int, within: float | None = None) -> None:
        """Hears SIGTERM, SIGINT, SIGHUP and `extra`.

        `within`: seconds after the first SIGTERM or SIGINT in which the process ends, whatever its threads do.
        """
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (*STOP, *RELOAD, *extra):
            signal.signal(number, _nothing)
        if within is not None:
            for number in STOP:
                signal.signal(number, _end_within(within))

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


def _end_within(seconds: float) -> Callable[[int, Any], None]:
    """A handler that runs even while a loop of Python code never ends. The end itself is up to a native thread, which
    writes to standard error where every thread is."""
    def handle(number: int, frame: Any) -> None:
        import faulthandler
        faulthandler.dump_traceback_later(max(seconds, 0.1), exit=True)
        for other in STOP:
            signal.signal(other, _nothing)          # the first one counts

    return handle


def _nothing(number: int, frame: object) -> None:
    """The handler itself: the byte in the pipe says it all."""
