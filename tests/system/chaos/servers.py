"""Servers of our own, which are killed and restarted without others noticing: a database and a broker, or several nodes
of each."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import psutil

from tests.system.processes import ROOT

TOOL = ROOT / 'tools' / 'services'
# Of tools/services, to which the offset is added; the other lines are those of clusters.
EPMD_PORT = 14369
FRONT_PORT, CFN_PORT, KEYSTONE_PORT = 13327, 13329, 15000
PORTS = (13306, 15673, 16673, EPMD_PORT, FRONT_PORT, 13328, CFN_PORT, KEYSTONE_PORT,
         *range(13316, 13319), *range(14567, 14576),
         *range(15683, 15686), *range(16683, 16686), *range(15442, 15444))
# All stay below 32768. From there on the system gives ports to outgoing connections, and one of those would sooner or
# later sit on the port of a server that is down just now.
OFFSETS = (1000, 12000)
# A node of Galera needs 200 MB, and half an hour of chaos 100 more. A PostgreSQL needs 50 MB, 256 MB for its log, and
# what it keeps of that for a stand-by that is away.
SMALL_DISK = '900m'
MONITOR = 'rabbit_node_monitor'
WHOLE_BROKER = (f'[{{rabbit:is_running(N), rpc:call(N, {MONITOR}, partitions, []), '
                f'element(7, rpc:call(N, sys, get_state, [{MONITOR}]))}} || N <- lists:sort([node() | nodes()])].')
ASKED = f'{{rabbit:is_running(), nodes(), sys:get_state({MONITOR}), whereis(rabbit_outside_app_process)}}.'
RABBITMQCTL = '/usr/lib/rabbitmq/bin/rabbitmqctl'


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
    def __init__(self, *servers: str, on_small_disk: str = '') -> None:
        """`servers`: names that tools/services knows; a MariaDB and a RabbitMQ by default. `on_small_disk`: a node of
        the database, not the first one, whose data is on a file system of its own, if this is root."""
        self._folder = Path(tempfile.mkdtemp(prefix='heatlite-servers-'))
        self._folder.chmod(0o755)               # root's servers run as users of their own, who have to get in
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith('HEATLITE_')},
            'HEATLITE_SERVICES_DIR': str(self._folder / 'services'), 'HEATLITE_PORT_OFFSET': str(_free_offset()),
            'HEATLITE_SERVICES_PATIENCE': '300'}    # how long a server starts is not what is looked at here
        self.on_small_disk = on_small_disk if os.geteuid() == 0 else ''
        if self.on_small_disk:
            self._mount(self._data_of(self.on_small_disk))
        try:
            exports = self._run_tool('up', *(servers or ('mariadb', 'rabbit')))
        except BaseException:                   # on a busy machine, one of them may not start in time
            self.close()
            raise
        self._urls = dict(line.removeprefix('export ').split('=', 1) for line in exports.splitlines())

    @property
    def folder(self) -> Path:
        """Of tools/services."""
        return self._folder / 'services'

    def port(self, number: int) -> int:
        """Of these servers, for one that tools/services has without an offset."""
        return number + int(self._environment['HEATLITE_PORT_OFFSET'])

    @property
    def memcached(self) -> str:
        return self._urls['HEATLITE_TEST_MEMCACHED'].strip("'")

    @property
    def database_url(self) -> str:
        return self._urls['HEATLITE_TEST_MYSQL_URL'].strip("'")

    @property
    def nodes(self) -> list[str]:
        """The URLs of the nodes of the cluster."""
        return self._urls['HEATLITE_TEST_GALERA_URLS'].strip("'").split()

    @property
    def postgreses_url(self) -> str:
        """With the primary and the stand-by."""
        return self._urls['HEATLITE_TEST_POSTGRESES_URL'].strip("'")

    @property
    def primary(self) -> str:
        """The name of the PostgreSQL that accepts writes."""
        found = self._folder / 'services' / 'postgres-primary'
        return found.read_text().strip() if found.exists() else 'postgres1'

    @property
    def standby(self) -> str:
        return 'postgres2' if self.primary == 'postgres1' else 'postgres1'

    @property
    def rabbit_url(self) -> str:
        return self._urls['HEATLITE_TEST_RABBIT_URL'].strip("'")

    @property
    def rabbits_url(self) -> str:
        """With all nodes of the broker's cluster."""
        return self._urls['HEATLITE_TEST_RABBITS_URL'].strip("'")

    def signal(self, server: str, number: int) -> None:
        """Sends a signal to all processes of a server: the first one of RabbitMQ is a shell, and each of PostgreSQL
        has a process group of its own."""
        first = int((self._folder / 'services' / 'run' / server).read_text())
        os.killpg(first, number)
        if server.startswith('postgres'):
            for process in psutil.Process(first).children():
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)

    def kill(self, server: str) -> None:
        self._run_tool('kill', server)

    def stop(self, server: str) -> None:
        self._run_tool('down', server)

    def start(self, server: str) -> None:
        self._run_tool('up', server)

    def promote(self, server: str) -> None:
        """Makes the stand-by the primary. The former one is ended, unless it stands still."""
        self._run_tool('promote', server)

    def go_alone(self) -> None:
        """Ends the stand-by, and lets the primary no longer wait for it."""
        self._run_tool('alone')

    def fill_disk(self) -> None:
        """Leaves no room on the small disk."""
        with suppress(OSError), self._filler.open('wb') as filler:
            while True:
                filler.write(bytes(1 << 20))
                filler.flush()

    def empty_disk(self) -> None:
        """Gives the room back; the node that has lost its data may have ended meanwhile."""
        self._filler.unlink(missing_ok=True)

    def fill_broker(self, server: str, is_full: bool) -> None:
        """Makes a node of the broker find less room on its disk than it needs, or enough again."""
        self._ask_broker(server, 'set_disk_free_limit', '1000GB' if is_full else '10MB')

    def is_broker_whole(self) -> bool:
        """Whether all nodes of the broker serve and see each other, none has a database of its own, and none is about
        to be restarted for that reason: what the next fault interrupts there is tried again only after a minute."""
        try:
            said = self._ask_broker('rabbit1', 'eval', WHOLE_BROKER)
        except subprocess.SubprocessError:
            return False
        return ''.join(said.split()) == f"[{','.join(['{true,[],not_healing}'] * len(self.rabbits_url.split(',')))}]"

    def broker_report(self) -> str:
        """What each node of the broker says of the cluster, and the end of its log."""
        lines = []
        for server in ('rabbit1', 'rabbit2', 'rabbit3'):
            try:
                said = self._ask_broker(server, 'eval', ASKED).strip()
            except subprocess.SubprocessError as error:
                said = repr(error)
            lines.append(f'{server}: {ASKED} {" ".join(said.split())}')
            log = (self.folder / 'log' / server).read_text(errors='replace').splitlines()
            lines += [f'{server}: {line}' for line in log if '[warning]' in line or '[error]' in line][-25:]
        return '\n'.join(lines)

    def _ask_broker(self, server: str, *words: str) -> str:
        """What the command of a node of the broker prints. Raises SubprocessError if it fails or takes a minute. It
        starts a virtual machine, for which ten seconds were too few while all cores were busy."""
        url = self.rabbits_url.split(',')[int(server[-1]) - 1]
        environment = {**self._environment, 'HOME': str(self.folder / 'rabbit-home'),
                       'ERL_EPMD_PORT': str(self.port(EPMD_PORT)), 'RABBITMQ_CONF_ENV_FILE': '/none'}
        node = f"heatlite{url.rstrip('/').rpartition(':')[2]}@localhost"
        return subprocess.run([RABBITMQCTL, '-n', node, *words], env=environment, check=True, capture_output=True,
                              text=True, timeout=60).stdout

    def close(self) -> None:
        if self.on_small_disk:
            self._run_tool('down')
            subprocess.run(['umount', self._data_of(self.on_small_disk)], check=True)
        self._run_tool('purge')
        shutil.rmtree(self._folder, ignore_errors=True)

    def _data_of(self, server: str) -> Path:
        return self._folder / 'services' / server

    @property
    def _filler(self) -> Path:
        return self._data_of(self.on_small_disk) / 'filler'

    def _mount(self, data: Path) -> None:
        data.mkdir(parents=True)
        subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={SMALL_DISK}', 'none', data], check=True)
        if self.on_small_disk.startswith('galera'):
            (data / '.complete').touch()        # else tools/services would remove it
            shutil.chown(data, 'mysql', 'mysql')

    def _run_tool(self, *words: str) -> str:
        done = subprocess.run([TOOL, *words], env=self._environment, capture_output=True, text=True)
        assert done.returncode == 0, f'tools/services {" ".join(words)}: {done.stderr}'
        return done.stdout
