"""What metrics and alarms cost, in one engine over a database of its own: `python -m tests.bench alarms`.

Datapoints go through the engine's use case as messages, encoded as JSON; rules are those of an engine that is late and
catches up. CPU is that of the engine's process, and of the server's, which others may use as well.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial

from heatlite.common import runtime as runtimes

if __name__ == '__main__':
    runtimes.patch()                        # before anything else is imported

import greenlet
import psutil
import sqlalchemy as sa

from heatlite.cmd.parts import configure_collector
from heatlite.common import crypt
from heatlite.common.context import RequestContext
from heatlite.db import alarms, codec, shards
from heatlite.db.connection import Database
from heatlite.db.metrics import moment
from heatlite.db.tables import alarm
from heatlite.engine.service import EngineService
from heatlite.monitoring.alarms import AlarmRule, Metric
from heatlite.rpc import messages
from heatlite.rpc.client import InProcessClient
from heatlite.testing.cluster import options
from tests.bench import writes

PROJECTS = 100
CLIENTS = 64                    # as many requests as an engine answers at a time, unless configured
NAMES = {'datapoints': 'datapoints, 1000 a request', 'requests_of_one': 'requests of one datapoint',
         'rules': 'rules evaluated'}


def servers_at(port: int | None) -> list[psutil.Process]:
    """The database server: processes on this machine that listen at `port`, of those this user may look at."""
    found = {each.pid for each in psutil.net_connections('tcp')
             if each.status == psutil.CONN_LISTEN and each.laddr.port == port and each.pid}
    return [psutil.Process(each) for each in sorted(found)]


@contextmanager
def metered(figures: dict[str, float], name: str, count: int, database: Database) -> Iterator[None]:
    """Adds how many a second there were, and how busy this process and the server have been, in CPUs."""
    here, servers = psutil.Process(), servers_at(database.url.port)

    def used() -> tuple[float, float]:
        return (sum(here.cpu_times()[:2]), sum(sum(each.cpu_times()[:2]) for each in servers))

    before, began = used(), time.monotonic()
    yield
    wall, after = time.monotonic() - began, used()
    figures.update({f'{name}_a_second': count / wall, f'{name}_wall_seconds': wall,
                    f'{name}_engine_cpus': (after[0] - before[0]) / wall,
                    f'{name}_server_cpus': (after[1] - before[1]) / wall})


@contextmanager
def engine(database: Database) -> Iterator[EngineService]:
    here = runtimes.current()
    service = EngineService(options({'alarms.max_alarms_per_project': -1, 'alarms.delay': 0.0}), here, database)
    service.start()
    configure_collector()
    yield service
    service.stop()


def datapoints(service: EngineService, requests: int, each: int, clients: int) -> None:
    """`requests` messages of `each` datapoints, `clients` at a time; each project has `each` metrics."""
    here = runtimes.current()
    client = InProcessClient(here, service.endpoint)
    left, running = list(range(requests)), [clients]
    done = here.flag()
    failures: list[Exception] = []

    def work() -> None:
        try:
            send()
        except Exception as error:
            failures.append(error)
            left.clear()
        running[0] -= 1
        if not running[0]:
            done.set()

    def send() -> None:
        while left:
            number = left.pop()
            context = RequestContext(project_id=f'p{number % PROJECTS}', overwrite=False)
            client.call(context, messages.PutMetricData('bench', tuple(
                {'name': f'm{point}', 'dimensions': [['host', f'h{point % 50}']], 'at': None, 'unit': 'Count',
                 'samples': 1, 'total': 1.0 * point, 'smallest': 1.0 * point, 'largest': 1.0 * point,
                 'high_resolution': False} for point in range(each))))
        running[0] -= 1
        if not running[0]:
            done.set()

    for _number in range(clients):
        here.spawn(work)
    done.wait()
    if failures:
        raise failures[0]


def make_rules(database: Database, count: int, end: int) -> None:
    """Alarms whose last period has ended, and which have data."""
    text = moment(end)
    for begin in range(0, count, 1000):
        with database.writer() as tx:
            encode = codec.encoder(tx)
            tx.execute(alarm.insert(), [_row(number, end, text, encode)
                                        for number in range(begin, min(begin + 1000, count))])


def _row(number: int, end: int, at: datetime, encode: Callable[[object], str]) -> dict[str, object]:
    project, point = f'p{number % PROJECTS}', number // PROJECTS % 1000
    rule = AlarmRule(Metric('bench', f'm{point}', (('host', f'h{point % 50}'),)), 'Average', 60, 1,
                     'GreaterThanThreshold', 1e9)
    return {'id': f'bench-{number}', 'project_id': project, 'name': f'a{number}',
            'shard': shards.of_project(project), 'digest': rule.metric.digest, 'period': 60,
            'rule': encode(rule.to_json()), 'actions_enabled': True, 'state': 'NORMAL', 'reason': '', 'state_at': at,
            'updated_at': at, 'version': 1, 'evaluated': end, 'due_at': alarms.NEVER - 1}


def rules(database: Database, count: int, end: int, figures: dict[str, float]) -> None:
    """How long it takes until all of them are evaluated, once they are due at the same time."""
    with engine(database), watched(figures, 'rules'), metered(figures, 'rules', count, database):
        with database.writer() as tx:
            tx.exec_driver_sql('UPDATE alarm SET due_at = %s', (float(end),))
            for shard in range(shards.COUNT):
                shards.want(tx, shards.lease_id(shard))
        while _left(database, end):
            runtimes.current().sleep(0.1)


def _left(database: Database, end: int) -> int:
    with database.reader() as tx:
        return int(tx.execute(sa.text('SELECT count(*) FROM alarm WHERE evaluated <= :end'), {'end': end}).scalar_one())


@contextmanager
def watched(figures: dict[str, float], name: str) -> Iterator[None]:
    """Adds the longest that one green thread worked until it let others run, in milliseconds of CPU."""
    longest, began = 0.0, time.thread_time()

    def switched(_event: str, _threads: object) -> None:
        nonlocal longest, began
        now = time.thread_time()
        longest, began = max(longest, now - began), now

    greenlet.settrace(switched)
    yield
    greenlet.settrace(None)
    figures[f'{name}_longest_turn_ms'] = longest * 1000


def measure(url: str, seconds: float, count: int) -> dict[str, float]:
    figures: dict[str, float] = {'load_before': os.getloadavg()[0]}
    with writes.database(url) as database:
        sealed = Database(database.url.render_as_string(hide_password=False),
                          seal=partial(crypt.seal, encryption_key='k' * 32))
        with engine(sealed) as service:
            datapoints(service, PROJECTS, 1000, 8)              # the metrics themselves
            requests = int(seconds * 10)
            with watched(figures, 'datapoints'), metered(figures, 'datapoints', requests * 1000, sealed):
                datapoints(service, requests, 1000, 8)
            with metered(figures, 'requests_of_one', 3000, sealed):
                datapoints(service, 3000, 1, CLIENTS)
        end = int(time.time()) // 60 * 60 - 60
        make_rules(sealed, count, end)
        rules(sealed, count, end, figures)
        sealed.close()
    figures['load_after'] = os.getloadavg()[0]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rules', type=int, default=100_000)
    parser.add_argument('--seconds', type=float, default=60.0, help='of 10 000 datapoints each')
    parser.add_argument('--json', action='store_true')
    chosen = parser.parse_args()
    url = os.environ.get('HEATLITE_TEST_MYSQL_URL')
    if not url:
        sys.exit('HEATLITE_TEST_MYSQL_URL is not set: eval "$(tools/services up)"')
    found = measure(url, chosen.seconds, chosen.rules)
    print(json.dumps(found, indent=1) if chosen.json else table(found))


def table(found: dict[str, float]) -> str:
    lines = [f'mariadb: load {found["load_before"]:.1f} before, {found["load_after"]:.1f} after',
             f'{"":>32} {"a second":>9} {"wall s":>7} {"CPUs engine":>12} {"CPUs server":>12} {"longest turn ms":>16}']
    for name, text in NAMES.items():
        turn = found.get(f'{name}_longest_turn_ms')
        lines.append(f'{text:>32} {found[f"{name}_a_second"]:>9.0f} {found[f"{name}_wall_seconds"]:>7.1f} '
                     f'{found[f"{name}_engine_cpus"]:>12.2f} {found[f"{name}_server_cpus"]:>12.2f} '
                     f'{"-" if turn is None else format(turn, ".0f"):>16}')
    return '\n'.join(lines)


if __name__ == '__main__':
    main()
