"""How deeply functions may call each other: documents nest up to `Limits.max_depth`, and some are walked by recursion.

Frames of Python functions do not use the C stack, but those of `__getattr__`, of `sorted` with a key and the like do:
with the usual stack of 8 MiB a plug-in that calls itself for ever would end the process with a segmentation fault
after 11 000 calls, and not with a RecursionError. So the stack of the main thread, in which green threads run, grows
with the limit. Other threads keep theirs: they run no code of plug-ins.
"""

from __future__ import annotations

import resource
import sys
from typing import Final

DEEPEST: Final = 30_000             # calls
STACK_OF_CALL: Final = 3_500        # bytes; 800 were measured for `__getattr__`, and 1 500 at most for others


def allow() -> None:
    """Raise the limit of Python, and that of the stack. May be repeated."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _room() // STACK_OF_CALL))


def _room() -> int:
    """Return the bytes to which the stack of the main thread may grow, at most what DEEPEST calls need."""
    wanted = DEEPEST * STACK_OF_CALL
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    larger = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_STACK, (larger, hard))
    except (OSError, ValueError):           # the system does not let programs change it
        return soft
    return larger
