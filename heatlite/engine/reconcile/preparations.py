"""The preparations of resources for their replacement that are under way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from heatlite.common.runtime import Flag, Runtime


class Preparations:
    """Of one stack. A newer request may have its resources inspected before the preparation for a former one has ended,
    which cannot be undone until then."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._ended: dict[int, Flag] = {}           # row -> set when the preparation has ended

    def is_under_way(self, number: int) -> bool:
        """Whether the resource of that row is being prepared."""
        return number in self._ended

    @contextmanager
    def of(self, number: int) -> Iterator[None]:
        """Prepare the resource of that row in the block."""
        ended = self._ended[number] = self._runtime.flag()
        try:
            yield
        finally:
            del self._ended[number]
            ended.set()

    def wait(self, number: int) -> None:
        """Return once the resource of that row is not being prepared."""
        while (ended := self._ended.get(number)) is not None:
            ended.wait()
