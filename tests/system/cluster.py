"""A cluster on one machine: engines and an API over a real database and a real broker."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path

import sqlalchemy as sa

from tests.system import databases, options
from tests.system.processes import ROOT, Program, answers, ask, eventually, free_port

API, CFN = ('heatlite.cmd.api', 'heat_api'), ('heatlite.cmd.api_cfn', 'heat_api_cfn')     # module, group of options
PLUGINS = Path(__file__).with_name('plugins')


class Cluster:
    """`database_url`: of a server on which databases can be made; each cluster has one of its own.

    `nodes`: URLs of servers that all have that database, one for each engine; by default it is the same for all.
    `code`: the folder of the release that programs are started from; it may be changed between two of them.
    `operator`: with `ask` and `project_id`, where an identity service is among the options `more`.
    """

    def __init__(self, folder, database_url, rabbit_url, engines=2, nodes=(), code=ROOT, operator=None, **more):
        self.folder = Path(folder)
        self.code = code
        self.ledger = self.folder / 'ledger'
        self.ledger.touch()
        self._server = database_url
        self._name = f'heatlite_{uuid.uuid4().hex[:12]}'
        self.database_url = databases.create(database_url, self._name)
        self.port = free_port()
        self._ask, self._project = (operator.ask, operator.project_id) if operator else (ask, 'admin')
        self.url = f'http://127.0.0.1:{self.port}/v1/{self._project}'
        self.file = self.folder / 'heatlite.conf'
        settings = {'max_resources_per_stack': -1, 'plugin_dirs': PLUGINS, 'max_json_body_size': 100000000,
                    'max_template_size': 100000000, **more}
        options.write(self.file, options.cluster(broker=rabbit_url.rstrip('/') + '/', database_url=self.database_url,
                                                 topic=self._name, port=self.port),
                      {'DEFAULT': {'encrypt_parameters_and_properties': 'false'},
                       'paste_deploy': {'flavor': 'noauth'}}, options.from_keywords(settings))
        self.run('heatlite.cmd.manage', 'db_sync')
        self.engines: list[Program] = []
        self._nodes = [self.on(url) for url in nodes] or [self.database_url]
        self._count = 0
        self.apis: list[Program] = []
        self._api_commands: list[tuple[str, ...]] = [(API[0],)]
        self.urls = [self.url]                  # of all orchestration APIs
        self.cfn_urls: list[str] = []
        with self.stopped_if_it_fails():
            self._begin(engines)

    def _begin(self, engines):
        for _ in range(engines):
            self.start_engine()
        self.api = self._start('api', 'heatlite.cmd.api')
        self.apis.append(self.api)
        answers(f'http://127.0.0.1:{self.port}/')
        eventually('the engines', lambda: len(self.services()) >= engines)
        for program in self.engines:
            program.said('takes requests')

    @contextlib.contextmanager
    def stopped_if_it_fails(self):
        """A cluster that is not made completely has no user who stops it: its programs would live on."""
        try:
            yield
        except BaseException:
            self.stop()
            raise

    def run(self, module, *arguments):
        subprocess.run([sys.executable, '-W', 'ignore', '-m', module, '--config-file', str(self.file), *arguments],
                       cwd=self.code, check=True, capture_output=True,
                       env={**os.environ, 'PYTHONPATH': str(self.code)})

    def _start(self, name, module, *arguments, **environment):
        return Program(self.folder / f'{name}.log', '--config-file', self.file, *arguments, module=module,
                       cwd=self.code, PYTHONPATH=str(self.code), HEATLITE_TEST_LEDGER=str(self.ledger),
                       **environment)

    def on(self, server):
        """The URL of the cluster's database on another server that has it."""
        return sa.make_url(server).set(database=self._name).render_as_string(hide_password=False)

    def start_api(self, server):
        """Another API, with the database on that server; its URL."""
        self.urls.append(f'{self._start_api(API, server)}/v1/{self._project}')
        return self.urls[-1]

    def start_cfn_api(self, server):
        """The same of CloudFormation."""
        self.cfn_urls.append(f'{self._start_api(CFN, server)}/v1/')
        return self.cfn_urls[-1]

    def _start_api(self, kind, server):
        (module, group), port = kind, free_port()
        self._api_commands.append((module, '--set', f'{group}.bind_port={port}',
                                   '--set', f'database.connection={self.on(server)}'))
        self.apis.append(self._start(f'api{len(self.apis) + 1}', *self._api_commands[-1]))
        answers(f'http://127.0.0.1:{port}/')
        return f'http://127.0.0.1:{port}'

    def restart_api(self, number):
        """Another process in the place of an API that has ended."""
        self.apis[number].kill()
        name, _, times = self.apis[number].log.stem.partition('-')
        self.apis[number] = self._start(f'{name}-{int(times or 1) + 1}', *self._api_commands[number])
        if number == 0:
            self.api = self.apis[0]

    @property
    def database_urls(self):
        """Of the cluster's database on all nodes."""
        return list(dict.fromkeys((self.database_url, *self._nodes)))

    def start_engine(self, **environment):
        url = self._nodes[self._count % len(self._nodes)]
        self._count += 1
        program = self._start(f'engine{self._count}', 'heatlite.cmd.engine', '--workers', '1',
                              '--set', f'database.connection={url}', **environment)
        self.engines.append(program)
        return program

    def stop(self):
        for program in [*self.apis, *self.engines]:
            program.kill()
        databases.drop(self._server, self._name)

    # --- asking -----------------------------------------------------------------------------------------

    def services(self):
        status, found = self._ask('GET', f'{self.url}/services')
        return [each for each in found['services'] if each['status'] == 'up'] if status == 200 else []

    def create(self, name, template, **body):
        status, found = ask('POST', f'{self.url}/stacks', {'stack_name': name, 'template': template, **body})
        assert status == 201, (status, found)
        return f"{self.url}/stacks/{name}/{found['stack']['id']}"

    def status(self, stack_url):
        return ask('GET', f'{stack_url}?resolve_outputs=false')[1]['stack']['stack_status']

    def entries(self, word='made'):
        """How often each name was made, changed or deleted."""
        lines = (line.split() for line in self.ledger.read_text().splitlines())
        return Counter(line[1] for line in lines if line[0] == word)

    def processes(self, word):
        """The ids of the processes that did so."""
        lines = (line.split() for line in self.ledger.read_text().splitlines())
        return {int(line[2]) for line in lines if line[0] == word}

    def owner(self, stack_url):
        """The program that drives a stack."""
        with sa.create_engine(self.database_url).connect() as connection:
            engine_id = connection.exec_driver_sql(
                'SELECT engine_id FROM lease WHERE stack_id = %s', (stack_url.rsplit('/', 1)[1],)).scalar()
        if engine_id is None:
            return None
        return next((each for each in self.engines if engine_id in each.log.read_text()), None)
