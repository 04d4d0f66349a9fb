"""Delivers signals of the operating system as values.

A Python handler runs late while a process sleeps in the system; a byte in a pipe wakes it. Works with cooperative
threads (runtime.patch) and without.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

STOP = (signal.SIGTERM, signal.SIGINT)
RELOAD = (signal.SIGHUP,)


class Inbox:
    """Signals in the order of arrival. One per process, made in its main thread."""

    def __init__(self, *extra: int, within: float | None = None) -> None:
        """Handle SIGTERM, SIGINT, SIGHUP and `extra`.

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
        """For select(): readable when a signal has arrived."""
        return self._reader

    def take(self) -> list[int]:
        """Signals since the last call; an empty list if there are none. Cooperative threads wait for one."""
        try:
            return list(os.read(self._reader, 512))
        except BlockingIOError:
            return []

    def __iter__(self) -> Iterator[int]:
        while True:
            yield from self.take()


def until_stopped(inbox: Inbox, reload: Callable[[], None]) -> None:
    """Return at SIGTERM or SIGINT, call `reload` at each SIGHUP. Needs cooperative threads."""
    for number in inbox:
        if number in STOP:
            return
        if number in RELOAD:
            reload()


def _end_within(seconds: float) -> Callable[[int, object], None]:
    """Return a handler that works even during an endless loop of Python code.

    A native thread ends the process and writes the stacks of all threads to standard error.
    """
    def handle(number: int, frame: object) -> None:
        import faulthandler
        faulthandler.dump_traceback_later(max(seconds, 0.1), exit=True)
        for other in STOP:
            signal.signal(other, _nothing)          # only the first one has an effect

    return handle


def _nothing(number: int, frame: object) -> None:
    """Do nothing: the byte in the pipe delivers the signal."""
