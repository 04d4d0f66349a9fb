"""Two releases side by side under load: the phases of an upgrade, one after the other, while programs are killed."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.system import logs
from tests.system.chaos.records import Ledger, reckon
from tests.system.cluster import Cluster
from tests.system.processes import ROOT, answers
from tests.upgrade import commits, users

ENGINES = 3
APIS = 2


@dataclass
class Report:
    seed: int
    former: str = ''
    requests: dict[str, int] = field(default_factory=dict)
    repeated: int = 0                                       # requests sent again after 5xx, or without an answer
    things: int = 0
    kills: dict[str, int] = field(default_factory=dict)     # by phase
    phases: dict[str, float] = field(default_factory=dict)  # seconds
    sync_seconds: float = 0.0
    lost: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    orphaned: list[str] = field(default_factory=list)       # things that no stack knows
    stale: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)          # answers 500 and everything else
    logs: dict[str, int] = field(default_factory=dict)

    FAULTS = ('lost', 'stuck', 'twice', 'orphaned', 'stale', 'wrong')

    @property
    def is_good(self) -> bool:
        return not any(getattr(self, name) for name in self.FAULTS)

    def table(self) -> str:
        lines = [f'seed {self.seed}, {self.former[:12]} and now: {sum(self.requests.values())} requests accepted '
                 f'{self.requests}, {self.repeated} sent again, {self.things} things made, '
                 f'{sum(self.kills.values())} programs killed, db_sync in {self.sync_seconds:.1f} s',
                 f'{"phase":40} {"seconds":>8} {"killed":>7}']
        lines += [f'{name:40} {seconds:8.0f} {self.kills.get(name, 0):7}' for name, seconds in self.phases.items()]
        lines.append(', '.join(f'{name} {len(getattr(self, name))}' for name in self.FAULTS))
        for name in self.FAULTS:
            lines += [f'  {name}: {each[:600]}' for each in getattr(self, name)[:20]]
        lines += [f'  log, {count} times: {words}' for words, count in sorted(self.logs.items())]
        return '\n'.join(lines)


class Fleet(Cluster):
    """A cluster whose programs are each of one of two releases. `lock`: held while a program is exchanged."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, engines=ENGINES, **options)
        self.lock = threading.Lock()
        self.releases = [self.code] * ENGINES               # of the engines, by number
        self.api_releases = [self.code] * APIS
        with self.stopped_if_it_fails():
            for _ in range(APIS - 1):
                self.start_api(self._server)

    def exchange_engine(self, number: int, release: Path | None = None, kill: bool = False) -> None:
        """Ends an engine and starts one of the same release or another one in its place."""
        with self.lock:
            self.code = self.releases[number] = release or self.releases[number]
            old = self.engines[number]
            if kill:
                old.kill()
            else:
                ended = old.stop()
                assert ended in (0, -signal.SIGTERM), old.log.read_text()[-2000:]        # the latter: while it starts
            self.start_engine()
            self.engines[number] = self.engines.pop()

    def exchange_api(self, number: int, code: Path | None = None) -> None:
        with self.lock:
            self.code = self.api_releases[number] = code or self.api_releases[number]
            self.restart_api(number)
        answers(self.urls[number].removesuffix('/v1/admin') + '/')


class Killer(threading.Thread):
    """Kills engines, and sometimes an API, and starts the same release again."""

    def __init__(self, fleet: Fleet, seed: int, report: Report) -> None:
        super().__init__(name='killer', daemon=True)
        self._fleet = fleet
        self._dice = random.Random(f'{seed}/kills')
        self._report = report
        self.phase = ''
        self.over = threading.Event()
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.over.wait(3 + self._dice.random() * 6):
                if self._dice.random() < 0.8:
                    self._fleet.exchange_engine(self._dice.randrange(ENGINES), kill=True)
                else:
                    self._fleet.exchange_api(self._dice.randrange(APIS))
                self._report.kills[self.phase] = self._report.kills.get(self.phase, 0) + 1
        except BaseException as error:
            self.problem = error


def run(seed: int, minutes: float, stacks: int, database_url: str, rabbit_url: str, folder: Path,
        former: str = commits.FORMER) -> Report:
    """Executes all phases, each for the same share of `minutes`. `folder`: an empty one, for code, logs and ledger."""
    folder.mkdir(parents=True, exist_ok=True)
    old = commits.extract(former, folder / 'former')
    report = Report(seed, former)
    fleet = Fleet(folder, database_url, rabbit_url, code=old, rpc_response_timeout=20, max_stacks_per_tenant=-1)
    try:
        _under_load(fleet, _phases(fleet, old, report), minutes * 60, stacks, report)
    finally:
        fleet.stop()
    report.logs = logs.errors(folder, most=150, by_process=True)
    return report


def _phases(fleet: Fleet, old: Path, report: Report) -> list[tuple[str, Callable[[], None]]]:
    """What is done at the beginning of each phase."""
    def engines(code: Path, *numbers: int) -> None:
        for number in numbers or range(ENGINES):
            fleet.exchange_engine(number, code)

    def apis(code: Path, *numbers: int) -> None:
        for number in numbers or range(APIS):
            fleet.exchange_api(number, code)

    def synchronise() -> None:
        with fleet.lock:
            fleet.code = ROOT
            began = time.monotonic()
            fleet.run('heatlite.cmd.manage', 'db_sync')
            report.sync_seconds = time.monotonic() - began

    return [
        ('former release', lambda: None),
        ('former release, schema migrated', synchronise),
        ('one new engine', lambda: engines(ROOT, 0)),
        ('one new engine, one new API', lambda: apis(ROOT, 0)),
        ('new release', lambda: (engines(ROOT, 1, 2), apis(ROOT, 1))[0]),
        ('back: former engines, new APIs', lambda: engines(old)),
        ('back: former release', lambda: apis(old)),
        ('new APIs first', lambda: apis(ROOT)),
        ('new APIs, one former engine', lambda: engines(ROOT, 1, 2)),
        ('new release again', lambda: engines(ROOT, 0)),
    ]


def _under_load(fleet: Fleet, phases: list[tuple[str, Callable[[], None]]], seconds: float, stacks: int,
                report: Report) -> None:
    over = threading.Event()
    people = [users.user(number, report.seed, fleet.urls, over) for number in range(stacks)]
    killer = Killer(fleet, report.seed, report)
    with _ending(over, killer):
        for thread in people:
            thread.start()
        for number, (name, begin) in enumerate(phases):
            began = time.monotonic()
            killer.phase = name
            if number == 0:
                killer.start()
            begin()
            time.sleep(max(0.0, began + seconds / len(phases) - time.monotonic()))
            report.phases[name] = time.monotonic() - began
    for person in people:
        person.join()
    if killer.problem is not None:
        report.wrong.append(f'the killer: {killer.problem!r}')
    for person in people:
        report.stuck += person.problems
        report.stale += person.stale
        report.wrong += person.defects
        report.repeated += person.repeated
        for name, count in person.requests.items():
            report.requests[name] = report.requests.get(name, 0) + count
    found = reckon(Ledger(fleet.ledger), [fleet.database_url], [person for person in people if not person.problems],
                   bool(report.stuck))
    report.things, report.orphaned = found.things, found.orphaned
    report.twice += found.duplicated
    report.lost += found.lost
    report.stuck += found.stuck
    report.wrong += found.wrong
    for person in people:
        if isinstance(person, users.Signaller):
            report.lost += person.lost
            report.twice += person.twice


@contextmanager
def _ending(over: threading.Event, killer: Killer) -> Iterator[None]:
    try:
        yield
    finally:
        killer.over.set()
        if killer.ident is not None:
            killer.join()
        over.set()
