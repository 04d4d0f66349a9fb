"""A Keystone of a run's own, with three workers, and those who log in to it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3

from tests.system import identities, options, service
from tests.system.processes import ROOT, ask

TOOL = ROOT / 'tools' / 'keystone'
WORKERS = 3
RENEWED = 30.0              # seconds after which a user takes another token, which the APIs do not know
WAITS = 10.0                # seconds that a user waits for one


class Member:
    """Sends requests with a token. When Keystone gives no other one, the former token is good for hours."""

    def __init__(self, keystone: str, name: str) -> None:
        """`name`: of the user and of the project."""
        self._person = identities.found(service.admin(keystone), name, name)
        self.project_id = self._person.project_id
        self._lock = threading.Lock()
        self._token = ''
        self._until = 0.0

    def ask(self, method: str, url: str, body: Any = None) -> tuple[int, Any]:
        return ask(method, url, body, {'X-Auth-Token': self._current()})

    def key(self) -> tuple[str, str]:
        """(access, secret) for signatures of AWS."""
        return self._person.ec2

    def forget(self) -> None:
        """The next request needs another token."""
        self._token = ''

    def _current(self) -> str:
        with self._lock:
            if not self._token or time.monotonic() > self._until:
                try:
                    self._token = self._issued()
                except exceptions.ClientException as error:
                    if not self._token:
                        raise OSError(str(error)) from error
                self._until = time.monotonic() + RENEWED
            return self._token

    def _issued(self) -> str:
        person = self._person
        return str(session.Session(timeout=WAITS, auth=v3.Password(
            auth_url=person.auth_url, user_id=person.user_id, password=person.password,
            project_id=person.project_id)).get_token())


class Keystone:
    def __init__(self, folder: Path, port: int, api_port: int) -> None:
        """`folder`: of its data; the packages are those of the Keystone that other tests use. `api_port`: of the
        orchestration API in its catalogue."""
        self._folder = folder
        packages = Path(os.environ.get('HEATLITE_TEST_KEYSTONE_DIR')
                        or Path(tempfile.gettempdir(), 'heatlite-keystone'))
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith('HEATLITE_')},
            'HEATLITE_KEYSTONE_DIR': str(folder), 'HEATLITE_KEYSTONE_VENV': str(packages / 'venv'),
            'HEATLITE_KEYSTONE_PORT': str(port), 'HEATLITE_API_PORT': str(api_port),
            'HEATLITE_KEYSTONE_WORKERS': str(WORKERS)}
        self.url = f'http://127.0.0.1:{port}/v3'
        self.start()

    def options(self) -> options.Sections:
        """How heatlite logs in."""
        return options.identity(self.url, 'RegionOne', 'heatlite', 'service', 'heatlite', 'service')

    def start(self) -> None:
        self._run_tool('up')

    def signal(self, number: int) -> None:
        """Sends a signal to all its processes."""
        os.killpg(self._first, number)

    def kill_a_worker(self, dice: random.Random) -> None:
        """Its parent starts another one."""
        with suppress(psutil.NoSuchProcess):
            dice.choice(psutil.Process(self._first).children()).kill()

    def close(self) -> None:
        with suppress(OSError, ValueError):
            self.signal(signal.SIGCONT)
        self._run_tool('purge')

    @property
    def _first(self) -> int:
        return int((self._folder / 'pid').read_text())

    def _run_tool(self, command: str) -> None:
        done = subprocess.run([TOOL, command], env=self._environment, capture_output=True, text=True)
        assert done.returncode == 0, f'tools/keystone {command}: {done.stderr}'
