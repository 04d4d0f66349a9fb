"""A bounded pool of threads for calls into resource types, with a queue."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from heatlite.common.runtime import Runtime, Thread

LOG = logging.getLogger(__name__)


class Pool:
    def __init__(self, runtime: Runtime, size: int) -> None:
        self._runtime = runtime
        self._size = size
        self._waiting: deque[Callable[[], None]] = deque()
        self._idle: list[Worker] = []
        self._workers: list[Worker] = []

    def run(self, call: Callable[[], None]) -> None:
        """Run `call` soon, in the order of submission. It must catch its own errors; others are only logged."""
        if self._idle:
            self._idle.pop().take(call)
        elif len(self._workers) < self._size:
            self._workers.append(Worker(self._runtime, self, call))
        else:
            self._waiting.append(call)

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a thread."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """The number of calls under way."""
        return len(self._workers) - len(self._idle)

    def give_up(self, call: Callable[[], None]) -> None:
        """Kill the thread in which `call` runs, and start another in its place if calls wait."""
        for worker in self._workers:
            if worker.current is call:
                self._workers.remove(worker)
                if self._waiting:
                    self._workers.append(Worker(self._runtime, self, self._waiting.popleft()))
                worker.thread.kill()
                return

    def next(self, worker: Worker) -> Callable[[], None] | None:
        """Return the next call of a worker; None: it is idle and waits for `take`."""
        if self._waiting:
            return self._waiting.popleft()
        self._idle.append(worker)
        return None

    def stop(self) -> None:
        self._waiting.clear()
        for worker in self._workers:
            worker.thread.kill()


class Worker:
    """One thread of the pool. It is reused, so that a burst of calls starts no burst of threads."""

    def __init__(self, runtime: Runtime, pool: Pool, first: Callable[[], None]) -> None:
        self._runtime = runtime
        self._pool = pool
        self._call: Callable[[], None] | None = first
        self.current: Callable[[], None] | None = None
        self._given = runtime.flag()
        self.thread: Thread = runtime.spawn(self._run)

    def take(self, call: Callable[[], None]) -> None:
        self._call = call
        self._given.set()

    def _run(self) -> None:
        while True:
            call, self._call = self._call, None
            if call is None:
                call = self._pool.next(self)
            if call is None:
                self._given.wait()
                self._given.clear()
                continue
            self.current = call
            self._runtime.turn()          # hundreds of calls that never block must not starve other threads
            try:
                call()
            except Exception:           # a thread of the pool survives errors of its calls
                LOG.exception('A call of the engine let an error out')
            self.current = None
