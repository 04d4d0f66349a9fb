"""The runtime of production: eventlet's threads, the wall clock, the system's randomness.

Besides `http_server` and `green_workers`, the only file whose code runs in the thread library's loop. Programs import
it after `runtime.patch`.
"""

from __future__ import annotations

import functools
import os
import random
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

import eventlet
import greenlet
from eventlet import hubs, patcher

from heatlite.common import activity, green_workers, turns
from heatlite.common.fair_queue import FairQueue
from heatlite.common.runtime import EPOCH, Flag, Thread

RUN_SECONDS = 0.004              # seconds that green threads may work before the event loop polls
RUN_SECONDS_ALONE = 0.010        # while one tree of stacks is all that works: each pause costs it some caches
RUN_SECONDS_BESIDE = 0.001       # while one tree works most of the time: what others wait for ends with a turn of it
SHARED_SECONDS = 1.0             # how long another tree is expected after there was one
MOST_VOTES = 64                  # calls of `turn` by which a tree that works most of the time is found
STACK, MARK = activity.MARKS
OTHERS = ('others', '', '')       # the keys of threads whose work is of no stack, or is chosen when they continue
VARIANT = {digit: '89ab'[int(digit, 16) % 4] for digit in '0123456789abcdef'}      # of UUIDs, by RFC 4122


def share() -> None:
    """Make long computations of all packages yield (`turns`). The main thread calls it once."""
    turns.use(_rounds().turn)


class _Waiter:
    """A thread that waits. `thread`: None once it goes on, for whatever reason."""

    __slots__ = ('is_released', 'thread')

    def __init__(self, thread: greenlet.greenlet | None) -> None:
        self.thread = thread
        self.is_released = False

    def wake(self) -> None:
        """Continue the thread, in the event loop. Returns when the thread waits again."""
        if self.thread is not None:
            self.thread.switch()


class Rounds:
    """Shares the process fairly among green threads that seldom wait for anything.

    Once they have worked for RUN_SECONDS since the event loop polled, each that calls `turn` waits. After the next
    poll the loop continues them one after the other, for RUN_SECONDS again. Projects, and below each its trees,
    take turns, as do all of them with the threads without owners: hundreds of one project delay that of another by two
    rounds.
    """

    def __init__(self) -> None:
        self._identify = patcher.original('threading').get_ident
        self._thread = self._identify()
        self._began = 0.0                       # when the current round began; idle time counts, too
        self._waiting: FairQueue[_Waiter] = FairQueue()
        self._is_planned = False                # the next round
        self._owners: tuple[str, ...] = ()      # of the work that came last, and when it did
        self._owners_at = 0.0
        self._busiest: tuple[str, ...] = ()     # the owners of most calls; by so many more than those of all others
        self._votes = 0
        self._shared_until = 0.0                # monotonic time until which several trees are expected

    def turn(self, *owners: str) -> None:
        """Return at once, or in one of the next rounds. `owners`: project and root stack of the work, if known.

        Does not wait in other OS threads, nor in the event loop.
        """
        now = time.monotonic()
        if owners:
            self._note(owners, now)
        if now - self._began < self._length(now, owners) or not self.may_wait():
            return
        waiter = _Waiter(greenlet.getcurrent())
        self._waiting.put(waiter, *(('of stacks', *owners) if owners else OTHERS))
        self._plan()
        try:
            hubs.get_hub().switch()
        finally:                                # the thread may have been killed
            waiter.thread = None

    def _note(self, owners: tuple[str, ...], now: float) -> None:
        if owners != self._owners:
            if now - self._owners_at < SHARED_SECONDS:
                self._shared_until = now + SHARED_SECONDS
            self._owners = owners
        self._owners_at = now
        if owners == self._busiest:
            self._votes = min(self._votes + 1, MOST_VOTES)
        elif self._votes:
            self._votes -= 1
        else:
            self._busiest = owners

    def _length(self, now: float, owners: tuple[str, ...] = ()) -> float:
        """Return the seconds of a round in which work of these, or of any, goes on."""
        if now >= self._shared_until:
            return RUN_SECONDS_ALONE
        if self._votes < MOST_VOTES / 2 or owners not in ((), self._busiest):
            return RUN_SECONDS
        return RUN_SECONDS_BESIDE

    def may_wait(self) -> bool:
        """Whether this is a green thread of the thread of the system that has the rounds."""
        return self._identify() == self._thread and greenlet.getcurrent() is not hubs.get_hub().greenlet

    def _plan(self) -> None:
        if not self._is_planned:
            self._is_planned = True
            hubs.get_hub().schedule_call_global(0, self._round)

    def _round(self) -> None:
        """Begin a round, in the event loop after it has polled."""
        self._is_planned = False
        now = self._began = time.monotonic()
        try:
            while self._waiting and now - self._began < self._length(now):
                self._waiting.take().wake()
                now = time.monotonic()
        finally:
            if self._waiting:
                self._plan()


@functools.cache
def _rounds() -> Rounds:
    """Return the rounds of this process: made in its main thread, by `patch` or by the first caller."""
    return Rounds()


class GreenFlag:
    """`Flag` for green threads of one process. Waiters are woken by the event loop in the order in which they came."""

    __slots__ = ('_set', '_waiters')

    def __init__(self) -> None:
        self._set = False
        self._waiters: list[_Waiter] = []

    def set(self) -> None:
        self._set = True
        if self._waiters:
            released, self._waiters = self._waiters, []
            call = hubs.get_hub().schedule_call_global
            for waiter in released:
                waiter.is_released = True
                call(0, waiter.wake)

    def clear(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        if self._set:
            return True
        waiter = _Waiter(greenlet.getcurrent())
        self._waiters.append(waiter)
        hub = hubs.get_hub()
        timer = None if timeout is None else hub.schedule_call_global(timeout, waiter.wake)
        try:
            hub.switch()
        finally:                                # the thread may have been killed
            waiter.thread = None
            if timer is not None:
                timer.cancel()
            if not waiter.is_released:
                self._waiters.remove(waiter)
        return waiter.is_released or self._set


class _Outside:
    """Calls that threads of the system leave for the event loop of the thread that made this."""

    def __init__(self) -> None:
        self._calls: deque[Callable[[], None]] = deque()
        self._reading, self._writing = patcher.original('socket').socketpair()
        for end in (self._reading, self._writing):
            end.setblocking(False)
        eventlet.spawn_n(self._listen)

    def call(self, function: Callable[[], None]) -> None:
        self._calls.append(function)
        with suppress(BlockingIOError):         # it is full of bytes that have the same effect
            self._writing.send(b'.')

    def _listen(self) -> None:
        while True:
            hubs.trampoline(self._reading, read=True)
            self._reading.recv(4096)
            while self._calls:
                self._calls.popleft()()


@functools.cache
def _outside() -> _Outside:
    return _Outside()


os.register_at_fork(after_in_child=_outside.cache_clear)        # the sockets are those of the parent process


class _OutsideFlag(GreenFlag):
    """A flag that threads of the system set."""

    __slots__ = ('_outside',)

    def __init__(self) -> None:
        super().__init__()
        self._outside = _outside()

    def set(self) -> None:
        self._outside.call(super().set)


def outside_flag() -> Flag:
    """Return a flag that any thread of the system may set. Its `wait` lets other green threads run where that is
    possible; it blocks the thread of the system in the event loop, and in threads without one."""
    if _rounds().may_wait():
        return _OutsideFlag()
    event: Flag = patcher.original('threading').Event()
    return event


class _Interruption:
    """Raises an error in a thread that waits, at a time (`Runtime.interrupt`)."""

    __slots__ = ('_again', '_error', '_thread', '_timer')

    def __init__(self, seconds: float, again: float, error: Callable[[], BaseException | None]) -> None:
        self._thread = greenlet.getcurrent()
        self._again = again
        self._error = error
        self._timer = hubs.get_hub().schedule_call_global(seconds, self._raise)

    def _raise(self) -> None:
        """Raise the error in the thread, from the event loop, so that the thread waits for it."""
        self._timer = hubs.get_hub().schedule_call_global(self._again, self._raise)
        error = self._error()
        if error is not None:
            self._thread.throw(error)

    def kill(self) -> None:
        self._timer.cancel()                    # it refers to nothing any more


class GreenRuntime:
    """The runtime of production: wall clock, the system's randomness, eventlet's threads."""

    def __init__(self) -> None:
        self._hex_digits, self._used = '', 0    # random digits, generated many at a time
        self._activity: activity.Activity | None = None

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=time.time())       # takes half the time of now(UTC) without its zone

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        eventlet.sleep(seconds)

    def spawn(self, function: Callable[..., object], *args: object) -> Thread:
        return green_workers.spawn(function, *args)

    def spawn_essential(self, what: str, function: Callable[[], object]) -> Thread:
        return self.spawn(green_workers.or_end, what, function)

    def spawn_os_thread(self, function: Callable[[], object]) -> None:
        patcher.original('threading').Thread(target=function, daemon=True).start()

    def flag(self) -> Flag:
        return GreenFlag()

    def interrupt(self, seconds: float, again: float, error: Callable[[], BaseException | None]) -> Thread:
        return _Interruption(seconds, again, error)

    def record(self, record: activity.Activity) -> None:
        """Record in `record` what the main thread of this process executes. One switch costs 0.3 us more."""
        self._activity = record
        mark, nothing = record.mark, activity.NOTHING

        def switched(_event: str, threads: tuple[object, object]) -> None:
            mark(threads[1].__dict__.get(MARK, nothing))

        greenlet.settrace(switched)

    def serve(self, stack_id: str | None) -> str | None:
        thread = greenlet.getcurrent().__dict__
        before: str | None = thread.get(STACK)
        thread[STACK], thread[MARK] = stack_id, activity.mark_of(stack_id)
        if self._activity is not None:
            self._activity.mark(thread[MARK])
        return before

    def note_iteration(self, is_last: bool = False) -> None:
        if self._activity is not None:
            self._activity.note_iteration(0.0 if is_last else time.monotonic())

    def uuid(self) -> str:
        if self._used == len(self._hex_digits):
            self._hex_digits, self._used = os.urandom(16 * 256).hex(), 0
        found = self._hex_digits[self._used:self._used + 32]
        self._used += 32
        return f'{found[:8]}-{found[8:12]}-4{found[13:16]}-{VARIANT[found[16]]}{found[17:20]}-{found[20:]}'

    def turn(self, *owners: str) -> None:
        _rounds().turn(*owners)

    def random(self) -> float:
        return random.random()
