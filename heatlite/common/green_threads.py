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
from datetime import datetime, timedelta

import eventlet
import greenlet
from eventlet import hubs, patcher

from heatlite.common import activity, green_workers, turns
from heatlite.common.runtime import EPOCH, Flag, Thread

TURN = 0.004                     # seconds that a green thread may work before the others run
STACK, MARK = activity.MARKS
VARIANT = {digit: '89ab'[int(digit, 16) % 4] for digit in '0123456789abcdef'}      # of UUIDs, by RFC 4122


def share() -> None:
    """Makes long computations of all packages yield (`turns`). The main thread calls it once."""
    turns.use(_rounds().pause)


class Rounds:
    """Shares the process fairly among green threads that seldom wait for anything.

    A round is what runs between two polls of the event loop. Once a round has lasted `TURN` seconds, threads that call
    `pause` or `turn` continue in the next one. Threads that are about to begin work queue for it: each lets only the
    next one check, so a round that is over delays one thread, and not hundreds of them.
    """

    def __init__(self) -> None:
        self._identify = patcher.original('threading').get_ident
        self._thread = self._identify()
        self._began = 0.0                       # when the current round began, as of the last check
        self._line: deque[GreenFlag] = deque()  # of waiting threads; the one before them sleeps
        self._has_front = False

    def turn(self) -> None:
        """Returns in a round that has time left, or in the next one. For threads that are about to begin some work.

        A computation that pauses may use up each round before this thread continues: it begins all the same then.
        """
        if not self._is_over():
            return
        if self._has_front:
            self._stand_in_line()               # returns at the front
        self._has_front = True
        try:
            if self._is_over():
                self._next()
        finally:
            self._pass_front()

    def _stand_in_line(self) -> None:
        place = GreenFlag()
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
            self._line.popleft().set()
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
        return self._identify() == self._thread and eventlet.getcurrent() is not hubs.get_hub().greenlet

    def _next(self) -> None:
        before = self._began
        eventlet.sleep(0)
        if self._began == before:               # the first thread to continue in this round
            self._began = time.monotonic()


@functools.cache
def _rounds() -> Rounds:
    """The rounds of this process: made in its main thread, by `patch` or by the first caller."""
    return Rounds()


class _Waiter:
    """A thread that waits for a flag. `thread`: None once it goes on, for whatever reason."""

    __slots__ = ('is_released', 'thread')

    def __init__(self, thread: greenlet.greenlet | None) -> None:
        self.thread = thread
        self.is_released = False

    def wake(self) -> None:
        """Called by the event loop."""
        if self.thread is not None:
            self.thread.switch()


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
        alarm = None if timeout is None else hub.schedule_call_global(timeout, waiter.wake)
        try:
            hub.switch()
        finally:                                # the thread may have been killed
            waiter.thread = None
            if alarm is not None:
                alarm.cancel()
            if not waiter.is_released:
                self._waiters.remove(waiter)
        return waiter.is_released or self._set


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
        eventlet.sleep(seconds)

    def spawn(self, function: Callable[..., object], *args: object) -> Thread:
        return green_workers.spawn(function, *args)

    def spawn_os_thread(self, function: Callable[[], object]) -> None:
        patcher.original('threading').Thread(target=function, daemon=True).start()

    def flag(self) -> Flag:
        return GreenFlag()

    def record(self, record: activity.Activity) -> None:
        """Records in `record` what the main thread of this process executes. One switch costs 0.3 us more."""
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
