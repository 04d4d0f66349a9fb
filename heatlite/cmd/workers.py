"""Runs one process per worker, and a parent that starts, restarts, watches and stops them.

Workers are started afresh, not forked: no thread, lock or connection is shared by accident. The parent is a process
that has loaded nothing of the service, not even options, so it is small and unlikely to fail. On its standard input a
worker receives a line for each sibling that died: its identity and, after a space, the stack that it was executing. The
end of the input means that the parent has ended.

Engines share with their parent what they execute (heatlite.common.activity). The parent ends one whose main loop
stalls: other engines take its stacks, and the one that it was executing gets a strike (heatlite.db.leases.strike).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from heatlite.cmd import signals
from heatlite.cmd.stalls import POLL_SECONDS, Watch, named
from heatlite.common import activity
from heatlite.common.invalid_options import InvalidOptions

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

LOG = logging.getLogger('heatlite.cmd.workers')

NUMBER, IDENTITY, PREDECESSOR = 'HEATLITE_WORKER', 'HEATLITE_WORKER_ID', 'HEATLITE_DEAD_WORKER_ID'
PARENT, SOCKET = 'HEATLITE_PARENT', 'HEATLITE_LISTEN_FD'
ACTIVITY, PREDECESSOR_STACK = 'HEATLITE_ACTIVITY_FD', 'HEATLITE_DEAD_WORKER_STACK'
HASTE = 1.0             # seconds: a process that ends earlier is restarted with a delay
LONGEST_DELAY = 10.0    # seconds
SHOW_STACKS = signal.SIGUSR2        # makes a worker write its threads' stacks to standard error
SHOWING = 0.5           # seconds for that
LINE = '%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s [- - - -] %(message)s'


@dataclass(frozen=True)
class WorkerParameters:
    """The parameters of a worker process."""

    number: int
    identity: str               # UUID, new for each process
    predecessor: str | None     # identity of the dead process that it replaces
    has_parent: bool            # a parent watches it and writes to its standard input
    socket: int | None          # descriptor of the listening socket, for workers that share one
    activity: int | None = None             # descriptor of its record, heatlite.common.activity
    predecessor_stack: str | None = None    # the stack that process was executing when it died

    @classmethod
    def here(cls, environment: Mapping[str, str] = os.environ) -> WorkerParameters | None:
        """Read them from the environment; None when this process is not a worker."""
        if NUMBER not in environment:
            return None
        descriptor, record = environment.get(SOCKET), environment.get(ACTIVITY)
        return cls(int(environment[NUMBER]), environment[IDENTITY], environment.get(PREDECESSOR),
                   PARENT in environment, int(descriptor) if descriptor else None, int(record) if record else None,
                   environment.get(PREDECESSOR_STACK))


@dataclass(frozen=True)
class Team:
    """The parameters of a parent."""

    module: str
    arguments: list[str]
    count: int
    grace_period: float             # seconds that workers get to stop
    listening: int | None = None        # descriptor of a socket that all workers inherit
    stall: float | None = None          # seconds of CPU time without a turn of the main loop; None: no limit
    log_file: str | None = None         # None: standard error
    logs_json: bool = False


@dataclass
class _Place:
    """The slot of one worker: its process, and when the next one may be started."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    identity: str | None = None
    started: float = 0.0
    not_before: float = 0.0
    delay: float = field(default=0.0)
    returncode: int | None = None       # of the last process that ended
    watch: Watch | None = None
    stack_id: str | None = None         # executed by the last process in this slot when it died


def refused(worker: WorkerParameters | None, work: Callable[[], int]) -> int:
    """Return the exit code of `work`: EX_CONFIG, after the text, if it raises InvalidOptions. systemd does not start
    the program again then.

    The parent of a worker ends too, since another worker would fail alike. A worker that follows another one ends
    alone, with 1: siblings that still work must not end because a file was changed meanwhile.
    """
    try:
        return work()
    except InvalidOptions as error:
        if worker is not None and worker.has_parent and worker.predecessor is not None:
            raise
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        return os.EX_CONFIG


def become(module: str, arguments: Sequence[str]) -> None:
    """Replace this process by its only worker. Does not return."""
    os.environ.update({NUMBER: '0', IDENTITY: str(uuid.uuid4())})
    sys.stdout.flush()
    os.execv(sys.executable, _command(module, arguments))


def supervise(module: str, arguments: Sequence[str], count: int, grace_period: float, listening: int | None = None, *,
              stall: float | None = None, log_file: str | None = None, logs_json: bool = False) -> int:
    """Replace this process by the parent of `count` workers, see Team. Does not return.

    The parent ends at SIGTERM or SIGINT, after the workers have ended.
    """
    team = Team(module, list(arguments), count, grace_period, listening, stall, log_file, logs_json)
    if listening is not None:
        os.set_inheritable(listening, True)
    sys.stdout.flush()
    os.execv(sys.executable, _command('heatlite.cmd.workers', [json.dumps(vars(team))]))


class ParentJsonFormatter(logging.Formatter):
    """The fields of `heatlite.common.logs.JsonFormatter` that the parent, which loads nothing, can know."""

    def format(self, record: logging.LogRecord) -> str:
        found = {'message': record.getMessage(), 'asctime': self.formatTime(record), 'created': record.created,
                 'name': record.name, 'levelname': record.levelname, 'process': record.process,
                 'stack_id': getattr(record, 'stack_id', None)}
        return json.dumps({name: value for name, value in found.items() if value is not None})


def log_file(conf: ConfigOpts) -> str | None:
    """Return the log file configured by the options of oslo.log; None: standard error."""
    if not conf.log_file:
        return None
    return os.path.join(conf.log_dir, conf.log_file) if conf.log_dir else str(conf.log_file)


def look_after(team: Team) -> int:
    """Supervise the workers until SIGTERM or SIGINT. Returns an exit code."""
    inbox = signals.Inbox(signal.SIGCHLD)
    places = [_Place(number) for number in range(team.count)]
    LOG.info('Starting %d workers', team.count)
    while True:
        now = time.monotonic()
        for place in places:
            if place.process is None and place.not_before <= now:
                _start(place, team)
        due = [place.not_before - now for place in places if place.process is None]
        if team.stall is not None:
            due.append(POLL_SECONDS)
        readable, _, _ = select.select([inbox], [], [], max(0.0, min(due)) if due else None)
        for number in inbox.take():
            if number in signals.STOP:
                return _stop(places, team.grace_period)
            if number in signals.RELOAD:
                _tell(places, signal.SIGHUP)
        for place in places:
            if team.stall is not None and not readable:
                _watch(place)
            if _reap(place):
                if place.returncode == os.EX_CONFIG:    # another one would fail alike
                    _stop(places, team.grace_period)
                    return os.EX_CONFIG
                _tell_of_death(places, place)


def _start(place: _Place, team: Team) -> None:
    predecessor, place.identity = place.identity, str(uuid.uuid4())
    environment = {**os.environ, **_environment(place, predecessor, team)}
    passed = [] if team.listening is None else [team.listening]
    record = None
    if team.stall is not None:
        record = activity.shared()
        environment[ACTIVITY] = str(record)
        passed.append(record)
    # A group of its own: Ctrl-C in a terminal reaches the parent only, which then signals each worker once.
    place.process = subprocess.Popen(_command(team.module, team.arguments), env=environment, process_group=0,
                                     stdin=subprocess.PIPE, pass_fds=passed)
    if record is not None:
        place.watch = Watch(activity.Activity(record), team.stall or 0.0, place.process.pid)
        os.close(record)
    place.started = time.monotonic()
    LOG.info('Worker %d is process %d', place.number, place.process.pid)


def _watch(place: _Place) -> None:
    """End a worker whose main loop stalls."""
    if place.process is None or place.watch is None:
        return
    why = place.watch.look()
    if why is None:
        return
    LOG.error('Worker %d (process %d) %s; it is ended. Where it is, it writes to its standard error.', place.number,
              place.process.pid, why, extra={'stack_id': place.watch.activity.stack_id})
    place.process.send_signal(SHOW_STACKS)
    with contextlib.suppress(subprocess.TimeoutExpired):
        place.process.wait(SHOWING)
    place.process.kill()
    place.process.wait()


def _reap(place: _Place) -> bool:
    """Whether its process has died since the last call."""
    if place.process is None or place.process.poll() is None:
        return False
    now = time.monotonic()
    young = now - place.started < HASTE
    place.delay = min(LONGEST_DELAY, max(0.5, place.delay * 2)) if young else 0.0
    place.not_before = now + place.delay
    place.stack_id = None
    if place.watch is not None:
        place.stack_id = place.watch.activity.stack_id
        place.watch.activity.close()
        place.watch = None
    if place.process.returncode != os.EX_CONFIG:        # then it has logged its error, and no other one is started
        LOG.warning('Worker %d (process %d) ended with %d, executing %s; the next starts in %.1f s', place.number,
                    place.process.pid, place.process.returncode, named(place.stack_id), place.delay,
                    extra={'stack_id': place.stack_id})
    if place.process.stdin is not None:
        place.process.stdin.close()
    place.returncode = place.process.returncode
    place.process = None
    return True


def _tell_of_death(places: Sequence[_Place], dead: _Place) -> None:
    """Notify the other workers, which can free its stacks sooner than the successor, which is still starting."""
    line = f'{dead.identity} {dead.stack_id}' if dead.stack_id is not None else str(dead.identity)
    for place in places:
        if place.process is not None and place.process.stdin is not None:
            with contextlib.suppress(OSError):          # that one is ending too
                os.write(place.process.stdin.fileno(), f'{line}\n'.encode())


def _stop(places: Sequence[_Place], grace_period: float) -> int:
    _tell(places, signal.SIGTERM)
    deadline = time.monotonic() + grace_period
    for place in places:
        if place.process is None:
            continue
        try:
            place.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            LOG.warning('Worker %d did not stop in %.0f s and is killed', place.number, grace_period)
            place.process.kill()
            place.process.wait()
    LOG.info('All workers have stopped')
    return 0


def _tell(places: Sequence[_Place], number: int) -> None:
    for place in places:
        if place.process is not None and place.process.poll() is None:
            place.process.send_signal(number)


def _command(module: str, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, '-m', module, *arguments]


def _environment(place: _Place, predecessor: str | None, team: Team) -> dict[str, str]:
    found = {NUMBER: str(place.number), IDENTITY: str(place.identity), PARENT: str(os.getpid())}
    if predecessor is not None:
        found[PREDECESSOR] = predecessor
    if place.stack_id is not None:
        found[PREDECESSOR_STACK] = place.stack_id
    if team.listening is not None:
        found[SOCKET] = str(team.listening)
    return found


if __name__ == '__main__':
    team = Team(**json.loads(sys.argv[1]))
    logging.basicConfig(filename=team.log_file, level=logging.INFO, format=LINE, datefmt='%Y-%m-%d %H:%M:%S')
    if team.logs_json:
        logging.root.handlers[0].setFormatter(ParentJsonFormatter())
    sys.exit(look_after(team))
