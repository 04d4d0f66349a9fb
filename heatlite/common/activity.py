"""Records what a process executes at this moment, in memory that survives a crash of the process.

The record is a page shared with the parent process (heatlite.cmd.workers): the id of the stack whose code runs now, and
the time of the main loop's last iteration. Writing costs a copy of a few bytes; nothing is stored or sent.
"""

from __future__ import annotations

import mmap
import os
import struct

SIZE = 64
LENGTH = 36                             # of a stack's id
NOTHING = bytes(LENGTH)
MARKS = ('stack_id', 'stack_mark')      # attributes of a green thread: the stack it works for, and its mark
_TIME = struct.Struct('d')
_TIME_AT = 40


def mark_of(stack_id: str | None) -> bytes:
    """Return the bytes that `Activity.mark` takes."""
    return NOTHING if stack_id is None else stack_id.encode()[:LENGTH].ljust(LENGTH, b'\0')


class Activity:
    """The record of one process."""

    def __init__(self, descriptor: int = -1) -> None:
        """`descriptor`: a file of at least SIZE bytes; -1: memory of this process only."""
        self._page = mmap.mmap(descriptor, SIZE)

    def mark(self, mark: bytes) -> None:
        """Record that the code running from now on belongs to that stack (`mark_of`)."""
        self._page[0:LENGTH] = mark

    def note_iteration(self, seconds: float) -> None:
        """Record the time of the main loop's last iteration; 0: the loop is not supervised."""
        _TIME.pack_into(self._page, _TIME_AT, seconds)

    @property
    def stack_id(self) -> str | None:
        found = self._page[0:LENGTH].rstrip(b'\0')
        return found.decode('ascii', 'replace') or None

    @property
    def iterated_at(self) -> float:
        found: float = _TIME.unpack_from(self._page, _TIME_AT)[0]
        return found

    def close(self) -> None:
        self._page.close()


def shared() -> int:
    """Return a descriptor of new memory for one record, which child processes may inherit."""
    descriptor = os.memfd_create('heatlite-activity', 0)
    os.truncate(descriptor, SIZE)
    return descriptor
