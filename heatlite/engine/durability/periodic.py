"""Recurring work: one thread of an engine searches for it, and does it piece by piece.

A piece of work belongs to one owner, such as a stack. An error in it is logged and does not stop the other pieces: rows
that cannot be read are found at every search.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from heatlite.common import defects, exception, outages
from heatlite.common.context import bind
from heatlite.common.runtime import Runtime, Thread

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Search:
    """`find()` yields the ids of what there is to do now; its error ends this search. `each(id)` does one piece; its
    error is logged, and a later search yields the id again. `what`: a noun for log lines. Both run in the thread of
    Periodic."""

    what: str
    find: Callable[[], Iterable[str]]
    each: Callable[[str], object]


class Periodic:
    """Searches one after the other, then pauses for `pause` seconds on average, again and again."""

    def __init__(self, runtime: Runtime, pause: float, *searches: Search) -> None:
        self._runtime = runtime
        self._pause = pause
        self._searches = searches
        self._thread: Thread | None = None

    def start(self) -> None:
        self._thread = self._runtime.spawn(self._run)

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.kill()

    def _run(self) -> None:
        while True:
            for search in self._searches:
                self._attempt(partial(self._perform, search), 'The search for the next %s has failed', search.what)
            self._runtime.sleep(apart(self._runtime, self._pause))

    def _perform(self, search: Search) -> None:
        for piece in search.find():
            self._attempt(partial(search.each, piece), 'The %s %s has failed', search.what, piece)

    @staticmethod
    def _attempt(work: Callable[[], object], message: str, *arguments: str) -> None:
        bind(None)                                  # of the work before, with the hidden values of its stack
        try:
            work()
        except exception.DatabaseUnavailable as error:
            outages.away(outages.DATABASE, error)
        except Exception as error:
            defects.log(LOG, error, message, *arguments)


def paged(read: Callable[[str], Sequence[str]]) -> Iterator[str]:
    """Yield the ids of all pages. `read(after)`: the page of those after an id, in their order; none at the end.

    Each id comes once, so that those whose work fails again and again do not keep the others from their turn."""
    after = ''
    while page := read(after):
        yield from page
        after = page[-1]


def apart(runtime: Runtime, seconds: float) -> float:
    """Return a pause of `seconds` on average, a quarter more or less: engines that start together, as after a power cut
    or in a deployment, must not ask the database together ever after."""
    return seconds * (0.75 + runtime.random() / 2)
