"""One process per worker, and a parent that starts them, restarts what died and passes signals on.

Workers are started afresh, not forked: no thread, lock or connection is shared by accident. The parent loads
nothing but options, so it is small and has little to die of. Over its standard input a worker hears of siblings that
died, one identity in a line; its end means that the parent is gone.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heatlite.cmd import signals

LOG = logging.getLogger(__name__)

NUMBER, IDENTITY, PREDECESSOR = 'HEATLITE_WORKER', 'HEATLITE_WORKER_ID', 'HEATLITE_DEAD_WORKER_ID'
PARENT, SOCKET = 'HEATLITE_PARENT', 'HEATLITE_LISTEN_FD'
HASTE = 1.0             # seconds: who dies younger is restarted with a delay
LONGEST_DELAY = 10.0    # seconds


@dataclass(frozen=True)
class Worker:
    """What a worker process knows of itself."""

    number: int
    identity: str               # UUID, new for each process
    predecessor: str | None     # identity of the process whose place it takes, which is dead
    has_parent: bool            # somebody watches it and speaks on its standard input
    socket: int | None          # descriptor of the listening socket, for workers that share one

    @classmethod
    def here(cls, environment: Mapping[str, str] = os.environ) -> Worker | None:
        """None when this process is no worker."""
        if NUMBER not in environment:
            return None
        descriptor = environment.get(SOCKET)
        return cls(int(environment[NUMBER]), environment[IDENTITY], environment.get(PREDECESSOR),
                   PARENT in environment, int(descriptor) if descriptor else None)


@dataclass
class _Place:
    """One worker's place: the process in it, and when the next may be started."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    identity: str | None = None
    started: float = 0.0
    not_before: float = 0.0
    delay: float = field(default=0.0)
    returncode: int | None = None       # of the last process that ended


def become(module: str, arguments: Sequence[str]) -> None:
    """This process starts over as its only worker. Does not return."""
    os.environ.update({NUMBER: '0', IDENTITY: str(uuid.uuid4())})
    sys.stdout.flush()
    os.execv(sys.executable, _command(module, arguments))


def supervise(module: str, arguments: Sequence[str], count: int, patience: float,
              listening: int | None = None) -> int:
    """Keeps `count` workers running until SIGTERM or SIGINT, then gives them `patience` seconds. An exit code.

    `listening`: descriptor of a socket all workers inherit.
    """
    inbox = signals.Inbox(signal.SIGCHLD)
    places = [_Place(number) for number in range(count)]
    LOG.info('Starting %d workers', count)
    while True:
        now = time.monotonic()
        for place in places:
            if place.process is None and place.not_before <= now:
                _start(place, module, arguments, listening)
        due = [place.not_before - now for place in places if place.process is None]
        select.select([inbox], [], [], max(0.0, min(due)) if due else None)
        for number in inbox.take():
            if number in signals.STOP:
                return _stop(places, patience)
            if number in signals.RELOAD:
                _tell(places, signal.SIGHUP)
        for place in places:
            if _reap(place):
                if place.returncode == os.EX_CONFIG:    # it has said what is wrong; another one would say the same
                    _stop(places, patience)
                    return os.EX_CONFIG
                _tell_of_death(places, place.identity)


def _start(place: _Place, module: str, arguments: Sequence[str], listening: int | None) -> None:
    predecessor, place.identity = place.identity, str(uuid.uuid4())
    environment = {**os.environ, **_environment(place.number, place.identity, predecessor, listening)}
    # A group of its own: Ctrl-C in a terminal reaches the parent only, which then tells everybody once.
    place.process = subprocess.Popen(_command(module, arguments), env=environment, process_group=0,
                                     stdin=subprocess.PIPE, pass_fds=() if listening is None else (listening,))
    place.started = time.monotonic()
    LOG.info('Worker %d is process %d', place.number, place.process.pid)


def _reap(place: _Place) -> bool:
    """Whether its process has died since the last look."""
    if place.process is None or place.process.poll() is None:
        return False
    now = time.monotonic()
    young = now - place.started < HASTE
    place.delay = min(LONGEST_DELAY, max(0.5, place.delay * 2)) if young else 0.0
    place.not_before = now + place.delay
    LOG.warning('Worker %d (process %d) ended with %d; the next starts in %.1f s', place.number, place.process.pid,
                place.process.returncode, place.delay)
    if place.process.stdin is not None:
        place.process.stdin.close()
    place.returncode = place.process.returncode
    place.process = None
    return True


def _tell_of_death(places: Sequence[_Place], identity: str | None) -> None:
    """The others can free its stacks sooner than the successor, which is still starting."""
    for place in places:
        if place.process is not None and place.process.stdin is not None:
            with contextlib.suppress(OSError):          # that one is dying too
                os.write(place.process.stdin.fileno(), f'{identity}\n'.encode())


def _stop(places: Sequence[_Place], patience: float) -> int:
    _tell(places, signal.SIGTERM)
    deadline = time.monotonic() + patience
    for place in places:
        if place.process is None:
            continue
        try:
            place.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            LOG.warning('Worker %d did not stop in %.0f s and is killed', place.number, patience)
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


def _environment(number: int, identity: str, predecessor: str | None, listening: int | None) -> dict[str, str]:
    found = {NUMBER: str(number), IDENTITY: identity, PARENT: str(os.getpid())}
    if predecessor is not None:
        found[PREDECESSOR] = predecessor
    if listening is not None:
        found[SOCKET] = str(listening)
    return found
