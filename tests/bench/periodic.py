"""What the periodic work of one engine costs a database's server in a large installation: `python -m
tests.bench.periodic [--engines 200] [--resources 10000000] [--held 1000]`. Needs MariaDB, which nothing else uses."""

from __future__ import annotations

import argparse
import json
import os
import time
import uuid
from collections.abc import Callable

import psutil
import sqlalchemy as sa

from heatlite.common import runtime as runtimes
from heatlite.db import engines, forced_deletes, leases, signals, sync
from heatlite.db.connection import Database
from heatlite.db.tables import engine, lease
from tests.bench.alarms import servers_at
from tests.simulation.installation import PER_STACK
from tests.system import databases

TIMES = 1000


def measure(count: int, resources: int, held: int) -> dict[str, object]:
    """Microseconds of the server's CPU, and of wall time, for each task; `held`: stacks in flight of each engine."""
    url = os.environ.get('HEATLITE_TEST_MYSQL_URL')
    if not url:
        raise SystemExit('MariaDB is needed: tools/services up mariadb')
    name = f'heatlite_{uuid.uuid4().hex[:12]}'
    database = Database(databases.create(url, name))
    try:
        sync.up(database)
        ids = [str(uuid.UUID(int=number + 1)) for number in range(count)]
        _fill(database, ids, resources // PER_STACK, held)
        server, = servers_at(sa.make_url(url).port)
        found: dict[str, object] = {'engines': count, 'stacks': resources // PER_STACK, 'held': held}
        for what, task in _tasks(database, ids).items():
            task()
            times = max(10, TIMES // (1 + held // 100)) if what == 'held' else TIMES
            found[what] = _metered(server, task, times)
        found['plan'] = _plan(database, ids[0])
        return found
    finally:
        database.close()
        databases.drop(url, name)


def _fill(database: Database, ids: list[str], stacks: int, held: int) -> None:
    now = runtimes.current().now()
    with database.writer() as tx:
        for number, each in enumerate(ids):
            engines.register(tx, engine_id=each, host=f'h{number}', hostname=f'h{number}', binary='heat-engine',
                             topic='engine', report_interval=60, ttl=300.0, now=now)
        tx.exec_driver_sql(
            'INSERT INTO lease (stack_id, engine_id, epoch, wanted, writes) '
            f"SELECT concat('00000000-0000-4000-8000-', lpad(seq, 12, '0')), NULL, 1, 0, 0 FROM seq_1_to_{stacks}")
        for number, each in enumerate(ids):
            if held:
                tx.exec_driver_sql(
                    'INSERT INTO lease (stack_id, engine_id, epoch, wanted, writes) SELECT '
                    f"concat('00000000-0000-4001-{number:04d}-', lpad(seq, 12, '0')), %s, 1, 1, 0 "
                    f'FROM seq_1_to_{held}', (each,))
    with database.writer() as tx:
        tx.exec_driver_sql(f'ANALYZE TABLE {lease.name}, {engine.name}')


def _tasks(database: Database, ids: list[str]) -> dict[str, Callable[[], object]]:
    runtime = runtimes.current()

    def heartbeat() -> None:
        with database.writer() as tx:
            engines.left(tx, ids[0])
            engines.renew(tx, ids[0], 300.0, runtime.now())

    def sweep() -> None:
        with database.reader() as tx:
            signals.stacks(tx)
        with database.writer() as tx:
            engines.left(tx, ids[0])
            leases.claim_expired(tx, ids[0], 10)

    def held() -> None:
        with database.reader() as tx:
            leases.held(tx, ids[0])

    def search() -> None:
        for find in (lambda tx: forced_deletes.to_end(tx, runtime.now()),
                     lambda tx: forced_deletes.late(tx, runtime.now()), forced_deletes.gone):
            with database.reader() as tx:
                find(tx)

    return {'heartbeat': heartbeat, 'sweep_without_held': sweep, 'held': held, 'search': search}


def _metered(server: psutil.Process, task: Callable[[], object], times: int) -> dict[str, float]:
    began, before = time.monotonic(), sum(server.cpu_times()[:2])
    for _ in range(times):
        task()
    return {'cpu_us': (sum(server.cpu_times()[:2]) - before) / times * 1e6,
            'wall_us': (time.monotonic() - began) / times * 1e6}


def _plan(database: Database, engine_id: str) -> list[str]:
    """How the server finds expired engines with work."""
    texts: list[str] = []
    with database.writer() as tx:
        sa.event.listen(tx, 'before_cursor_execute', lambda *about: texts.append(about[2]))
        leases.claim_expired(tx, engine_id, 10)
        query = next(text for text in texts if 'EXISTS' in text)
        return [' '.join(str(each) for each in row) for row in tx.exec_driver_sql(f'EXPLAIN {query}', (engine_id,))]


def main() -> None:
    parser = argparse.ArgumentParser(prog='python -m tests.bench.periodic', description=__doc__)
    parser.add_argument('--engines', type=int, default=200)
    parser.add_argument('--resources', type=int, default=10_000_000)
    parser.add_argument('--held', type=int, default=1000)
    chosen = parser.parse_args()
    print(json.dumps(measure(chosen.engines, chosen.resources, chosen.held), indent=1))


if __name__ == '__main__':
    main()
