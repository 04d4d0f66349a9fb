"""The production profile on one machine: API, CFN API and engines over MariaDB, RabbitMQ and Keystone, secrets sealed.

The one definition of that profile (design, section 6). `Production` starts the processes and makes two projects, each
with a member and a reader; `stop` removes everything it made. Needs HEATLITE_TEST_MYSQL_URL (or _POSTGRES_URL),
HEATLITE_TEST_RABBIT_URL and HEATLITE_TEST_KEYSTONE_URL: `tools/services up`, `tools/keystone up`.

    with Production(folder) as cloud:
        answer = cloud.ask(cloud.people['alpha'], 'GET', '/stacks')
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import sqlalchemy as sa
from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3

from tests.system import aws, service
from tests.system.processes import PATIENCE, ROOT, Program, answers, eventually, free_port

PLUGINS = Path(__file__).with_name('plugins')
DATABASE = os.environ.get('HEATLITE_TEST_MYSQL_URL') or os.environ.get('HEATLITE_TEST_POSTGRES_URL')
RABBIT = os.environ.get('HEATLITE_TEST_RABBIT_URL')
HOST = '127.0.0.1'
PASSWORD = 'secret'
REASON = 'needs a database server, RabbitMQ and Keystone: tools/services up, tools/keystone up'


def is_possible() -> bool:
    return bool(DATABASE and RABBIT and service.KEYSTONE)


@dataclass(frozen=True)
class Person:
    """Somebody Keystone knows, and the project he or she works in."""

    name: str
    user_id: str
    project_id: str
    project_name: str = ''
    domain: str = 'default'             # id of the domain of user and project
    password: str = PASSWORD

    @cached_property
    def session(self) -> session.Session:
        return session.Session(auth=v3.Password(
            auth_url=service.KEYSTONE, user_id=self.user_id, password=self.password, project_id=self.project_id))

    @cached_property
    def token(self) -> str:
        return str(self.session.get_token())

    @cached_property
    def ec2(self) -> tuple[str, str]:
        """(access, secret), made at the first use by the administrator: readers may not make any."""
        made = service.insist(lambda: service.admin().post(
            f'/users/{self.user_id}/credentials/OS-EC2',
            json={'tenant_id': self.project_id})).json()['credential']
        return made['access'], made['secret']


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)        # names in lower case
    body: bytes = b''

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode(errors='replace')


class Production:
    """`people`: alpha, alpha_reader, beta, beta_reader (members and readers of two projects), admin, service.

    `settings`: options; a key `GROUP__NAME` sets an option of a group. `engines`: processes, each with one worker.
    """

    def __init__(self, folder: Any, engines: int = 2, database_url: str | None = None, **settings: Any) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ledger = self.folder / 'ledger'            # for the plug-ins of tests/system/plugins
        self.ledger.touch()
        self.name = f'heatlite_{uuid.uuid4().hex[:12]}'
        self.port, self.cfn_port = free_port(), free_port()
        self.url = f'http://{HOST}:{self.port}'
        self.cfn_url = f'http://{HOST}:{self.cfn_port}'
        self.file = self.folder / 'heatlite.conf'
        self.people: dict[str, Person] = {}
        self.engines: list[Program] = []
        self._server = sa.make_url(database_url or DATABASE)
        self._started = 0
        self._local = threading.local()
        self._cleanup = ExitStack()
        try:
            self._start(engines, settings)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Production:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _start(self, engines: int, settings: Mapping[str, Any]) -> None:
        self._make_database()
        self._make_people()
        self.region = self._cleanup.enter_context(service.catalogued(f'{self.url}/v1/%(project_id)s'))
        self._write_options(settings)
        self._run('heatlite.cmd.manage', 'db_sync')
        for _ in range(engines):
            self.start_engine()
        self.start_api()
        self.cfn = self.start_program('cfn', 'heatlite.cmd.api_cfn')
        for url in (self.url, self.cfn_url):
            answers(f'{url}/')
        for program in self.engines:
            program.said('takes requests')

    # --- processes --------------------------------------------------------------------------------------

    def start_program(self, name: str, module: str, *arguments: str) -> Program:
        """One of our programs with the options of this cloud; its log is `folder/NAME.log`."""
        program = Program(self.folder / f'{name}.log', '--config-file', self.file, *arguments, module=module,
                          HEATLITE_TEST_LEDGER=str(self.ledger))
        self._cleanup.callback(program.kill)
        return program

    def start_engine(self) -> Program:
        self._started += 1
        program = self.start_program(f'engine{self._started}', 'heatlite.cmd.engine', '--workers', '1')
        self.engines.append(program)
        return program

    def start_api(self) -> Program:
        self.api = self.start_program('api', 'heatlite.cmd.api')
        return self.api

    def _run(self, module: str, *arguments: str) -> None:
        subprocess.run([sys.executable, '-W', 'ignore', '-m', module, '--config-file', str(self.file), *arguments],
                       cwd=ROOT, check=True, capture_output=True, env={**os.environ, 'PYTHONPATH': str(ROOT)})

    def _write_options(self, settings: Mapping[str, Any]) -> None:
        sections: dict[str, dict[str, Any]] = {
            'DEFAULT': {
                'transport_url': RABBIT, 'auth_encryption_key': '0123456789abcdef0123456789abcdef',
                'encrypt_parameters_and_properties': 'true', 'plugin_dirs': PLUGINS,
                'region_name_for_services': self.region,
                'heat_metadata_server_url': self.cfn_url,
                'heat_waitcondition_server_url': f'{self.cfn_url}/v1/waitcondition'},
            'engine': {'topic': self.name},                 # others may use the same broker
            'database': {'connection': self.database_url.replace('%', '%%')},
            'heat_api': {'bind_host': HOST, 'bind_port': self.port},
            'heat_api_cfn': {'bind_host': HOST, 'bind_port': self.cfn_port}}
        for key, value in settings.items():
            group, _, name = key.rpartition('__')
            sections.setdefault(group or 'DEFAULT', {})[name] = value
        # How to log in to Keystone is known to whoever set it up; options of ours come after and win.
        lines = [(service.FOLDER / 'heatlite.conf').read_text()]
        for section, options in sections.items():
            lines += [f'[{section}]', *(f'{name} = {value}' for name, value in options.items())]
        self.file.write_text('\n'.join([*lines, '']))

    # --- database ---------------------------------------------------------------------------------------

    @property
    def database_url(self) -> str:
        return self._server.set(database=self.name).render_as_string(hide_password=False)

    def _make_database(self) -> None:
        tail = ' CHARACTER SET utf8mb4' if self._server.get_dialect().name == 'mysql' else ''
        self._administer(f'CREATE DATABASE {self.name}{tail}')
        force = ' WITH (FORCE)' if self._server.get_dialect().name == 'postgresql' else ''
        self._cleanup.callback(self._administer, f'DROP DATABASE IF EXISTS {self.name}{force}')

    def _administer(self, statement: str) -> None:
        engine = sa.create_engine(self._server, isolation_level='AUTOCOMMIT')
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)
        engine.dispose()

    def rows(self, statement: str) -> list[Any]:
        """What a SELECT finds in the database."""
        engine = sa.create_engine(self.database_url)
        with engine.connect() as connection:
            found = list(connection.exec_driver_sql(statement))
        engine.dispose()
        return found

    # --- Keystone ---------------------------------------------------------------------------------------

    def _make_people(self) -> None:
        self.keystone = service.admin()
        roles = {each['name']: each['id'] for each in self.keystone.get('/roles').json()['roles']}
        for word in ('alpha', 'beta'):
            project_id = self._make('project', name=f'{self.name}-{word}', domain_id='default')
            for name, role in ((word, 'member'), (f'{word}_reader', 'reader')):
                user_id = self._make('user', name=f'{self.name}-{name}', domain_id='default', password=PASSWORD)
                self.keystone.put(f'/projects/{project_id}/users/{user_id}/roles/{roles[role]}')
                self.people[name] = Person(f'{self.name}-{name}', user_id, project_id, f'{self.name}-{word}')
        for name, user, project in (('admin', 'admin', 'admin'), ('service', 'heatlite', 'service')):
            users = self.keystone.get(f'/users?name={user}&domain_id=default').json()['users']
            projects = self.keystone.get(f'/projects?name={project}&domain_id=default').json()['projects']
            self.people[name] = Person(user, users[0]['id'], projects[0]['id'], project)
        self._cleanup.callback(self._remove_stack_projects)

    def _make(self, kind: str, **fields: str) -> str:
        made = str(service.insist(lambda: self.keystone.post(f'/{kind}s', json={kind: fields})).json()[kind]['id'])
        self._cleanup.callback(self._remove, f'/{kind}s/{made}')
        return made

    def _remove(self, path: str) -> None:
        with suppress(exceptions.NotFound):
            service.insist(lambda: self.keystone.delete(path))

    def _remove_stack_projects(self) -> None:
        """The users and projects that stacks made for themselves and that still exist."""
        with suppress(sa.exc.DatabaseError):            # the tables may not be there yet
            for project_id, in self.rows('SELECT DISTINCT user_project_id FROM stack'):
                if project_id:
                    grants = self.keystone.get(f'/role_assignments?scope.project.id={project_id}').json()
                    for user in {each['user']['id'] for each in grants['role_assignments'] if 'user' in each}:
                        self._remove(f'/users/{user}')
                    self._remove(f'/projects/{project_id}')

    # --- asking -----------------------------------------------------------------------------------------

    def ask(self, person: Person | None, method: str, path: str, body: Any = None,
            headers: Mapping[str, str] | None = None) -> Answer:
        """One request to the REST API in the name of `person`, or of nobody.

        `path` begins below the project of `person`, unless it begins with /v1/. Redirects are answers.
        """
        sent = {'Accept': 'application/json', **({'X-Auth-Token': person.token} if person else {}), **(headers or {})}
        if not path.startswith('/v1/') and person:
            path = f'/v1/{person.project_id}{path}'
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if content is not None:
            sent.setdefault('Content-Type', 'application/json')
        return self.send(self.port, method, path, content, sent)

    def ask_cfn(self, person: Person, action: str, **parameters: str) -> Answer:
        """One request to the CFN API, signed with the EC2 key of `person`."""
        signed = aws.version_2(person.ec2, 'GET', f'{HOST}:{self.cfn_port}', '/v1/', Action=action,
                               Timestamp=aws.now().strftime('%Y-%m-%dT%H:%M:%SZ'), **parameters)
        return self.send(self.cfn_port, 'GET', f'/v1/?{urlencode(signed)}', None, {})

    def send(self, port: int, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        """Over a connection that this thread keeps."""
        connections = self._local.__dict__.setdefault('connections', {})
        for attempt in (1, 2):
            connection = connections.get(port) or http.client.HTTPConnection(HOST, port, timeout=2 * PATIENCE)
            connections[port] = connection
            try:
                connection.request(method, path, body, dict(headers))
                found = connection.getresponse()
                return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
            except (ConnectionError, http.client.BadStatusLine, http.client.CannotSendRequest):
                connections.pop(port).close()           # the server had closed it meanwhile
                if attempt == 2:
                    raise
        raise AssertionError

    def create(self, person: Person, name: str, template: Any, **body: Any) -> str:
        """Creates a stack; its path below the project."""
        answer = self.ask(person, 'POST', '/stacks', {'stack_name': name, 'template': template, **body})
        assert answer.status == 201, answer.text
        return f"/stacks/{name}/{answer.json['stack']['id']}"

    def finished(self, person: Person, path: str) -> str:
        """Waits until the action of a stack has ended; its status, DELETE_COMPLETE if it is gone."""
        def status() -> str | None:
            answer = self.ask(person, 'GET', f'{path}?resolve_outputs=false')
            found = 'DELETE_COMPLETE' if answer.status == 404 else answer.json['stack']['stack_status']
            return None if found.endswith('IN_PROGRESS') else found
        return str(eventually(f'the end of the action of {path}', status))

    # --- end --------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ends the processes and removes the database and what was made in Keystone."""
        for connection in self._local.__dict__.get('connections', {}).values():
            connection.close()
        self._cleanup.close()
