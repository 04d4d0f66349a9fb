"""What one API process answers, and how fast: `python -m tests.bench.api [--json] [--seconds 1] [--on mariadb]`.

A real heatlite-api over SQLite and over HEATLITE_TEST_MYSQL_URL, no engine running; clients on the same machine, over
connections that stay open. p50, p99: one client, one request after the other, and the CPU time of the process for each;
requests a second: four clients. Then: what lists of ten thousand resources do to a client that asks for one stack
meanwhile. With HEATLITE_TEST_KEYSTONE_URL, the first figure is also taken with tokens checked by Keystone's middleware.

Takes half a minute for each database on an idle machine; says on stderr what it does.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from heatlite.db import tables
from heatlite.db.connection import Database
from tests.api import rows
from tests.bench.writes import database
from tests.system.processes import Program, answers, free_port

STACKS, FEW, MANY, HUGE, EVENTS = 10_000, 20, 1_000, 10_000, 1_000
PROJECT = 'admin'
START = datetime(2026, 11, 20, 10, 0, 0)
CLIENTS = 4
KEY = '0123456789abcdef0123456789abcdef'
CHUNK = 1000                            # rows in one INSERT
KEYSTONE_URL = os.environ.get('HEATLITE_TEST_KEYSTONE_URL')
KEYSTONE = Path(os.environ.get('HEATLITE_TEST_KEYSTONE_DIR', '/nonexistent'))


# --- what is there ---------------------------------------------------------------------------------------

def fill(db: Database) -> dict[str, str]:
    """Name -> path of what is asked for."""
    rows_of = {1: MANY, 2: HUGE, 3: FEW}
    stacks = [stack(number, rows_of.get(number, 0)) for number in range(STACKS)]
    with db.writer() as tx:
        tx.execute(sa.insert(tables.template), [{
            'id': rows.number(7, 1), 'document': json.dumps(rows.TEMPLATE), 'environment': '{}', 'files_id': None,
            'created_at': START}])
        insert(tx, tables.stack, stacks)
        for of, count in rows_of.items():
            insert(tx, tables.resource, [resource(of, number) for number in range(1, count + 1)])
        insert(tx, tables.event, [event(1, number) for number in range(1, EVENTS + 1)])
    middle, many, huge, few = (f'/v1/{PROJECT}/stacks/stack-{number}/{rows.number(1, number)}'
                               for number in (STACKS // 2, 1, 2, 3))
    return {'GET one stack': middle, 'list 20 of 10 000 stacks': f'/v1/{PROJECT}/stacks?limit=20',
            'list 20 resources': f'{few}/resources', 'list 1 000 resources': f'{many}/resources',
            'list 100 of 1 000 events': f'{many}/events?limit=100',
            'list 1 000 events': f'{many}/events', 'GET one resource': f'{many}/resources/resource-500',
            'metadata of one resource': f'{many}/resources/resource-500/metadata',
            'list 10 000 resources': f'{huge}/resources'}


def insert(tx: Any, table: sa.Table, values: list[dict[str, Any]]) -> None:
    for start in range(0, len(values), CHUNK):
        tx.execute(sa.insert(table), values[start:start + CHUNK])


def stack(number: int, resources: int) -> dict[str, Any]:
    return rows.stack(rows.number(1, number), f'stack-{number}', 0, project_id=PROJECT, next_resource=resources + 1,
                      created_at=START + timedelta(seconds=number), outputs=json.dumps([
                          {'output_key': 'url', 'description': 'Where it is', 'output_value': f'http://{number}'}]))


def resource(of: int, number: int) -> dict[str, Any]:
    return rows.resource(rows.number(1, of), number, f'resource-{number}', 'OS::Nova::Server',
                         created_at=START, requires=json.dumps({f'resource-{number - 1}': number - 1}
                                                               if number % 10 else {}))


def event(of: int, number: int) -> dict[str, Any]:
    return rows.event(number, rows.number(1, of), f'resource-{number}', 'OS::Nova::Server', 'CREATE', 'COMPLETE',
                      created_at=START + timedelta(seconds=number))


@contextmanager
def api(url: str, keystone: bool = False) -> Iterator[Program]:
    """A process of it, and where it listens as `program.port`."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        options = Path(folder) / 'heatlite.conf'
        options.write_text(f'[DEFAULT]\ntransport_url = fake://\nauth_encryption_key = {KEY}\n'
                           f'[database]\nconnection = {url}\n'
                           + ('' if keystone else '[paste_deploy]\nflavor = noauth\n') +
                           f'[heat_api]\nbind_host = 127.0.0.1\nbind_port = {port}\nworkers = 1\n')
        files = [KEYSTONE / 'heatlite.conf', options] if keystone else [options]
        program = Program(Path(folder) / 'log', *(word for file in files for word in ('--config-file', file)),
                          module='heatlite.cmd.api')
        try:
            answers(f'http://127.0.0.1:{port}/')
            program.port = port
            yield program
        finally:
            program.kill()


# --- asking ----------------------------------------------------------------------------------------------

class Client:
    def __init__(self, port: int, token: str | None = None) -> None:
        self._connection = http.client.HTTPConnection('127.0.0.1', port)
        self._headers = {'Accept': 'application/json', **({'X-Auth-Token': token} if token else {})}

    def ask(self, path: str) -> tuple[float, int]:
        """(milliseconds, bytes)."""
        began = time.perf_counter()
        self._connection.request('GET', path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return (time.perf_counter() - began) * 1000, len(body)


def repeat(client: Client, path: str, until: Callable[[], bool]) -> list[float]:
    client.ask(path)
    taken = [client.ask(path)[0]]
    while not until():
        taken.append(client.ask(path)[0])
    return taken


def during(seconds: float) -> Callable[[], bool]:
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() > end


def quantile(taken: list[float], part: float) -> float:
    return round(sorted(taken)[min(len(taken) - 1, int(len(taken) * part))], 2)


Ask = Callable[[], Client]              # a client more


def alone(program: Program, client: Client, path: str, seconds: float) -> dict[str, float]:
    size, before = client.ask(path)[1], cpu(program)
    taken = repeat(client, path, during(seconds))
    return {'p50_ms': quantile(taken, 0.5), 'p99_ms': quantile(taken, 0.99),
            'cpu_ms': round((cpu(program) - before) / (len(taken) + 1) * 1000, 2), 'bytes': size}


def cpu(program: Program) -> float:
    """Seconds so far."""
    return sum(psutil.Process(program.process.pid).cpu_times()[:2])


def together(client: Ask, path: str, seconds: float) -> float:
    """Requests a second."""
    taken: list[float] = []
    until = during(seconds)
    threads = [threading.Thread(target=lambda: taken.extend(repeat(client(), path, until))) for _ in range(CLIENTS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return round(len(taken) / (time.perf_counter() - began), 1)


def beside(client: Ask, small: str, large: str, seconds: float) -> dict[str, float]:
    """What a client that asks for `small` sees while another asks for `large` all the time."""
    until = during(seconds)
    lists: list[float] = []
    other = threading.Thread(target=lambda: lists.extend(repeat(client(), large, until)))
    other.start()
    taken = repeat(client(), small, until)
    other.join()
    return {'p50_ms': quantile(taken, 0.5), 'p99_ms': quantile(taken, 0.99), 'longest_ms': quantile(taken, 1.0),
            'list_p50_ms': quantile(lists, 0.5)}


# --- the table -------------------------------------------------------------------------------------------

def measure(url: str, seconds: float, say: Callable[[str], None]) -> dict[str, Any]:
    say('rows are written')
    with database(url) as db:
        paths = fill(db)
        made = db.engine.url.render_as_string(hide_password=False)
        with api(made) as program:
            def client() -> Client:
                return Client(program.port)

            found: dict[str, Any] = {}
            for name, path in paths.items():
                say(name)
                found[name] = {**alone(program, client(), path, seconds),
                               'per_second': together(client, path, seconds)}
            say('one stack beside lists')
            found['one stack beside lists of 10 000 resources'] = beside(
                client, paths['GET one stack'], paths['list 10 000 resources'], seconds * 2)
            resident = Path(f'/proc/{program.process.pid}/status').read_text()
            found['resident_mib'] = next(int(line.split()[1]) // 1024 for line in resident.splitlines()
                                         if line.startswith('VmHWM'))
        if KEYSTONE_URL:
            say('GET one stack, with a token')
            found['GET one stack, with a token'] = with_token(made, paths['GET one stack'], seconds)
    return found


def with_token(url: str, path: str, seconds: float) -> dict[str, float]:
    from keystoneauth1 import session
    from keystoneauth1.identity import v3
    token = session.Session(auth=v3.Password(
        auth_url=KEYSTONE_URL, username=PROJECT, password='secret', project_name=PROJECT, user_domain_id='default',
        project_domain_id='default')).get_token()
    with api(url, keystone=True) as program:
        def client() -> Client:
            return Client(program.port, token)

        return {**alone(program, client(), path, seconds), 'per_second': together(client, path, seconds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--json', action='store_true')
    parser.add_argument('--seconds', type=float, default=1.0, help='for each figure')
    parser.add_argument('--on', choices=['sqlite', 'mariadb'], help='only this database')
    options = parser.parse_args()
    urls = {'sqlite': 'sqlite://', 'mariadb': os.environ.get('HEATLITE_TEST_MYSQL_URL')}
    began = time.monotonic()

    def told(name: str) -> Callable[[str], None]:
        return lambda what: print(f'{time.monotonic() - began:4.0f} s  {name}: {what}', file=sys.stderr, flush=True)

    found = {name: measure(url, options.seconds, told(name)) for name, url in urls.items()
             if url and options.on in (None, name)}
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, figures in found.items():
        print(f'\n{name}: at most {figures.pop("resident_mib")} MiB resident')
        for what, values in figures.items():
            print(f'  {what:45}', '  '.join(f'{key} {value:>9}' for key, value in values.items()))


if __name__ == '__main__':
    main()
