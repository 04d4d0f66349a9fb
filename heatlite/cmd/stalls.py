"""Finds out that the main loop of a process stands still: a loop without end, or native code that does not return."""

from __future__ import annotations

import os
import time

from heatlite.common.activity import Activity

LOOK = 0.5              # seconds between two looks
BLOCKED = 3.0           # times `stall`: a loop that stands still without using the CPU gets so much longer


class Watch:
    """Looks at one process, from its parent or from a native thread of its own.

    What counts is the CPU time that the main thread uses without a turn of the loop, so a busy machine does no harm.
    One that waits for something without using any gets longer, counted in looks: all of the machine may have been
    stopped meanwhile. A process that is stopped (SIGSTOP, a debugger) is left alone.
    """

    def __init__(self, record: Activity, stall: float, process: int) -> None:
        """`stall`: seconds of CPU time. `process`: its id."""
        self.activity = record
        self._stall = stall
        self._process = process
        self._turned_at = 0.0           # the last turn that was seen,
        self._cpu = 0.0                 # seconds of CPU time used then,
        self._looks = 0                 # and how often was looked since

    def look(self) -> str | None:
        """What is wrong; None: it is well. To be called every LOOK seconds."""
        turned_at, (state, cpu) = self.activity.turned_at, usage(self._process)
        if not turned_at or turned_at != self._turned_at or state in ('T', 't'):
            self._turned_at, self._cpu, self._looks = turned_at, cpu, 0
            return None
        self._looks += 1
        if cpu - self._cpu < self._stall and self._looks * LOOK < BLOCKED * self._stall:
            return None
        return (f'stands still since {time.monotonic() - turned_at:.0f} s, with {cpu - self._cpu:.1f} s of CPU time, '
                f'executing {named(self.activity.stack_id)}')


def usage(process: int) -> tuple[str, float]:
    """State of the main thread of a process, as /proc has it, and the seconds of CPU time it has used."""
    try:
        with open(f'/proc/{process}/task/{process}/stat') as file:
            state, *values = file.read().rpartition(')')[2].split()
    except OSError:                     # it has ended, or this is no Linux: all that counts is the time then
        return '?', 0.0
    return state, (int(values[10]) + int(values[11])) / os.sysconf('SC_CLK_TCK')


def named(stack_id: str | None) -> str:
    return f'stack {stack_id}' if stack_id is not None else 'no stack'
