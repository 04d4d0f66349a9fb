"""Shares the threads of an engine that answer messages among the projects.

The messaging library has a fixed number of threads. A third of them may work at once, on slots: a thread that waits
for a slot costs little. A project gets a third of the slots, and a third of all threads with those that wait; more of
its requests are refused at once, so that messages of other projects always find a thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Flag, Runtime

PART = 3                        # a project may have one of so many parts


class Slots:
    """For the green threads of one process. `threads`: how many of them answer messages."""

    def __init__(self, runtime: Runtime, threads: int) -> None:
        self._runtime = runtime
        self.slots = max(threads // PART, 1)
        self.most_of_project = max(self.slots // PART, 1)
        self.most_threads_of_project = max(threads // PART, 1)
        self._taken: Counter[str] = Counter()           # by project; entries without requests are removed
        self._present: Counter[str] = Counter()
        self._waiting: dict[Flag, str] = {}             # in the order of their arrival
        self._full_since: float | None = None           # when the last slot was taken, or given from one to another

    def full_seconds(self) -> float:
        """Seconds since all slots are taken by the same requests; 0.0 while one is free."""
        return 0.0 if self._full_since is None else self._runtime.monotonic() - self._full_since

    @contextmanager
    def taken(self, context: RequestContext, seconds: float) -> Iterator[None]:
        """Holds a slot for the project of a request. Raises HTTPServiceUnavailable if too many of its requests are
        here, TooLate if it gets none within `seconds`."""
        project = context.project_id or ''
        if self._present[project] >= self.most_threads_of_project:
            raise exception.HTTPServiceUnavailable(_('Too many requests of this project wait for an engine.'))
        self._present[project] += 1
        try:
            self._take(project, seconds)
            try:
                yield
            finally:
                self._give_back(project)
        finally:
            _lessen(self._present, project)

    def _take(self, project: str, seconds: float) -> None:
        if self._has_room(project):
            self._note(project)
            return
        turn = self._runtime.flag()
        self._waiting[turn] = project
        try:
            is_mine = turn.wait(seconds)
        except BaseException:                           # the thread is killed
            self._leave(turn, project)
            raise
        if not is_mine:
            self._leave(turn, project)
            raise exception.TooLate

    def _leave(self, turn: Flag, project: str) -> None:
        if self._waiting.pop(turn, None) is None:       # it has got a slot meanwhile
            self._give_back(project)

    def _has_room(self, project: str) -> bool:
        return self._taken.total() < self.slots and self._taken[project] < self.most_of_project

    def _note(self, project: str) -> None:
        self._taken[project] += 1
        if self._taken.total() >= self.slots:
            self._full_since = self._runtime.monotonic()

    def _give_back(self, project: str) -> None:
        """Free a slot, and give it to the first that waits and may have it."""
        _lessen(self._taken, project)
        self._full_since = None
        for turn, other in self._waiting.items():
            if self._has_room(other):
                del self._waiting[turn]
                self._note(other)
                turn.set()
                return


def _lessen(counts: Counter[str], key: str) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
