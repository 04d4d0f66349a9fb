"""`python -m tests.upgrade.migrations`: how long migrations of large tables take, and how long writers wait."""

from __future__ import annotations

import argparse
import sys
import threading
import time
import uuid
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from heatlite.db import migrations, sync
from heatlite.db.connection import Database
from tests.system import databases

STACKS = 200
NOW = datetime(2030, 1, 1)
STACK = {'name': 's', 'project_id': 'p', 'root_id': 's', 'depth': 0, 'action': 'CREATE', 'status': 'COMPLETE',
         'reason': 'r' * 40, 'description': '', 'template_id': 't', 'generation': 1, 'next_resource': 2,
         'disable_rollback': True, 'converge': False, 'created_at': NOW, 'live': 1}
RESOURCE = {'name': 'r', 'uuid': 'u', 'type': 'OS::Nova::Server', 'action': 'CREATE', 'status': 'COMPLETE',
            'reason': 'state changed', 'properties': '{"image":"' + 'x' * 300 + '"}', 'created_at': NOW}
EVENT = {'stack_id': 's0', 'action': 'CREATE', 'status': 'COMPLETE', 'reason': 'state changed', 'created_at': NOW}
LEASE = {'epoch': 1, 'wanted': False}


def at(database: Database, revision: str) -> None:
    """Brings an empty database to a revision, as a former release left it."""
    config = Config()
    config.set_main_option('script_location', migrations.__path__[0])
    with database.writer() as tx:
        config.attributes['connection'] = tx
        command.upgrade(config, revision)


def fill(database: Database, events: int, resources: int) -> None:
    """Stacks, their resources and their events. Copies rows within the server."""
    with database.writer() as tx:
        known = sa.MetaData()
        known.reflect(tx)
        stack, resource, event, lease = (known.tables[name] for name in ('stack', 'resource', 'event', 'lease'))
        tx.execute(stack.insert(), [STACK | {'id': f's{n}', 'name': f's{n}', 'root_id': f's{n}'}
                                    for n in range(STACKS)])
        tx.execute(lease.insert(), [LEASE | {'stack_id': f's{n}'} for n in range(STACKS)])
        tx.execute(resource.insert(), [_row(resource, RESOURCE) | {'stack_id': 's0', 'id': n}
                                       for n in range(1, resources // STACKS + 1)])
        others = [column for column in resource.c if column.name != 'stack_id']
        for number in range(1, STACKS):
            tx.execute(resource.insert().from_select(['stack_id', *(column.name for column in others)], sa.select(
                sa.literal(f's{number}'), *others).where(resource.c.stack_id == 's0')))
        tx.execute(event.insert(), [_row(event, EVENT) | ({'uuid': f'e{n}'} if 'uuid' in event.c else {})
                                    for n in range(1000)])
        copied, count = [column for column in event.c if column.name != 'id'], 1000
        while count < events:
            tx.execute(event.insert().from_select([column.name for column in copied], sa.select(*copied).limit(
                min(count, events - count))))
            count = min(2 * count, events)


def _row(table: sa.Table, wanted: dict[str, Any]) -> dict[str, Any]:
    """Something for each column that has no default, and what is wanted of the others."""
    needed = {column.name: 0 if isinstance(column.type, (sa.Integer, sa.Boolean)) else '{}' for column in table.c
              if not column.nullable and column.server_default is None and not column.primary_key}
    return needed | {name: value for name, value in wanted.items() if name in table.c}


class Writer(threading.Thread):
    """Writes a row of a table again and again. `longest`: seconds that one write took at most."""

    def __init__(self, url: str, table: str, text: str, over: threading.Event) -> None:
        super().__init__(daemon=True)
        self.table, self._text, self._over = table, text, over
        self._engine = sa.create_engine(url, isolation_level='AUTOCOMMIT')
        self.longest, self.count, self.failed = 0.0, 0, ''

    def run(self) -> None:
        try:
            with self._engine.connect() as connection:
                while not self._over.wait(0.005):
                    began = time.monotonic()
                    connection.exec_driver_sql(self._text)
                    self.longest = max(self.longest, time.monotonic() - began)
                    self.count += 1
        except sa.exc.DBAPIError as error:
            self.failed = str(error.orig)
        self._engine.dispose()


WRITES = {
    'event': "INSERT INTO event (stack_id, uuid, resource_name, resource_type, action, status, reason, created_at) "
             "VALUES ('s1', 'e', 'r', 'T', 'UPDATE', 'COMPLETE', 'x', '2030-01-01 00:00:00')",
    'resource': "UPDATE resource SET reason = 'y' WHERE stack_id = 's1' AND id = 1",
    'stack': "UPDATE stack SET reason = 'y' WHERE id = 's2'",
    'lease': "UPDATE lease SET epoch = epoch + 1 WHERE stack_id = 's3'"}


def measure(server: str, revision: str, events: int, resources: int) -> str:
    name = f'heatlite_{uuid.uuid4().hex[:12]}'
    url = databases.create(server, name)
    database = Database(url)
    try:
        at(database, revision)
        fill(database, events, resources)
        over = threading.Event()
        writers = [Writer(url, table, text, over) for table, text in WRITES.items()]
        for each in writers:
            each.start()
        time.sleep(2.0)
        before = {each.table: each.longest for each in writers}
        for each in writers:
            each.longest = 0.0
        began = time.monotonic()
        sync.up(database)
        seconds = time.monotonic() - began
        over.set()
        for each in writers:
            each.join()
        return '\n'.join([f'{sa.make_url(server).get_backend_name()}, {events} events, {resources} resources: '
                          f'{revision} to {sync.HEAD} in {seconds:.2f} s',
                          *(f'  {each.table:10} {each.count:6} writes, the longest {1000 * each.longest:.0f} ms '
                            f'(before: {1000 * before[each.table]:.0f} ms) {each.failed}' for each in writers)])
    finally:
        database.close()
        databases.drop(server, name)


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.upgrade.migrations')
    parser.add_argument('--events', type=int, default=1_000_000)
    parser.add_argument('--resources', type=int, default=200_000)
    parser.add_argument('--from', dest='revision', default='0001')
    chosen = parser.parse_args()
    for server in filter(None, databases.SERVERS.values()):
        print(measure(server, chosen.revision, chosen.events, chosen.resources), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
