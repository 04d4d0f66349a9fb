"""What a batch of changes costs, next to a bare bulk INSERT of the same rows: `python -m tests.bench.writes [--json]`.

Databases: SQLite in a temporary folder, and those of HEATLITE_TEST_MYSQL_URL and HEATLITE_TEST_POSTGRES_URL. The best
of several rounds counts; each figure is microseconds for one resource, commits included.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

import sqlalchemy as sa

from heatlite.db import changes, codec, engines, events, leases, resources, stacks, sync, tables
from heatlite.db.connection import Database
from heatlite.planning.states import Action, Change, Event, ResourceState, StackChange, Status

SERVERS = ('HEATLITE_TEST_MYSQL_URL', 'HEATLITE_TEST_POSTGRES_URL')
NOW = datetime(2026, 1, 2, 3, 4, 5, 678901)
PROPERTIES = {'name': 'server-1', 'flavor': 'm1.small', 'image': 'debian-12', 'networks': [{'port': 'x' * 36}]}


@contextmanager
def database(url: str) -> Iterator[Database]:
    """A throw-away one."""
    if url.startswith('sqlite'):
        with tempfile.TemporaryDirectory() as folder:
            made = Database(f'sqlite:///{folder}/bench.sqlite')
            sync.up(made)
            yield made
            made.close()
        return
    name = f'heatlite_bench_{uuid.uuid4().hex[:8]}'
    server = sa.create_engine(url, isolation_level='AUTOCOMMIT', pool_pre_ping=True)
    with server.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE {name}')
    made = Database(sa.make_url(url).set(database=name).render_as_string(hide_password=False))
    try:
        sync.up(made)
        yield made
    finally:
        made.close()
        with server.connect() as connection:
            connection.exec_driver_sql(f'DROP DATABASE {name}')
        server.dispose()


def empty(db: Database) -> None:
    with db.writer() as tx:
        for table in tables.metadata.tables.values():
            tx.execute(table.delete())
        engines.register(tx, engine_id='e1', host='h', hostname='h', binary='b', topic='t', report_interval=5,
                         ttl=600, now=NOW)


def add_stack(db: Database, stack_id: str) -> None:
    with db.writer() as tx:
        stacks.insert(tx, stacks.StoredStack(
            stack_id, stack_id, 'p', 'u', None, stack_id, None, 0, 'CREATE', 'IN_PROGRESS', '', '', 't', None, 1, 1,
            None, True, False, None, None, None, None, None, None, NOW, None, NOW, None))
        leases.insert(tx, stack_id, 'e1')


def rows(count: int) -> list[ResourceState]:
    return [ResourceState(number, f'server-{number}', str(uuid.uuid4()), 'OS::Nova::Server', created_at=NOW,
                          template_id=str(uuid.uuid4()), fingerprint='f' * 64) for number in range(1, count + 1)]


def event(row: ResourceState, status: Status, with_properties: bool) -> Event:
    return Event(str(uuid.uuid4()), NOW, row.name, row.type, row.physical_id, Action.CREATE, status, 'state changed',
                 row.id, PROPERTIES if with_properties else None)


def intents(stack_id: str, found: list[ResourceState]) -> list[Change]:
    made = [row._replace(action=Action.CREATE, status=Status.IN_PROGRESS, requires={'net': 1, 'port': 2})
            for row in found]
    return [Change(stack_id, 1, row=row, columns={'properties': PROPERTIES},
                   events=(event(row, Status.IN_PROGRESS, True),)) for row in made]


def called(batch: list[Change]) -> list[Change]:
    return [Change(change.stack_id, 1, row=change.row._replace(physical_id=str(uuid.uuid4()), handle={'id': 1}))
            for change in batch if change.row]


def completed(batch: list[Change]) -> list[Change]:
    return [Change(change.stack_id, 1, row=change.row._replace(status=Status.COMPLETE),
                   events=(event(change.row, Status.COMPLETE, False),)) for change in batch if change.row]


def bare(db: Database, found: list[ResourceState], per_resource: int) -> Callable[[], None]:
    """The rows alone, by the driver: one resource each, `per_resource` events, in one transaction."""
    mark = '?' if db.dialect == 'sqlite' else '%s'
    text = NOW.isoformat(' ')
    resource_rows = [('s1', row.id, row.name, row.uuid, row.type, 'CREATE', 'COMPLETE', '', str(uuid.uuid4()),
                      '{"net":1,"port":2}', None, None, row.template_id, row.fingerprint, '{"id":1}', text, None,
                      codec.encode(PROPERTIES)) for row in found]
    event_rows = [(str(uuid.uuid4()), 's1', row.id, row.name, row.type, None, 'CREATE', 'COMPLETE', 'state changed',
                   codec.encode(PROPERTIES) if number == 0 else None, text)
                  for row in found for number in range(per_resource)]

    def insert(cursor: object, table: str, columns: tuple[str, ...], values: list[tuple[object, ...]]) -> None:
        marks = f'({", ".join([mark] * len(columns))})'
        statement = f'INSERT INTO {table} ({", ".join(columns)}) VALUES '
        if db.dialect == 'postgresql':
            from psycopg2 import extras
            extras.execute_values(cursor, f'{statement} %s', values, page_size=1000)
        else:
            cursor.executemany(statement + marks, values)       # type: ignore[attr-defined]

    def run() -> None:
        with db.writer() as tx:
            cursor = tx.connection.cursor()
            insert(cursor, 'resource', (*resources.ROW, 'properties'), resource_rows)
            insert(cursor, 'event', events.EVENT, event_rows)

    return run


def measure(work: Callable[[], object], count: int) -> tuple[float, float]:
    """(wall, our CPU) in microseconds for one of `count`."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - wall) / count * 1e6, (time.process_time() - cpu) / count * 1e6


def write(db: Database, batch: list[Change]) -> None:
    with db.writer() as tx:
        written = changes.write(tx, batch)
    assert not written.lost
    assert not written.superseded


def one_round(db: Database, count: int) -> dict[str, tuple[float, float]]:
    empty(db)
    figures = {'bare INSERT: 1 row, 1 event': measure(bare(db, rows(count), 1), count)}
    empty(db)
    figures['bare INSERT: 1 row, 2 events'] = measure(bare(db, rows(count), 2), count)
    empty(db)
    add_stack(db, 's1')
    fresh = rows(count)

    def insert() -> None:
        with db.writer() as tx:
            resources.insert_many(tx, 's1', fresh)

    figures['rows of a new stack'] = measure(insert, count)
    first = intents('s1', fresh)
    second = called(first)
    third = completed(second)
    figures['IN_PROGRESS + event'] = measure(lambda: write(db, first), count)
    figures['physical id'] = measure(lambda: write(db, second), count)
    figures['COMPLETE + event'] = measure(lambda: write(db, third), count)
    life = [figures[name] for name in ('rows of a new stack', 'IN_PROGRESS + event', 'physical id',
                                       'COMPLETE + event')]
    figures['a whole create'] = (sum(wall for wall, _ in life), sum(cpu for _, cpu in life))
    ends = [Change(f'x{number}', 1, stack=StackChange(1, status=Status.COMPLETE, reason='done', release=True))
            for number in range(count // 10)]
    for change in ends:
        add_stack(db, change.stack_id)
    figures['the end of a stack'] = measure(lambda: write(db, ends), len(ends))
    return figures


def best(rounds: list[dict[str, tuple[float, float]]]) -> dict[str, tuple[float, float]]:
    return {name: min(each[name] for each in rounds) for name in rounds[0]}


def limit(backend: str, count: int = 1000, rounds: int = 5) -> float:
    """Microseconds for the rows one resource leaves behind (a row, two events), as a bare bulk INSERT."""
    url = 'sqlite://' if backend == 'sqlite' else os.environ[
        'HEATLITE_TEST_POSTGRES_URL' if backend == 'postgresql' else 'HEATLITE_TEST_MYSQL_URL']
    with database(url) as db:
        found = []
        for _ in range(rounds):
            empty(db)
            found.append(measure(bare(db, rows(count), 2), count)[0])
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--json', action='store_true')
    parser.add_argument('--count', type=int, default=1000, help='changes in a batch')
    parser.add_argument('--rounds', type=int, default=5)
    options = parser.parse_args()
    found = {}
    for url in ('sqlite://', *(os.environ[name] for name in SERVERS if name in os.environ)):
        with database(url) as db:
            found[db.dialect] = best([one_round(db, options.count) for _ in range(options.rounds)])
    if options.json:
        print(json.dumps({dialect: {name: {'wall_us': wall, 'cpu_us': cpu} for name, (wall, cpu) in figures.items()}
                          for dialect, figures in found.items()}, indent=2))
        return
    print(f'{"microseconds, wall / our CPU":32}' + ''.join(f'{dialect:>18}' for dialect in found))
    for name in next(iter(found.values())):
        print(f'{name:32}' + ''.join(f'{figures[name][0]:>10.1f} /{figures[name][1]:>6.1f}'
                                     for figures in found.values()))


if __name__ == '__main__':
    main()
