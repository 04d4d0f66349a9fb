"""The common part of the API programs: options, workers, the socket, the server.

An API process holds no state: it may be killed at any time, and there may be any number.
"""

from __future__ import annotations

import importlib
import logging
import socket
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from heatlite.cmd.workers import WorkerParameters, become, log_file, refused, supervise

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

LOG = logging.getLogger(__name__)

GRACE = 10.0        # seconds for running requests after SIGTERM


def main(program: str, module: str, group: str, deploy: str, arguments: Sequence[str] | None, description: str) -> int:
    """Serve `build(conf, database, engine_client)` of module `deploy`, configured by the options in `group`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    worker = WorkerParameters.here()
    if worker is not None:
        from heatlite.common import runtime
        runtime.patch()                       # before anything that has a lock or a socket
        return refused(worker, lambda: work(
            load(program, arguments, description), group, worker, deploy, program))
    return refused(None, lambda: lead(program, module, group, arguments, description))


def lead(program: str, module: str, group: str, arguments: Sequence[str], description: str) -> int:
    """Become the only worker, or the parent of the workers."""
    conf = load(program, arguments, description)
    count = conf[group].workers if conf.workers is None else conf.workers
    if count <= 1:
        become(module, arguments)
    from heatlite.cmd import parts
    parts.check_database(conf)
    with _listen(conf[group]) as listening:
        return supervise(module, arguments, count, GRACE + 5.0, listening.fileno(), log_file=log_file(conf),
                         logs_json=conf.use_json)


def load(program: str, arguments: Sequence[str], description: str) -> ConfigOpts:
    from oslo_config import cfg

    from heatlite.cmd import keys
    from heatlite.common import config
    conf = config.load(arguments, program, command_line=[
        cfg.IntOpt('workers', min=0, help='Processes; stronger than the option of the same name in the file.')],
        description=description)
    keys.check(conf)
    return conf


def work(conf: ConfigOpts, group: str, worker: WorkerParameters, deploy: str, program: str) -> int:
    """Serve in this process until a signal stops it."""
    from heatlite.cmd import keys, parts, signals
    from heatlite.common import messaging, tracing
    from heatlite.common.green_threads import GreenRuntime
    from heatlite.common.http_server import HttpServer
    from heatlite.common.limits import Connections
    from heatlite.engine.types import template_extensions
    from heatlite.rpc import cells
    from heatlite.rpc.client import BrokerClient
    from heatlite.rpc.engine_life import EngineLife

    options = conf[group]
    if not worker.has_parent:               # which has checked it
        parts.check_database(conf)
    inbox = signals.Inbox(within=GRACE + 5.0)
    parts.watch_parent(runtime := GreenRuntime(), worker)
    if worker.socket is None:
        listening = _listen(options)
    else:
        listening = socket.socket(fileno=worker.socket)
    deployment = importlib.import_module(deploy)
    template_extensions.install()           # the API lists them
    database = parts.database(conf)
    runtime.spawn(keys.watch, conf, database, runtime)
    transport = messaging.transport(conf, f'heatlite-api-{options.bind_port}-{worker.number}')
    with parts.checking_contents():
        tracing.start(conf, program.removeprefix('heatlite-'))
        others = cells.clients(conf, f'heatlite-api-{options.bind_port}-{worker.number}')
        for each in others.values():
            runtime.spawn(keys.watch, conf, each.database, runtime)
        application = deployment.build(conf, database, BrokerClient(
            conf, transport, engines=EngineLife(database)), others=others)
    server = HttpServer(listening, application, Connections.of(options, conf.max_json_body_size),
                        tls=parts.tls(options.cert_file, options.key_file), refusal=deployment.refusal)
    parts.settle(runtime)
    server.start()
    LOG.info('Listening on %s port %d', options.bind_host, options.bind_port)
    signals.until_stopped(inbox, parts.reload(conf))
    server.stop(GRACE)
    tracing.stop()
    for used in (database, *(cell.database for cell in others.values())):
        used.close()
    return 0


def _listen(options: ConfigOpts.GroupAttr) -> socket.socket:
    from heatlite.cmd import parts
    return parts.listen(options.bind_host, options.bind_port, options.backlog, options.tcp_keepidle)
