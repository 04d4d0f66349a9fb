"""Builds parts that several programs share."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.cmd import keys
from heatlite.cmd.workers import SHOW_STACKS, WorkerParameters
from heatlite.common.invalid_options import InvalidOptions
from heatlite.common.runtime import Runtime

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

    from heatlite.common.green_threads import GreenRuntime
    from heatlite.common.http_server import HttpServer
    from heatlite.db.connection import Database

LOG = logging.getLogger(__name__)

STDIN, STDERR = 0, 2
STOOD_STILL = 70        # exit code



def database(conf: ConfigOpts) -> Database:
    """Return the database of [database] connection, connected on first use.

    Raises SystemExit if the option is unset or invalid, or its keys cannot be read.
    """
    from heatlite.common import exception
    from heatlite.db.connection import Database
    keys.load(conf)
    try:
        return Database.from_options(conf)
    except exception.HeatException as error:
        raise InvalidOptions(str(error)) from None


def check_database(conf: ConfigOpts) -> None:
    """Raise InvalidOptions if no worker could use [database] connection: for the start of a program that
    starts a new worker for each one that ends. Connects to nothing."""
    from heatlite.common import exception
    from heatlite.db import connection
    try:
        connection.check_url(conf)
    except exception.HeatException as error:
        raise InvalidOptions(str(error)) from None


@contextlib.contextmanager
def checking_contents() -> Iterator[None]:
    """Raise InvalidOptions for an Error in the block: an extra is not installed, the contents of a file are wrong, or
    options do not fit each other."""
    from heatlite.common import exception
    try:
        yield
    except exception.Error as error:
        raise InvalidOptions(str(error)) from None


def share(conf: ConfigOpts) -> ConfigOpts:
    """Load the files and `--set` of a command into the options of the process, and return these.

    Clients of other services and resource types read the options of the process; commands have options of their own.
    """
    from oslo_config import cfg

    from heatlite.common import config, settings
    arguments = [part for source in settings.sources(conf) for part in source]
    arguments += [part for assignment in conf.set for part in ('--set', assignment)]
    return config.load(arguments, conf.prog, cfg.CONF, default_files=[], warn=False)


def wait_for(conf: ConfigOpts, database: Database, runtime: Runtime) -> None:
    """Wait until the database answers and has the tables of this release; meanwhile log what is missing.

    Ends the process when the key is not that of the database.
    """
    from heatlite.common import exception, outages, retries
    from heatlite.db import sync

    class NoTables(Exception):
        pass

    def check() -> None:
        found = sync.version(database)
        if (found or '') < sync.HEAD:                           # newer ones have all that this release uses
            raise NoTables(f'the database has {f"those of revision {found}" if found else "none"}, and this release '
                           f'needs revision {sync.HEAD}: run heatlite-manage db_sync')
        keys.check_fits(conf, database)
        outages.back(outages.TABLES)

    retries.call(check, retries.START, (NoTables, exception.DatabaseUnavailable),
                 before_pause=lambda error, _seconds: outages.away(
                     outages.TABLES if isinstance(error, NoTables) else outages.DATABASE, error),
                 sleep=runtime.sleep)


def reload(conf: ConfigOpts, then: Callable[[], None] = lambda: None) -> Callable[[], None]:
    """Return the handler of SIGHUP: reloads the files, then calls `then()`.

    An invalid file is logged, and all options stay as they were.
    """
    from heatlite.common import config

    def read() -> None:
        try:
            config.reload(conf)
        except InvalidOptions as error:
            LOG.error('The options were not read again: %s', error)
        else:
            LOG.info('The options were read again')
        then()

    return read


def settle(runtime: Runtime, kept: Callable[[int], None] = lambda size: None) -> None:
    """Configure the garbage collector, and give memory back from now on. Call it after everything is built.

    `kept(size)`: called with the bytes that the process keeps beyond its size at the start, while it does.
    """
    from heatlite.common import memory
    configure_collector()
    memory.start(runtime, kept)


def configure_collector() -> None:
    """Make the garbage collector look at no object that is there now, and rarely at new ones (`runtime.patch`).

    Among the 140 000 of a program that has just started, ten are garbage. To look at them would take a tenth of the
    time to start, and hold up all threads for 60 ms whenever memory is given back.
    """
    from heatlite.common import runtime
    gc.freeze()
    runtime.collect_rarely()


def release_dead_engines(database: Database, runtime: Runtime, engine_ids: Iterable[str],
                         stack_id: str | None = None) -> None:
    """Free the stacks of engines whose processes are known to be dead, before their leases expire.

    `stack_id`: the stack for which they were executing code when they died, if any; it gets a strike.
    """
    from heatlite.common import exception
    from heatlite.db import engines
    dead = list(engine_ids)
    try:
        for engine_id in database.retry(lambda tx: [
                each for each in dead if engines.remove_dead(tx, each, stack_id, runtime.now())]):
            LOG.warning('Engine %s is dead; its stacks are free%s', engine_id,
                        f'; it was executing stack {stack_id}' if stack_id else '')
    except exception.DatabaseUnavailable as error:
        LOG.warning('Stacks of dead engines stay theirs until the deadline: %s', error)


def listen(host: str, port: int, backlog: int, keepalive_idle: int | None = None,
           hint: str = '') -> socket.socket:
    """Return a listening TCP socket. Raises SystemExit with a message of one line if the address is taken or wrong."""
    try:
        found = socket.create_server((host, port), family=socket.AF_INET6 if ':' in host else socket.AF_INET,
                                     backlog=backlog)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise SystemExit(f'Cannot listen on {host} port {port}: {reason}{hint}') from None
    if keepalive_idle is not None:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, keepalive_idle)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)     # accepted connections inherit it
    return found


def tls(certificate: str | None, key: str | None) -> ssl.SSLContext | None:
    """Return the TLS context for connections; None without a certificate. Raises SystemExit if the files cannot be
    used."""
    if not certificate:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:                # a file may come a moment later, its contents are not going to change
        kind = InvalidOptions if isinstance(error, ssl.SSLError) else SystemExit
        raise kind(f'cert_file {certificate}, key_file {key}: {error}') from None
    return context


def watch_parent(runtime: Runtime, worker: WorkerParameters,
                 died: Callable[[str, str | None], None] = lambda identity, stack_id: None) -> None:
    """Call `died(identity, stack_id)` for each sibling that died, with the stack that it was executing.

    Stops this process when the parent has ended, since no other process would restart or stop it.
    """
    if not worker.has_parent:
        return

    def listen() -> None:
        os.set_blocking(STDIN, False)       # cooperative threads then wait in read
        heard = b''
        while chunk := os.read(STDIN, 4096):
            *lines, heard = (heard + chunk).split(b'\n')
            for line in lines:
                identity, _space, stack_id = line.decode().partition(' ')
                try:
                    died(identity, stack_id or None)
                except Exception:                   # sweeps take over its stacks later
                    LOG.exception('The stacks of the engine %s, which has ended, were not freed', identity)
        os.kill(os.getpid(), signal.SIGTERM)

    runtime.spawn_essential('The watch over the parent', listen)


def be_watched(runtime: GreenRuntime, worker: WorkerParameters) -> None:
    """Shares with the parent what this process executes, and prints stack traces when the parent ends it."""
    if worker.activity is None:
        return
    import faulthandler

    from heatlite.common.activity import Activity
    faulthandler.enable()                   # for crashes in native code
    faulthandler.register(SHOW_STACKS)      # works while native code blocks all threads of Python
    runtime.record(Activity(worker.activity))
    os.close(worker.activity)


def watch_itself(runtime: GreenRuntime, place: Path, stall: float) -> str | None:
    """Supervise a process without a parent.

    Records in file `place` what it executes, and ends it when its main loop stalls, with a last line on standard error.
    Returns the stack that the previous process was executing when it died.
    """
    import faulthandler

    from heatlite.cmd.stalls import POLL_SECONDS, Watch
    from heatlite.common.activity import SIZE, Activity, mark_of
    descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.truncate(descriptor, SIZE)
    record = Activity(descriptor)
    os.close(descriptor)
    before = record.stack_id
    record.mark(mark_of(None))
    record.note_iteration(0.0)
    runtime.record(record)
    faulthandler.enable()
    watch = Watch(record, stall, os.getpid())

    def look() -> None:
        while True:
            runtime.sleep(POLL_SECONDS)
            why = watch.look()
            if why is not None:                     # the stalled thread may hold the lock of the log
                os.write(STDERR, f'This process {why}; it ends. Start it again: its stacks go on.\n'.encode())
                faulthandler.dump_traceback()
                os._exit(STOOD_STILL)

    runtime.spawn_os_thread(look)
    return before


def serve_metrics(conf: ConfigOpts, number: int, checks: Mapping[str, Callable[[], object]]) -> HttpServer | None:
    """Serve the metrics of engine `number` at /metrics on loopback, if [metrics] engine_port is set.

    Serves /healthcheck and /readiness beside them. `checks`: of the latter, name -> function that raises or returns
    False.
    """
    if not conf.metrics.engine_port:
        return None
    from heatlite.common import health, metrics
    from heatlite.common.http_server import HttpServer
    beside: dict[str, WSGIApplication] = {health.LIVE: health.live, health.READY: health.Readiness(checks)}

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ['PATH_INFO'] in beside:
            return beside[environ['PATH_INFO']](environ, start_response)
        if environ['PATH_INFO'] != '/metrics':
            start_response('404 Not Found', [('Content-Type', 'text/plain')])
            return [b'']
        start_response('200 OK', [('Content-Type', metrics.CONTENT_TYPE)])
        return [metrics.text()]

    server = HttpServer(listen('127.0.0.1', conf.metrics.engine_port + number, 16), application)
    server.start()
    return server
