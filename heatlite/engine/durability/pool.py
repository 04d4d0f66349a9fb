"""A bounded pool of threads for calls, with a queue in which their owners take turns and a share for each of them.

A first owner, such as a project, begins a call only while it has fewer calls under way than there are threads left: at
most half of the threads if it is alone, and always one more than none while a thread is left. So calls of one owner
that do not return never take all threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from heatlite.common.context import bind
from heatlite.common.fair_queue import NO_OWNERS, FairQueue
from heatlite.common.keyed_count import KeyedCount
from heatlite.common.runtime import Runtime, Thread

LOG = logging.getLogger(__name__)


class Pool:
    def __init__(self, runtime: Runtime, size: int) -> None:
        self._runtime = runtime
        self._size = size
        self._waiting: FairQueue[Callable[[], None]] = FairQueue()
        self._idle: list[Worker] = []
        self._workers: list[Worker] = []
        self._running: KeyedCount[str] = KeyedCount()       # calls under way, by first owner
        self._waking: Worker | None = None      # was woken up and has not asked for a call since

    def run(self, call: Callable[[], None], *owners: str) -> None:
        """Run `call` soon. It must catch its own errors; others are only logged. `owners`: whose call it is, as the
        keys of a FairQueue; all calls of a pool have them, or none has, which then are of one owner."""
        self._waiting.put(call, *(owners or NO_OWNERS))
        self._wake()

    def _wake(self) -> None:
        """Wake up a worker if calls wait; it will wake up the next one when it takes a call.

        A burst of calls that never block is executed by a few workers so, not by one for each.
        """
        if self._waking is not None or self._next_owner() is None:
            return
        if self._idle:
            self._waking = self._idle.pop()
            self._waking.wake()
        elif len(self._workers) < self._size:
            self._waking = Worker(self._runtime, self)
            self._workers.append(self._waking)

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
        return self._running.total()

    def kill(self, call: Callable[[], None]) -> None:
        """Kill the thread in which `call` runs, and start another in its place if calls wait."""
        for worker in self._workers:
            if worker.current is call:
                self._workers.remove(worker)
                self.returned(worker)
                self._wake()
                worker.thread.kill()
                return

    def next(self, worker: Worker) -> Callable[[], None] | None:
        """Take the next call for a worker; None: there is none, or those that wait exceed their owners' shares."""
        if self._waking is worker:
            self._waking = None
        owner = self._next_owner()
        if owner is None:
            return None
        worker.current, worker.owner = self._waiting.take(owner), owner
        self._running.add(owner)
        self._wake()
        return worker.current

    def returned(self, worker: Worker) -> None:
        """Note that the call of a worker is over: it returned, or the worker is killed."""
        if worker.owner is not None:
            self._running.remove(worker.owner)
            worker.current = worker.owner = None

    def _next_owner(self) -> str | None:
        """Return the first owner whose turn it is and that may begin a call. At most `size` owners are passed over:
        each of them has a call under way."""
        left = self._size - self._running.total()
        for owner in self._waiting.first_keys():
            if self._running.count(owner) < left:
                return owner
        return None

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
        self.owner: str | None = None           # the first owner of this call
        self._given = runtime.flag()
        self.thread: Thread = runtime.spawn_essential('A thread of a pool', self._run)

    def wake(self) -> None:
        self._given.set()

    def _run(self) -> None:
        while True:
            # Hundreds of calls that never block must not starve other threads. Whose call is the next one is decided
            # after that wait, so that owners and not threads take turns.
            self._runtime.turn()
            call = self._pool.next(self)
            if call is None:
                bind(None)                          # the stack of the last call, and its hidden values, may end
                self._pool.rests(self)
                self._given.wait()
                self._given.clear()
                continue
            try:
                call()
            except Exception:           # a thread of the pool survives errors of its calls
                LOG.exception('A call of the engine let an error out')
            self._pool.returned(self)
