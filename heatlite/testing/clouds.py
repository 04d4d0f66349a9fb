"""Where the types that are checked make their things: a simulated OpenStack, an author's stand-in, or nowhere."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib import request

from oslo_config import cfg

from heatlite.engine.clients import own_logins, sessions
from heatlite.testing.examples import Examples, ExamplesError

Thing: TypeAlias = object
"""(kind, id), or whatever a stand-in says."""

State: TypeAlias = Mapping[str, Any]
"""Everything that a cloud stores: `objects`, lists of objects by kind; other words have maps of values."""

PASSWORD = 'secret'
STACK_USERS = {'stack_user_domain_name': 'heat', 'stack_domain_admin': 'heat_domain_admin',
               'stack_domain_admin_password': PASSWORD}


class Cloud(Protocol):
    project_id: str

    @property
    def parameters(self) -> Mapping[str, str]:
        """Of the stacks in which types are tried."""

    def things(self) -> list[Thing] | None:
        """Return what exists; None: unknown."""

    def state(self) -> State | None:
        """Everything that it stores: {'objects': {kind: [{'id':, ...}]}, ...}; None: it cannot be read."""

    def reset(self) -> None:
        """Remove everything that was made since its start."""

    def writes(self) -> int | None:
        """How many changes were asked for so far; None: look at the requests."""

    def advance(self, seconds: float) -> None:
        """So much of the types' time has passed."""


class Nowhere:
    project_id = 'p'
    parameters: Mapping[str, str] = {}

    def things(self) -> list[Thing] | None:
        return None

    def state(self) -> Mapping[str, object] | None:
        return None

    def reset(self) -> None:
        pass

    def writes(self) -> int | None:
        return None

    def advance(self, seconds: float) -> None:
        pass


class StandIn:
    """What an author's function yielded, missing methods filled in."""

    project_id = 'p'

    def __init__(self, given: object) -> None:
        self._given = given

    def things(self) -> list[Thing] | None:
        found = getattr(self._given, 'things', None)
        return list(found()) if found is not None else None

    def state(self) -> Mapping[str, object] | None:
        found = getattr(self._given, 'state', None)
        return found() if found is not None else None

    def reset(self) -> None:
        found = getattr(self._given, 'reset', None)
        if found is not None:
            found()

    def writes(self) -> int | None:
        found = getattr(self._given, 'writes', None)
        return int(found()) if found is not None else None

    def advance(self, seconds: float) -> None:
        found = getattr(self._given, 'advance', None)
        if found is not None:
            found(seconds)

    @property
    def parameters(self) -> Mapping[str, str]:
        return dict(getattr(self._given, 'parameters', None) or {})

    @property
    def services(self) -> Mapping[str, str]:
        return dict(getattr(self._given, 'services', None) or {})


class Simulated:
    """The simulated OpenStack behind its URL. Its clock stands still until `advance`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._ask('POST', '/_sim/clock', {'stopped': True})
        answer = self._ask('POST', '/v3/auth/tokens', {'auth': {
            'identity': {'methods': ['password'], 'password': {'user': {
                'name': 'admin', 'domain': {'id': 'default'}, 'password': PASSWORD}}},
            'scope': {'project': {'name': 'admin', 'domain': {'id': 'default'}}}}})
        self.project_id: str = answer['token']['project']['id']
        self._beside: StandIn | None = None

    def beside(self, stand_in: StandIn | None) -> None:
        """Another service in its catalogue, whose things count too."""
        self._beside = stand_in
        if stand_in is not None and stand_in.services:
            self._ask('POST', '/_sim/catalog', dict(stand_in.services))

    @property
    def parameters(self) -> Mapping[str, str]:
        return self._beside.parameters if self._beside else {}

    def things(self) -> list[Thing] | None:
        found = self._ask('GET', '/_sim/objects')['objects']
        own = [(kind, ident) for kind, listed in found.items() for ident in listed['ids']]
        return own + list((self._beside.things() if self._beside else None) or ())

    def state(self) -> Mapping[str, object]:
        found: dict[str, object] = self._ask('GET', '/_sim/state')
        beside = self._beside.state() if self._beside else None
        return {**found, 'beside': beside} if beside is not None else found

    def reset(self) -> None:
        self._ask('POST', '/_sim/reset', {})
        self._ask('POST', '/_sim/clock', {'stopped': True})
        _forget_tokens()
        if self._beside is not None:
            self._beside.reset()
            self.beside(self._beside)

    def writes(self) -> int | None:
        return None

    def advance(self, seconds: float) -> None:
        self._ask('POST', '/_sim/clock', {'advance': seconds})
        if self._beside is not None:
            self._beside.advance(seconds)

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        wanted = request.Request(self.url + path, json.dumps(body).encode() if body is not None else None,
                                 {'Content-Type': 'application/json'}, method=method)
        with request.urlopen(wanted, timeout=60) as answer:
            return json.loads(answer.read())


def _forget_tokens() -> None:
    sessions.forget()
    own_logins.forget()


@contextmanager
def of(examples: Examples) -> Iterator[Cloud]:
    """Yield the cloud the examples ask for, there while the types are checked."""
    with ExitStack() as stack:
        stand_in = None
        if examples.stand_in is not None:
            stand_in = StandIn(stack.enter_context(_function(*examples.stand_in)()))
        if examples.cloud is None:
            yield stand_in or Nowhere()
            return
        cloud = stack.enter_context(simulated())
        cloud.beside(stand_in)
        yield cloud


@contextmanager
def simulated() -> Iterator[Simulated]:
    """In a process of its own, with this one logged in to it as its administrator."""
    command = [sys.executable, '-m', 'cloudsim', '--port', '0', '--password', PASSWORD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        before = dict(os.environ)
        try:
            found = re.search(r'http://\S+', process.stdout.readline() if process.stdout else '')
            if found is None:
                raise ExamplesError('the simulated cloud did not start')
            for name in [name for name in os.environ if name.startswith('OS_')]:
                del os.environ[name]
            os.environ.update(
                OS_AUTH_URL=f'{found.group()}/v3', OS_USERNAME='admin', OS_PASSWORD=PASSWORD, OS_PROJECT_NAME='admin',
                OS_USER_DOMAIN_ID='default', OS_PROJECT_DOMAIN_ID='default', OS_REGION_NAME='RegionOne')
            for name, value in STACK_USERS.items():
                cfg.CONF.set_override(name, value)
            _forget_tokens()
            yield Simulated(found.group())
        finally:
            for name in STACK_USERS:
                cfg.CONF.clear_override(name)
            os.environ.clear()
            os.environ.update(before)
            _forget_tokens()
            process.terminate()


def _function(file: Path, name: str) -> Callable[[], AbstractContextManager[object]]:
    spec = importlib.util.spec_from_file_location(f'stand_in_{file.stem}', file)
    if spec is None or spec.loader is None:
        raise ExamplesError(f'{file} cannot be imported')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[], AbstractContextManager[object]] | None = getattr(module, name, None)
    if found is None:
        raise ExamplesError(f'{file} has no function {name}')
    return found
