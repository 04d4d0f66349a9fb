"""The runtime: clock, randomness and threads. Besides `http_server`, the only file that depends on the thread library.

Code that waits, reads the time or needs randomness gets a `Runtime` passed in. Tests pass one with virtual time and
seeded randomness, and can stop it at any point.
"""

from __future__ import annotations

import functools
import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Protocol

from heatlite.common import activity, frames, turns

TURN = 0.01                     # seconds that a green thread may work before the others run
EPOCH = datetime(1970, 1, 1)
VARIANT = {digit: '89ab'[int(digit, 16) % 4] for digit in '0123456789abcdef'}      # of UUIDs, by RFC 4122


class Thread(Protocol):
    def kill(self) -> None:
        """Ends the thread at its next switch; does nothing if it has ended."""


class Flag(Protocol):
    """A flag that threads can wait for."""

    def set(self) -> None: ...

    def clear(self) -> None: ...

    def is_set(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool:
        """True once set, False if `timeout` seconds passed before."""


class Runtime(Protocol):
    def now(self) -> datetime:
        """The time in UTC without zone, with microseconds."""

    def monotonic(self) -> float:
        """Monotonic time in seconds."""

    def sleep(self, seconds: float) -> None: ...

    def spawn(self, function: Callable[..., Any], *args: Any) -> Thread: ...

    def spawn_os_thread(self, function: Callable[[], Any]) -> None:
        """Runs `function` in an OS thread that busy green threads do not block.

        It shares only plain values with them: no flag, no log line, no database connection. It cannot be killed.
        """

    def flag(self) -> Flag: ...

    def serve(self, stack_id: str | None) -> str | None:
        """Marks the code of this thread as working for that stack, or for none; returns the previous one.

        When the process dies, its parent process finds out for which stack it was executing code.
        """

    def turned(self, is_last: bool = False) -> None:
        """Records a turn of the main loop. The parent process ends this one if the turns stop before the last one."""

    def uuid(self) -> str:
        """A random UUID, lower case with dashes."""

    def turn(self) -> None:
        """Yields to other threads if this process has been busy for long.

        Call it before work of some milliseconds that many threads may have at once.
        """

    def random(self) -> float:
        """A random number from 0 up to, not including, 1."""


def patch() -> None:
    """Makes the blocking calls of the standard library cooperative. Programs call it before anything else."""
    import warnings
    warnings.filterwarnings('ignore', message='[\\s\\S]*Eventlet is deprecated')
    warnings.filterwarnings('ignore', category=DeprecationWarning)      # for developers of libraries, not operators
    # The system's resolver handles /etc/hosts and IPv6 as operators expect; eventlet's costs 0.1 s to import.
    os.environ.setdefault('EVENTLET_NO_GREENDNS', 'yes')
    import eventlet
    eventlet.monkey_patch()
    turns.use(_rounds().pause)


class Rounds:
    """Shares the process fairly among green threads that seldom wait for anything.

    A round is what runs between two polls of the event loop. Once a round has lasted `TURN` seconds, threads that call
    `pause` or `turn` continue in the next one. Threads that are about to begin work queue for it: each lets only the
    next one check, so a round that is over delays one thread, and not hundreds of them.
    """

    def __init__(self) -> None:
        from eventlet import patcher
        self._identify = patcher.original('threading').get_ident
        self._thread = self._identify()
        self._began = 0.0                       # when the current round began, as of the last check
        self._line: deque[Any] = deque()        # events of waiting threads; the one before them sleeps
        self._has_front = False

    def turn(self) -> None:
        """Returns in a round that has time left. For threads that are about to begin some work."""
        if not self._is_over():
            return
        if self._has_front:
            self._stand_in_line()               # returns at the front
        self._has_front = True
        try:
            while self._is_over():
                self._next()
        finally:
            self._pass_front()

    def _stand_in_line(self) -> None:
        from eventlet import event as green_event
        place = green_event.Event()
        self._line.append(place)
        try:
            place.wait()
        except BaseException:                   # killed
            if place in self._line:
                self._line.remove(place)
            else:
                self._pass_front()
            raise

    def _pass_front(self) -> None:
        """Gives the place at the front to the next in line. It stays taken until that thread runs: a thread that came
        before would be a second one at the front, and all at the front wait for each round together."""
        if self._line:
            self._line.popleft().send()
        else:
            self._has_front = False

    def pause(self) -> None:
        """Returns at once, or in the next round. For threads in the middle of their work."""
        if self._is_over():
            self._next()

    def _is_over(self) -> bool:
        """Whether the round has lasted too long; False in other OS threads and in the event loop."""
        if time.monotonic() - self._began < TURN:
            return False
        import eventlet
        from eventlet import hubs
        return self._identify() == self._thread and eventlet.getcurrent() is not hubs.get_hub().greenlet

    def _next(self) -> None:
        import eventlet
        before = self._began
        eventlet.sleep(0)
        if self._began == before:               # the first thread to continue in this round
            self._began = time.monotonic()


@functools.cache
def _rounds() -> Rounds:
    """The rounds of this process: made in its main thread, by `patch` or by the first caller."""
    return Rounds()


class GreenFlag:
    """`Flag` over eventlet, for threads of one process."""

    __slots__ = ('_set', '_waiters')

    def __init__(self) -> None:
        self._set = False
        self._waiters: list[Any] = []

    def set(self) -> None:
        self._set = True
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.ready():
                waiter.send(True)

    def clear(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        if self._set:
            return True
        from eventlet import event as green_event
        from eventlet import timeout as green_timeout
        waiter = green_event.Event()
        self._waiters.append(waiter)
        if timeout is None:
            waiter.wait()
            return True
        with green_timeout.Timeout(timeout, False):
            waiter.wait()
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        return waiter.ready() or self._set


class GreenThread:
    __slots__ = ('_thread',)

    def __init__(self, thread: Any) -> None:
        self._thread = thread

    def kill(self) -> None:
        self._thread.kill()


class GreenRuntime:
    """The runtime of production: wall clock, the system's randomness, eventlet's threads."""

    def __init__(self) -> None:
        self._dice, self._used = '', 0          # random digits, generated many at a time
        self._activity: activity.Activity | None = None

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=time.time())       # takes half the time of now(UTC) without its zone

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        import eventlet
        eventlet.sleep(seconds)

    def spawn(self, function: Callable[..., Any], *args: Any) -> Thread:
        import eventlet
        return GreenThread(eventlet.spawn(frames.with_room, function, *args))

    def spawn_os_thread(self, function: Callable[[], Any]) -> None:
        from eventlet import patcher
        patcher.original('threading').Thread(target=function, daemon=True).start()

    def flag(self) -> Flag:
        return GreenFlag()

    def record(self, record: activity.Activity) -> None:
        """Records in `record` what the main thread of this process executes. One switch costs 0.3 us more."""
        import greenlet
        self._activity = record
        mark, nothing = record.mark, activity.NOTHING

        def switched(_event: str, threads: tuple[Any, Any]) -> None:
            mark(threads[1].__dict__.get('stack_mark', nothing))

        greenlet.settrace(switched)

    def serve(self, stack_id: str | None) -> str | None:
        import greenlet
        thread = greenlet.getcurrent().__dict__
        before: str | None = thread.get('stack_id')
        thread['stack_id'], thread['stack_mark'] = stack_id, activity.mark_of(stack_id)
        if self._activity is not None:
            self._activity.mark(thread['stack_mark'])
        return before

    def turned(self, is_last: bool = False) -> None:
        if self._activity is not None:
            self._activity.turn(0.0 if is_last else time.monotonic())

    def uuid(self) -> str:
        if self._used == len(self._dice):
            self._dice, self._used = os.urandom(16 * 256).hex(), 0
        found = self._dice[self._used:self._used + 32]
        self._used += 32
        return f'{found[:8]}-{found[8:12]}-4{found[13:16]}-{VARIANT[found[16]]}{found[17:20]}-{found[20:]}'

    def turn(self) -> None:
        _rounds().turn()

    def random(self) -> float:
        return random.random()


def blocking(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call that would block every green thread, such as one to the system's resolver.

    It runs in an OS thread. Raises TimeoutError after `seconds`; the thread then lasts until the call ends.
    """
    from eventlet import patcher
    if patcher.is_monkey_patched('socket'):
        from eventlet import timeout, tpool
        with timeout.Timeout(seconds, TimeoutError('the time is over')):
            return tpool.execute(function, *arguments)
    from concurrent import futures
    outcome: futures.Future[Any] = futures.Future()

    def call() -> None:
        try:
            outcome.set_result(function(*arguments))
        except Exception as error:
            outcome.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return outcome.result(seconds)


_current: Runtime = GreenRuntime()


def current() -> Runtime:
    """The runtime of this process, for code that is not passed one (resource types, tasks of plug-ins)."""
    return _current


def use(runtime: Runtime) -> None:
    """Replaces the runtime of this process. A program or a test does so once, before anything runs."""
    global _current
    _current = runtime
