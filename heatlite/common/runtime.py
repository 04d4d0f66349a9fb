"""The runtime: clock, randomness and threads, as the product sees them. `green_threads` has that of production.

Code that waits, reads the time or needs randomness gets a `Runtime` passed in. Tests pass one with virtual time and
seeded randomness, and can stop it at any point.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from types import ModuleType
from typing import Protocol

EPOCH = datetime(1970, 1, 1)
# How many new objects there are before garbage is looked for among them; how many of these collections there are before
# one of the objects that they have left; and how many of the latter before one of all objects, which Python puts off
# until a quarter as many wait for it as it left the last time. Services have none of the third kind but when memory is
# given back (`common.memory`). To free 10 000 objects holds up all threads for 10 to 40 ms.
COLLECT_AFTER = 3_000, 9, 60


class Thread(Protocol):
    def kill(self) -> None:
        """End the thread at its next switch; do nothing if it has ended."""


class Flag(Protocol):
    """A flag that threads can wait for."""

    def set(self) -> None: ...

    def clear(self) -> None: ...

    def is_set(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool:
        """Return True once set, False if `timeout` seconds passed before."""


class Runtime(Protocol):
    def now(self) -> datetime:
        """Return the time in UTC without zone, with microseconds."""

    def monotonic(self) -> float:
        """Monotonic time in seconds."""

    def sleep(self, seconds: float) -> None: ...

    def spawn(self, function: Callable[..., object], *args: object) -> Thread:
        """Run `function(*args)` in a new thread. An error that it lets out is logged, and ends that thread only."""

    def spawn_essential(self, what: str, function: Callable[[], object]) -> Thread:
        """Run `function` in a new thread. If it raises an error, log that as critical and end the process with exit
        code 70: so `function` handles errors of single items itself. `what`: the subject of the log line."""

    def spawn_os_thread(self, function: Callable[[], object]) -> None:
        """Run `function` in an OS thread that busy green threads do not block.

        It shares only plain values with them: no flag, no log line, no database connection. It cannot be killed.
        """

    def flag(self) -> Flag: ...

    def interrupt(self, seconds: float, again: float, error: Callable[[], BaseException | None]) -> Thread:
        """After `seconds`, and then each `again` seconds, calls `error()` and raises its result in this thread where it
        waits; None: not now. Until what is returned is killed."""

    def serve(self, stack_id: str | None) -> str | None:
        """Mark the code of this thread as working for that stack, or for none; return the previous one.

        When the process dies, its parent process finds out for which stack it was executing code.
        """

    def note_iteration(self, is_last: bool = False) -> None:
        """Record an iteration of the main loop. The parent process ends this one if they stop before the last one."""

    def uuid(self) -> str:
        """Return a random UUID, lower case with dashes."""

    def turn(self, *owners: str) -> None:
        """Yield to other threads if this process has been busy for long.

        Call it before work of some milliseconds that many threads may have at once. `owners`: project and root stack
        of that work, if known; they take turns.
        """

    def random(self) -> float:
        """Return a random number from 0 up to, not including, 1."""


def patch() -> None:
    """Make the blocking calls of the standard library cooperative. Programs call it before anything else."""
    collect_rarely()
    omit_advice()
    warnings.filterwarnings('ignore', category=DeprecationWarning)      # for developers of libraries, not operators
    # The system's resolver handles /etc/hosts and IPv6 as operators expect; eventlet's costs 0.1 s to import.
    os.environ['EVENTLET_NO_GREENDNS'] = 'yes'
    import eventlet
    from eventlet.green import socket as green_socket
    eventlet.monkey_patch(psycopg=False)        # that imports the driver; `db.connection` does it where it is used
    from heatlite.common import green_threads, host_lookups
    green_threads.share()
    for module in (socket, green_socket):
        vars(module)['getaddrinfo'] = host_lookups.getaddrinfo


def collect_rarely() -> None:
    """Has garbage collected after more new objects than the default, which is for small programs: that would take a
    sixth of the time to load the modules, and a fifth of that of a large stack."""
    gc.set_threshold(*COLLECT_AFTER)


def omit_advice() -> None:
    """Omit the library's advice to its users' developers, which it gives when it is imported."""
    warnings.filterwarnings('ignore', message='[\\s\\S]*Eventlet is deprecated')


def is_cooperative() -> bool:
    """Whether other green threads run while one waits in the standard library: in all our programs, but not within a
    server that has threads of the system for requests."""
    patcher = sys.modules.get('eventlet.patcher')
    return patcher is not None and bool(patcher.is_monkey_patched('socket'))


def system_threading() -> ModuleType:
    """Return the module `threading` whose threads and locks are those of the system, also in a green process."""
    if is_cooperative():
        from eventlet import patcher
        found: ModuleType = patcher.original('threading')
        return found
    return threading


def outside_flag() -> Flag:
    """Return a flag that any thread of the system may set, and for which this thread waits."""
    if is_cooperative():
        from heatlite.common import green_threads
        return green_threads.outside_flag()
    return threading.Event()


def limited(seconds: float) -> AbstractContextManager[object]:
    """Raise TimeoutError in the block after `seconds`, at the next wait of this green thread.

    The time-out of a green socket is that of each wait, so that a peer which sends byte by byte is never late. Does
    nothing outside of green processes, where it is that of a whole call, such as a TLS handshake.
    """
    if is_cooperative():
        from eventlet import timeout
        limit: AbstractContextManager[object] = timeout.Timeout(seconds, TimeoutError('the time is over'))
        return limit
    return nullcontext()


_current: Runtime | None = None


def current() -> Runtime:
    """Return the runtime of this process, for code that is not passed one: resource types, tasks of plug-ins, and
    functions that only need the time."""
    global _current
    if _current is None:
        omit_advice()
        from heatlite.common.green_threads import GreenRuntime
        _current = GreenRuntime()
    return _current


def use(runtime: Runtime) -> None:
    """Replace the runtime of this process. A program or a test does so once, before anything runs."""
    global _current
    _current = runtime
