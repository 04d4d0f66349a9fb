"""The runtime: clock, randomness and threads. Beside `http_server`, the only file that knows the thread library.

Everything that waits, asks the time or throws dice gets a `World` handed in. Tests hand in one with virtual
time and seeded chance, and can stop it at any point.
"""

from __future__ import annotations

import functools
import os
import random
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Protocol

from heatlite.common import activity, turns

TURN = 0.01                     # seconds a green thread may work before the others run
EPOCH = datetime(1970, 1, 1)
VARIANT = {digit: '89ab'[int(digit, 16) % 4] for digit in '0123456789abcdef'}      # of UUIDs, as RFC 4122 has it


class Thread(Protocol):
    def kill(self) -> None:
        """Ends it at its next switch; nothing happens if it has ended."""


class Flag(Protocol):
    """A flag one can wait for."""

    def set(self) -> None: ...

    def clear(self) -> None: ...

    def is_set(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool:
        """True once set, False when `timeout` seconds passed first."""


class Runtime(Protocol):
    def now(self) -> datetime:
        """UTC without zone, microseconds."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    def sleep(self, seconds: float) -> None: ...

    def spawn(self, function: Callable[..., Any], *args: Any) -> Thread: ...

    def spawn_os_thread(self, function: Callable[[], Any]) -> None:
        """In a thread that no busy one holds up. It shares nothing with them but plain values: no signal, no log
        line, no connection to a database, and nobody can kill it."""

    def flag(self) -> Flag: ...

    def serve(self, stack_id: str | None) -> str | None:
        """From now on this thread works for that stack, or for none; for which one it did before.

        When the process dies, whoever started it learns for which stack it was executing code.
        """

    def turned(self, is_last: bool = False) -> None:
        """The main loop has a turn. Who started this process ends it when there are no more turns before the last."""

    def uuid(self) -> str:
        """A random UUID, lower case with dashes."""

    def turn(self) -> None:
        """Lets other threads go first if this process has been busy for long. To be asked before work of some
        milliseconds that many threads may have at once."""

    def random(self) -> float:
        """From 0 up to, not including, 1."""


def patch() -> None:
    """Makes the blocking calls of the standard library cooperative. First thing a door does."""
    import warnings
    warnings.filterwarnings('ignore', message='[\\s\\S]*Eventlet is deprecated')
    warnings.filterwarnings('ignore', category=DeprecationWarning)      # for developers of libraries, not operators
    # The system's resolver knows /etc/hosts and IPv6 as operators expect; the other one costs 0.1 s to import.
    os.environ.setdefault('EVENTLET_NO_GREENDNS', 'yes')
    import eventlet
    eventlet.monkey_patch()
    turns.use(_rounds().pause)


class Rounds:
    """Shares the process among green threads that seldom wait for anything.

    A round is what runs between two looks of the event loop at its sockets. Once a round has lasted `TURN` seconds,
    threads that ask go on in the next one. Those that are about to begin stand in line for it: each lets the one
    behind it look, so a round that is over costs one thread its turn, and not hundreds of them.
    """

    def __init__(self) -> None:
        from eventlet import patcher
        self._identify = patcher.original('threading').get_ident
        self._thread = self._identify()
        self._began = 0.0                       # when the current round began, as far as anybody asked
        self._line: deque[Any] = deque()        # events of waiting threads; the one before them sleeps
        self._has_front = False

    def turn(self) -> None:
        """Returns in a round that has time left. For threads that are about to begin some work."""
        if not self._is_over():
            return
        if self._has_front:
            self._stand_in_line()
        self._has_front = True
        try:
            while self._is_over():
                self._next()
        finally:
            self._has_front = False
            self._let_next_look()

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
                self._let_next_look()
            raise

    def _let_next_look(self) -> None:
        if self._line:
            self._line.popleft().send()

    def pause(self) -> None:
        """Returns at once, or in the next round. For threads in the middle of their work."""
        if self._is_over():
            self._next()

    def _is_over(self) -> bool:
        """False, too, in other operating system threads and in the event loop."""
        if time.monotonic() - self._began < TURN:
            return False
        import eventlet
        from eventlet import hubs
        return self._identify() == self._thread and eventlet.getcurrent() is not hubs.get_hub().greenlet

    def _next(self) -> None:
        import eventlet
        before = self._began
        eventlet.sleep(0)
        if self._began == before:               # the first to go on in this round
            self._began = time.monotonic()


@functools.cache
def _rounds() -> Rounds:
    """Of this process: made in its main thread, by `patch` or by whoever asks first."""
    return Rounds()


class GreenFlag:
    """`Signal` over eventlet, for threads of one process."""

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
    """The real one: wall clock, operating system's chance, eventlet's threads."""

    def __init__(self) -> None:
        self._dice, self._used = '', 0          # random digits, asked for many at a time
        self._activity: activity.Activity | None = None

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=time.time())       # half the time of now(UTC) without its zone

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        import eventlet
        eventlet.sleep(seconds)

    def spawn(self, function: Callable[..., Any], *args: Any) -> Thread:
        import eventlet
        return GreenThread(eventlet.spawn(function, *args))

    def spawn_os_thread(self, function: Callable[[], Any]) -> None:
        from eventlet import patcher
        patcher.original('threading').Thread(target=function, daemon=True).start()

    def flag(self) -> Flag:
        return GreenFlag()

    def record(self, record: activity.Activity) -> None:
        """From now on `record` tells what the main thread of this process executes. One switch costs 0.3 us more."""
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


def blocking(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call that would hold up every cooperative thread, such as one to the system's resolver: it runs
    in a real thread where threads are cooperative, and right here elsewhere."""
    from eventlet import patcher
    if not patcher.is_monkey_patched('socket'):
        return function(*arguments)
    from eventlet import tpool
    return tpool.execute(function, *arguments)


_current: Runtime = GreenRuntime()


def current() -> Runtime:
    """The runtime of this process, for code that nobody hands one to (resource types, tasks of plug-ins)."""
    return _current


def use(runtime: Runtime) -> None:
    """Replaces it. A door or a test does so once, before anything runs."""
    global _current
    _current = runtime
