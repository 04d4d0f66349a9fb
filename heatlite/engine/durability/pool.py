"""A bounded pool of threads for calls into resource types, with a queue in which their owners take turns."""

from __future__ import annotations

import logging
from collections.abc import Callable

from heatlite.common.fair_queue import NO_OWNERS, FairQueue
from heatlite.common.runtime import Runtime, Thread

LOG = logging.getLogger(__name__)


class Pool:
    def __init__(self, runtime: Runtime, size: int) -> None:
        self._runtime = runtime
        self._size = size
        self._waiting: FairQueue[Callable[[], None]] = FairQueue()
        self._idle: list[Worker] = []
        self._workers: list[Worker] = []

    def run(self, call: Callable[[], None], *owners: str) -> None:
        """Run `call` soon. It must catch its own errors; others are only logged. `owners`: whose call it is, as the
        keys of a FairQueue; all calls of a pool have them, or none has."""
        self._waiting.put(call, *(owners or NO_OWNERS))
        if self._idle:
            self._idle.pop().wake()
        elif len(self._workers) < self._size:
            self._workers.append(Worker(self._runtime, self))

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a thread."""
        return len(self._waiting)

    def users(self, owner: str) -> int:
        """The number of second owners with calls that wait for a thread, below a first one."""
        return self._waiting.users(owner)

    @property
    def running(self) -> int:
        """The number of calls under way."""
        return sum(worker.current is not None for worker in self._workers)

    def give_up(self, call: Callable[[], None]) -> None:
        """Kill the thread in which `call` runs, and start another in its place if calls wait."""
        for worker in self._workers:
            if worker.current is call:
                self._workers.remove(worker)
                if self._waiting:
                    self._workers.append(Worker(self._runtime, self))
                worker.thread.kill()
                return

    def next(self) -> Callable[[], None] | None:
        """Take the next call; None: there is none."""
        return self._waiting.take() if self._waiting else None

    def rests(self, worker: Worker) -> None:
        """Note that a worker waits for `wake`."""
        self._idle.append(worker)

    def stop(self) -> None:
        self._waiting.clear()
        for worker in self._workers:
            worker.thread.kill()


class Worker:
    """One thread of the pool. It is reused, so that a burst of calls starts no burst of threads."""

    def __init__(self, runtime: Runtime, pool: Pool) -> None:
        self._runtime = runtime
        self._pool = pool
        self.current: Callable[[], None] | None = None
        self._given = runtime.flag()
        self.thread: Thread = runtime.spawn(self._run)

    def wake(self) -> None:
        self._given.set()

    def _run(self) -> None:
        while True:
            # Hundreds of calls that never block must not starve other threads. Whose call is the next one is decided
            # after that wait, so that owners and not threads take turns.
            self._runtime.turn()
            self.current = call = self._pool.next()
            if call is None:
                self._pool.rests(self)
                self._given.wait()
                self._given.clear()
                continue
            try:
                call()
            except Exception:           # a thread of the pool survives errors of its calls
                LOG.exception('A call of the engine let an error out')
            self.current = None
