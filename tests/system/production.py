"""The production profile on one machine: all APIs and engines over a database, RabbitMQ and Keystone, secrets sealed.

The one definition of that profile; which database and which HTTP server are parameters.
`Production` starts the processes and makes two projects, each with a member and a reader; `stop` removes everything it
made. Needs HEATLITE_TEST_MYSQL_URL or _POSTGRES_URL, HEATLITE_TEST_RABBIT_URL and HEATLITE_TEST_KEYSTONE_URL:
`tools/services up`, `tools/keystone up`.

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
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import sqlalchemy as sa

from tests.system import aws, databases, identities, options, servers, service
from tests.system.identities import Identity, Keystone, Person
from tests.system.processes import PATIENCE, ROOT, Program, answers, eventually, free_port
from tests.system.servers import HOST

PLUGINS = Path(__file__).with_name('plugins')
RABBIT = os.environ.get('HEATLITE_TEST_RABBIT_URL')
REASON = 'needs a database server, RabbitMQ and Keystone: tools/services up, tools/keystone up'


def is_possible() -> bool:
    return bool(databases.FIRST and RABBIT and service.KEYSTONE)


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

    `engines`: processes, each with one worker. `database`: mariadb or postgresql, where both run mariadb unless said.
    `server`: what serves the APIs, a name in `servers.NAMES`. `identity`: `identities.Simulated` starts a simulated
    cloud, whose people are others. `settings`: options; a key `GROUP__NAME` sets an option of a group.
    """

    def __init__(self, folder: Any, engines: int = 2, database: str | None = None, server: str = 'heatlite',
                 identity: Callable[..., Identity] = Keystone, port: int = 0, cfn_port: int = 0,
                 cloudwatch_port: int = 0, **settings: Any) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ledger = self.folder / 'ledger'            # for the plug-ins of tests/system/plugins
        self.ledger.touch()
        self.name = f'heatlite_{uuid.uuid4().hex[:12]}'
        self.server = server
        self.port, self.cfn_port = port or free_port(), cfn_port or free_port()
        self.cloudwatch_port = cloudwatch_port or free_port()
        self.url = f'http://{HOST}:{self.port}'
        self.cfn_url = f'http://{HOST}:{self.cfn_port}'
        self.cloudwatch_url = f'http://{HOST}:{self.cloudwatch_port}'
        self.file = self.folder / 'heatlite.conf'
        self.engines: list[Program] = []
        self._started = 0
        self._local = threading.local()
        self._cleanup = ExitStack()
        try:
            self._start(database or str(databases.FIRST), identity, engines, settings)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Production:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _start(self, database: str, identity: Callable[..., Identity], engines: int,
               settings: Mapping[str, Any]) -> None:
        server = databases.SERVERS[database]
        self.database_url = databases.create(server, self.name)
        self._cleanup.callback(databases.drop, server, self.name)
        self.identity = self._cleanup.enter_context(identity(
            self.name, self.folder, self.url, self.cfn_url, self.cloudwatch_url))
        self.people, self.keystone, self.region = self.identity.people, self.identity.keystone, self.identity.region
        self._cleanup.callback(self._remove_stack_projects)
        self._write_options(settings)
        self._run('heatlite.cmd.manage', 'db_sync')
        for _ in range(engines):
            self.start_engine()
        self.start_api()
        self.cfn = self._start_api('cfn', self.cfn_port)
        self.cloudwatch = self._start_api('cloudwatch', self.cloudwatch_port)
        for url in (self.url, self.cfn_url, self.cloudwatch_url):
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
        self.api = self._start_api('api', self.port)
        return self.api

    def _start_api(self, api: str, port: int) -> Program:
        program = servers.start(self.server, api, self.file, port, self.folder / f'{api}.log',
                                workers=1 if self.server == 'heatlite' else 2,
                                HEATLITE_TEST_LEDGER=str(self.ledger))
        self._cleanup.callback(program.kill)
        return program

    def _run(self, module: str, *arguments: str) -> None:
        subprocess.run([sys.executable, '-W', 'ignore', '-m', module, '--config-file', str(self.file), *arguments],
                       cwd=ROOT, check=True, capture_output=True, env={**os.environ, 'PYTHONPATH': str(ROOT)})

    def _write_options(self, settings: Mapping[str, Any]) -> None:
        assert RABBIT
        options.write(
            self.file, self.identity.options(),
            options.cluster(broker=RABBIT, database_url=self.database_url, topic=self.name, port=self.port,
                            cfn_port=self.cfn_port, cloudwatch_port=self.cloudwatch_port, host=HOST),
            {'DEFAULT': {'plugin_dirs': PLUGINS, 'region_name_for_services': self.identity.region}},
            options.from_keywords(settings))

    # --- database ---------------------------------------------------------------------------------------

    def rows(self, statement: str) -> list[Any]:
        """What a SELECT finds in the database."""
        engine = sa.create_engine(self.database_url)
        with engine.connect() as connection:
            found = list(connection.exec_driver_sql(statement))
        engine.dispose()
        return found

    def _remove_stack_projects(self) -> None:
        """The users and projects that stacks made for themselves and that still exist."""
        with suppress(sa.exc.DatabaseError):            # the tables may not be there yet
            for project_id, in self.rows('SELECT DISTINCT user_project_id FROM stack'):
                if project_id:
                    grants = self.keystone.get(f'/role_assignments?scope.project.id={project_id}').json()
                    for user in {each['user']['id'] for each in grants['role_assignments'] if 'user' in each}:
                        identities.remove(self.keystone, f'/users/{user}')
                    identities.remove(self.keystone, f'/projects/{project_id}')

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
        return self._ask_signed(self.cfn_port, person, action, parameters)

    def ask_cloudwatch(self, person: Person, action: str, **parameters: str) -> Answer:
        """One request to the CloudWatch API in the query protocol, signed with the EC2 key of `person`."""
        return self._ask_signed(self.cloudwatch_port, person, action, parameters)

    def _ask_signed(self, port: int, person: Person, action: str, parameters: Mapping[str, str]) -> Answer:
        signed = aws.version_2(person.ec2, 'GET', f'{HOST}:{port}', '/v1/', Action=action,
                               Timestamp=aws.now().strftime('%Y-%m-%dT%H:%M:%SZ'), **parameters)
        return self.send(port, 'GET', f'/v1/?{urlencode(signed)}', None, {})

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

    def resource_complete(self, person: Person, path: str, name: str) -> None:
        """Waits until a resource of a stack, which may itself wait for something else, has been created."""
        self._resource(person, path, name, lambda status: status == 'CREATE_COMPLETE')

    def resource_in_progress(self, person: Person, path: str, name: str) -> None:
        """Waits until an action of a resource has begun that something outside will end."""
        self._resource(person, path, name, lambda status: status.endswith('IN_PROGRESS'))

    def _resource(self, person: Person, path: str, name: str, wanted: Callable[[str], bool]) -> None:
        eventually(f'the status of {name}', lambda: wanted(self.ask(
            person, 'GET', f'{path}/resources/{name}').json['resource']['resource_status']))

    # --- end --------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ends the processes and removes the database and what was made in Keystone."""
        for connection in self._local.__dict__.get('connections', {}).values():
            connection.close()
        self._cleanup.close()
