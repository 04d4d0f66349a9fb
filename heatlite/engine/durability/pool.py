"""A bounded number of threads for calls into types; what does not fit waits in line."""

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
        """Runs `call` soon, in the order asked. It must catch its own errors; what it lets out is only logged."""
        if self._idle:
            self._idle.pop().take(call)
        elif len(self._workers) < self._size:
            self._workers.append(Worker(self._runtime, self, call))
        else:
            self._waiting.append(call)

    def give_up(self, call: Callable[[], None]) -> None:
        """Ends the thread in which `call` runs, wherever it is, and gives its place to another."""
        for worker in self._workers:
            if worker.current is call:
                self._workers.remove(worker)
                if self._waiting:
                    self._workers.append(Worker(self._runtime, self, self._waiting.popleft()))
                worker.thread.kill()
                return

    def next(self, worker: Worker) -> Callable[[], None] | None:
        """What an idle worker does next; None: wait to be given something."""
        if self._waiting:
            return self._waiting.popleft()
        self._idle.append(worker)
        return None

    def stop(self) -> None:
        self._waiting.clear()
        for worker in self._workers:
            worker.thread.kill()


class Worker:
    """One thread of the pool. It stays, so that a burst of calls costs no burst of threads."""

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
            self._runtime.turn()          # hundreds of calls that never wait must not keep everything else waiting
            try:
                call()
            except Exception:           # a thread of the pool outlives whatever it was given
                LOG.exception('A call of the engine let an error out')
            self.current = None
