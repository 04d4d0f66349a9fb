"""Detects that the main loop of a process stalls: an endless loop, or native code that does not return."""

from __future__ import annotations

import os
import time

from heatlite.common.activity import Activity

POLL_SECONDS = 0.5      # between two checks
BLOCKED = 3.0           # times `stall`: the limit for a loop that stalls without using the CPU


class Watch:
    """Watches one process, from its parent or from a native thread of its own.

    The measure is the CPU time that the main thread uses without an iteration of the loop, so a busy machine does no
    harm. A loop that waits without using any has a longer limit, counted in checks: the whole machine may have been
    stopped meanwhile. A process that is stopped (SIGSTOP, a debugger) is ignored.
    """

    def __init__(self, record: Activity, stall: float, process: int) -> None:
        """`stall`: seconds of CPU time. `process`: its id."""
        self.activity = record
        self._stall = stall
        self._process = process
        self._iterated_at = 0.0         # the last iteration seen,
        self._cpu = 0.0                 # seconds of CPU time used by then,
        self._looks = 0                 # and the number of checks since

    def look(self) -> str | None:
        """Return the problem of the process, or None. Call it every POLL_SECONDS seconds."""
        iterated_at, (state, cpu) = self.activity.iterated_at, usage(self._process)
        if not iterated_at or iterated_at != self._iterated_at or state in ('T', 't'):
            self._iterated_at, self._cpu, self._looks = iterated_at, cpu, 0
            return None
        self._looks += 1
        if cpu - self._cpu < self._stall and self._looks * POLL_SECONDS < BLOCKED * self._stall:
            return None
        return (f'stands still since {time.monotonic() - iterated_at:.0f} s, with {cpu - self._cpu:.1f} s of CPU time, '
                f'executing {named(self.activity.stack_id)}')


def usage(process: int) -> tuple[str, float]:
    """State of the main thread of a process, from /proc, and the seconds of CPU time it has used."""
    try:
        with open(f'/proc/{process}/task/{process}/stat') as file:
            state, *values = file.read().rpartition(')')[2].split()
    except OSError:                     # it has ended, or this is not Linux: only wall clock time counts then
        return '?', 0.0
    return state, (int(values[10]) + int(values[11])) / os.sysconf('SC_CLK_TCK')


def named(stack_id: str | None) -> str:
    return f'stack {stack_id}' if stack_id is not None else 'no stack'
