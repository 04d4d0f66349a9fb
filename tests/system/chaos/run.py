"""One run: a cluster on servers of its own, users, faults; then the reckoning."""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.system import logs
from tests.system.chaos.faults import Event, Faults
from tests.system.chaos.front import CACHE, Front
from tests.system.chaos.history import History
from tests.system.chaos.node_faults import NodeFaults
from tests.system.chaos.postgres_faults import PostgresFaults
from tests.system.chaos.records import Ledger, reckon
from tests.system.chaos.servers import Servers
from tests.system.chaos.signed import SignedReader
from tests.system.chaos.users import Answers, Ask, Reader, User
from tests.system.cluster import Cluster
from tests.system.processes import ask

READERS = 3


@dataclass
class Report:
    seed: int
    requests: dict[str, int] = field(default_factory=dict)
    repeated: int = 0
    things: int = 0
    events: list[Event] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)      # kinds of faults that did not happen
    lost: list[str] = field(default_factory=list)           # not as the last accepted request wanted it
    stuck: list[str] = field(default_factory=list)          # or failed, or otherwise not ended well
    duplicated: list[str] = field(default_factory=list)
    orphaned: list[str] = field(default_factory=list)       # things no stack knows
    stale: list[str] = field(default_factory=list)          # answers older than what was accepted before
    impossible: list[str] = field(default_factory=list)     # stacks whose answers are not linearizable
    operations: int = 0                                     # that were checked for that
    wrong: list[str] = field(default_factory=list)          # answers 500 and everything else
    answers: Answers = field(default_factory=Answers)
    seconds: float = 0.0
    load: float = 0.0
    logs: dict[str, int] = field(default_factory=dict)      # errors in the logs, by their first words

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.stuck or self.duplicated or self.orphaned or self.stale
                    or self.impossible or self.wrong)

    def table(self) -> str:
        lines = [f'seed {self.seed}: {sum(self.requests.values())} requests accepted ({self.requests}), '
                 f'{self.repeated} sent again; {self.things} things made; {self.seconds:.0f} s, load {self.load:.1f}',
                 f'{"event":34} {"times":>5} {"stacks":>6} {"moved again after, s: median":>29} {"most":>6} '
                 f'{"node back: median":>18} {"most":>6}']
        for what in sorted({event.what for event in self.events}):
            events = [event for event in self.events if event.what == what]
            median, most = _median_and_most([seconds for event in events for seconds in event.moved])
            back, last = _median_and_most([seconds for event in events for seconds in event.back])
            lines.append(f'{what:34} {len(events):>5} {sum(event.touched for event in events) or "":>6} '
                         f'{median:>29} {most:>6} {back:>18} {last:>6}')
        if self.unreached:
            lines.append(f'did not happen: {", ".join(self.unreached)}')
        lines.append(f'lost {len(self.lost)}, stuck {len(self.stuck)}, duplicated {len(self.duplicated)}, '
                     f'orphaned {len(self.orphaned)}, stale {len(self.stale)}, not linearizable {len(self.impossible)} '
                 f'(of {self.operations} operations), otherwise wrong {len(self.wrong)}')
        lines.append('answers, times (longest, s): ' + ', '.join(
            f'{method} {status}: {times} ({longest:.1f})'
            for (method, status), (times, longest) in sorted(self.answers.found.items())))
        for name in ('lost', 'stuck', 'duplicated', 'orphaned', 'stale', 'impossible', 'wrong'):
            lines += [f'  {name}: {each}' for each in getattr(self, name)[:20]]
        lines += [f'  log, {count} times: {words}' for words, count in sorted(self.logs.items())]
        return '\n'.join(lines)


def _median_and_most(seconds: Sequence[float]) -> tuple[str, str]:
    return (f'{statistics.median(seconds):.2f}', f'{max(seconds):.2f}') if seconds else ('-', '-')


QUORUM = {'oslo_messaging_rabbit__rabbit_quorum_queue': 'true',     # what docs/operators/running.rst advises
          'oslo_messaging_rabbit__rabbit_transient_quorum_queue': 'true',
          'oslo_messaging_rabbit__use_queue_manager': 'true'}         # with a lock_path


def _on_galera(folder: Path, servers: Servers, engines: int, **options: Any) -> Cluster:
    """An engine and an API on each node."""
    cluster = Cluster(folder, servers.nodes[0], servers.rabbits_url, engines=engines, nodes=servers.nodes, **options)
    with cluster.stopped_if_it_fails():
        for server in servers.nodes[1:]:
            cluster.start_api(server)
    return cluster


def _on_postgresql(folder: Path, servers: Servers, engines: int, **options: Any) -> Cluster:
    """All are on the primary."""
    cluster = Cluster(folder, servers.postgreses_url, servers.rabbits_url, engines=engines, **options)
    with cluster.stopped_if_it_fails():
        for _ in range(2):
            cluster.start_api(servers.postgreses_url)
    return cluster


@dataclass(frozen=True)
class Nodes:
    """`servers`: what they are for tools/services; `on_small_disk`: one of them, if it can be tried there."""

    servers: tuple[str, ...]
    begin: Callable[..., Cluster]
    faults: type[Faults]
    on_small_disk: str = ''


NODES = {'mariadb': Nodes(('galera', 'rabbits'), _on_galera, NodeFaults, 'galera3'),
         'postgresql': Nodes(('postgreses', 'rabbits'), _on_postgresql, PostgresFaults, 'postgres2')}


def run(seed: int, minutes: float, stacks: int, engines: int = 3, folder: Path | None = None,
        nodes: str | None = None, has_front: bool = False, only: Sequence[str] = ()) -> Report:
    """`folder`: for logs and ledger; `nodes`: the database, one of NODES, of which there are several nodes;
    `has_front`: with HAProxy, Keystone and memcached; `only`: kinds of faults with one of these words."""
    if folder is None:
        with tempfile.TemporaryDirectory() as name:
            return run(seed, minutes, stacks, engines, Path(name), nodes, has_front, only)
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    several = NODES[nodes] if nodes else None
    with ExitStack() as cleanup:
        wanted = several.servers if several else ('mariadb', 'rabbit')
        servers = Servers(*wanted, *([CACHE] if has_front else []),
                          on_small_disk=several.on_small_disk if several else '')
        cleanup.callback(servers.close)
        options: dict[str, Any] = {'rpc_response_timeout': 10, 'max_stacks_per_tenant': -1}
        front = None
        if has_front:
            front = Front(servers)
            cleanup.callback(front.close)
            options |= {'operator': front.operator, **front.settings()}
        if several:
            cluster = several.begin(folder, servers, engines, oslo_concurrency__lock_path=folder / 'locks',
                                    **options, **QUORUM)
        else:
            cluster = Cluster(folder, servers.database_url, servers.rabbit_url, engines=engines, **options)
        cleanup.callback(cluster.stop)
        if front:
            for url in (2 * cluster.database_urls)[:2]:
                cluster.start_cfn_api(url)
            cluster.urls = front.open(cluster)
        faults = (several.faults if several else Faults)(cluster, servers, seed, minutes * 60, front=front, only=only)
        report = _under(cluster, faults, seed, stacks, front)
    report.logs = logs.errors(folder, most=90)
    report.seconds, report.load = time.monotonic() - began, os.getloadavg()[0]
    return report


def _asking(front: Front | None) -> Ask:
    """How one more user sends requests."""
    return front.member().ask if front else ask


def _under(cluster: Cluster, faults: Faults, seed: int, stacks: int, front: Front | None) -> Report:
    report, over, history = Report(seed), threading.Event(), History()
    users = [User(number, seed, cluster.urls, over, history, _asking(front)) for number in range(stacks)]
    readers: list[Reader | SignedReader] = [
        Reader(number, seed, cluster.urls, users, over, history, _asking(front)) for number in range(READERS)]
    if front:
        readers.append(SignedReader(seed, front.cfn_url, front.member().key(), over))
    for thread in (*users, *readers, faults):
        thread.start()
    faults.join()
    over.set()
    for thread in (*users, *readers):
        thread.join()
    report.operations, report.impossible = len(history), list(history.contradictions())
    for answers in (*(user.answers for user in users), *(reader.answers for reader in readers)):
        report.answers.add(answers)
    report.wrong += [defect for reader in readers for defect in reader.defects]
    report.events, report.unreached = faults.events, faults.unreached
    report.wrong += [f'{event.what} after {event.began:.0f} s: {words}' for event in faults.events
                     for words in event.wrong]
    if faults.problem is not None:
        report.wrong.append(f'the faults themselves: {faults.problem!r}')
    for user in users:
        report.stuck += user.problems
        report.stale += user.stale
        report.wrong += user.defects
        report.repeated += user.repeated
        for name, count in user.requests.items():
            report.requests[name] = report.requests.get(name, 0) + count
    found = reckon(Ledger(cluster.ledger), cluster.database_urls, [user for user in users if not user.problems],
                   bool(report.stuck))
    report.things, report.duplicated, report.orphaned = found.things, found.duplicated, found.orphaned
    report.lost += found.lost
    report.stuck += found.stuck
    report.wrong += found.wrong
    return report
