"""heatlite-all: everything in one process, without other services. SQLite in a folder, HTTP on loopback.

The same code as in a cluster, except that API and engine are connected by a thread instead of a broker.
"""

from __future__ import annotations

import importlib
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heatlite.common.invalid_options import InvalidOptions
from heatlite.common.standard_output import ends_with_its_reader

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

    from heatlite.db.connection import Database

PROGRAM = 'heatlite-all'
HOST = '127.0.0.1'
GRACE = 5.0             # seconds for running requests after Ctrl-C
KEY_FILE = 'encryption-key'         # in the folder of the state
SIGNED = ('cfn', 'cloudwatch')      # the APIs with AWS's signatures, which only a Keystone can verify


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the console script. Returns an exit code."""
    from heatlite.common import runtime
    runtime.patch()                           # before anything that has a lock or a socket
    from heatlite.cmd.workers import refused
    from heatlite.common.exception import HeatException
    try:
        return refused(None, lambda: run(load(sys.argv[1:] if arguments is None else arguments)))
    except HeatException as error:          # a database of a newer release, for example
        print(f'{PROGRAM}: {error}', file=sys.stderr)
        return 1


def load(arguments: Sequence[str]) -> ConfigOpts:
    """Load options: defaults for one machine, overridden by files and `--set`, and these by options of this
    program."""
    from oslo_config import cfg

    from heatlite.cmd import keys
    from heatlite.common import config
    conf = config.load(arguments, PROGRAM, default_files=[], command_line=[
        cfg.StrOpt('state-dir', help='Folder of the database and the key; default: [embedded] state_dir.'),
        cfg.PortOpt('port', default=8004, help='Port on loopback; 0: any that is free. Default: 8004.'),
        cfg.PortOpt('cfn-port', default=0, help='Port of the CloudFormation API on loopback, which needs --auth '
                                                'keystone. Default: 0, any that is free.'),
        cfg.PortOpt('cloudwatch-port', default=0, help='Port of the CloudWatch API on loopback, which needs --auth '
                                                       'keystone. Default: 0, any that is free.'),
        cfg.StrOpt('auth', default='none', choices=['none', 'keystone'],
                   help='none: no authentication; every user of this host has all rights. keystone: as '
                        '[keystone_authtoken] says. Default: none.'),
        cfg.StrOpt('cloud', default='environment', choices=['environment', 'simulated'],
                   help='Where resources are made. environment: where OS_* or clouds.yaml say. simulated: in a cloud '
                        'in this process, which loses everything when it stops. Default: environment.'),
        cfg.PortOpt('cloud-port', default=0, help='Port of the simulated cloud. Default: 0, any that is free.')],
        description='API and engine in one process, with SQLite, on loopback.')
    for name in SIGNED:
        if conf[f'{name}_port'] and conf.auth != 'keystone':
            raise InvalidOptions(f'--{name}-port needs --auth keystone: callers of this API sign with keys of Keystone')
    state = state_dir(conf)
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SystemExit(f'The folder {state} cannot be made: {error.strerror}; --state-dir takes another') from None
    if conf.cells.names:
        raise InvalidOptions('[cells] names: heatlite-all has one database; other programs divide projects among '
                             'several')
    config.register_database(conf)
    conf.set_default('connection', f'sqlite:///{state}/heatlite.sqlite', group='database')
    alone(state)
    keys.load(conf)
    if not conf.auth_encryption_key:
        conf.set_override('auth_encryption_key', key(state))
    keys.check(conf)
    if conf.auth == 'none':
        conf.set_override('flavor', 'noauth', group='paste_deploy')
    conf.set_default('enabled', True, group='console')
    return conf


def state_dir(conf: ConfigOpts) -> Path:
    return Path(conf.state_dir or conf.embedded.state_dir).expanduser()


def alone(state: Path) -> None:
    """Lock the folder until this process ends; raises SystemExit with one line if another process has it."""
    import fcntl
    import os
    try:
        lock = os.open(state / 'lock', os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)     # freed with this process
    except OSError as error:
        raise SystemExit(f'The folder {state} cannot be written: {error.strerror}; --state-dir takes another') from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit(f'Another heatlite-all works in {state}: stop it, or take another --state-dir') from None


def key(state: Path) -> str:
    """Return the key of 32 characters that encrypts all secrets in this folder, made at first use.

    A new key is on the disk when this returns: what it encrypts is. Raises InvalidOptions if it is damaged.
    """
    import secrets

    from heatlite.common import crypt
    place = state / KEY_FILE
    if not place.exists():
        draft = place.with_suffix('.new')
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_hex(crypt.KEY_LENGTH // 2))
        _write_back(draft)
        draft.rename(place)
        _write_back(state)
    found = place.read_text(errors='replace').strip()
    if len(found) != crypt.KEY_LENGTH or not found.isascii():
        fault = f'has {len(found)} characters' if found.isascii() else 'has characters that are not ASCII'
        raise InvalidOptions(f'{place}: {fault}, and should have {crypt.KEY_LENGTH}: restore it from a backup. Without '
                             'it the secrets of the stacks in this folder cannot be read; --state-dir takes another '
                             'folder')
    return found


def _write_back(place: Path) -> None:
    """Return when a file, or the names in a folder, are on the disk."""
    import os
    opened = os.open(place, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _check_key(conf: ConfigOpts, database: Database) -> None:
    """End the process if the key is not that of the database; the line names the file, if the key is from one."""
    from heatlite.cmd import keys
    place = state_dir(conf) / KEY_FILE
    if place.exists() and place.read_text(errors='replace').strip() == conf.auth_encryption_key:
        keys.check_fits(conf, database, str(place))
    else:
        keys.check_fits(conf, database)


def run(conf: ConfigOpts) -> int:
    """Build the parts, serve until Ctrl-C or SIGTERM."""
    from heatlite.api import deploy
    from heatlite.cmd import parts, signals, simulated
    from heatlite.common import audit, messaging, tracing
    from heatlite.common.green_threads import GreenRuntime
    from heatlite.common.http_server import HttpServer
    from heatlite.common.limits import Connections, Limits
    from heatlite.db import engines, sync
    from heatlite.engine.notify import audited, notifications
    from heatlite.engine.service import EngineService
    from heatlite.language.functions import query
    from heatlite.rpc.client import InProcessClient

    inbox = signals.Inbox(within=conf.engine.stop_timeout + 2 * GRACE)
    runtime = GreenRuntime()
    with parts.checking_contents():
        tracing.start(conf, 'all')
    listening = parts.listen(HOST, conf.port, conf.heat_api.backlog, hint='; --port N takes another')
    port = listening.getsockname()[1]
    signed = _listen_for_signed(conf) if conf.auth == 'keystone' else {}
    ports = {name: each.getsockname()[1] for name, each in signed.items()}
    cloud = simulated.start(conf, runtime, port, ports.get('cfn', 0), ports.get('cloudwatch')
                            ) if conf.cloud == 'simulated' else None
    database = parts.database(conf)
    sync.up(database)
    _check_key(conf, database)
    with database.reader() as tx:           # the folder is locked: engines registered there are dead
        dead = [each.id for each in engines.page(tx)]
    parts.release_dead_engines(database, runtime, dead, parts.watch_itself(
        runtime, state_dir(conf) / 'activity', conf.engine.stall_timeout))
    notify = notifications.sender(conf, runtime) if messaging.has_notifications(conf) else notifications.silent
    with parts.checking_contents():
        notify = audited.recorded(notify, audit.of(conf, 'engine'))
        service = EngineService(conf, runtime, database, notify=notify)   # it is the only engine: no other one to wake
    query.warm_up(Limits.of(conf))
    client = InProcessClient(runtime, service.endpoint)
    with parts.checking_contents():
        application = deploy.build(conf, database, client)
        servers = [HttpServer(listening, application,
                              Connections.of(conf.heat_api, conf.max_json_body_size), refusal=deploy.refusal)]
        for name, listening in signed.items():
            deployment = importlib.import_module(f'heatlite.api.{name}.deploy')
            servers.append(HttpServer(listening, deployment.build(conf, database, client), Connections.of(
                conf[f'heat_api_{name}'], conf.max_json_body_size), refusal=deployment.refusal))
    service.start()
    parts.settle(runtime)
    for server in servers:
        server.start()
    greet(conf, port, ports, None if cloud is None else cloud[1])
    signals.until_stopped(inbox, parts.reload(conf, service.reload))
    for server in servers:
        server.stop(GRACE)
    service.stop()
    tracing.stop()
    if cloud is not None:
        cloud[0].stop(0.0)
    database.close()
    return 0


def _listen_for_signed(conf: ConfigOpts) -> dict[str, socket.socket]:
    """Return the sockets of the APIs in SIGNED, by name."""
    from heatlite.cmd import parts
    return {name: parts.listen(HOST, conf[f'{name}_port'], conf[f'heat_api_{name}'].backlog,
                               hint=f'; --{name}-port N takes another') for name in SIGNED}


def greet(conf: ConfigOpts, port: int, ports: Mapping[str, int], cloud_url: str | None) -> None:
    """Print the URLs and the environment variables for clients. `ports`: of the APIs with signatures, by name."""
    from heatlite.cmd import simulated
    url = f'http://{HOST}:{port}'
    print(f'heatlite listens on {url}', flush=True)
    if cloud_url is not None:
        print(f'A simulated cloud listens on {cloud_url}; what is in it: {cloud_url}/_sim/', flush=True)
    for name, what in (('cfn', 'Signals and CloudFormation'), ('cloudwatch', 'Metrics and CloudWatch')):
        if name in ports:
            print(f'{what} clients: http://{HOST}:{ports[name]}/v1', flush=True)
    if conf.console.enabled:
        print(f'The console, for a browser on this machine: {url}/console/', flush=True)
    if conf.auth == 'none':
        print(f'  export OS_AUTH_TYPE=none OS_ENDPOINT={url}/v1/admin', flush=True)
    elif cloud_url is not None:
        words = ' '.join(f'{name}={value}' for name, value in simulated.login(cloud_url).items())
        print(f'  export {words}', flush=True)
    print(f'  openstack stack create --template {example()} --wait hello\n'
          f'Ctrl-C stops it. Stacks stay in {state_dir(conf)}, for every heatlite-all of this user.', flush=True)
    if cloud_url is not None:
        print('The simulated cloud forgets its objects then: delete stacks that have some first.', flush=True)


def example() -> Path:
    """Return a template to begin with: of the checkout, or of the installed package."""
    name = Path('examples', 'hello.yaml')
    return name if name.exists() else Path(sys.prefix, 'share', 'heatlite', name)


if __name__ == '__main__':
    sys.exit(main())
