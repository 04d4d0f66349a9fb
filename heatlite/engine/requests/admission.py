"""Makes requests that bring new work wait while this engine has enough of their project.

An engine accepts stacks faster than it drives them. Without this, a project that asks without pause would have
thousands of stacks in progress here, among which those of other projects come forward slowly.
"""

from __future__ import annotations

from collections.abc import Callable

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.keyed_count import KeyedCount
from heatlite.common.runtime import Runtime

ENOUGH = 200                    # trees of a project with work that waits for this engine itself, not for a service
MOST_WAITING = 14               # requests of a project, of the 21 that an engine works at at once (heatlite.rpc.slots)
PAUSE = 0.02                    # seconds between two looks
WAIT_SECONDS = 20.0             # seconds that a request waits at most


class Admission:
    """For all threads. `backlog(project)`: the number of its trees with work that is ready and not done."""

    def __init__(self, runtime: Runtime, backlog: Callable[[str], int]) -> None:
        self._runtime = runtime
        self._backlog = backlog
        self._waiting: KeyedCount[str] = KeyedCount()       # requests, by project

    def wait(self, context: RequestContext) -> None:
        """Return once the project of a request has less than ENOUGH. Raises HTTPServiceUnavailable if that takes too
        long, or too many of its requests wait; TooLate when the caller has stopped waiting."""
        project = context.project_id or ''
        if self._backlog(project) < ENOUGH:
            return
        if self._waiting.count(project) >= MOST_WAITING:
            raise exception.HTTPServiceUnavailable(_('Too many requests of this project wait for an engine.'))
        with self._waiting.held(project):
            self._wait(context, project)

    def _wait(self, context: RequestContext, project: str) -> None:
        until = self._runtime.monotonic() + WAIT_SECONDS
        while self._backlog(project) >= ENOUGH:
            self._runtime.sleep(PAUSE)
            context.check_in_time(self._runtime.now())
            if self._runtime.monotonic() > until:
                raise exception.HTTPServiceUnavailable(_('The engine is busy with other stacks of this project.'))
