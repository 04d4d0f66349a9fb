"""Sends events of stacks that no engine drives, such as those of a refused signal: one outlet for each stack."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

from heatlite.common import exception
from heatlite.common.keyed_count import KeyedCount
from heatlite.common.runtime import Runtime
from heatlite.db.stacks import StoredStack

LOG = logging.getLogger(__name__)

AT_ONCE = 4                             # stacks of one project whose events are sent at the same time


class IdleOutlet(Protocol):
    """An outlet (`event_sinks.Outlet`) that ends when all events are sent."""

    def wake(self) -> None: ...

    def run(self) -> None: ...


class IdleOutlets:
    """Sends events that requests add to stacks without an engine: by one thread for each stack, at most `AT_ONCE`
    stacks of a project at a time. A further event of a stack only wakes its outlet, which sends each event once."""

    def __init__(self, runtime: Runtime, make: Callable[[str, int], IdleOutlet | None]) -> None:
        """`make(stack_id, since)`: loads a stack and makes its outlet; None if the stack is gone."""
        self._runtime = runtime
        self._make = make
        self._outlets: dict[str, IdleOutlet | None] = {}        # stack -> its outlet; None: before that is made
        self._waiting: dict[str, deque[tuple[str, int]]] = {}   # project -> stack, number of the last event before
        self._threads: KeyedCount[str] = KeyedCount()           # of each project, that send

    def tell(self, row: StoredStack, since: int) -> None:
        """Send the events of a stack after number `since`, and all that are added until none is left."""
        if row.id in self._outlets:
            outlet = self._outlets[row.id]
            if outlet is not None:
                outlet.wake()
            return
        self._outlets[row.id] = None
        self._waiting.setdefault(row.project_id, deque()).append((row.id, since))
        if self._threads.count(row.project_id) < AT_ONCE:
            self._threads.add(row.project_id)
            self._runtime.spawn(self._send, row.project_id)

    def _send(self, project_id: str) -> None:
        """Send the events of the stacks of a project that wait, one after the other, in a thread of its own."""
        while self._waiting[project_id]:
            stack_id, since = self._waiting[project_id].popleft()
            try:
                self._send_of(stack_id, since)
            except exception.HeatException as error:
                LOG.warning('Events of stack %s were not sent to its sinks: %s', stack_id, error)
            except Exception:
                LOG.exception('Events of stack %s were not sent to its sinks', stack_id)
            finally:
                del self._outlets[stack_id]     # no switch since its last look for events: a later one begins anew
        self._threads.remove(project_id)
        if not self._threads.count(project_id):
            del self._waiting[project_id]

    def _send_of(self, stack_id: str, since: int) -> None:
        outlet = self._make(stack_id, since)
        if outlet is not None:
            self._outlets[stack_id] = outlet
            outlet.run()
