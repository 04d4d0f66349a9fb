"""Where the production profile finds its users: the Keystone of `tools/keystone`, or a simulated cloud of its own.

Both are context managers with `people`, `region` - in whose catalogue the APIs are - and `options`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from keystoneauth1 import adapter, exceptions, session
from keystoneauth1.identity import v3

from tests.system import options, service
from tests.system.processes import Program, answers, ask

PASSWORD = 'secret'


@dataclass(frozen=True)
class Person:
    """A user of Keystone, and the project that he or she works in."""

    name: str
    user_id: str
    project_id: str
    project_name: str = ''
    domain: str = 'default'             # id of the domain of user and project
    password: str = PASSWORD
    auth_url: str = service.KEYSTONE or ''

    @cached_property
    def session(self) -> session.Session:
        return session.Session(auth=v3.Password(
            auth_url=self.auth_url, user_id=self.user_id, password=self.password, project_id=self.project_id))

    @cached_property
    def token(self) -> str:
        return str(self.session.get_token())

    @cached_property
    def ec2(self) -> tuple[str, str]:
        """(access, secret), made at the first use by the administrator: readers may not make any."""
        made = service.retry_until_available(lambda: service.admin(self.auth_url).post(
            f'/users/{self.user_id}/credentials/OS-EC2',
            json={'tenant_id': self.project_id})).json()['credential']
        return made['access'], made['secret']

    def environment(self, region: str) -> dict[str, str]:
        """The variables with which an OpenStack client logs in."""
        return {'OS_AUTH_URL': self.auth_url, 'OS_USERNAME': self.name, 'OS_PASSWORD': self.password,
                'OS_PROJECT_NAME': self.project_name, 'OS_USER_DOMAIN_ID': self.domain,
                'OS_PROJECT_DOMAIN_ID': self.domain, 'OS_REGION_NAME': region, 'OS_IDENTITY_API_VERSION': '3',
                'OS_AUTH_TYPE': 'password'}


def found(keystone: adapter.Adapter, user: str, project: str) -> Person:
    """A user that is there already."""
    users = keystone.get(f'/users?name={user}&domain_id=default').json()['users']
    projects = keystone.get(f'/projects?name={project}&domain_id=default').json()['projects']
    return Person(user, users[0]['id'], projects[0]['id'], project, auth_url=keystone.endpoint_override)


class Identity(Protocol):
    people: dict[str, Person]
    keystone: adapter.Adapter           # as its administrator
    region: str

    def __init__(self, name: str, folder: Path, url: str, cfn_url: str, cloudwatch_url: str) -> None:
        """`name`: for what it makes. `url`, `cfn_url`, `cloudwatch_url`: where the APIs will listen."""

    def __enter__(self) -> Identity:
        """Makes and starts what is needed."""

    def __exit__(self, *_error: object) -> None:
        """Removes it."""

    def options(self) -> options.Sections:
        """How heatlite logs in."""


class Keystone:
    """The real one. `people`: alpha, alpha_reader, beta, beta_reader - a member and a reader of each of two projects
    that are removed at the end - and admin, service."""

    def __init__(self, name: str, _folder: Path, url: str, _cfn_url: str, _cloudwatch_url: str) -> None:
        self._name, self._url = name, url
        self._cleanup = ExitStack()
        self.people: dict[str, Person] = {}

    def __enter__(self) -> Keystone:
        with ExitStack() as undo:
            undo.push(self._cleanup)
            self.keystone = service.admin()
            self._make_people()
            self.region = self._cleanup.enter_context(service.catalogued(f'{self._url}/v1/%(project_id)s'))
            undo.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self._cleanup.close()

    def options(self) -> options.Sections:
        return options.identity(str(service.KEYSTONE), self.region, 'heatlite', 'service', 'heatlite', 'service')

    def _make_people(self) -> None:
        roles = {each['name']: each['id'] for each in self.keystone.get('/roles').json()['roles']}
        for word in ('alpha', 'beta'):
            project = f'{self._name}-{word}'
            project_id = self._make('project', name=project, domain_id='default')
            for name, role in ((word, 'member'), (f'{word}_reader', 'reader')):
                user_id = self._make('user', name=f'{self._name}-{name}', domain_id='default', password=PASSWORD)
                self.keystone.put(f'/projects/{project_id}/users/{user_id}/roles/{roles[role]}')
                self.people[name] = Person(f'{self._name}-{name}', user_id, project_id, project)
        for name, user, project in (('admin', 'admin', 'admin'), ('service', 'heatlite', 'service')):
            self.people[name] = found(self.keystone, user, project)

    def _make(self, kind: str, **fields: str) -> str:
        answer = service.retry_until_available(lambda: self.keystone.post(f'/{kind}s', json={kind: fields}))
        made = str(answer.json()[kind]['id'])
        self._cleanup.callback(remove, self.keystone, f'/{kind}s/{made}')
        return made


class Simulated:
    """A simulated cloud with all its services. `people`: demo, a member of the project demo, and admin."""

    region = 'RegionOne'

    def __init__(self, _name: str, folder: Path, url: str, cfn_url: str, cloudwatch_url: str,
                 port: int = 0, boot: float = 0.2, regions: Sequence[str] = (), latency: float = 0.0) -> None:
        """`boot`: seconds that a server takes to boot; `latency`: that each call takes. `regions`: more of them, each
        for an `InRegion`."""
        self._log, self._port, self._regions = folder / 'cloud.log', port, regions
        self._seconds = ('--boot', boot, '--latency', latency)
        self._catalogued = (f'orchestration={url}/v1/%(project_id)s', f'cloudformation={cfn_url}/v1',
                            f'cloudwatch={cloudwatch_url}/v1')
        self.people: dict[str, Person] = {}

    def __enter__(self) -> Simulated:
        self._program = Program(self._log, '--port', self._port, *self._seconds,
                                *(part for each in self._catalogued for part in ('--service', each)),
                                *(part for each in self._regions for part in ('--region', each)),
                                module='cloudsim')
        try:
            self.cloud_url = self._program.process.stdout.readline().split()[-1]
            self.url = f'{self.cloud_url}/v3'
            answers(self.url)
            self.keystone = service.admin(self.url)
            for name in ('demo', 'admin'):
                self.people[name] = found(self.keystone, name, name)
        except BaseException:
            self._program.kill()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._program.kill()

    def options(self) -> options.Sections:
        return options.identity(self.url, self.region, 'admin', 'admin', 'heat')


class InRegion:
    """A further region of a simulated cloud, whose people it has. Its catalogue names the API at `listed`."""

    def __init__(self, first: Simulated, region: str, listed: str, _name: str, _folder: Path, url: str, cfn_url: str,
                 cloudwatch_url: str) -> None:
        self.region, self.people, self.keystone, self.url = region, first.people, first.keystone, first.url
        self.cloud_url = f'{first.cloud_url}/regions/{region}'
        self._catalogued = {'orchestration': f'{listed or url}/v1/%(project_id)s', 'cloudformation': f'{cfn_url}/v1',
                            'cloudwatch': f'{cloudwatch_url}/v1'}

    def __enter__(self) -> InRegion:
        self.list()
        return self

    def list(self) -> None:
        """Puts the APIs into the catalogue."""
        status, found = ask('POST', f'{self.cloud_url}/_sim/catalog', self._catalogued)
        assert status == 200, found

    def __exit__(self, *_error: object) -> None:
        """The cloud is the first region's to stop."""

    def options(self) -> options.Sections:
        return options.identity(self.url, self.region, 'admin', 'admin', 'heat')


def remove(keystone: adapter.Adapter, path: str) -> None:
    with suppress(exceptions.NotFound):
        service.retry_until_available(lambda: keystone.delete(path))
