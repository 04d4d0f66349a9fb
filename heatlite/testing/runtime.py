"""A world with virtual time and seeded chance, in which processes can be killed at any point.

Threads are greenlets, run one at a time in an order the seed decides; time passes only when all of them wait. With a
real server a green thread gives way at every statement and every call: `SimulatedRuntime.give_way` does the same here.
"""

from __future__ import annotations

import heapq
import itertools
import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import greenlet

EPOCH = datetime(2026, 1, 1)
EPOCH_SECONDS = EPOCH.replace(tzinfo=UTC).timestamp()

# Of all round trips, how many take time: (very slow, slow or very slow), and how long at most, in seconds (slow, very).
SLOW = (0.001, 0.03)
SLOW_SECONDS = (0.05, 1.5)


class Killed(greenlet.GreenletExit):      # type: ignore[misc] # greenlet has no type hints
    """Thrown into the threads of a process that is killed."""


class Universe:
    """Time and the order of things, shared by all processes of a simulation."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.time = 0.0
        self._ready: list[SimThread | SimInterruption] = []
        self._timers: list[tuple[float, int, SimThread | SimInterruption, object]] = []
        self._order = itertools.count()
        self.main = greenlet.getcurrent()
        self.steps = 0
        self.commits = 0                        # writing transactions that have ended, in all its databases
        self.database_ahead = 0.0               # of its clock, seconds
        self.running: SimThread | None = None
        self.processes: list[SimulatedRuntime] = []
        self.failure: Exception | None = None   # of what the simulation itself needs; it ends with it
        self.interleaved = True                 # statements and calls give way (`SimulatedRuntime.give_way`)

    def database_time(self) -> float:
        """Return the database's clock: seconds since 1970."""
        return EPOCH_SECONDS + self.time + self.database_ahead

    def process(self, name: str) -> SimulatedRuntime:
        self.processes.append(SimulatedRuntime(self, name))
        return self.processes[-1]

    def current(self) -> SimThread:
        """Return the thread that runs: only threads of the simulation wait in virtual time."""
        assert self.running is not None
        return self.running

    def close(self) -> None:
        """Unwind every thread: one that hangs in the middle keeps all it refers to in memory."""
        for process in self.processes:
            process.dead = True
        for process in self.processes:
            for thread in list(process.threads):
                thread.unwind()
            process.threads.clear()
        self._ready.clear()
        self._timers.clear()

    def schedule(self, thread: SimThread | SimInterruption) -> None:
        if thread not in self._ready:
            self._ready.append(thread)

    def wake_at(self, seconds: float, thread: SimThread | SimInterruption, token: object) -> None:
        heapq.heappush(self._timers, (self.time + max(seconds, 0.0), next(self._order), thread, token))

    def run(self, until: Callable[[], bool], limit: float = 100_000.0, most_steps: int = 2_000_000) -> bool:
        """Run until `until()` is true; False when nothing is left to do or `limit` virtual seconds passed.

        Raises AssertionError after `most_steps` steps, and after a `failure`.
        """
        end = self.time + limit
        while not until():
            self.steps += 1
            if self.failure is not None:
                raise AssertionError(f'the simulation has failed: {self.failure}') from self.failure
            if self.steps > most_steps:
                raise AssertionError(f'no end after {most_steps} steps, at {self.time:.1f} s')
            if self._ready:
                thread = self._ready.pop(self.random.randrange(len(self._ready)))
                if thread.runtime.frozen_until > self.time:
                    thread.token = token = object()
                    self.wake_at(thread.runtime.frozen_until - self.time, thread, token)
                else:
                    thread.resume()
            elif self._timers:
                if self._timers[0][0] > end:
                    return False
                when, _, thread, token = heapq.heappop(self._timers)
                if thread.is_waiting_for(token):
                    self.time = max(self.time, when)
                    thread.token = None
                    self.schedule(thread)
            else:
                return False
        return True


class SimThread:
    def __init__(self, runtime: SimulatedRuntime, function: Callable[..., object], args: tuple[object, ...]) -> None:
        self.runtime = runtime
        self.function = function                # what it does
        self.token: object = None               # what it waits for
        self.stack_id: str | None = None        # for which stack it works
        self._greenlet = greenlet.greenlet(lambda: function(*args), runtime.universe.main)
        self.error: BaseException | None = None
        self.is_ending = False                  # it was killed: it unwinds, and gives way no more

    def resume(self) -> None:
        if self._greenlet.dead or self.runtime.dead:
            return
        self._run(self._greenlet.switch)

    def _run(self, go_on: Callable[[], object]) -> None:
        before, self.runtime.universe.running = self.runtime.universe.running, self
        try:
            go_on()
        except Killed:
            pass
        finally:
            self.runtime.universe.running = before
            if self._greenlet.dead:
                self.runtime.threads.pop(self, None)

    def is_waiting_for(self, token: object) -> bool:
        return self.token is token and not self._greenlet.dead and not self.runtime.dead

    def pause(self) -> None:
        """Give way; called by the thread itself. A thread of a dead process does not come back."""
        if not self.runtime.dead:
            self.runtime.universe.main.switch()
        if self.runtime.dead:
            raise Killed

    def interrupt(self, error: BaseException) -> None:
        """Raise `error` where it waits. Called by the universe."""
        universe = self.runtime.universe
        if self._greenlet.dead or self.runtime.dead or not self._greenlet:
            return
        self.token = None
        if self in universe._ready:
            universe._ready.remove(self)
        self._run(lambda: self._greenlet.throw(error))

    def unwind(self) -> None:
        if self._greenlet and not self._greenlet.dead:
            self._greenlet.parent = greenlet.getcurrent()
            self.runtime.universe.running = self
            self.is_ending = True
            self._greenlet.throw(Killed)

    def kill(self) -> None:
        if not self._greenlet.dead and self is not self.runtime.universe.running:
            self._greenlet.parent = greenlet.getcurrent()
            if self._greenlet:
                universe = self.runtime.universe
                before, universe.running, self.is_ending = universe.running, self, True
                try:
                    self._greenlet.throw(Killed)
                finally:
                    universe.running = before


class SimSignal:
    def __init__(self, runtime: SimulatedRuntime) -> None:
        self._runtime = runtime
        self._set = False
        self._waiting: list[tuple[SimThread, object]] = []

    def set(self) -> None:
        self._set = True
        waiting, self._waiting = self._waiting, []
        for thread, token in waiting:
            if thread.is_waiting_for(token):
                thread.token = None
                self._runtime.universe.schedule(thread)

    def clear(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        if self._set:
            return True
        thread = self._runtime.universe.current()
        token = thread.token = object()
        self._waiting.append((thread, token))
        if timeout is not None:
            self._runtime.universe.wake_at(timeout, thread, token)
        thread.pause()
        return self._set


class SimInterruption:
    """Raises an error in the thread that makes it, where it waits. Among the timers it stands for a thread."""

    def __init__(self, universe: Universe, seconds: float, again: float,
                 error: Callable[[], BaseException | None]) -> None:
        self._universe = universe
        self._target = universe.running
        self._again = again
        self._error = error
        self.token: object = None
        self._is_over = self._target is None
        if self._target is not None:
            self.runtime = self._target.runtime
            self._set(seconds)

    def _set(self, seconds: float) -> None:
        self.token = object()
        self._universe.wake_at(seconds, self, self.token)

    def is_waiting_for(self, token: object) -> bool:
        return self.token is token and not self._is_over and not self.runtime.dead

    def resume(self) -> None:
        if self._is_over or self._target is None or self.runtime.dead:
            return
        self._set(self._again)
        error = self._error()
        if error is not None:
            self._target.interrupt(error)

    def kill(self) -> None:
        self._is_over = True


class SimulatedRuntime:
    """One process. `kill()` is SIGKILL: its threads never run again, and no cleanup code runs."""

    def __init__(self, universe: Universe, name: str) -> None:
        self.universe = universe
        self.name = name
        self.dead = False
        self.offset = 0.0                       # of its clock, seconds
        self.frozen_until = 0.0                 # universe time; until then it gets no turn (SIGSTOP)
        self.on_kill: list[Callable[[], None]] = []     # what others notice of its death: connections end
        self.threads: dict[SimThread, None] = {}        # that live, in the order they began
        self.died_for: str | None = None        # the stack for which it executed code when it was killed

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.universe.time + self.offset)

    def monotonic(self) -> float:
        return self.universe.time

    def sleep(self, seconds: float) -> None:
        thread = self.universe.current()
        token = thread.token = object()
        self.universe.wake_at(seconds, thread, token)
        thread.pause()

    def spawn(self, function: Callable[..., object], *args: object) -> SimThread:
        thread = SimThread(self, function, args)
        self.threads[thread] = None
        self.universe.schedule(thread)
        return thread

    def spawn_essential(self, what: str, function: Callable[[], object]) -> SimThread:
        """As `spawn`. An error that `function` lets out ends the simulation: the process would end again and again."""
        def run() -> None:
            try:
                function()
            except Exception as error:
                self.universe.failure = error

        thread = self.spawn(run)
        thread.function = function                  # what it does, for those that count by it
        return thread

    def spawn_os_thread(self, function: Callable[[], object]) -> None:
        self.spawn(function)

    def flag(self) -> SimSignal:
        return SimSignal(self)

    def interrupt(self, seconds: float, again: float, error: Callable[[], BaseException | None]) -> SimInterruption:
        return SimInterruption(self.universe, seconds, again, error)

    def serve(self, stack_id: str | None) -> str | None:
        thread = self.universe.running
        if thread is None:
            return None
        before, thread.stack_id = thread.stack_id, stack_id
        return before

    def note_iteration(self, is_last: bool = False) -> None:
        """Time is virtual: no thread of it can keep the others from their turns."""

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.universe.random.getrandbits(128), version=4))

    def turn(self, *owners: str) -> None:
        """Virtual time passes in no work; threads may switch all the same."""
        self.give_way()

    def random(self) -> float:
        return self.universe.random.random()

    def give_way(self) -> None:
        """Do what a round trip to a server does: any other thread may go on first, and now and then time passes.

        Nothing happens outside a simulated thread, and in a universe that is not interleaved.
        """
        universe = self.universe
        thread = universe.running
        if not universe.interleaved or thread is None or thread.runtime.dead or thread.is_ending:
            return
        latency = universe.random.random()
        if latency < SLOW[1]:
            self.sleep(universe.random.random() * (SLOW_SECONDS[0] if latency >= SLOW[0] else SLOW_SECONDS[1]))
        else:
            universe.schedule(thread)
            thread.pause()

    @property
    def is_frozen(self) -> bool:
        return self.frozen_until > self.universe.time

    def freeze(self, seconds: float) -> None:
        self.frozen_until = self.universe.time + seconds

    def kill(self) -> None:
        """At once. A thread that calls this on its own process must raise Killed right after."""
        running = self.universe.running
        if running is not None and running.runtime is self and not self.dead:     # else it only unwinds
            self.died_for = running.stack_id
        self.dead = True
        for release in self.on_kill:
            release()
