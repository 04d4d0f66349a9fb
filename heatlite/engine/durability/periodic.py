"""Work that comes up again and again: one thread of an engine looks for it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from heatlite.common import defects, exception, outages
from heatlite.common.context import bind
from heatlite.common.runtime import Runtime, Thread

LOG = logging.getLogger(__name__)


class Periodic:
    def __init__(self, runtime: Runtime, what: str, step: Callable[[], int], pause: float) -> None:
        """`step()`: does what there is to do, and returns how much that was; it is called again after `pause` seconds
        on average, at once if there was something. `what`: the work, for the log."""
        self._runtime = runtime
        self._what = what
        self._step = step
        self._pause = pause
        self._thread: Thread | None = None

    def start(self) -> None:
        self._thread = self._runtime.spawn(self._run)

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.kill()

    def _run(self) -> None:
        while True:
            bind(None)                              # of the last turn, with the hidden values of its stacks
            try:
                if self._step():
                    continue
            except exception.DatabaseUnavailable as error:
                outages.away(outages.DATABASE, error)
            except Exception as error:
                defects.log(LOG, error, 'A search failed: %s', self._what)
            self._runtime.sleep(apart(self._runtime, self._pause))


def apart(runtime: Runtime, seconds: float) -> float:
    """Return a pause of `seconds` on average, a quarter more or less: engines that start together, as after a power cut
    or in a deployment, must not ask the database together ever after."""
    return seconds * (0.75 + runtime.random() / 2)
