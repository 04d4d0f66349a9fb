"""Green threads that are used again: what a new one costs is more than most of what is done in one.

The interpreter maps memory for the frames of each thread, once more if it is deep (`frames`), and unmaps it at its end:
with what the library does, some 50 us. A worker stays when its job has ended, and the one that has worked last, whose
memory is in the caches, is the next one to work.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextvars import Context
from typing import Final, Protocol
from weakref import WeakKeyDictionary

import eventlet
import greenlet
from eventlet import hubs
from eventlet.hubs.hub import BaseHub

from heatlite.common import activity, context, frame_space

LOG = logging.getLogger(__name__)
MOST_IDLE: Final = 64                   # workers that wait for a job: about 50 KiB each


class _Thread(Protocol):
    def kill(self, *error: BaseException) -> None: ...


class Job:
    """One call in a green thread. It begins in the next round of the event loop, in the order of `spawn`."""

    __slots__ = ('_arguments', '_function', '_thread', 'is_killed')

    def __init__(self, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
        self._function: Callable[..., object] | None = function        # None once the call has begun
        self._arguments = arguments
        self._thread: _Thread | None = None                         # only while the call runs
        self.is_killed = False

    def run(self, thread: _Thread) -> None:
        """Make the call, in a context of its own. Errors are logged; what ends the process passes through."""
        function, self._function = self._function, None
        arguments, self._arguments = self._arguments, ()        # they may refer to this job
        if function is None:
            return
        self._thread = thread
        try:
            Context().run(function, *arguments)
        except greenlet.GreenletExit:
            self.is_killed = True
        except Exception:
            LOG.exception('A green thread has failed')
        finally:
            self._thread = None

    def kill(self, error: BaseException | None = None) -> None:
        """End the call where it waits, by GreenletExit or `error`; before its begin, it is not made. Does nothing
        after its end. Yields to other threads."""
        self._function = None
        thread = self._thread
        if thread is not None:
            self.is_killed = True
            thread.kill(*(() if error is None else (error,)))


class _Worker:
    __slots__ = ('job', 'thread')

    def __init__(self, job: Job) -> None:
        self.job: Job | None = job
        self.thread = eventlet.spawn(frame_space.with_room, self._work)

    def _work(self) -> None:
        hub = hubs.get_hub()
        idle = _idle(hub)
        while True:
            job, self.job = self.job, None
            if job is None:
                hub.switch()            # until `spawn` wakes this thread, which nothing else has to do
                continue
            job.run(self.thread)
            if job.is_killed or len(idle) >= MOST_IDLE:
                return                  # a thread that was killed may be woken up once more: it is not used again
            _forget(self.thread)
            idle.append(self)


_idle_of: WeakKeyDictionary[BaseHub, list[_Worker]] = WeakKeyDictionary()


def _idle(hub: BaseHub) -> list[_Worker]:
    """Return the idle workers of an event loop. Each thread of the system has its own, and wakes no worker of another
    one."""
    found = _idle_of.get(hub)
    if found is None:
        found = _idle_of[hub] = []
    return found


def _forget(thread: object) -> None:
    """Remove what a job has left in its thread: for which request and which stack it has worked."""
    context.bind(None)
    for name in activity.MARKS:
        vars(thread).pop(name, None)


def or_end(what: str, function: Callable[[], object]) -> None:
    """Call `function`, and end the process at once if that raises an error (`Runtime.spawn_essential`)."""
    try:
        function()
    except Exception:
        LOG.critical('%s has failed; this process ends', what, exc_info=True)
        os._exit(os.EX_SOFTWARE)


def spawn(function: Callable[..., object], *arguments: object) -> Job:
    """Call a function in a green thread with room for its frames."""
    job = Job(function, arguments)
    hub = hubs.get_hub()
    idle = _idle(hub)
    if idle:
        worker = idle.pop()
        worker.job = job
        hub.schedule_call_global(0, worker.thread.switch)
    else:
        _Worker(job)
    return job
