"""Servers of our own, which are killed and restarted without others noticing: a database and a broker, or three nodes
of each."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

from tests.system.processes import ROOT

TOOL = ROOT / 'tools' / 'services'
# Of tools/services, to which the offset is added; the other lines are those of clusters.
PORTS = (13306, 15673, 16673, 14369,
         *range(13316, 13319), *range(14567, 14576),
         *range(15683, 15686), *range(16683, 16686))
# All stay below 32768. From there on the system gives ports to outgoing connections, and one of those would sooner or
# later sit on the port of a server that is down just now.
OFFSETS = (1000, 12000)


def are_possible() -> bool:
    """The servers are installed, or this is root, who installs them."""
    return os.geteuid() == 0 or bool(shutil.which('mariadbd') and Path('/usr/lib/rabbitmq/bin').exists())


def _free_offset() -> int:
    while True:
        offset = random.randrange(*OFFSETS)
        if not any(_is_taken(port + offset) for port in PORTS):
            return offset


def _is_taken(port: int) -> bool:
    with closing(socket.socket()) as asked:
        return asked.connect_ex(('127.0.0.1', port)) == 0


class Servers:
    def __init__(self, *servers: str) -> None:
        """`servers`: names that tools/services knows; a MariaDB and a RabbitMQ by default."""
        self._folder = Path(tempfile.mkdtemp(prefix='heatlite-servers-'))
        self._folder.chmod(0o755)               # root's servers run as users of their own, who have to get in
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith('HEATLITE_')},
            'HEATLITE_SERVICES_DIR': str(self._folder / 'services'), 'HEATLITE_PORT_OFFSET': str(_free_offset()),
            'HEATLITE_SERVICES_PATIENCE': '300'}    # how long a server starts is not what is looked at here
        told = self._tell('up', *(servers or ('mariadb', 'rabbit')))
        self._urls = dict(line.removeprefix('export ').split('=', 1) for line in told.splitlines())

    @property
    def database_url(self) -> str:
        return self._urls['HEATLITE_TEST_MYSQL_URL'].strip("'")

    @property
    def nodes(self) -> list[str]:
        """The URLs of the nodes of the cluster."""
        return self._urls['HEATLITE_TEST_GALERA_URLS'].strip("'").split()

    @property
    def rabbit_url(self) -> str:
        return self._urls['HEATLITE_TEST_RABBIT_URL'].strip("'")

    @property
    def rabbits_url(self) -> str:
        """With all nodes of the broker's cluster."""
        return self._urls['HEATLITE_TEST_RABBITS_URL'].strip("'")

    def signal(self, server: str, number: int) -> None:
        """Sends a signal to the server's process."""
        os.kill(int((self._folder / 'services' / 'run' / server).read_text()), number)

    def kill(self, server: str) -> None:
        self._tell('kill', server)

    def stop(self, server: str) -> None:
        self._tell('down', server)

    def start(self, server: str) -> None:
        self._tell('up', server)

    def close(self) -> None:
        self._tell('purge')
        shutil.rmtree(self._folder, ignore_errors=True)

    def _tell(self, *words: str) -> str:
        told = subprocess.run([TOOL, *words], env=self._environment, capture_output=True, text=True)
        assert told.returncode == 0, f'tools/services {" ".join(words)}: {told.stderr}'
        return told.stdout
