"""A heatlite-all that works in a cloud, and what a client may ask of it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import requests

from tests.cloud.clouds import Cloud
from tests.system.processes import Program, free_port

PATIENCE = float(os.environ.get('HEATLITE_TEST_CLOUD_PATIENCE', '180'))     # seconds for one action of a stack
PAUSE = 0.15                                                                # seconds between two looks, at least
GONE = 'DELETE_COMPLETE'


class Deployment:
    """`url`: with the project; `token`: where somebody asks for one; `process`: its id, if it is on this machine."""

    def __init__(self, url: str, token: str | None = None, process: int | None = None) -> None:
        self.url = url
        self.process = process
        self._headers = {'X-Auth-Token': token} if token else {}

    def _request(self, method: str, path: str, body: Any = None) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False       # several threads, while pytest changes `os.environ`, where proxies are
            return session.request(method, f'{self.url}{path}', json=body, headers=self._headers, timeout=PATIENCE)

    def ask(self, method: str, path: str, expected: int, body: Any = None) -> Any:
        answer = self._request(method, path, body)
        assert answer.status_code == expected, f'{method} {path}: {answer.status_code} {answer.text[:2000]}'
        return answer.json() if answer.headers.get('Content-Type', '').startswith('application/json') else None

    def create(self, name: str, template: dict[str, Any], **more: Any) -> str:
        """The path of a stack that has begun."""
        made = self.ask('POST', '/stacks', 201, {
            'stack_name': name, 'template': template, 'disable_rollback': True, **more})
        return f'/stacks/{name}/{made["stack"]["id"]}'

    def update(self, stack: str, template: dict[str, Any], **more: Any) -> str:
        self.ask('PUT', stack, 202, {'template': template, **more})
        return self.settled(stack)

    def act(self, stack: str, action: str) -> str:
        self.ask('POST', f'{stack}/actions', 200, {action: None})
        return self.settled(stack)

    def delete(self, stack: str, patience: float = PATIENCE) -> str:
        self.ask('DELETE', stack, 204)
        return self.settled(stack, patience)

    def stack(self, stack: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask('GET', stack, 200)['stack']
        return found

    def settled(self, stack: str, patience: float = PATIENCE) -> str:
        """The status in which the action ended. `patience`: seconds."""
        return str(eventually(f'the end of the action on {stack}', lambda: self._ended(stack), patience))

    def _ended(self, stack: str) -> str | None:
        answer = self._request('GET', stack)
        if answer.status_code == 404:
            return GONE
        status = str(answer.json()['stack']['stack_status'])
        return None if status.endswith('IN_PROGRESS') else status

    def resource(self, stack: str, name: str, attributes: tuple[str, ...] = ()) -> dict[str, Any]:
        query = ''.join(f'{"&" if number else "?"}with_attr={each}' for number, each in enumerate(attributes))
        found: dict[str, Any] = self.ask('GET', f'{stack}/resources/{name}{query}', 200)['resource']
        return found

    def resources(self, stack: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask('GET', f'{stack}/resources?nested_depth=5', 200)['resources']
        return found

    def why(self, stack: str) -> str:
        """What the stack and its failed resources say about themselves."""
        answer = self._request('GET', stack)
        if answer.status_code == 404:
            return 'it is gone'
        said = [answer.json()['stack']['stack_status_reason']]
        said += [f'{each["resource_name"]}: {each["resource_status_reason"]}' for each in self.resources(stack)
                 if each['resource_status'].endswith('FAILED')]
        return '; '.join(said)


def eventually(what: str, done: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """The first true answer of `done()`. Asked less often the longer it takes: looking costs, too."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < patience:
        found = done()
        if found:
            return found
        time.sleep(max(PAUSE, waited / 100))
    raise AssertionError(f'{what} did not come within {patience:.0f} s')


@contextlib.contextmanager
def running(cloud: Cloud, folder: Path, at_once: int = 64) -> Iterator[Deployment]:
    """A heatlite-all of our own on a free port, which makes resources in `cloud`; `at_once`: requests to one of its
    services."""
    options = folder / 'options.conf'
    options.write_text('[DEFAULT]\nserver_keystone_endpoint_type = public\n' + (
        f'stack_user_domain_name = heat\nstack_domain_admin = heat_domain_admin\nstack_domain_admin_password = '
        f'{os.environ.get("HEATLITE_TEST_CLOUD_DOMAIN_PASSWORD", "secret")}\n'
        if 'stack_users' in cloud.abilities else '') + f'[clients]\nmax_requests = {at_once}\n')
    port = free_port()
    program = Program(folder / 'log', '--state-dir', folder / 'state', '--port', port, '--config-file', options,
                      module='heatlite.cmd.all_in_one', **cloud.environment)
    try:
        assert program.process.stdout.readline(), program.log.read_text()
        yield Deployment(f'http://127.0.0.1:{port}/v1/admin', process=program.process.pid)
    finally:
        program.kill()
