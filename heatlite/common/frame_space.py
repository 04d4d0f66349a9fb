"""Room for the frames of a thread, so that loops in it do not pay for mapping memory.

CPython keeps the frames of the functions that a thread is in, in chunks of 16 KiB: a call that does not fit maps a new
chunk, and its return unmaps it. A loop whose calls happen to cross the end of a chunk maps, zeroes and unmaps memory at
each turn, which takes up to four times as long as the loop itself (136 000 page faults for 4 000 calls of YAQL). Where
that happens depends on how deep the thread is at the moment, so the same request is fast at one time and slow at
another.

`with_room` calls a function from a frame that is declared to need much: the interpreter maps a chunk twice as large as
that, once, and what follows has its rest. Only pages that are used take memory: two more for each thread (8 KiB).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

T = TypeVar('T')

# Words of 8 bytes. With what the interpreter adds they are just above 128 KiB, so that the chunk has 256 KiB and about
# a thousand frames have room in its rest.
DECLARED: Final = 16_000


def _call(function: Callable[..., T], *arguments: object) -> T:
    return function(*arguments)


_call.__code__ = _call.__code__.replace(co_stacksize=DECLARED)
with_room = _call


def roomy(function: Callable[..., T]) -> Callable[..., T]:
    """Return `function`, called with room; as a layer around a WSGI application."""
    return partial(with_room, function)
