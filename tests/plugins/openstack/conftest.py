from __future__ import annotations

import contextlib
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
import requests

from heatlite.common import runtime
from heatlite.engine.clients import own_logins, sessions
from heatlite.engine.types import registry
from tests.plugins.openstack.cloud import MADE_BY_SERVICES, Cloud

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture(scope='session')
def simulator() -> Iterator[str]:
    """The URL of a simulated cloud, in a process of its own, whose clock moves only when it is told to."""
    process = subprocess.Popen([sys.executable, '-m', 'cloudsim', '--port', '0'], cwd=ROOT,
                               stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        url = re.search(r'http://\S+', line).group()
        requests.post(f'{url}/_sim/clock', json={'stopped': True}, timeout=10).raise_for_status()
        yield url
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """The clock that a life (`cloud.Life`) sets is not the next test's."""
    before = runtime.current()
    yield
    runtime.use(before)


@pytest.fixture
def cloud(simulator: str) -> Iterator[Cloud]:
    """What is in the cloud at the end of a test must be what was there before."""
    registry.create()
    found = Cloud(simulator)
    with nothing_left(found):
        yield found
        found.clear_faults()
    own_logins.forget()                 # tests configure different ones
    registry.use(None)


@pytest.fixture(scope='module', autouse=True)
def clean_module(simulator: str) -> Iterator[None]:
    """The same for what the fixtures of a module make."""
    with nothing_left(Cloud(simulator)):
        yield


@contextlib.contextmanager
def nothing_left(cloud: Cloud) -> Iterator[None]:
    """The modules of one process share a cloud, in an order that differs from run to run."""
    before = cloud.ids()
    yield
    left = {kind: ids - before.get(kind, set()) for kind, ids in cloud.ids().items()
            if not kind.startswith(MADE_BY_SERVICES) and ids - before.get(kind, set())}
    assert not left, 'left in the cloud'


@pytest.fixture(scope='session', autouse=True)
def fresh_connections() -> Iterator[None]:
    yield
    sessions.forget()
