"""Whole engines over a real SQLite file, in virtual time, with a switch that kills the process at the n-th point."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import exception as db_exception
from sqlalchemy import Connection

from heatlite.common import config, exception
from heatlite.common.context import RequestContext
from heatlite.db import events, resources, stacks, sync
from heatlite.db.connection import Contention, Database
from heatlite.engine.service import EngineService
from heatlite.rpc import messages
from heatlite.testing.runtime import Killed, SimulatedRuntime, Universe

PROJECT = 'p'


Point = int | tuple[str, int]
"""The n-th of all, or the n-th with a label: engines that idle beside make all of them vary from run to run, while a
type's own calls come in their order."""


class Chaos:
    """Counts the points at which a process can die, and makes it die at the chosen ones."""

    def __init__(self, kill_at: Iterable[Point] = ()) -> None:
        self.kill_at = set(kill_at)
        self.count = 0
        self.counts: Counter[str] = Counter()               # by label
        self.killed: list[tuple[int, str, str]] = []        # (number, label, process) of the points it died at
        self.enabled = False
        self.on_kill: Callable[[SimulatedRuntime], None] = lambda runtime: None
        self.on_visit: Callable[[str, SimulatedRuntime], None] = lambda label, runtime: None
        self.away_at: set[int] = set()                      # visits to the database that it does not answer
        self.away_for = 0.0                                 # seconds it is gone for then
        self.visits = 0
        self.missed: list[tuple[int, str, str]] = []        # (number, label, process) of the visits it went away at
        self._away_until = 0.0

    def begin(self, kill_at: Iterable[Point] = ()) -> None:
        """From now on points are counted, from one; the process dies at those of `kill_at`."""
        self.kill_at, self.count, self.killed, self.enabled = set(kill_at), 0, [], True
        self.counts.clear()

    def end(self) -> list[tuple[str, int]]:
        """No more deaths. The points there were, by label."""
        self.enabled = False
        return [(label, number) for label, total in self.counts.items() for number in range(1, total + 1)]

    def point(self, label: str, runtime: SimulatedRuntime) -> None:
        """A call, or the moment before or after a commit: others may go on first, and the process may die."""
        runtime.give_way()
        if not self.enabled or runtime.dead:
            return
        self.count += 1
        self.counts[label] += 1
        if self.count in self.kill_at or (label, self.counts[label]) in self.kill_at:
            self.killed.append((self.count, label, runtime.name))
            runtime.kill()
            self.on_kill(runtime)
            raise Killed

    def visit(self, label: str, runtime: SimulatedRuntime) -> None:
        """Raises DatabaseUnavailable while the database is away."""
        if not self.enabled or runtime.dead:
            return
        self.visits += 1
        visit = self.visits
        self.on_visit(label, runtime)
        if visit in self.away_at:
            self.missed.append((visit, label, runtime.name))
            self._away_until = runtime.universe.time + self.away_for
        if runtime.universe.time < self._away_until:
            raise exception.DatabaseUnavailable(reason='it went away')


class WriteLock:
    """SQLite's lock for writers, shared by all processes of a simulation, which wait for it in virtual time.

    A server ends the transaction of a process that has died, and of one that stands still while others wait.
    """

    PATIENCE = 10.0                             # seconds until a waiting writer is refused, as a server does

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._holder: tuple[SimDatabase, object] | None = None
        self._freed: list[Any] = []

    def acquire(self, wanting: SimDatabase) -> object | None:
        """What `release` takes; None: the lock was not to be had in time."""
        end = self._universe.time + self.PATIENCE
        while self._holder is not None:
            holder, _ = self._holder
            if self._universe.running is None:          # the test itself: its simulation goes on until then
                assert self._universe.run(lambda: self._holder is None, self.PATIENCE), 'a transaction does not end'
            elif holder.runtime.is_frozen:
                holder.break_off()
            elif self._universe.time >= end:
                return None
            else:
                freed = wanting.runtime.flag()
                self._freed.append(freed)
                freed.wait(1.0)
        token = object()
        self._holder = wanting, token
        return token

    def release(self, token: object | None) -> None:
        if self._holder is not None and self._holder[1] is token:
            self._holder = None
            freed, self._freed = self._freed, []
            for each in freed:
                each.set()


class SimDatabase(Database):
    """Every commit has two points: right before it, and right after. The database may go away at those, too - after a
    commit it is not reported - and before anything is read. As with a server, every statement gives way twice: before
    it is carried out, and before its answer is back."""

    def __init__(self, url: str, runtime: SimulatedRuntime, chaos: Chaos, seal: Callable[[str], str] | None,
                 lock: WriteLock, seal_sources: bool = True) -> None:
        super().__init__(url, now=runtime.universe.database_time, sleep=runtime.sleep, seal=seal,
                         seal_sources=seal_sources, max_overflow=-1)
        self.runtime, self._chaos, self._lock = runtime, chaos, lock
        self._open: tuple[Any, object] | None = None        # the transaction that is open for writing, and its lock
        self._broken: set[Any] = set()                      # transactions that the server has ended
        for engine in (self._reading, self._writing):
            sa.event.listen(engine, 'before_cursor_execute', self._round_trip)
            sa.event.listen(engine, 'after_cursor_execute', self._round_trip)
        runtime.on_kill.append(self.break_off)

    def separate(self) -> SimDatabase:
        return self

    def break_off(self) -> None:
        """Rolls back the transaction that is open for writing, as a server does when its client is gone."""
        if self._open is not None:
            (transaction, token), self._open = self._open, None
            self._broken.add(transaction)
            transaction.connection.dbapi_connection.rollback()
            self._lock.release(token)

    @contextmanager
    def reader(self) -> Iterator[Any]:
        self._chaos.visit('reading', self.runtime)
        with _unwrapped(), super().reader() as tx:
            yield tx

    @contextmanager
    def writer(self) -> Iterator[Any]:
        with _unwrapped(), super().writer() as tx:
            self._open = tx, self._token
            try:
                yield tx
                self._chaos.point('before a commit', self.runtime)
                self._chaos.visit('before a commit', self.runtime)
                self._check_open(tx)
            finally:
                self._broken.discard(tx)
                if self._open is not None and self._open[0] is tx:
                    self._open = None
        self._chaos.point('after a commit', self.runtime)
        self._chaos.visit('after a commit', self.runtime)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        token = self._lock.acquire(self)
        if token is None:
            raise Contention(reason='another transaction does not end')
        self._token = token
        try:
            yield
        finally:
            self._lock.release(token)

    def _round_trip(self, tx: Connection, cursor: Any, statement: str, *more: Any) -> None:
        if statement.startswith('BEGIN'):           # that one goes with the first statement behind it
            return
        try:
            self.runtime.give_way()
        except BaseException:                       # killed: the library drops the connection, and SQLite keeps its
            cursor.close()                          # lock as long as a statement of it is open
            connection = tx.connection.dbapi_connection
            if connection is not None:
                connection.rollback()
            raise
        self._check_open(tx)

    def _check_open(self, tx: Connection) -> None:
        if tx in self._broken:
            raise exception.DatabaseUnavailable(reason='the server has ended the transaction')


@contextmanager
def _unwrapped() -> Iterator[None]:
    """An outage that begins within a statement comes out of the library as an error of its own."""
    try:
        yield
    except db_exception.DBError as error:
        if isinstance(error.inner_exception, exception.DatabaseUnavailable):
            raise error.inner_exception from None
        raise


def options(given: Mapping[str, Any]) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], default_config_files=[])
    for name, value in {'max_resources_per_stack': -1, **given}.items():
        group, _, name = name.rpartition('.')
        conf.set_override(name, value, group or None)
    for each in (conf, cfg.CONF):               # the second is where types that keep secrets look
        each.set_override('auth_encryption_key', 'k' * 32)
    return conf


_TEMPLATE_FILE: list[bytes] = []


def _fresh_database(folder: Path) -> str:
    """A copy of an empty database: making the tables anew would be most of a short run."""
    path = folder / 'heatlite.sqlite'
    if not _TEMPLATE_FILE:
        made = Database(f'sqlite:///{path}')
        sync.up(made)
        made.close()
        with Database(f'sqlite:///{path}').writer() as tx:
            tx.exec_driver_sql('SELECT 1')
        _TEMPLATE_FILE.append(path.read_bytes())
    path.write_bytes(_TEMPLATE_FILE[0])
    return f'sqlite:///{path}'


class Wanted:
    limit = marker = None
    sort_keys = ()
    sort_dir = 'asc'
    filters: Mapping[str, Sequence[Any]] = {}


class Cluster:
    """Two engines and a user who does not give up."""

    def __init__(self, seed: int = 0, kill_at: Iterable[Point] = (), engines: int = 2, restart_after: float = 2.0, *,
                 project_id: str = PROJECT, prepare: Callable[[EngineService], None] = lambda service: None,
                 seal: Callable[[str], str] | None = None, seal_sources: bool = True, interleaved: bool = True,
                 **options: Any) -> None:
        """`prepare(service)`: done to each engine before it starts, such as registering types. `seal`,
        `seal_sources`: of Database. `interleaved`: statements and calls give way to other threads. `options`: of
        [DEFAULT], or GROUP.NAME.
        """
        shared_memory = '/dev/shm'
        self._folder = tempfile.TemporaryDirectory(dir=shared_memory if os.path.isdir(shared_memory) else None)
        self.url = _fresh_database(Path(self._folder.name))
        self.universe = Universe(seed)
        self.universe.interleaved = interleaved
        self._write_lock = WriteLock(self.universe)
        self.chaos = Chaos(kill_at)
        self.chaos.on_kill = self._died
        self.restart_after = restart_after
        self.user = self.universe.process('user')
        self.database = SimDatabase(self.url, self.user, Chaos(), None, self._write_lock)
        self.context = RequestContext(project_id=project_id, roles=['admin'], overwrite=False)
        self._prepare = prepare
        self._seal, self._seal_sources = seal, seal_sources
        self._options = options
        self.engines: list[tuple[SimulatedRuntime, EngineService]] = []
        self._answering: set[SimulatedRuntime] = set()
        self._databases: list[SimDatabase] = []
        self._names = 0
        self.notified: list[tuple[Any, ...]] = []      # to the message bus: (stack, action, status, reason[, scaling])
        for _ in range(engines):
            self.start_engine()

    def close(self) -> None:
        self.universe.close()
        for database in (self.database, *self._databases):
            database.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # --- engines ----------------------------------------------------------------------------------------

    def start_engine(self) -> tuple[SimulatedRuntime, EngineService]:
        self._names += 1
        runtime = self.universe.process(f'engine-{self._names}')
        database = SimDatabase(self.url, runtime, self.chaos, self._seal, self._write_lock, self._seal_sources)
        self._databases.append(database)
        service = EngineService(options(self._options), runtime, database,
                                wake=lambda stack_id, engine_id: self._wake(stack_id, engine_id),
                                notify=lambda *sent: self.notified.append(sent))
        self._prepare(service)
        self.engines.append((runtime, service))

        def begin() -> None:
            service.start()
            self._answering.add(runtime)          # as `heatlite-engine`, which takes requests after its start only

        runtime.spawn(begin)
        return runtime, service

    def _wake(self, stack_id: str, engine_id: str | None) -> None:
        for runtime, service in self.engines:
            if runtime in self._answering and not runtime.dead and engine_id in (None, service.engine_id):
                runtime.spawn(self._ring, service, stack_id)
                return

    def _ring(self, service: EngineService, stack_id: str) -> None:
        with suppress(exception.DatabaseUnavailable):       # as a lost message
            service.controller.wake(stack_id)

    def _died(self, runtime: SimulatedRuntime) -> None:
        self.engines = [(other, service) for other, service in self.engines if other is not runtime]

        def restart() -> None:
            self.user.sleep(self.restart_after)
            self.start_engine()

        self.user.spawn(restart)

    # --- the user ---------------------------------------------------------------------------------------

    def ask(self, message: messages.Message, allowed: Iterable[type[Exception]] = ()) -> Any:
        """Sends `message` to some engine until one answers; an error of a type in `allowed` is an answer too, that the
        database is away is none."""
        answers: list[Any] = []
        again: list[EngineService] = []

        def call(service: EngineService) -> None:
            try:
                answers.append(service.endpoint.handle(self.context, message))
            except exception.DatabaseUnavailable:
                again.append(service)
            except Exception as error:
                answers.append(error)

        def retry_until_available() -> None:
            while not answers:
                answering = [each for each in self.engines if each[0] in self._answering]
                if answering:
                    runtime, service = answering[self.universe.random.randrange(len(answering))]
                    again.clear()
                    runtime.spawn(call, service)
                    for _ in range(200):
                        self.user.sleep(0.05)
                        if answers or again or runtime.dead:
                            break
                else:
                    self.user.sleep(0.5)

        self.user.spawn(retry_until_available)
        assert self.universe.run(lambda: bool(answers)), 'no engine answered'
        if isinstance(answers[0], Exception) and not isinstance(answers[0], tuple(allowed)):
            raise answers[0]
        return answers[0]

    def create(self, name: str, template: Any, environment: Mapping[str, Any] | None = None, **options: Any) -> str:
        found = self.ask(messages.CreateStack(
            template=template, stack_name=name, environment=environment or {}, **options),
            allowed=[exception.StackExists])
        if isinstance(found, exception.StackExists):        # accepted by an engine that died before it could say so
            with self.database.reader() as tx:
                accepted = stacks.by_name(tx, self.context.project_id, name)
            assert accepted is not None
            return accepted.id
        return str(found['stack_id'])

    def update(self, stack_id: str, template: Any, **options: Any) -> None:
        self.ask(messages.UpdateStack(stack_id=stack_id, template=template, environment={}, **options))

    def delete(self, stack_id: str) -> None:
        self.ask(messages.DeleteStack(stack_id), allowed=[exception.EntityNotFound])

    def user_stack(self, name: str) -> str | None:
        """Id of the newest stack of that name, deleted ones included; None if there is none."""
        with self.database.reader() as tx:
            found = tx.exec_driver_sql(
                'SELECT id FROM stack WHERE name = ? ORDER BY created_at DESC', (name,)).scalar()
        return None if found is None else str(found)

    def row(self, stack_id: str) -> Any:
        with self.database.reader() as tx:
            return stacks.get(tx, stack_id, deleted=True)

    def settle(self, stack_id: str, limit: float = 4000.0) -> Any:
        """Runs until the stack's action has ended and no engine works on it; the stack's row."""
        def is_settled() -> bool:
            if self.universe.steps % 20:
                return False
            with self.database.reader() as tx:
                wanted = tx.exec_driver_sql('SELECT wanted FROM lease WHERE stack_id = ?', (stack_id,)).scalar()
            return not wanted and self.row(stack_id).status != 'IN_PROGRESS'

        assert self.universe.run(is_settled, limit), f'stuck: {self.row(stack_id)} {self.states(stack_id)}'
        return self.row(stack_id)

    def states(self, stack_id: str) -> dict[str, list[tuple[str, str, str | None]]]:
        with self.database.reader() as tx:
            found: dict[str, list[tuple[str, str, str | None]]] = {}
            for state in resources.light(tx, stack_id):
                found.setdefault(state.name, []).append((str(state.action), str(state.status), state.physical_id))
            return found

    def events(self, stack_id: str) -> list[tuple[Any, ...]]:
        with self.database.reader() as tx:
            return [(e.resource_name, e.action, e.status, e.reason) for e in events.page(tx, [stack_id], Wanted())]
