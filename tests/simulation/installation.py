"""Hundreds of whole engines in virtual time, over a database that counts their statements and takes time for them.

Nothing of the engines is replaced: intervals, jitter, batches, take-overs and statements are those of `EngineService`.
The database is SQLite in memory. A transaction is carried out at once, and its thread goes on after as long as a server
would have taken: a queue before a number of cores, `Costs` for each statement, and the way there and back. Locks that
transactions of a server wait for are therefore not simulated.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from heatlite.common.context import RequestContext
from heatlite.engine.service import EngineService
from heatlite.rpc import messages
from heatlite.testing import cluster
from heatlite.testing.runtime import SimThread, SimulatedRuntime, Universe
from heatlite.testing.storage import SqliteDatabase, SqliteFile

HEARTBEAT, SWEEP, SEARCHES, JOURNAL, STACKS = 'heartbeats', 'sweeps', 'searches', 'journal', 'stacks'
PERIODIC = HEARTBEAT, SWEEP, SEARCHES
TASKS = {
    'LeaseManager.start.<locals>.<lambda>': HEARTBEAT, 'LeaseManager._sweep': SWEEP, 'Periodic._run': SEARCHES,
    'Journal._run': JOURNAL}            # others: requests, and loading and driving stacks
PER_STACK = 20                          # resources
BIN = 0.1                               # seconds
USER = 'user'
START_SECONDS = 3.0                     # from the start of an engine's process until it takes stacks


@dataclass(frozen=True)
class Costs:
    """Of the database's server, in seconds. Measured on MariaDB, two cores: `python -m tests.bench.periodic`."""

    statement: float = 300e-6           # CPU
    row: float = 10e-6                  # CPU for each row beyond the first that one statement inserts
    commit: float = 150e-6              # CPU of a transaction that writes, beyond its statements
    trip: float = 300e-6                # waiting for the network, for each statement
    flush: float = 2e-3                 # waiting for the disk, for each transaction that writes
    cores: int = 2


@dataclass
class Counts:
    """Statements by (task, verb), where BEGIN and COMMIT are none; transactions that wrote; both over time."""

    costs: Costs
    statements: Counter[tuple[str, str]] = field(default_factory=Counter)
    transactions: Counter[str] = field(default_factory=Counter)
    bins: Counter[int] = field(default_factory=Counter)
    longest: int = 0                    # characters of a statement
    busy: float = 0.0                   # seconds of the server's cores
    waited: float = 0.0                 # the longest wait for a core
    connections: int = 0                # the most in use at a time, of all engines
    _free: list[float] = field(default_factory=list)
    _in_use: int = 0

    def take(self, now: float, seconds: float) -> float:
        """Has the server work for `seconds`; returns after how many it is done."""
        if not self._free:
            self._free = [0.0] * self.costs.cores
        begins = max(now, heapq.heappop(self._free))
        heapq.heappush(self._free, begins + seconds)
        self.busy += seconds
        self.waited = max(self.waited, begins - now)
        return begins + seconds - now

    def use(self, more: int) -> None:
        self._in_use += more
        self.connections = max(self.connections, self._in_use)

    def reset(self) -> None:
        """Begins anew, but for what is under way."""
        self.statements.clear()
        self.transactions.clear()
        self.bins.clear()
        self.busy = self.waited = 0.0
        self.longest, self.connections = 0, self._in_use


class MeteredDatabase(SqliteDatabase):
    counts: Counts                                      # of all databases of an installation

    def __init__(self, lock: Any, url: str, runtime: SimulatedRuntime, *given: Any) -> None:
        super().__init__(lock, url, runtime, *given)
        self._bills: dict[SimThread, tuple[int, float, float]] = {}     # depth of transactions, CPU, waiting
        for engine in (self._reading, self._writing):
            sa.event.listen(engine, 'before_cursor_execute', self._count)

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        with self._metered(), super().reader() as tx:
            yield tx

    @contextmanager
    def writer(self) -> Iterator[Connection]:
        with self._metered():
            with super().writer() as tx:
                yield tx
            thread = self.runtime.universe.running
            if thread in self._bills:
                depth, work, wait = self._bills[thread]
                costs = self.counts.costs
                self._bills[thread] = depth, work + costs.commit, wait + costs.flush
                self.counts.transactions[task_of(thread)] += 1

    @contextmanager
    def _metered(self) -> Iterator[None]:
        """Counts the statements of a transaction, and lets their time pass at the end of the outermost one."""
        thread = self.runtime.universe.running
        if thread is None or self.runtime.name == USER:
            yield
            return
        depth, work, wait = self._bills.get(thread, (0, 0.0, 0.0))
        self._bills[thread] = depth + 1, work, wait
        if not depth:
            self.counts.use(1)
        try:
            yield
            depth, work, wait = self._bills[thread]
            if depth == 1 and not thread.is_ending:
                self.runtime.sleep(wait + self.counts.take(self.runtime.universe.time, work))
        finally:
            depth, work, wait = self._bills[thread]
            if depth == 1:
                self.counts.use(-1)
                del self._bills[thread]
            else:
                self._bills[thread] = depth - 1, work, wait

    def _count(self, _tx: Connection, _cursor: Any, statement: str, given: Any, _context: Any, is_many: bool) -> None:
        thread = self.runtime.universe.running
        if thread not in self._bills or statement.startswith('BEGIN'):
            return
        counts, (depth, work, wait) = self.counts, self._bills[thread]
        costs, rows = counts.costs, len(given) if is_many else 1
        counts.statements[task_of(thread), statement.split(None, 1)[0].upper()] += 1
        counts.bins[int(self.runtime.universe.time / BIN)] += 1
        counts.longest = max(counts.longest, len(statement))
        self._bills[thread] = depth, work + costs.statement + costs.row * (rows - 1), wait + costs.trip


def task_of(thread: SimThread) -> str:
    return TASKS.get(thread.function.__qualname__, STACKS)


class MeteredFile(SqliteFile):
    def __init__(self, universe: Universe, counts: Counts) -> None:
        super().__init__(universe)
        self._counts = counts

    def open(self, runtime: SimulatedRuntime, *given: Any) -> SqliteDatabase:
        found = MeteredDatabase(self._lock, self.url, runtime, *given)
        found.counts = self._counts
        return found


class Installation(cluster.Cluster):
    """`resources` that exist, in stacks of PER_STACK, of `projects`; the rows of their leases are real, as engines look
    at those, and they have no other rows. Services are polled less often than usual, which costs no statement."""

    POLL = 10.0                                         # seconds

    def __init__(self, seed: int, engines: int, resources: int = 0, projects: int = 1, costs: Costs | None = None,
                 **options: Any) -> None:
        self.counts = Counts(costs or Costs())
        super().__init__(seed, engines=0, interleaved=False,
                         storage=lambda universe: MeteredFile(universe, self.counts),
                         **{'max_stacks_per_tenant': -1, 'engine.poll_interval': self.POLL, **options})
        self.projects = projects
        self._names_of_stacks = 0
        with self.database.writer() as tx:
            tx.exec_driver_sql(
                'INSERT INTO lease (stack_id, engine_id, epoch, wanted, writes, strikes, deaths) '
                'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) '
                "SELECT printf('00000000-0000-4000-8000-%012x', i), NULL, 1, 0, 0, 0, 0 FROM n",
                (max(resources // PER_STACK, 1),))
        for _ in range(engines):
            self.start_engine()

    # --- time -------------------------------------------------------------------------------------------

    def pass_time(self, seconds: float) -> None:
        end = self.universe.time + seconds
        self.user.spawn(self.user.sleep, seconds)
        self._until(lambda: self.universe.time >= end)

    def _until(self, what: Callable[[], bool]) -> None:
        assert self.universe.run(what, most_steps=10 ** 9), 'nothing is left to do'

    def until(self, what: Callable[[], bool], limit: float, every: float = BIN) -> float:
        """Runs until `what()`, looked at every so many seconds; the seconds it took. AssertionError after `limit`."""
        began, over = self.universe.time, []

        def look() -> None:
            while not what():
                if self.universe.time - began > limit:
                    return
                self.user.sleep(every)
            over.append(True)

        looking = self.user.spawn(look)
        self._until(lambda: looking not in self.user.threads)
        assert over, f'not after {limit:.0f} s'
        return self.universe.time - began

    # --- what happens -----------------------------------------------------------------------------------

    def all_answer(self) -> bool:
        return len(self._answering) >= len(self.engines) and all(each[0] in self._answering for each in self.engines)

    def offer(self, stacks: int, rate: float, template: Any) -> float:
        """Has so many stacks created, `rate` a second on average, each by any engine; the seconds until all have a
        runner or have ended."""
        began, ended = self.universe.time, []

        def create(service: EngineService, name: str, project: str) -> None:
            context = RequestContext(project_id=project, roles=['member'], overwrite=False)
            ended.append(service.endpoint.handle(context, messages.CreateStack(
                template=template, stack_name=name, environment={})))

        def users() -> None:
            for _ in range(stacks):
                self.user.sleep(self.universe.random.expovariate(rate))
                runtime, service = self.universe.random.choice(self.engines)
                self._names_of_stacks += 1
                runtime.spawn(create, service, f's{self._names_of_stacks}',
                              f'p{self.universe.random.randrange(self.projects)}')

        self.user.spawn(users)
        self._until(lambda: len(ended) == stacks)
        return self.universe.time - began

    def leases(self) -> dict[str, tuple[str | None, int]]:
        """{stack: (engine, epoch)} of the stacks with work."""
        with self.database.reader() as tx:
            return {stack_id: (engine_id, epoch) for stack_id, engine_id, epoch in tx.exec_driver_sql(
                'SELECT stack_id, engine_id, epoch FROM lease WHERE wanted = 1')}

    def driven(self) -> Counter[str]:
        """How many engines drive each stack: by what they have in memory."""
        return Counter(runner.leased.id for _runtime, service in self.engines for runner in service.runners.all())

    def loads(self) -> list[int]:
        """How many stacks each engine drives."""
        return [len(service.runners) for _runtime, service in self.engines]

    def kill(self, count: int) -> set[str]:
        """Kills engines without notice, as a host that is gone; the stacks they drove."""
        gone = self.universe.random.sample(self.engines, count)
        lost = {runner.leased.id for _runtime, service in gone for runner in service.runners.all()}
        for runtime, _service in gone:
            self._end(runtime)
        return lost

    def deploy(self, at_once: int) -> float:
        """Replaces all engines by new processes, `at_once` at a time, with SIGTERM first; the seconds it took."""
        began, old = self.universe.time, list(self.engines)
        for first in range(0, len(old), at_once):
            batch = old[first:first + at_once]
            stopping = [runtime.spawn(service.stop) for runtime, service in batch]
            self.until(lambda stopping=stopping: not any(
                each in each.runtime.threads for each in stopping), 60.0)    # type: ignore[misc]
            for runtime, _service in batch:
                self._end(runtime)
            self.pass_time(START_SECONDS)
            for _ in batch:
                self.start_engine()
            self.until(self.all_answer, 60.0)
        return self.universe.time - began

    def _end(self, runtime: SimulatedRuntime) -> None:
        runtime.kill()
        self.engines = [each for each in self.engines if each[0] is not runtime]
        self._answering.discard(runtime)
        for database in self._databases:
            if database.runtime is runtime:
                database.close()
        self._databases = [each for each in self._databases if each.runtime is not runtime]


def until_driven(place: Installation, stacks: Iterable[str], limit: float) -> float:
    """Seconds until a live engine drives each of the stacks."""
    wanted = set(stacks)
    return place.until(lambda: wanted <= place.driven().keys(), limit)
