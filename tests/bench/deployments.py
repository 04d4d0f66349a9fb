"""What a benchmark measures: the service as operators run it, and what its processes use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.system import production
from tests.system.cluster import Cluster
from tests.system.identities import Identity, Keystone
from tests.system.processes import OPENER, Program, ask, log_in

UNLIMITED = {'max_resources_per_stack': -1, 'max_stacks_per_tenant': -1, 'max_json_body_size': 100000000,
             'max_template_size': 100000000}
SERVERS = {'mariadb': 'HEATLITE_TEST_MYSQL_URL', 'postgresql': 'HEATLITE_TEST_POSTGRES_URL'}
EMBEDDED, PRODUCTION = 'sqlite', 'production'
BACKENDS = (EMBEDDED, *SERVERS, PRODUCTION)


def start(backend: str, folder: Path, engines: int = 1, **options: object) -> Embedded | Clustered | Member:
    """One of BACKENDS. `engines`: processes, where the engine is one of its own."""
    if backend == EMBEDDED:
        return Embedded(folder, **options)
    if backend == PRODUCTION:
        return Member(folder, engines, **options)
    return Clustered(folder, backend, engines, **options)


class Embedded:
    """heatlite-all: one process, SQLite."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.folder = folder
        began = time.monotonic()
        settings = {**UNLIMITED, **options}
        self.program = Program(folder / 'log', '--state-dir', folder / 'state', '--port', '0',
                               *(word for name, value in settings.items() for word in ('--set', f'{name}={value}')),
                               module='heatlite.cmd.all_in_one')
        said = self.program.process.stdout.readline().split()
        self.root = said[-1]
        self.url, self.other_url = f'{self.root}/v1/admin', f'{self.root}/v1/other'     # of two projects
        ask('GET', f'{self.url}/stacks')
        self.seconds_to_first_answer = time.monotonic() - began
        self.metrics_urls = [f'{self.root}/metrics']
        self.engines: list[Program] = []

    @property
    def database_url(self) -> str:
        file, = (self.folder / 'state').glob('*.sqlite')
        return f'sqlite:///{file}'

    @property
    def processes(self) -> list[psutil.Process]:
        return _family([self.program])

    def stop(self) -> None:
        self.program.kill()


class Clustered:
    """heatlite-api and `engines` engine processes, a real database and RabbitMQ."""

    def __init__(self, folder: Path, database: str, engines: int = 1, **options: object) -> None:
        url, rabbit = os.environ.get(SERVERS[database]), os.environ.get('HEATLITE_TEST_RABBIT_URL')
        if not url or not rabbit:
            raise SystemExit(f'{database} and RabbitMQ are needed: tools/services up')
        began = time.monotonic()
        self.cluster = Cluster(folder, url, rabbit, engines=engines, **{**UNLIMITED, **options})
        self.seconds_to_first_answer = time.monotonic() - began         # with the schema, and all processes
        self.root = f'http://127.0.0.1:{self.cluster.port}'
        self.url, self.other_url = self.cluster.url, f'{self.root}/v1/other'
        self.engines = self.cluster.engines

    @property
    def database_url(self) -> str:
        return str(self.cluster.database_url)

    @property
    def processes(self) -> list[psutil.Process]:
        return _family([self.cluster.api, *self.engines])

    def stop(self) -> None:
        self.cluster.stop()


class Member:
    """The production profile, to an ordinary member of a project: all APIs, Keystone, secrets sealed."""

    def __init__(self, folder: Path, engines: int = 1, identity: Callable[..., Identity] = Keystone,
                 **options: object) -> None:
        if not production.is_possible():
            raise SystemExit(production.REASON)
        began = time.monotonic()
        self.production = production.Production(folder, engines, identity=identity, **{**UNLIMITED, **options})
        self.seconds_to_first_answer = time.monotonic() - began
        self.root = self.production.url
        self.url, self.other_url = (self._log_in(name) for name in (
            ('alpha', 'beta') if 'alpha' in self.production.people else ('demo', 'admin')))
        self.engines = self.production.engines

    def _log_in(self, name: str) -> str:
        person = self.production.people[name]
        url = f'{self.root}/v1/{person.project_id}'
        log_in(url, person.token)
        return url

    @property
    def database_url(self) -> str:
        return str(self.production.database_url)

    @property
    def processes(self) -> list[psutil.Process]:
        made = self.production
        return _family([made.api, made.cfn, made.cloudwatch, *self.engines])

    def stop(self) -> None:
        self.production.stop()


def memory(deployment) -> float:
    """MiB resident, of all processes together."""
    return sum(process.memory_info().rss for process in deployment.processes) / 2 ** 20


def engines_mib(deployment) -> list[float]:
    """MiB resident, of each engine; of the one process where it is the API as well."""
    if not deployment.engines:
        return [memory(deployment)]
    return [sum(process.memory_info().rss for process in _family([engine])) / 2 ** 20 for engine in deployment.engines]


def _family(programs: list[Program]) -> list[psutil.Process]:
    found = []
    for program in programs:
        process = psutil.Process(program.process.pid)
        found += [process, *process.children(recursive=True)]
    return found


class Meter:
    """CPU seconds of the processes from `with` to its end, and their memory then."""

    def __init__(self, deployment) -> None:
        self._house = deployment
        self.cpu = self.wall = self.mib = 0.0

    def __enter__(self):
        self._cpu, self._began = self._used(), time.monotonic()
        return self

    def __exit__(self, *problem) -> None:
        self.wall = time.monotonic() - self._began
        self.cpu = self._used() - self._cpu
        self.mib = memory(self._house)

    def _used(self) -> float:
        return sum(sum(process.cpu_times()[:2]) for process in self._house.processes)


def transactions(deployment) -> float | None:
    """Transactions of the journal so far; None where they are not served."""
    try:
        with OPENER.open(f'{deployment.root}/metrics', timeout=10) as answer:
            text = answer.read().decode()
    except OSError:
        return None
    return next((float(line.split()[1]) for line in text.splitlines()
                 if line.startswith('heatlite_journal_changes_count')), None)
