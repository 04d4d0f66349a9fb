"""Renews the leases of this engine and takes over those of dead engines. One lease row a stack, one deadline an engine.

A stack's lease is valid while its engine's own row has not expired, so one statement renews all of them. Each change
of owner raises the stack's epoch, and the database refuses writes with an old one. A database cannot fence a
cloud: before each call into a type, and each request that the type sends (engine.durability.fence), the owner checks
its own deadline, with a margin.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict
from weakref import WeakKeyDictionary

from sqlalchemy import Connection

from heatlite.common import exception, metrics, outages
from heatlite.common.runtime import Runtime, Thread
from heatlite.common.wording import first_few
from heatlite.db import engines, leases
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine.durability.journal import LeaseLost
from heatlite.engine.durability.periodic import apart
from heatlite.engine.durability.stack_slots import StackSlots

LOG = logging.getLogger(__name__)

MOST_NAMED = 10                                     # stacks of one takeover that the log names


class ClockWasSet(Exception):
    """The database's clock was set during a sweep."""


@dataclass(frozen=True)
class Standing:
    """An engine's own row. `left`, `expected`: seconds until its deadline, by the clock of the database and by that of
    the engine; `doubts`: how often `engines.doubt` was called."""

    left: float
    expected: float
    doubts: int


class EngineDescription(TypedDict):
    """The fields of an engine's own row that do not change. `report_interval`: seconds, for clients only."""

    host: str
    hostname: str
    binary: str
    topic: str
    report_interval: int


def former_of(lease: Lease) -> str:
    """Names the engine from which a lease was claimed by a sweep, with the reason."""
    return f'engine {lease.former}, which is silent' if lease.former else 'an engine that has ended'


def log_takeover(claimed: Sequence[Lease]) -> None:
    """One line for all leases that a sweep claimed from one engine. Names some stacks if there are more than
    MOST_NAMED: of fewer, each has a line of its own, with the id of its request."""
    named = first_few([lease.stack_id for lease in claimed], MOST_NAMED)
    LOG.info('Engine %s takes over %d stacks from %s%s', claimed[0].engine_id, len(claimed), former_of(claimed[0]),
             f': {named}' if len(claimed) > MOST_NAMED else '')


def _by_former(claimed: Iterable[Lease]) -> list[list[Lease]]:
    found: dict[str | None, list[Lease]] = {}
    for lease in claimed:
        found.setdefault(lease.former, []).append(lease)
    return list(found.values())


class LeaseManager:
    STALL_FACTOR = 10.0                             # x ttl: renewal stops if green threads have stalled for so long
    FIRST_BATCH, LARGEST_BATCH = 10, 200            # the most stacks that one sweep takes over
    SWEEPS_WHILE_FULL = 10                          # an engine without room for roots looks for nested stacks so rarely
    CLOCK_TOLERANCE = 60.0                          # seconds; a lease with more left than expected: clock set back

    def __init__(self, runtime: Runtime, database: Database, engine_id: str, describe: Callable[[], EngineDescription],
                 *, ttl: float, sweep_interval: float, slots: Callable[[], StackSlots],
                 acquire: Callable[[Lease], None], is_driven: Callable[[str], bool],
                 begin_sweep: Callable[[], None]) -> None:
        """`ttl`: seconds that leases last without a renewal. `describe()`: fields of the engine's own row.

        `slots()`: those of this engine for stacks in progress, to be changed by the caller; `acquire(lease)`: begins to
        drive a stack; `is_driven(stack_id)`: whether something in this engine drives it; `begin_sweep()`: does what
        else is due in each sweep.
        """
        self.engine_id = engine_id
        self._runtime = runtime
        self._database = database
        self._describe = describe
        self._ttl = ttl
        self._sweep_interval = sweep_interval
        self._slots = slots
        self._acquire = acquire
        self._is_driven = is_driven
        self._begin_sweep = begin_sweep
        self._suspected: set[str] = set()           # leases that nothing drove at the previous sweep
        self._deadline = runtime.monotonic()
        self._last_progress = runtime.monotonic()   # when green threads last ran
        self._grace_until = runtime.monotonic()     # until then, no stacks of silent engines are taken over
        self._is_renewing = self._stopping = self._is_closed = False
        self._is_hindered = True                    # by the database: the last renewal has failed, or does not end
        self._doubts = 0                            # of `engines.doubt`, as the last renewal read them
        self._lapses = 0                            # how often we renewed too late: others may have our stacks since
        self._batch = self.FIRST_BATCH              # the most that the next sweep takes over
        self._skipping = 0                          # sweeps that are left out yet, see SWEEPS_WHILE_FULL
        self._confirmed: WeakKeyDictionary[Lease, int] = WeakKeyDictionary()    # still good after so many lapses
        self._renewal_errors: deque[str] = deque()  # of the heartbeat, which cannot write to the log itself
        self._threads: list[Thread] = []

    def start(self) -> None:
        database = self._database.separate()
        try:
            self._register(database)
            self._is_hindered = False
        except exception.DatabaseUnavailable as error:
            LOG.warning('This engine is not registered yet, and will be once the database answers: %s', error)
        self._threads = [self._runtime.spawn_essential('The watch over progress', self._turn),
                         self._runtime.spawn_essential('The sweep', self._sweep)]
        # An OS thread: a busy engine, or one on a busy machine, must not lose its stacks by late renewals.
        self._runtime.spawn_os_thread(lambda: self._heartbeat(database))

    def hand_over(self, driven: Collection[str]) -> None:
        """Free the leases of all stacks and shards but `driven`, for the next sweeps of other engines. Raises
        DatabaseUnavailable."""
        def free(tx: Connection) -> None:
            leases.free(tx, self.engine_id, [each.stack_id for each in leases.held(tx, self.engine_id)
                                             if each.stack_id not in driven])

        self._database.retry(free)

    def close(self) -> None:
        """Let no request pass any more: `may_act` raises LeaseLost from now on."""
        self._is_closed = True

    def stop(self) -> None:
        """Give up all leases, so that the next sweep of another engine need not wait for the deadline."""
        self.close()
        self._stopping = True
        self._runtime.note_iteration(is_last=True)
        for thread in self._threads:
            thread.kill()
        while self._is_renewing:                    # else it might register this engine again after the removal
            self._runtime.sleep(0.01)
        try:
            self._database.retry(lambda tx: engines.remove(tx, self.engine_id, self._runtime.now()))
        except exception.DatabaseUnavailable as error:
            LOG.warning('Stacks could not be handed over, others will take them in %s s: %s', self._ttl, error)

    @property
    def seconds_left(self) -> float:
        """Until the leases of this engine end, unless they are renewed."""
        return self._deadline - self._runtime.monotonic()

    def claim(self, tx: Connection, stack_id: str) -> Lease | None:
        """As `leases.claim` for this engine. While `sweep` leaves silent engines their stacks, so does this."""
        return leases.claim(tx, stack_id, self.engine_id, lambda: self._is_in_grace(tx))

    def may_act(self, lease: Lease) -> None:
        """Return once the lease is certainly valid for a call into a cloud, waiting for a renewal if need be.

        Raises LeaseLost if another engine took the stack after a late renewal, or this one gives its leases up.
        """
        while True:
            while self._runtime.monotonic() > self._deadline - self._ttl / 4 and not self._is_closed:
                self._runtime.sleep(self._ttl / 50)
            if self._is_closed:
                raise LeaseLost(lease.stack_id)
            lapses = self._lapses
            if lapses == self._confirmed.get(lease, 0):
                return
            if not self._database.retry(lambda tx: leases.lock_shared(tx, lease)):
                raise LeaseLost(lease.stack_id)
            self._confirmed[lease] = lapses

    def check(self) -> Callable[[], bool]:
        """Raise DatabaseUnavailable while the heartbeat cannot be stored in time: another engine, which may reach the
        database, shall answer what is asked. Returns a function that says whether this engine's leases have ended since
        then, for however short a time: others may have taken it for dead."""
        if self._is_hindered and self._runtime.monotonic() > self._deadline:
            raise exception.DatabaseUnavailable(reason='the heartbeat was not stored')
        lapses = self._lapses
        return lambda: self._lapses != lapses or self._runtime.monotonic() > self._deadline

    def sweep(self) -> int:
        """Take over stacks without a live owner. Returns how many.

        A few, so that those of an engine that has ended are shared by all that sweep, and not taken by the first one.
        While there are more, twice as many each time: they may be left to few engines.
        """
        with self._database.reader() as tx:
            held = leases.held(tx, self.engine_id)
        self._begin_sweep()
        for lease in self._undriven(held):
            self._acquire(replace(lease, former=self.engine_id))
        slots = self._slots()
        left = slots.all_left()
        full = [depth for depth, count in left.items() if count <= 0]
        self._skipping = self._skipping - 1 if 0 in full else 0
        if len(full) == len(left) or self._skipping > 0:
            return 0
        batch, self._batch = self._batch, self.FIRST_BATCH
        most = min(max(left.values()), batch)
        try:
            with self._database.writer() as tx:
                in_grace = self._is_in_grace(tx)
                claimed = leases.claim_expired(
                    tx, self.engine_id, most, of_silent=not in_grace, except_depths=full,
                    except_projects=slots.without_room(), may_take=slots.take_if_room)
                if claimed and not in_grace and self._clock_was_set(self._standing(tx)):
                    raise ClockWasSet               # between the two statements: nothing is taken
        except ClockWasSet:
            return 0
        for group in _by_former(claimed):
            log_takeover(group)
            for lease in group:
                metrics.takeovers.inc()
                self._acquire(replace(lease, among=len(group)))
        if not claimed:
            self._skipping = self.SWEEPS_WHILE_FULL
        if len(claimed) == batch:
            self._batch = min(2 * batch, self.LARGEST_BATCH)
        return len(claimed)

    def _undriven(self, held: Iterable[Lease]) -> list[Lease]:
        """Return those of the leases `held` that nothing drove both now and at the previous call: one that was just
        claimed may not be driven yet."""
        idle = {lease.stack_id: lease for lease in held if not self._is_driven(lease.stack_id)}
        found = [lease for stack_id, lease in idle.items() if stack_id in self._suspected]
        self._suspected = set(idle) - {lease.stack_id for lease in found}
        return found

    def _is_in_grace(self, tx: Connection) -> bool:
        """Whether silent engines keep their stacks: what delayed this engine's renewal may delay theirs, too."""
        if self._clock_was_set(self._standing(tx)):
            return True
        now = self._runtime.monotonic()
        return now < self._grace_until or now > self._deadline

    # --- its threads --------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Progress watchdog: renewal stops if green threads have been stalled for STALL_FACTOR x ttl."""
        while True:
            self._last_progress = self._runtime.monotonic()
            self._runtime.note_iteration()
            while self._renewal_errors:
                outages.away(outages.DATABASE, f'the heartbeat was not stored: {self._renewal_errors.popleft()}')
            self._runtime.sleep(self._ttl / 5)

    def _heartbeat(self, database: Database) -> None:
        while not self._stopping:
            self._runtime.sleep(apart(self._runtime, self._ttl / 5))
            if self._runtime.monotonic() - self._last_progress > self.STALL_FACTOR * self._ttl:
                continue                            # it lives, but does nothing: others shall take its stacks
            self._is_renewing = self._is_hindered = True
            try:
                if not self._stopping:
                    while not self._renew(database) and not self._stopping:
                        pass                        # what was stored had run out when it was committed
                    self._is_hindered = False
            except Exception as error:
                self._renewal_errors.append(f'{type(error).__name__}: {error}')
            finally:
                self._is_renewing = False

    def _renew(self, database: Database) -> bool:
        """Store a new deadline. False if the commit took longer than the new lease lasts."""
        began = self._runtime.monotonic()
        with database.writer() as tx:
            # Locked: another process takes this commit as proof that the doubts counted before were noted.
            standing = self._standing(tx, lock=True)
            was_set = self._clock_was_set(standing)
            self._note_doubts(standing)
            known = engines.renew(tx, self.engine_id, self._ttl, self._runtime.now())
            if was_set:
                self._grace_until = began + self._ttl
        if not known or was_set or self._runtime.monotonic() > self._deadline:
            self._lapses += 1                       # before `may_act` returns again
        if not known:
            self._register(database)                # the row was removed, and the leases with it
        ended = self._runtime.monotonic()
        if ended > self._deadline:                  # it began in time and hung: no better
            # The database, or this machine, was away for longer than a lease lasts: maybe not for us alone. The
            # others get the time, from now on, to come back to their own stacks.
            self._grace_until = ended + self._ttl
        self._deadline = began + self._ttl
        return ended <= self._deadline

    def _standing(self, tx: Connection, lock: bool = False) -> Standing | None:
        """Read this engine's own row; None: it has none."""
        deadline = self._deadline                   # read first: the heartbeat may change both meanwhile
        found = engines.standing(tx, self.engine_id, lock)
        return None if found is None else Standing(found[0], deadline - self._runtime.monotonic(), found[1])

    def _clock_was_set(self, standing: Standing | None) -> bool:
        """Whether the database's clock was set since the last renewal: by that clock live engines may seem expired
        until they have renewed."""
        return standing is not None and (standing.left < standing.expected - self._ttl / 4
                                         or standing.left > standing.expected + self.CLOCK_TOLERANCE)

    def _note_doubts(self, standing: Standing | None) -> None:
        """Have leases read again before the next call if there are other doubts: a project has left the database with
        its stacks. Only in the thread of the heartbeat."""
        if standing is not None and standing.doubts != self._doubts:
            self._doubts = standing.doubts
            self._lapses += 1

    def _register(self, database: Database) -> None:
        began = self._runtime.monotonic()
        with database.writer() as tx:
            engines.register(tx, engine_id=self.engine_id, now=self._runtime.now(), ttl=self._ttl, **self._describe())
        self._deadline = began + self._ttl
        self._doubts = 0                            # those of a new row

    def _sweep(self) -> None:
        while True:
            try:
                self.sweep()
            except exception.DatabaseUnavailable as error:
                outages.away(outages.DATABASE, error)
            except Exception:
                LOG.exception('A sweep failed')
            are_left = self._batch > self.FIRST_BATCH
            self._runtime.sleep(apart(self._runtime, self._sweep_interval / 2 if are_left else self._sweep_interval))
