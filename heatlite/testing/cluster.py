"""Whole engines over a real database, in virtual time, with a switch that kills the process at the n-th point."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

import sqlalchemy as sa
from oslo_config import cfg
from oslo_policy import opts as policy_options

from heatlite.common import config, exception
from heatlite.common.context import RequestContext
from heatlite.db import events, resources, stacks
from heatlite.db.tables import lease, stack
from heatlite.engine.service import EngineService
from heatlite.planning.states import Status
from heatlite.rpc import messages
from heatlite.testing.runtime import Killed, SimThread, SimulatedRuntime, Universe
from heatlite.testing.storage import Outage, SimDatabase, SqliteFile, Storage

PROJECT = 'p'
KEY = 'k' * 32                              # that secrets are sealed with
PROGRESS = sa.select(lease.c.wanted, stack.c.status).select_from(
    stack.outerjoin(lease, lease.c.stack_id == stack.c.id)).where(stack.c.id == sa.bindparam('stack_id'))


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
        self.stop_at: set[int] = set()                      # points at which a process is stopped as by SIGTERM
        self.stopped: list[tuple[int, str, str]] = []       # (number, label, process) of these
        self.on_stop: Callable[[SimulatedRuntime], object] = lambda runtime: None
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
        """Pass a call, or the moment before or after a commit: others may go on first, and the process may die."""
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
        if self.count in self.stop_at:
            self.stopped.append((self.count, label, runtime.name))
            self.on_stop(runtime)

    def visit(self, label: str, runtime: SimulatedRuntime) -> None:
        """Raise Outage while the database is away."""
        if not self.enabled or runtime.dead:
            return
        self.visits += 1
        visit = self.visits
        self.on_visit(label, runtime)
        if visit in self.away_at:
            self.missed.append((visit, label, runtime.name))
            self._away_until = runtime.universe.time + self.away_for
        if runtime.universe.time < self._away_until:
            raise Outage(reason='it went away')


def options(given: Mapping[str, object]) -> cfg.ConfigOpts:
    """Return the options of an engine. Engines with the same ones share them: registering them is a tenth of a short
    life."""
    cfg.CONF.set_override('auth_encryption_key', KEY)       # where types that keep secrets look
    return _options(tuple(sorted((name, tuple(value) if isinstance(value, list) else value)
                                 for name, value in given.items())))


@functools.lru_cache(maxsize=16)
def _options(given: tuple[tuple[str, object], ...]) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    config.register(conf)
    policy_options.set_defaults(conf)
    conf([], default_config_files=[])
    for name, value in {'max_resources_per_stack': -1, 'auth_encryption_key': KEY, **dict(given)}.items():
        group, _, name = name.rpartition('.')
        conf.set_override(name, value, group or None)
    return conf


class AllEvents:
    """The arguments of a list of events without end, in their order."""

    limit = marker = None
    sort_keys = ()
    sort_dir = 'asc'
    filters: Mapping[str, Sequence[object]] = {}


class Cluster:
    """Two engines and a user who does not give up."""

    def __init__(self, seed: int = 0, kill_at: Iterable[Point] = (), engines: int = 2, restart_after: float = 2.0, *,
                 project_id: str = PROJECT, prepare: Callable[[EngineService], None] = lambda service: None,
                 seal: Callable[[str], str] | None = None, seal_sources: bool = True, interleaved: bool = True,
                 storage: Callable[[Universe], Storage] = SqliteFile, **options: object) -> None:
        """`prepare(service)`: done to each engine before it starts, such as registering types. `seal`,
        `seal_sources`: of Database. `interleaved`: statements and calls give way to other threads. `storage`: where
        the database is. `options`: of [DEFAULT], or GROUP.NAME.
        """
        self.universe = Universe(seed)
        self.universe.interleaved = interleaved
        self.storage = storage(self.universe)
        self.chaos = Chaos(kill_at)
        self.chaos.on_kill = self._died
        self.chaos.on_stop = self.stop_engine
        self.restart_after = restart_after
        self.user = self.universe.process('user')
        self.database = self.storage.open(self.user, Chaos(), None, True)
        self.context = RequestContext(project_id=project_id, roles=['admin', 'member'], overwrite=False)
        self._prepare = prepare
        self._seal, self._seal_sources = seal, seal_sources
        self._options = options
        self.engines: list[tuple[SimulatedRuntime, EngineService]] = []
        self._answering: set[SimulatedRuntime] = set()
        self._databases: list[SimDatabase] = []
        self._names = 0
        self.notified: list[tuple[object, ...]] = []    # to the message bus: (stack, action, status, reason[, scaling])
        for _ in range(engines):
            self.start_engine()

    def close(self) -> None:
        self.universe.close()
        for database in (self.database, *self._databases):
            database.close()
        self.storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # --- engines ----------------------------------------------------------------------------------------

    def start_engine(self) -> tuple[SimulatedRuntime, EngineService]:
        self._names += 1
        runtime = self.universe.process(f'engine-{self._names}')
        database = self.storage.open(runtime, self.chaos, self._seal, self._seal_sources)
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
                runtime.spawn(self._wake_stack, service, stack_id)
                return

    def _wake_stack(self, service: EngineService, stack_id: str) -> None:
        with suppress(exception.DatabaseUnavailable):       # as a lost message
            service.controller.wake(stack_id)

    def stop_engine(self, runtime: SimulatedRuntime) -> SimThread:
        """Stop the engine of that process as by SIGTERM, and start another one later. Returns the thread that does
        so: it answers requests until it has ended."""
        service = next(service for other, service in self.engines if other is runtime)

        def stop() -> None:
            service.stop()
            runtime.kill()
            self._died(runtime)
            raise Killed

        return runtime.spawn(stop)

    def _died(self, runtime: SimulatedRuntime) -> None:
        self.engines = [(other, service) for other, service in self.engines if other is not runtime]

        def restart() -> None:
            self.user.sleep(self.restart_after)
            self.start_engine()

        self.user.spawn(restart)

    # --- the user ---------------------------------------------------------------------------------------

    def ask(self, message: messages.Message, allowed: Iterable[type[Exception]] = ()) -> Any:
        """Send `message` to some engine until one answers; an error of a type in `allowed` is an answer too, that the
        database is away is none."""
        answers: list[object] = []
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

    def create(self, name: str, template: Mapping[str, object] | None, environment: Mapping[str, object] | None = None,
               **options: Any) -> str:
        found = self.ask(messages.CreateStack(
            template=template, stack_name=name, environment=environment or {}, **options),
            allowed=[exception.StackExists])
        if isinstance(found, exception.StackExists):        # accepted by an engine that died before it could say so
            with self.database.reader() as tx:
                accepted = stacks.by_name(tx, self.context.project_id, name)
            assert accepted is not None
            return accepted.id
        return str(found['stack_id'])

    def update(self, stack_id: str, template: Mapping[str, object] | None,
               environment: Mapping[str, object] | None = None, **options: Any) -> None:
        self.ask(messages.UpdateStack(stack_id=stack_id, template=template, environment=environment or {}, **options))

    def delete(self, stack_id: str) -> None:
        self.ask(messages.DeleteStack(stack_id), allowed=[exception.EntityNotFound])

    def user_stack(self, name: str) -> str | None:
        """Id of the newest stack of that name, deleted ones included; None if there is none."""
        with self.database.reader() as tx:
            found = tx.execute(sa.select(stack.c.id).where(stack.c.name == name)
                               .order_by(stack.c.created_at.desc())).scalar()
        return None if found is None else str(found)

    def row(self, stack_id: str) -> stacks.StoredStack:
        with self.database.reader() as tx:
            found = stacks.get(tx, stack_id, deleted=True)
        assert found is not None, f'there is no stack {stack_id}'
        return found

    def settle(self, stack_id: str, limit: float = 4000.0) -> stacks.StoredStack:
        """Run until the stack's action has ended and no engine works on it; the stack's row."""
        seen = -1

        def is_settled() -> bool:
            nonlocal seen
            if self.universe.steps % 20 or seen == self.universe.commits:
                return False                        # nothing was committed since the last look
            seen = self.universe.commits
            with self.database.reader() as tx:
                wanted, status = tx.execute(PROGRESS, {'stack_id': stack_id}).one()
            return not wanted and status != Status.IN_PROGRESS

        assert self.universe.run(is_settled, limit), f'stuck: {self.row(stack_id)} {self.states(stack_id)}'
        return self.row(stack_id)

    def until_deleted(self, stack_id: str, limit: float = 4000.0) -> None:
        """Run until the stack is deleted. Looks only when something was committed: most steps commit nothing."""
        seen = -1

        def is_deleted() -> bool:
            nonlocal seen
            if seen == self.universe.commits:
                return False
            seen = self.universe.commits
            return self.row(stack_id).deleted_at is not None

        assert self.universe.run(is_deleted, limit), f'not deleted: {self.row(stack_id)} {self.states(stack_id)}'

    def states(self, stack_id: str) -> dict[str, list[tuple[str, str, str | None]]]:
        with self.database.reader() as tx:
            found: dict[str, list[tuple[str, str, str | None]]] = {}
            for state in resources.light(tx, stack_id):
                found.setdefault(state.name, []).append((str(state.action), str(state.status), state.physical_id))
            return found

    def events(self, stack_id: str) -> list[tuple[object, ...]]:
        with self.database.reader() as tx:
            return [(e.resource_name, e.action, e.status, e.reason) for e in
                    events.page(tx, [stack_id], AllEvents())]
