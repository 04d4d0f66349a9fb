"""Gives memory back to the operating system that a process needed for large work and needs no more.

Python's collector looks at new objects only (`leave_old_objects`), and the C library retains freed memory between
blocks that are in use: without this, an idle process stays as large as its largest work.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
from collections.abc import Callable
from contextlib import suppress

from heatlite.common import log_throttle
from heatlite.common.runtime import Flag, Runtime

LOG = logging.getLogger(__name__)

GROWTH = 32 * 2 ** 20           # bytes above the size at the start that are worth the work
PAUSE = 30.0                    # seconds until what is not in use is given back
LONGEST_PAUSE = 600.0           # while nothing can be given back: collecting takes longer the more is in use
POLL_SECONDS = 1.0              # between two readings of the size
# What a process may grow by until memory is given back at once, in bytes, or as a share of what it had in use: requests
# that leave objects which refer to each other could otherwise make it grow by hundreds of MiB within seconds.
AT_ONCE, AT_ONCE_SHARE = 64 * 2 ** 20, 0.25
# Each time that little could be given back at once, since what a process has is in use, the process may grow by twice
# as much until the next time, and by so many times AT_ONCE at most.
MOST_PATIENCE = 4
LARGE = 10_000                  # resources of a stack: the memory of a larger one is given back when its action ends
STATM = '/proc/self/statm'
NEVER = 2 ** 30                 # collections of newer objects, until all are looked at


class LargeWork:
    """Notes that a large piece of work has ended. Its objects refer to each other, so they stay until a collection."""

    def __init__(self) -> None:
        self.has_ended = False
        self._noted: Flag | None = None

    def wakes(self, noted: Flag) -> None:
        """From now on, set `noted` when such work has ended."""
        self._noted = noted

    def ended(self, size: int) -> None:
        """`size`: in resources."""
        if size > LARGE:
            self.has_ended = True
            if self._noted is not None:
                self._noted.set()


large_work = LargeWork()                # of this process


class Reclaimer:
    """Looks again and again whether the process has grown, and gives memory back. While what it has is in use, it does
    so less and less often; if it grows fast, or a large piece of `work` has ended, at once.

    `resident()`: bytes of the process that are in memory; `release()`: gives back what is not in use, and holds up all
    green threads meanwhile; `kept(size)`: called with the bytes that the process keeps beyond its size at the start,
    after each release that was due.
    """

    def __init__(self, runtime: Runtime, resident: Callable[[], int], release: Callable[[], None],
                 kept: Callable[[int], None] = lambda size: None, work: LargeWork = large_work) -> None:
        self._runtime = runtime
        self._work = work
        self._resident = resident
        self._release = release
        self._kept = kept
        self._least = self._used = 0            # bytes, since the start; when memory was last given back, or less
        self._pause, self._waited = PAUSE, 0.0
        self._patience = 1

    def run(self) -> None:
        """Do so for ever; for a thread of its own. What a large work has left is given back as soon as the thread that
        has ended it waits: the next request would come on top of it."""
        self._least = self._used = self._resident()
        noted = self._runtime.flag()
        self._work.wakes(noted)
        while True:
            noted.wait(POLL_SECONDS)
            noted.clear()
            try:
                self._look()
            except Exception as error:          # such as: no file descriptor is left. Without this thread memory grows.
                log_throttle.log(LOG, logging.WARNING, type(error).__name__, 'Giving memory back failed: %s', error)

    def _look(self) -> None:
        self._waited += POLL_SECONDS
        size = self._resident()
        self._least, self._used = min(self._least, size), min(self._used, size)
        is_due = self._waited >= self._pause
        grows = size - self._used >= max(self._patience * AT_ONCE, AT_ONCE_SHARE * self._used)
        if not self._work.has_ended and not grows:
            if not is_due:
                return
            if size - self._least < GROWTH:
                self._pause, self._waited = PAUSE, 0.0
                return
        self._work.has_ended = False
        self._release()
        self._used = self._resident()
        gave_back = size - self._used >= GROWTH
        self._pause, self._waited = PAUSE if gave_back else min(2 * self._pause, LONGEST_PAUSE), 0.0
        if gave_back:
            self._patience = 1
        elif grows:
            self._patience = min(2 * self._patience, MOST_PATIENCE)
        LOG.debug('Memory given back: %d of %d MiB', (size - self._used) >> 20, size >> 20)
        if is_due:
            self._kept(self._used - self._least)


def start(runtime: Runtime, kept: Callable[[int], None]) -> None:
    """Give memory back from now on, in a thread of `runtime`. Does nothing where the system does not say how large the
    process is. `kept`: as of `Reclaimer`."""
    if os.path.exists(STATM):
        leave_old_objects()
        runtime.spawn(Reclaimer(runtime, resident, release, kept).run)


def resident() -> int:
    """Return how many bytes of this process are in memory, shared ones included."""
    with open(STATM, encoding='ascii') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


def leave_old_objects() -> None:
    """Let the collector look at new objects only, and at what one collection of these has left. Others are looked at by
    `release` alone: a collection of all objects of a large stack holds up all threads for 100 ms and more, again and
    again while the stack grows."""
    new, once, _all = gc.get_threshold()
    gc.set_threshold(new, once, NEVER)


def release() -> None:
    """Collect garbage among all objects but those that were there when the program had started (`gc.freeze`), and
    return unused pages to the system where the C library can."""
    gc.collect()
    with suppress(OSError, AttributeError):         # another C library than GNU's
        ctypes.CDLL(None).malloc_trim(0)
