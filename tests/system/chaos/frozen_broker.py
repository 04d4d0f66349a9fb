"""`python -m tests.system.chaos.frozen_broker [--trials N] [--still S] [--pauses S ...] [--set GROUP__NAME=VALUE ...]`

How long no request that needs an engine is answered while a node of the broker's cluster stands still, as a virtual
machine that is paused, and how long when another one does so soon after the first has come back.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.system.chaos.node_faults import BROKERS
from tests.system.chaos.run import QUORUM
from tests.system.chaos.servers import Servers
from tests.system.cluster import Cluster
from tests.system.processes import ask

AFTERWARDS = 40.0               # seconds that are looked at after the last node has come back
BREATH = 2.0                    # seconds between two answers that are not counted as silence
TEMPLATE = {'template': {'heat_template_version': '2018-08-31'}}


def silence(answers: Iterable[float], began: float, ended: float) -> float:
    """Seconds without answers, of which `answers` are the times, in all stretches that are longer than BREATH."""
    points = [began, *(each for each in answers if began < each < ended), ended]
    return sum(later - former for former, later in itertools.pairwise(points) if later - former > BREATH)


class Asker(threading.Thread):
    """Sends requests that an engine must answer to one API, one after the other."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self.answered: list[float] = []         # when, by time.monotonic()
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.3):
            try:
                status, _ = ask('POST', f'{self._url}/validate', TEMPLATE)
            except OSError:
                continue
            if status == 200:
                self.answered.append(time.monotonic())


def trial(still: float, pauses: Sequence[float], settings: dict[str, str]) -> list[float]:
    """In a new cluster, one node after the other stands still for so many seconds, with these pauses between; for each,
    the seconds of silence of the API that was silent for longest, until the next one stands still."""
    servers = Servers('mariadb', 'rabbits')
    try:
        with tempfile.TemporaryDirectory() as name:
            cluster = Cluster(name, servers.database_url, servers.rabbits_url, engines=3,
                              oslo_concurrency__lock_path=Path(name, 'locks'), rpc_response_timeout=10,
                              **{**QUORUM, **settings})
            try:
                cluster.start_api(cluster.database_url)
                return _freeze(servers, [Asker(url) for url in cluster.urls], still, pauses)
            finally:
                cluster.stop()
    finally:
        servers.close()


def _freeze(servers: Servers, askers: Sequence[Asker], still: float, pauses: Sequence[float]) -> list[float]:
    for asker in askers:
        asker.start()
    time.sleep(10)                              # all processes are connected
    found = []
    for node, pause in zip(itertools.cycle(BROKERS), [*pauses, AFTERWARDS], strict=False):
        began = time.monotonic()
        servers.signal(node, signal.SIGSTOP)
        time.sleep(still)
        servers.signal(node, signal.SIGCONT)
        time.sleep(pause)
        ended = time.monotonic()
        found.append(max(silence(tuple(asker.answered), began, ended) for asker in askers))
    for asker in askers:
        asker.over.set()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.system.chaos.frozen_broker')
    parser.add_argument('--trials', type=int, default=3)
    parser.add_argument('--still', type=float, default=30.0, metavar='S', help='how long a node stands still')
    parser.add_argument('--pauses', type=float, nargs='*', default=[20.0, 60.0, 120.0], metavar='S')
    parser.add_argument('--set', nargs='*', default=[], metavar='GROUP__NAME=VALUE', help='options of heatlite')
    chosen = parser.parse_args()
    settings = dict(each.split('=', 1) for each in chosen.set)
    print('seconds without answers:', 'first', *(f'{pause:.0f} s later' for pause in chosen.pauses), sep='  ')
    for number in range(chosen.trials):
        found = trial(chosen.still, chosen.pauses, settings)
        print(f'trial {number + 1}:', *(f'{each:.1f}' for each in found), f'load {os.getloadavg()[0]:.1f}',
              sep='  ', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
