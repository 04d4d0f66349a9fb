"""A simulated cloud as tests see it, and the life of one resource in it."""

from __future__ import annotations

import itertools
import re
from typing import Any

import requests

from heatlite.common import runtime as runtimes
from heatlite.common.context import RequestContext
from heatlite.engine import clients
from tests.plugins import bench

SEEDS = itertools.count(100)                # so that no two resources get the same physical name
VERSION = re.compile(r'v\d+(\.\d+)?')
# Made by services themselves: the default group of a project, the secret of an order.
MADE_BY_SERVICES = ('network.security-group', 'key-manager.secrets')
WRITING = ('POST', 'PUT', 'PATCH', 'DELETE')


class CloudRuntime(bench.SteppedRuntime):
    """When somebody sleeps, the cloud's clock moves on."""

    def __init__(self, cloud: Cloud) -> None:
        super().__init__(next(SEEDS))
        self._cloud = cloud

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self._cloud.advance(seconds)


class Cloud:
    def __init__(self, url: str, user: str = 'demo') -> None:
        """`user`: demo or admin, in the project of the same name."""
        self.url = url
        self.runtime = CloudRuntime(self)           # one clock for all that lives in it
        self._seen = 0
        self._user = user
        self.context = RequestContext(username=user, password='secret', auth_url=f'{url}/v3', overwrite=False,
                                      project_id=None, user_domain_id='default', region_name='RegionOne')
        self.context.project_id, self.context.user_id = self._project_and_user()

    def _project_and_user(self) -> tuple[str, str]:
        asked = requests.post(f'{self.url}/v3/auth/tokens', timeout=10, json={'auth': {
            'identity': {'methods': ['password'], 'password': {'user': {
                'name': self._user, 'domain': {'id': 'default'}, 'password': 'secret'}}},
            'scope': {'project': {'name': self._user, 'domain': {'id': 'default'}}}}})
        token = asked.json()['token']
        return token['project']['id'], token['user']['id']

    # --- behind the counter -------------------------------------------------------------------------------

    def _sim(self, method: str, path: str, **kwargs: Any) -> Any:
        answer = requests.request(method, f'{self.url}/_sim/{path}', timeout=10, **kwargs)
        assert answer.ok, answer.text
        return answer.json()

    def advance(self, seconds: float) -> None:
        self._sim('POST', 'clock', json={'advance': seconds})

    def fault(self, **rule: Any) -> None:
        self._sim('POST', 'faults', json=rule)

    def clear_faults(self) -> None:
        self._sim('DELETE', 'faults')

    def requests(self) -> list[tuple[str, str, str, int]]:
        """(service, method, path, status) of what was asked since `forget_requests`, oldest first."""
        found = self._sim('GET', 'requests', params={'limit': 1000})
        new = found['total'] - self._seen
        return [tuple(each[:4]) for each in found['last'][-new:]] if new else []

    def forget_requests(self) -> None:
        self._seen = self._sim('GET', 'requests')['total']

    def writes(self) -> list[str]:
        """Method and collection of every writing request, ids left out."""
        return [f'{method} {plain(path)}' for service, method, path, _status in self.requests()
                if method in WRITING and service != 'identity']

    def count(self, kind: str) -> int:
        """Of living things, such as `compute.servers`."""
        return int(self._sim('GET', f'objects/{kind}')['objects'][kind]['count'])

    def ids(self) -> dict[str, set[str]]:
        """Of everything that lives, by service and kind."""
        return {kind: set(found['ids']) for kind, found in self._sim('GET', 'objects')['objects'].items()}

    # --- as a user ----------------------------------------------------------------------------------------

    def plugin(self, name: str) -> Any:
        return clients.of(self.context).client_plugin(name)

    def client(self, name: str) -> Any:
        return self.plugin(name).client()

    def network(self, name: str = 'private') -> str:
        return str(self.plugin('neutron').find_resourceid_by_name_or_id('network', name))


class Stack(bench.Stack):
    """With a project for the users inside it, and rows of replacements."""

    stack_user_project_id: str | None = None

    def __init__(self, runtime: Any, context: RequestContext) -> None:
        super().__init__(runtime)
        self.context = context
        self.rows: dict[int, str] = {}

    def physical_id_of(self, row_id: int) -> str | None:
        return self.rows.get(row_id)

    def user_project(self, make: Any, unmake: Any) -> str:
        if self.stack_user_project_id is None:
            self.stack_user_project_id = make(self.id)
        return self.stack_user_project_id

    def register_access_allowed_handler(self, credential_id: Any, handler: Any) -> None:
        assert handler is not None

    def give_up_project(self) -> None:
        if self.stack_user_project_id not in (None, self.context.project_id):
            clients.of(self.context).client('keystone').delete_stack_domain_project(self.stack_user_project_id)
            self.stack_user_project_id = None


class Life(bench.Bench):
    """One resource in the cloud, driven as an engine would."""

    def __init__(self, cloud: Cloud, type_name: str, properties: dict[str, Any] | None = None, name: str = 'r',
                 **parts: Any) -> None:
        super().__init__(type_name, properties, name, runtime=cloud.runtime, **parts)
        runtimes.use(self.runtime)
        self.cloud = cloud
        self.stack = Stack(self.runtime, cloud.context)

    @property
    def physical_id(self) -> str | None:
        self.fresh(str(self.record.state.action), str(self.record.state.status))
        return self.record.state.physical_id

    def attribute(self, name: str, *path: Any) -> Any:
        return self.fresh('CREATE', 'COMPLETE').FnGetAtt(name, *path)

    def delete(self) -> None:
        self.run('DELETE')
        self.fresh('DELETE', 'COMPLETE')
        self.stack.give_up_project()

    def drift(self, properties: dict[str, Any]) -> dict[str, Any]:
        """What would be changed, compared with the real thing."""
        old = self.fresh('CREATE', 'COMPLETE')
        return dict(old.changes(old.observe(old.compare(self.define(properties))))[1])

    def writes_of(self, act: Any, *arguments: Any, **more: Any) -> list[str]:
        """The writing requests that `act` leads to."""
        self.cloud.forget_requests()
        act(*arguments, **more)
        return self.cloud.writes()


def plain(path: str) -> str:
    """`/v2.0/ports/0d2f...` -> `/ports/ID`."""
    parts = ['ID' if len(part) >= 32 else part for part in path.split('/')]
    return '/'.join(part for part in parts if not VERSION.fullmatch(part))
