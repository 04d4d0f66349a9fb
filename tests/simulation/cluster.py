"""The engines and the user of the conformance kit, with a cloud of one type that counts what exists."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import sqlalchemy as sa

from heatlite.common import crypt
from heatlite.db.tables import event, lease
from heatlite.testing import cluster
from tests.simulation import cloud as clouds

PROJECT = cluster.PROJECT
SEAL = partial(crypt.seal, encryption_key=cluster.KEY)
OFFSET = int(os.environ.get('HEATLITE_TEST_OFFSET', '0'))
SPARSE = int(os.environ.get('HEATLITE_TEST_SPARSE', '1'))


def _prepare(service: Any) -> None:
    for name, kind in clouds.resource_mapping().items():
        service.registry.register(name, kind)


class Cluster(cluster.Cluster):
    """Two engines, a cloud and a user who does not give up."""

    def __init__(self, seed: int = 0, kill_at: Iterable[int] = (), engines: int = 2,
                 restart_after: float = 2.0, *, seal: Callable[[str], str] | None = SEAL, **options: Any) -> None:
        """Sealed as in production, unless `seal` is None."""
        super().__init__(seed, kill_at, engines, restart_after, seal=seal,
                         prepare=_prepare, **options)
        self.cloud = clouds.Cloud(self.chaos)
        clouds.use(self.cloud)


def done(cluster: Cluster, stack_id: str, action: str) -> Any:
    """The stack's row, once this action has ended well."""
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == (action, 'COMPLETE'), row.reason
    return row


def outputs(row: Any) -> dict[str, Any]:
    """{name: value} of a stack's row."""
    return {output['output_key']: output['output_value'] for output in row.outputs}


def owner(cluster: Cluster, stack_id: str) -> Any:
    """The world of the engine that has the stack."""
    with cluster.database.reader() as tx:
        found = tx.execute(sa.select(lease.c.engine_id).where(lease.c.stack_id == stack_id)).scalar()
    return next(runtime for runtime, service in cluster.engines if service.engine_id == found)


def assert_reported_is_stored(cluster: Cluster) -> None:
    """Each begin and each end that was sent to the message bus is in the history of its stack, as often."""
    sent = Counter((row.id, str(action), str(status)) for row, action, status, _reason, *scaling in cluster.notified
                   if not any(scaling))
    with cluster.database.reader() as tx:
        stored = Counter(tx.execute(sa.select(event.c.stack_id, event.c.action, event.c.status).where(
            event.c.stack_id == event.c.physical_id)).tuples())
    assert not sent - stored, sent - stored


def kill_the_owner(cluster: Cluster, stack_id: str) -> None:
    """Kill the engine that drives the stack."""
    runtime = owner(cluster, stack_id)
    runtime.kill()
    cluster.chaos.on_kill(runtime)


def wait(cluster: Cluster, seconds: float) -> None:
    """Lets that much time go by."""
    end = cluster.universe.time + seconds
    cluster.user.spawn(cluster.user.sleep, seconds)
    cluster.universe.run(lambda: cluster.universe.time >= end, limit=seconds + 1.0)


def kill_engines_in(life: Callable[[Cluster], None], stride: int, from_the_start: bool = True, **options: Any) -> int:
    """Lives `life(cluster)` again and again, with an engine killed at another point each time: every `stride`-th, or as
    HEATLITE_TEST_STRIDE says (1: all). HEATLITE_TEST_OFFSET says which ones, so that other commits kill at others;
    HEATLITE_TEST_SPARSE=2 has half as many.
    Returns how many points there are. `from_the_start` False: `life` says where they begin. `options`: of Cluster.
    """
    return strike(life, stride, from_the_start, lambda chaos: chaos.count, _kill,
                  lambda chaos: f'killed at {chaos.killed}', **options)


def lose_database_in(life: Callable[[Cluster], None], stride: int, from_the_start: bool = True,
                     **options: Any) -> int:
    """As `kill_engines_in`, but nobody dies: the database goes away for a while, at another visit each time."""
    return strike(life, stride, from_the_start, lambda chaos: chaos.visits, _lose_database,
                  lambda chaos: f'away at {chaos.missed}', **options)


def stop_engines_in(life: Callable[[Cluster], None], stride: int, from_the_start: bool = True, **options: Any) -> int:
    """As `kill_engines_in`, but the engine is stopped as by SIGTERM."""
    return strike(life, stride, from_the_start, lambda chaos: chaos.count, _stop,
                  lambda chaos: f'stopped at {chaos.stopped}', **options)


def _stop(place: Cluster, point: int) -> None:
    place.chaos.stop_at = {point}


def _kill(place: Cluster, point: int) -> None:
    place.chaos.kill_at = {point}


def _lose_database(place: Cluster, visit: int) -> None:
    place.chaos.away_at, place.chaos.away_for = {visit}, (0.0, 2.0, 8.0)[visit % 3]


def strike(life: Callable[[Cluster], None], stride: int, from_the_start: bool, counted: Callable[[cluster.Chaos], int],
           blow: Callable[[Cluster, int], None], report: Callable[[cluster.Chaos], str], **options: Any) -> int:
    """One life with each blow. `counted`: chances for one; `report`: what a blow has done; `options`: of Cluster."""
    stride = int(os.environ.get('HEATLITE_TEST_STRIDE', stride * SPARSE))

    def lived(seed: int = 0) -> cluster.Chaos:
        with Cluster(seed, **options) as place:
            if seed:
                blow(place, seed)
            place.chaos.enabled = from_the_start
            try:
                life(place)
                assert_reported_is_stored(place)
            except BaseException as error:
                raise AssertionError(f'{life.__name__}, seed {seed}, {report(place.chaos)}: {error}') from error
            return place.chaos

    count = counted(lived())
    for number in range(1 + (count + OFFSET) % stride, count + 1, stride):
        lived(number)
    return count
