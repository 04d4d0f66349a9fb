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

from heatlite.cmd.workers import WorkerParameters, log_file, refused, supervise
from heatlite.common.standard_output import ends_with_its_reader

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts
    from oslo_messaging import RPCTransport

    from heatlite.common.runtime import Runtime
    from heatlite.db.connection import Database

LOG = logging.getLogger(__name__)

MODULE = 'heatlite.cmd.engine'
PROGRAM = 'heatlite-engine'
GRACE = 10.0        # seconds a worker gets to end, beyond [engine] stop_timeout, before it is killed


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the console script. Returns an exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    worker = WorkerParameters.here()
    if worker is not None:
        from heatlite.common import runtime
        runtime.patch()                       # before anything that has a lock or a socket
        return refused(worker, lambda: work(load(arguments), worker))
    return refused(None, lambda: lead(arguments))


def lead(arguments: Sequence[str]) -> int:
    """Become the parent of the workers."""
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
    """Run one engine in this process until a signal stops it."""
    from heatlite.cmd import parts, signals
    from heatlite.common import messaging, tracing
    from heatlite.common.green_threads import GreenRuntime
    from heatlite.common.limits import Limits
    from heatlite.language.functions import query

    inbox = signals.Inbox(within=conf.engine.stop_timeout + GRACE)
    runtime = GreenRuntime()
    parts.be_watched(runtime, worker)
    with parts.checking_contents():
        tracing.start(conf, 'engine')
        engine = EngineProcess(conf, worker, runtime, parts.database(conf), messaging.transport(
            conf, f'{PROGRAM}-{worker.number}'))
    query.warm_up(Limits.of(conf))
    parts.watch_parent(runtime, worker, engine.release)
    runtime.spawn(engine.begin)
    figures = parts.serve_metrics(conf, worker.number, {
        'database': engine.check_tables, 'engine': engine.has_lease, 'broker': engine.check_broker,
        'requests': engine.has_room})
    signals.until_stopped(inbox, parts.reload(conf, engine.service.reload))
    engine.stop()
    tracing.stop()
    if figures is not None:
        figures.stop(0.0)
    engine.database.close()
    return 1 if engine.has_failed else 0


class EngineProcess:
    """The engine of this process: its service, and the server of its messages."""

    def __init__(self, conf: ConfigOpts, worker: WorkerParameters, runtime: Runtime, database: Database,
                 transport: RPCTransport) -> None:
        """Raise `exception.Error` about the contents of a file, such as that of rules for plans."""
        from heatlite.common import audit
        from heatlite.engine.notify import audited, notifications
        from heatlite.engine.service import EngineService
        from heatlite.rpc.client import BrokerClient
        from heatlite.rpc.server import MessageServer

        self._conf, self._worker, self._runtime, self._transport = conf, worker, runtime, transport
        self.database = database
        self._client = BrokerClient(conf, transport)
        self.service = EngineService(
            conf, runtime, database, engine_id=worker.identity, wake=self._client.wake,
            notify=audited.recorded(notifications.sender(conf, runtime), audit.of(conf, 'engine')))
        self._server = MessageServer(transport, worker.identity, self.service.endpoint,
                                     self.service.lease_manager.check)
        self.has_failed = False

    def begin(self) -> None:
        """Start. An engine that cannot begin ends, and its parent starts another one: it must not seem to be at
        work."""
        try:
            self._start()
        except Exception as error:
            self.has_failed = True
            LOG.critical('The engine cannot begin', exc_info=error)
            os.kill(os.getpid(), signal.SIGTERM)

    def _start(self) -> None:
        from heatlite.cmd import parts
        from heatlite.common import messaging
        parts.wait_for(self._conf, self.database, self._runtime)
        if self._worker.predecessor is not None:
            self.release(self._worker.predecessor, self._worker.predecessor_stack)
            self._runtime.spawn(messaging.remove_queue, self._transport, self._worker.predecessor)
        self.service.start()                # from here on stacks are driven, with or without a broker
        parts.settle(self._runtime, self._renew)
        self._server.start()                # blocks until there is a broker

    def _renew(self, kept: int) -> None:
        """Leave its place to a new process if large stacks have left much memory, `kept` bytes, that the interpreter
        cannot give back, as what is in use is spread over it."""
        if self._worker.has_parent and 0 < self._conf.engine.renew_above << 20 < kept and self.service.is_idle:
            LOG.info('This engine keeps %d MiB after large stacks; a new one takes its place', kept >> 20)
            os.kill(os.getpid(), signal.SIGTERM)

    def release(self, identity: str, stack_id: str | None) -> None:
        """Let other engines take over the stacks of an engine of this host that has ended. `stack_id`: the stack
        that it worked at then."""
        from heatlite.cmd import parts
        parts.release_dead_engines(self.database, self._runtime, [identity], stack_id)

    def has_lease(self) -> bool:
        return (self._seconds_of_lease() or 0.0) > 0.0

    def check_broker(self) -> bool:
        """Whether this engine takes messages. Raises BrokerUnavailable."""
        self._client.check()
        return self._server.listens

    def has_room(self) -> bool:
        """Whether requests of all callers are still answered."""
        return self._server.has_room()

    def check_tables(self) -> None:
        """Raise what the database raises if it or its tables are not there."""
        self._seconds_of_lease()

    def _seconds_of_lease(self) -> float | None:
        from heatlite.db import engines
        with self.database.reader() as tx:
            return engines.left(tx, self._worker.identity)

    def stop(self) -> None:
        self.service.stop()                 # first: other engines must take the stacks over
        self._server.stop()


if __name__ == '__main__':
    sys.exit(main())
