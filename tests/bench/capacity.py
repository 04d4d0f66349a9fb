"""What engines ask of the database: of a small cluster, measured, and of a simulated one, of this and of other sizes.

`python -m tests.bench capacity` measures two and four engines on MariaDB and RabbitMQ, by the server's own counters,
and simulates the same (tests/simulation/installation.py); `python -m tests.bench capacity --engines 200 --resources
10000000 --projects 1000` simulates only. Progress goes to standard error.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from tests.bench import deployments
from tests.bench.alarms import servers_at
from tests.bench.scenarios import ended
from tests.simulation.installation import BIN, PER_STACK, PERIODIC, Installation, until_driven
from tests.system.processes import ask, eventually

Figures = dict[str, Any]
VERBS = ('select', 'insert', 'update', 'delete')
WAITING = 3600                          # seconds that the services of a stack take
LOADED = 5.0                            # seconds in which the stacks that were taken over are read, at most
SETTLED = 12.0                          # seconds until the waits of stacks are noted, with a poll each second


def template(resources: int, wait: int = 0) -> dict[str, Any]:
    """Resources that are done at once; the last one takes `wait` seconds."""
    found: dict[str, Any] = {f'r{number}': {'type': 'OS::Heat::None'} for number in range(resources - bool(wait))}
    if wait:
        found['wait'] = {'type': 'OS::Heat::Delay', 'properties': {'min_wait': wait}}
    return {'heat_template_version': '2018-08-31', 'resources': found}


def note(text: str) -> None:
    print(f'{time.strftime("%H:%M:%S")} {text}', file=sys.stderr, flush=True)


# --- measured ------------------------------------------------------------------------------------------------

class Server:
    """The counters of a MariaDB server, which nothing else uses."""

    def __init__(self, url: str) -> None:
        self._engine = sa.create_engine(url)
        self._process, = servers_at(sa.make_url(url).port)
        self._asked = 0                 # statements of `ask`

    def ask(self, query: str) -> list[Any]:
        """The rows of a SELECT that is not counted."""
        self._asked += 1
        with self._engine.connect() as connection:
            return list(connection.exec_driver_sql(query))

    def close(self) -> None:
        self._engine.dispose()

    def read(self) -> Counter[str]:
        with self._engine.connect() as connection:
            status = {name.lower(): value for name, value in connection.exec_driver_sql('SHOW GLOBAL STATUS')}
        found = Counter({verb: int(status[f'com_{verb}']) for verb in VERBS})
        found['transactions'] = int(status['com_commit'])
        found['others'] = int(status['questions']) - sum(found.values())
        found['select'] -= self._asked
        found['rows_read'] = sum(int(count) for name, count in status.items() if name.startswith('handler_read_'))
        found['connections'] = int(status['threads_connected'])
        found['cpu_us'] = int(sum(self._process.cpu_times()[:2]) * 1e6)
        return found

    @contextmanager
    def metered(self) -> Iterator[Figures]:
        """What happens until the end of `with`, a second; `seconds` of it; `connections` at its end."""
        figures: Figures = {}
        before, began = self.read(), time.monotonic()
        yield figures
        after, seconds = self.read(), time.monotonic() - began
        figures |= {name: (after[name] - before[name]) / seconds for name in after if name != 'connections'}
        figures |= {'seconds': seconds, 'connections': after['connections'],
                    'statements': sum(figures[verb] for verb in VERBS)}


def measured(engines: int, stacks: int, seconds: float) -> Figures:
    """A cluster of real processes: without work, with `stacks` that wait, while they are created, without an engine."""
    with tempfile.TemporaryDirectory() as folder:
        found = deployments.Clustered(Path(folder), 'mariadb', engines)
        server = Server(found.database_url)
        try:
            eventually('all engines', lambda: len(found.cluster.services()) == engines)
            time.sleep(2.0)
            note(f'{engines} engines: without work')
            with server.metered() as idle:
                time.sleep(seconds)
            note(f'{engines} engines: {stacks} stacks of {PER_STACK}')
            with server.metered() as load:
                for number in range(stacks):
                    _create(found.url, f'w{number}', template(PER_STACK, WAITING))
                _wait_in_progress(server, stacks)
            time.sleep(SETTLED)
            with server.metered() as flight:
                time.sleep(seconds)
            note(f'{engines} engines: one is killed')
            killed = _kill_one(found, server)
            note(f'{engines} engines: {stacks} stacks of {PER_STACK} that end')
            with server.metered() as whole, deployments.Meter(found) as meter:
                urls = [_create(found.url, f'e{number}', template(PER_STACK)) for number in range(stacks)]
                for url in urls:
                    ended(url)
            whole['our_cpu_ms'] = meter.cpu * 1000 / stacks
            return {'idle': idle, 'load': _each(load, idle, stacks), 'in_flight': flight, 'killed': killed,
                    'whole': _each(whole, idle, stacks)}
        finally:
            server.close()
            found.stop()


def _create(url: str, name: str, wanted: dict[str, Any]) -> str:
    status, answer = ask('POST', f'{url}/stacks', {'stack_name': name, 'template': wanted})
    if status != 201:
        raise SystemExit(f'POST {name}: {status} {answer}')
    return f"{url}/stacks/{name}/{answer['stack']['id']}"


def _wait_in_progress(server: Server, stacks: int) -> None:
    """Waits until all resources but those that wait are complete."""
    while server.ask("SELECT count(*) FROM resource WHERE status = 'COMPLETE'")[0][0] < stacks * (PER_STACK - 1):
        time.sleep(0.1)


def _kill_one(found: Any, server: Server) -> Figures:
    """SIGKILL of an engine's process and its parent: seconds until others have its stacks, and what that took."""
    def held() -> dict[str, int]:
        return {row[0]: row[1] for row in server.ask(
            'SELECT engine_id, count(*) FROM lease WHERE wanted AND engine_id IS NOT NULL GROUP BY engine_id')}

    before = held()
    program = found.engines.pop()
    family = [psutil.Process(program.process.pid), *psutil.Process(program.process.pid).children(recursive=True)]
    gone = next(name for name in before if name in program.log.read_text())
    began = time.monotonic()
    with server.metered() as figures:
        for process in family:
            process.kill()
        while gone in held():
            time.sleep(0.05)
        seconds = time.monotonic() - began
        time.sleep(LOADED)
    program.process.wait()
    return {**figures, 'stacks': before[gone], 'taken_after': seconds, 'most_on_one': max(held().values())}


def _each(figures: Figures, idle: Figures, stacks: int) -> Figures:
    """Figures for each stack, from those for each second, without what engines do by themselves."""
    return {name: value if name not in idle or name in ('seconds', 'connections')
            else (value - idle[name]) * figures['seconds'] / stacks for name, value in figures.items()}


# --- simulated -----------------------------------------------------------------------------------------------

def simulated(engines: int, stacks: int, resources: int, projects: int, seconds: float, seed: int = 1,
              at_once: int | None = None, rate: float | None = None, say: Callable[[str], None] = note) -> Figures:
    """The same in virtual time. `resources`: that exist beside. `at_once`: how many engines a deployment replaces.
    `rate`: stacks that are created a second; a tenth of them."""
    found: Figures = {'engines': engines, 'stacks': stacks, 'resources': resources, 'projects': projects}
    began = time.monotonic()

    def report(what: str) -> None:
        say(f'{engines} engines: {what} ({time.monotonic() - began:.0f} s so far)')

    with Installation(seed, engines, resources, projects) as place:
        report(f'{resources} resources are there; all engines start at once')
        took = place.until(place.all_answer, 60.0)
        found['start'] = _of(place, took)
        place.pass_time(3.0)
        place.counts.reset()
        report('without work')
        place.pass_time(seconds)
        found['idle'] = _of(place, seconds)
        report(f'{stacks} stacks of {PER_STACK}')
        took = place.offer(stacks, rate or stacks / 10.0, template(PER_STACK, WAITING))
        took += place.until(lambda: len(place.driven()) == stacks, 60.0)
        found['load'] = _of(place, took)
        place.pass_time(SETTLED + place.POLL)
        place.counts.reset()
        report('the stacks wait')
        place.pass_time(seconds)
        found['in_flight'] = _of(place, seconds)
        dead = max(1, engines // 20) if engines > 1 else 0
        if dead:
            report(f'{dead} are killed')
            before = place.leases()
            lost = place.kill(dead)
            took = until_driven(place, lost, 60.0)
            after = place.leases()
            assert all(after[stack_id][1] == before[stack_id][1] + 1 for stack_id in lost)
            found['killed'] = {**_of(place, took), 'engines': dead, 'stacks': len(lost), 'taken_after': took,
                               'most_on_one': max(place.loads())}
            for _ in range(dead):
                place.start_engine()
            place.until(place.all_answer, 60.0)
            place.counts.reset()
        if at_once:
            report(f'a new release, {at_once} at a time')
            before = place.leases()
            took = place.deploy(at_once)
            until_driven(place, before, 60.0)
            after = place.leases()
            found['deployed'] = {
                **_of(place, took), 'at_once': at_once, 'most_on_one': max(place.loads()),
                'moves_of_a_stack': sum(after[each][1] - before[each][1] for each in before) / len(before)}
        report('the end')
    return found


def _of(place: Installation, seconds: float) -> Figures:
    """What was counted, a second; then counting begins anew."""
    counts, seconds = place.counts, max(seconds, BIN)
    statements = Counter(verb.lower() for _task, verb in counts.statements.elements())
    found = {**{verb: statements[verb] / seconds for verb in VERBS},
             'statements': counts.statements.total() / seconds,
             'periodic': sum(count for (task, _verb), count in counts.statements.items() if task in PERIODIC) / seconds,
             'transactions': counts.transactions.total() / seconds, 'seconds': seconds,
             'peak': max(counts.bins.values(), default=0) * 10, 'busy': counts.busy / seconds,
             'longest_wait': counts.waited, 'connections': counts.connections,
             'total': counts.statements.total(), 'longest_statement': counts.longest}
    counts.reset()
    return found


# --- shown ---------------------------------------------------------------------------------------------------

def beside(seconds: float, stacks: int) -> Figures:
    """The figures of two and of four engines, measured and simulated."""
    if not os.environ.get('HEATLITE_TEST_MYSQL_URL') or not os.environ.get('HEATLITE_TEST_RABBIT_URL'):
        raise SystemExit('MariaDB and RabbitMQ are needed: tools/services up')
    found: Figures = {}
    for engines in (2, 4):
        real = measured(engines, stacks, seconds)
        made = simulated(engines, stacks, 0, 1, seconds, rate=stacks / real['load']['seconds'])
        made['load'] = _each(made['load'], made['idle'], stacks)
        found[str(engines)] = {'measured': real, 'simulated': made}
    return found


def measure(engines: int | None, resources: int, projects: int, stacks: int | None, seconds: float,
            seed: int) -> Figures:
    if engines is None:
        return beside(seconds, stacks or 200)
    return simulated(engines, stacks or 20 * engines, resources, projects, seconds, seed,
                     at_once=max(1, engines // 20) if engines > 1 else None)


def table(found: Figures) -> str:
    if 'engines' not in found:
        return '\n'.join(line for engines, both in found.items() for line in _beside(engines, both))
    lines = [f"{found['engines']} engines, {found['resources']} resources, {found['projects']} projects; "
             f"{found['stacks']} stacks of {PER_STACK} in flight",
             f"{'':>12} {'seconds':>8} {'stmts/s':>9} {'peak/s':>8} {'commits/s':>9} {'cores':>6} {'wait ms':>8} "
             f"{'connections':>11}"]
    for name in ('start', 'idle', 'load', 'in_flight', 'killed', 'deployed'):
        if name in found:
            row = found[name]
            lines.append(f"{name:>12} {row['seconds']:>8.1f} {row['statements']:>9.0f} {row['peak']:>8} "
                         f"{row['transactions']:>9.0f} {row['busy']:>6.2f} {row['longest_wait'] * 1000:>8.1f} "
                         f"{row['connections']:>11}")
    if 'killed' in found:
        row = found['killed']
        lines.append(f"{row['engines']} killed: {row['stacks']} stacks move again after {row['taken_after']:.1f} s, "
                     f"{row['most_on_one']} stacks on the busiest engine")
    if 'deployed' in found:
        row = found['deployed']
        lines.append(f"deployed, {row['at_once']} at a time: {row['moves_of_a_stack']:.2f} moves of a stack, "
                     f"{row['most_on_one']} stacks on the busiest engine")
    return '\n'.join(lines)


def _beside(engines: str, both: Figures) -> Iterator[str]:
    for kind in ('measured', 'simulated'):
        row, idle = both[kind]['killed'], both[kind]['idle']
        alive = (int(engines) - 1) / int(engines)
        row |= {name: (row[name] - alive * idle[name]) * row['seconds'] / row['stacks'] for name in (
            *VERBS, 'transactions', 'statements')}
    yield (f"{engines} engines {'':>20} " + ' '.join(f'{name:>9}' for name in (*VERBS, 'commits', 'all')))
    for phase, unit in (('idle', 'a second'), ('load', 'a stack'), ('in_flight', 'a second'), ('killed', 'a stack')):
        for kind in ('measured', 'simulated'):
            row = both[kind][phase]
            yield (f'{phase:>10} {unit:>9} {kind:>10} ' + ' '.join(
                f'{row[name]:>9.2f}' for name in (*VERBS, 'transactions', 'statements')))
    for kind in ('measured', 'simulated'):
        row = both[kind]['killed']
        yield f"  {kind}: {row['stacks']} stacks of the dead engine were taken after {row['taken_after']:.1f} s"
    for phase in ('idle', 'load', 'in_flight', 'whole'):
        row = both['measured'][phase]
        if 'our_cpu_ms' in row:
            yield f"  measured, {phase}: {row['our_cpu_ms']:.1f} ms of the CPU of engines and API"
        yield (f"  measured, {phase}: {row['cpu_us']:.0f} us of the server's CPU, {row['rows_read']:.0f} rows read, "
               f"{row['others']:.1f} other statements, {row['connections']} connections")
