"""heatlite-engine: owns stacks and drives them. Runs on any number of hosts, `--workers` processes on each.

SIGTERM hands the stacks over and ends the process; SIGHUP reloads options marked as changeable, plug-ins and
environments.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from heatlite.cmd.workers import InvalidOptions, WorkerParameters, log_file, refused, supervise
from heatlite.common.standard_output import ends_with_its_reader

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

LOG = logging.getLogger(__name__)

MODULE = 'heatlite.cmd.engine'
PROGRAM = 'heatlite-engine'
GRACE = 10.0        # seconds a worker gets to end, beyond [engine] stop_timeout, before it is killed


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """The console script. Returns an exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    worker = WorkerParameters.here()
    if worker is not None:
        from heatlite.common import runtime
        runtime.patch()                       # before anything that has a lock or a socket
        conf = load(arguments)
        return refused(worker, lambda: work(conf, worker))
    from heatlite.cmd import parts
    conf = load(arguments)
    parts.check_database(conf)
    count = conf.num_engine_workers if conf.workers is None else conf.workers
    return supervise(MODULE, arguments, max(count, 1), conf.engine.stop_timeout + GRACE,
                     stall=conf.engine.stall_timeout, log_file=log_file(conf), logs_json=conf.use_json)


def load(arguments: Sequence[str]) -> ConfigOpts:
    from oslo_config import cfg

    from heatlite.cmd import keys
    from heatlite.common import config
    conf = config.load(arguments, PROGRAM, command_line=[
        cfg.IntOpt('workers', min=0, help='Engine processes; stronger than num_engine_workers.')],
        description='Owns stacks and drives them. Any number of hosts may run it.')
    keys.check(conf)
    return conf


def work(conf: ConfigOpts, worker: WorkerParameters) -> int:
    """Runs one engine in this process until a signal stops it."""
    from heatlite.cmd import parts, signals
    from heatlite.common import audit, exception, messaging, tracing
    from heatlite.common.green_threads import GreenRuntime
    from heatlite.db import engines
    from heatlite.engine.notify import audited, notifications
    from heatlite.engine.service import EngineService
    from heatlite.rpc.client import BrokerClient
    from heatlite.rpc.server import MessageServer

    inbox = signals.Inbox(within=conf.engine.stop_timeout + GRACE)
    runtime = GreenRuntime()
    try:
        tracing.start(conf, 'engine')
    except exception.Error as error:        # the extra is not installed, or a header is wrong
        raise InvalidOptions(str(error)) from None
    parts.be_watched(runtime, worker)
    transport = messaging.transport(conf, f'{PROGRAM}-{worker.number}')
    database = parts.database(conf)
    try:
        service = EngineService(conf, runtime, database, engine_id=worker.identity,
                                wake=BrokerClient(conf, transport).wake, notify=audited.recorded(
                                    notifications.sender(conf, runtime), audit.of(conf, 'engine')))
    except exception.Error as error:        # about the contents of a file, such as that of rules for plans
        raise InvalidOptions(str(error)) from None
    server = MessageServer(transport, worker.identity, service.endpoint, service.lease_manager.check)
    parts.watch_parent(runtime, worker, lambda identity, stack_id: parts.release_dead_engines(
        database, runtime, [identity], stack_id))

    failures: list[Exception] = []

    def begin() -> None:
        """An engine that cannot begin ends, and its parent starts another one: it must not seem to be at work."""
        try:
            start()
        except Exception as error:
            failures.append(error)
            LOG.critical('The engine cannot begin', exc_info=error)
            os.kill(os.getpid(), signal.SIGTERM)

    def renew(kept: int) -> None:
        """Leaves its place to a new process if large stacks have left much memory that the interpreter cannot give
        back, as what is in use is spread over it."""
        if worker.has_parent and 0 < conf.engine.renew_above << 20 < kept and service.is_idle:
            LOG.info('This engine keeps %d MiB after large stacks; a new one takes its place', kept >> 20)
            os.kill(os.getpid(), signal.SIGTERM)

    def start() -> None:
        parts.wait_for(conf, database, runtime)
        if worker.predecessor is not None:
            parts.release_dead_engines(database, runtime, [worker.predecessor], worker.predecessor_stack)
            runtime.spawn(messaging.remove_queue, transport, worker.predecessor)
        service.start()                     # from here on stacks are driven, with or without a broker
        parts.settle(runtime, renew)
        server.start()                      # blocks until there is a broker

    runtime.spawn(begin)

    def has_lease() -> bool:
        with database.reader() as tx:
            return (engines.left(tx, worker.identity) or 0.0) > 0.0

    def has_tables() -> None:
        with database.reader() as tx:
            engines.left(tx, worker.identity)

    figures = parts.serve_metrics(conf, worker.number, {
        'database': has_tables, 'engine': has_lease, 'broker': lambda: messaging.probe(conf)})
    signals.until_stopped(inbox, parts.reload(conf, service.reload))
    service.stop()                          # first: other engines must take the stacks over
    server.stop()
    tracing.stop()
    if figures is not None:
        figures.stop(0.0)
    database.close()
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
