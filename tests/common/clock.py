"""A clock that only tests move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from heatlite.common import runtime
from heatlite.common.green_threads import GreenRuntime


class Clock(GreenRuntime):
    time = 0.0

    def monotonic(self) -> float:
        return self.time


@contextmanager
def stopped() -> Iterator[Clock]:
    """A clock at zero, as the runtime's while the block runs."""
    before, found = runtime.current(), Clock()
    runtime.use(found)
    try:
        yield found
    finally:
        runtime.use(before)
