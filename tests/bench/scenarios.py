"""Shapes that break what only handles the usual: wide, deep, many, long, and shared by several engines.

`python -m tests.bench BACKEND --scenarios [NAME,NAME...] [--smaller N]`. Each returns figures by name; `_seconds` are
wall time from the request to the end of the action, `_cpu_ms` that of all our processes.
"""

from __future__ import annotations

import gc
import http.client
import itertools
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa

from tests.bench import deployments
from tests.system.chaos.faults import identity
from tests.system.chaos.records import Rows
from tests.system.processes import ask, eventually, login

NOOP = {'type': 'OS::Heat::None'}
ROUNDS = 3                              # of what is done in turns
Figures = dict[str, float]
Scenario = Callable[[str, int], Figures]            # the backend, what its size is divided by


def template(resources: dict[str, Any]) -> dict[str, Any]:
    return {'heat_template_version': '2018-08-31', 'resources': resources}


def flat(count: int, changed: int = 0) -> dict[str, Any]:
    return template({f'r{n}': {'type': 'OS::Heat::RandomString'} if n < changed else NOOP for n in range(count)})


@contextmanager
def deployment(backend: str, engines: int = 1, **options: Any) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as name:
        made = deployments.start(backend, Path(name), engines, **options)
        try:
            yield made
        finally:
            made.stop()


def act(found: Any, method: str, url: str, body: Any = None) -> str:
    """Sends a request and waits for the end of the action it begins; the stack's URL."""
    status, answer = ask(method, url, body)
    if status not in (200, 201, 202, 204):
        raise SystemExit(f'{method} {url}: {status} {answer}')
    if method == 'POST':
        url = f"{url}/{body['stack_name']}/{answer['stack']['id']}"
    return ended(url)


def ended(url: str) -> str:
    """Waits for the end of a stack's action; its URL."""
    while True:
        status, answer = ask('GET', f'{url}?resolve_outputs=false')
        state = 'DELETE_COMPLETE' if status == 404 else answer['stack']['stack_status']
        if state.endswith('_FAILED'):
            raise SystemExit(f"{url} is {state}: {answer['stack']['stack_status_reason']}")
        if state.endswith('_COMPLETE'):
            return url
        time.sleep(0.02)


def lives(found: Any, name: str, wanted: dict[str, Any], count: int) -> tuple[str, Figures]:
    """Create; the stack's URL, and what it took."""
    with deployments.Meter(found) as meter:
        url = act(found, 'POST', f'{found.url}/stacks', {'stack_name': name, 'template': wanted})
    return url, {'resources': count, 'create_seconds': meter.wall, 'created_per_second': count / meter.wall,
                 'create_cpu_ms': meter.cpu / count * 1000, 'mib': meter.mib}


# --- one large stack -----------------------------------------------------------------------------------------

def group(backend: str, smaller: int) -> Figures:
    """One ResourceGroup; then one member more, and all of them away."""
    count = 10000 // smaller

    def sized(size: int) -> dict[str, Any]:
        return template({'group': {'type': 'OS::Heat::ResourceGroup',
                                   'properties': {'count': size, 'resource_def': NOOP}}})

    with deployment(backend) as found:
        url, figures = lives(found, 'group', sized(count), count)
        with deployments.Meter(found) as update:
            act(found, 'PUT', url, {'template': sized(count + 1)})
        with deployments.Meter(found) as delete:
            act(found, 'DELETE', url)
    return {**figures, 'one_more_seconds': update.wall, 'one_more_cpu_ms': update.cpu * 1000,
            'delete_seconds': delete.wall}


def grid(backend: str, smaller: int) -> Figures:
    """100 wide, 50 deep; each stands on two of the layer below."""
    wide, deep = 100, max(1, 50 // smaller)
    resources: dict[str, Any] = {}
    for layer in range(deep):
        for place in range(wide):
            below = [f'r{layer - 1}-{place}', f'r{layer - 1}-{(place + 1) % wide}'] if layer else []
            resources[f'r{layer}-{place}'] = {**NOOP, 'depends_on': below}
    with deployment(backend) as found:
        url, figures = lives(found, 'grid', template(resources), len(resources))
        with deployments.Meter(found) as delete:
            act(found, 'DELETE', url)
    return {**figures, 'delete_seconds': delete.wall}


def chain(backend: str, smaller: int) -> Figures:
    """Each stands on the one before: what one step takes when nothing can be shared."""
    count = 1000 // smaller
    resources = {f'r{n}': {**NOOP, 'depends_on': [f'r{n - 1}'] if n else []} for n in range(count)}
    with deployment(backend) as found:
        url, figures = lives(found, 'chain', template(resources), count)
        with deployments.Meter(found) as delete:
            act(found, 'DELETE', url)
    return {**figures, 'step_ms': figures['create_seconds'] / count * 1000, 'delete_seconds': delete.wall}


def update_one(backend: str, smaller: int) -> Figures:
    """One of many changes."""
    count = 10000 // smaller
    with deployment(backend) as found:
        url, figures = lives(found, 'flat', flat(count), count)
        with deployments.Meter(found) as update:
            act(found, 'PUT', url, {'template': flat(count, changed=1)})
        with deployments.Meter(found) as nothing:
            act(found, 'PUT', url, {'template': flat(count, changed=1)})
    return {**figures, 'update_one_seconds': update.wall, 'update_one_cpu_ms': update.cpu * 1000,
            'update_nothing_seconds': nothing.wall}


def _text(count: int) -> str:
    """The text of a template of `count` resources."""
    return json.dumps(template({f'r{number}': NOOP for number in range(count)}))


def tree(backend: str, smaller: int) -> Figures:
    """283 stacks: a root, 95 nested stacks of five resources, and 17 groups of ten nested stacks of three resources.

    Updated without a change, with another text of one file that one nested stack uses, and with another environment.
    """
    wide, groups, members = 95 // smaller, 17 // smaller, 10
    files = {f'n{number}.yaml': _text(5) for number in range(wide)} | {'leaf.yaml': _text(3)}
    wanted = template({f'n{number}': {'type': f'n{number}.yaml'} for number in range(wide)} | {
        f'g{number}': {'type': 'OS::Heat::ResourceGroup', 'properties': {
            'count': members, 'resource_def': {'type': 'leaf.yaml'}}} for number in range(groups)})
    body = {'template': wanted, 'files': files}
    with deployment(backend) as found:
        with deployments.Meter(found) as create:
            url = act(found, 'POST', f'{found.url}/stacks', {'stack_name': 'tree', **body})
        with deployments.Meter(found) as nothing:
            act(found, 'PUT', url, body)
        changed = {**files, 'n0.yaml': _text(6)}
        with deployments.Meter(found) as one:
            act(found, 'PUT', url, {**body, 'files': changed})
        with deployments.Meter(found) as everything:
            act(found, 'PUT', url, {**body, 'environment': {'parameter_defaults': {'unused': 1}}})
        with deployments.Meter(found) as delete:
            act(found, 'DELETE', url)
    return {'stacks': 1.0 + wide + groups * (members + 1), 'create_seconds': create.wall, 'mib': create.mib,
            'update_nothing_seconds': nothing.wall, 'update_nothing_cpu_ms': nothing.cpu * 1000,
            'update_one_seconds': one.wall, 'update_one_cpu_ms': one.cpu * 1000,
            'update_all_seconds': everything.wall, 'update_all_cpu_ms': everything.cpu * 1000,
            'delete_seconds': delete.wall}


def planned(backend: str, smaller: int) -> Figures:
    """Plans of one large stack, of a change and of none, and updates by such plans and directly in turns: medians."""
    count = 10000 // smaller
    figures: Figures = {}
    with deployment(backend) as found:
        with deployments.Meter(found) as meter:
            status, answer = ask('POST', f'{found.url}/plans', {'stack_name': 'new', 'template': flat(count)})
        if status != 201:
            raise SystemExit(f'a plan: {status} {answer}')
        figures |= {'plan_create_seconds': meter.wall, 'plan_create_cpu': meter.cpu}
        url, _lived = lives(found, 'flat', flat(count), count)
        for each, name in ((0, 'nothing'), (1, 'one')):
            rounds: dict[str, list[float]] = {
                key: [] for key in ('plan_seconds', 'plan_cpu', 'apply_cpu', 'update_cpu')}
            for number in range(0, 2 * ROUNDS, 2):
                wanted = flat(count, changed=each * (number + 1))
                with deployments.Meter(found) as meter:
                    _status, answer = ask('POST', f'{url}/plans', {'template': wanted})
                rounds['plan_seconds'].append(meter.wall)
                rounds['plan_cpu'].append(meter.cpu)
                with deployments.Meter(found) as meter:
                    ask('POST', f"{found.url}/plans/{answer['plan']['id']}/apply")
                    ended(url)
                rounds['apply_cpu'].append(meter.cpu)
                with deployments.Meter(found) as meter:
                    act(found, 'PUT', url, {'template': flat(count, changed=each * (number + 2))})
                rounds['update_cpu'].append(meter.cpu)
            figures |= {key.replace('_', f'_{name}_'): statistics.median(costs) for key, costs in rounds.items()}
    return figures


# --- many stacks ---------------------------------------------------------------------------------------------

def many(found: Any, count: int, clients: int = 4, wanted: Mapping[str, Any] | None = None) -> Figures:
    """Small stacks, asked for by several clients at once, each of which keeps its connection, as SDKs do. `wanted`:
    their template, by default that of five no-op resources."""
    chosen = flat(5) if wanted is None else wanted
    numbers, problems = iter(range(count)), []
    lock = threading.Lock()
    place = urlsplit(f'{found.url}/stacks')

    def client() -> None:
        connection = http.client.HTTPConnection(str(place.hostname), place.port)
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                connection.close()
                return
            connection.request('POST', place.path, json.dumps({'stack_name': f'm{number}', 'template': chosen}),
                               {'Content-Type': 'application/json', **login(found.url)})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 201:
                problems.append((answer.status, text))

    with deployments.Meter(found) as meter:
        threads = [threading.Thread(target=client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        eventually('the end of all creates', lambda: not ask(
            'GET', f'{found.url}/stacks?status=IN_PROGRESS&limit=1')[1]['stacks'])
    if problems:
        raise SystemExit(f'{len(problems)} refused, first {problems[0]}')
    return {'stacks': count, 'seconds': meter.wall, 'stacks_per_second': count / meter.wall,
            'stack_cpu_ms': meter.cpu / count * 1000, 'mib': meter.mib}


def small(backend: str, smaller: int) -> Figures:
    """Small stacks, asked for by four clients, then by thirty-two."""
    with deployment(backend) as found:
        few = many(found, 1000 // smaller)
    with deployment(backend) as found:
        more = many(found, 1000 // smaller, clients=32)
    return {**few, **{f'{name}_of_32_clients': more[name] for name in ('stacks_per_second', 'stack_cpu_ms')}}


def neighbour(backend: str, smaller: int) -> Figures:
    """Small stacks of one project: alone, beside a large stack of another one, beside its callers who never pause.

    Milliseconds from the request to the end of the create, and until the answer."""
    figures: Figures = {}
    with deployment(backend) as found:
        other = found.other_url
        _one_by_one(other, 'warm', 2 / smaller)
        figures |= _one_by_one(other, 'alone', 8 / smaller)
        large = f'{found.url}/stacks'
        ask('POST', large, {'stack_name': 'large', 'template': flat(50_000 // smaller)})
        gc.collect()            # else this process does so later, for 100 ms, and measures itself
        figures |= _one_by_one(other, 'beside_large', 8 / smaller)
        eventually('the end of the large one', lambda: not ask('GET', f'{large}?status=IN_PROGRESS')[1]['stacks'])
        stop = threading.Event()
        callers = [threading.Thread(target=_flood, args=(found.url, number, stop)) for number in range(32)]
        for caller in callers:
            caller.start()
        time.sleep(2 / smaller)
        figures |= _one_by_one(other, 'beside_callers', 15 / smaller)
        stop.set()
        for caller in callers:
            caller.join()
    return figures


def _one_by_one(url: str, name: str, seconds: float) -> Figures:
    ends, answers, until = [], [], time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        status, found = ask('POST', f'{url}/stacks', {'stack_name': f'{name}-{len(ends)}', 'template': flat(5)})
        if status != 201:
            raise SystemExit(f'{name}: {status} {found}')
        answers.append(1000 * (time.monotonic() - began))
        stack = f"{url}/stacks/{name}-{len(ends)}/{found['stack']['id']}?resolve_outputs=false"
        while ask('GET', stack)[1]['stack']['stack_status'] == 'CREATE_IN_PROGRESS':
            time.sleep(0.01)
        ends.append(1000 * (time.monotonic() - began))
    ends.sort()
    return {f'{name}_p50_ms': statistics.median(ends), f'{name}_p99_ms': ends[int(len(ends) * 0.99)],
            f'{name}_answer_p50_ms': statistics.median(answers)}


def _flood(url: str, caller: int, stop: threading.Event) -> None:
    for number in itertools.count():
        if stop.is_set():
            return
        ask('POST', f'{url}/stacks', {'stack_name': f'many-{caller}-{number}', 'template': flat(20)})


# --- a long time ---------------------------------------------------------------------------------------------

def soak(backend: str, smaller: int) -> Figures:
    """One stack is updated again and again; memory and the database must not grow. Event limit 200."""
    updates, figures = 10000 // smaller, {}
    with deployment(backend, max_events_per_stack=200) as found:
        url = act(found, 'POST', f'{found.url}/stacks', {'stack_name': 'soak', 'template': flat(10)})
        with deployments.Meter(found) as meter:
            for number in range(updates):
                act(found, 'PUT', url, {'template': flat(10, changed=number % 7)})
                if number == updates // 5:
                    figures['early_mib'], figures['early_rows'] = deployments.memory(found), _rows(found)
        figures['late_mib'], figures['late_rows'] = meter.mib, _rows(found)
    return {'updates': updates, **figures, 'update_ms': meter.wall / updates * 1000,
            'update_cpu_ms': meter.cpu / updates * 1000}


def _rows(found: Any) -> float:
    """Rows in all tables."""
    engine = sa.create_engine(found.database_url)
    with engine.connect() as connection:
        tables = sa.inspect(connection).get_table_names()
        quote = connection.dialect.identifier_preparer.quote
        count = sum(connection.exec_driver_sql(f'SELECT COUNT(*) FROM {quote(name)}').scalar() for name in tables)
    engine.dispose()
    return float(count)


def takeover(backend: str, smaller: int) -> Figures:
    """SIGKILL of the engine that drives many stacks: until the last of them has another owner."""
    if backend == 'sqlite':
        return {}
    count = 200 // smaller
    waiting = template({'r': {'type': 'Test::Ledger::Entry', 'properties': {'seconds': 600}}})
    with deployment(backend, engines=2) as found:
        for number in range(count):
            ask('POST', f'{found.url}/stacks', {'stack_name': f't{number}', 'template': waiting})
        leased, seconds = kill_busiest(found)
    return {'stacks': leased, 'seconds': seconds}


def kill_busiest(found: Any) -> tuple[float, float]:
    """SIGKILL of the engine with the most stacks. How many it had, and the seconds until the last of them has another
    owner."""
    rows = Rows(found.database_url)
    held = [lease.engine_id for lease in (rows.leases() or {}).values()]
    victim = max(found.engines, key=lambda each: held.count(identity(each)))
    gone = identity(victim)
    began = time.monotonic()
    victim.kill()
    found.engines.remove(victim)
    eventually('the takeover', lambda: not any(
        lease.engine_id == gone for lease in (rows.leases() or {}).values()))
    seconds = time.monotonic() - began
    rows.close()
    return float(held.count(gone)), seconds


SCENARIOS: dict[str, Scenario] = {
    each.__name__: each for each in (group, grid, chain, update_one, tree, small, neighbour, soak, takeover, planned)}


def measure(backend: str, chosen: Mapping[str, Scenario], smaller: int) -> dict[str, Any]:
    found: dict[str, Any] = {'backend': backend, 'smaller': smaller, 'load_before': os.getloadavg()[0]}
    for name, scenario in chosen.items():
        load = os.getloadavg()[0]
        found[name] = {key: round(value, 3) for key, value in scenario(backend, smaller).items()}
        found[name]['load'] = round(load, 1)
    found['load_after'] = os.getloadavg()[0]
    return found


def table(found: dict[str, Any]) -> str:
    lines = [f"{found['backend']}, sizes divided by {found['smaller']}, load {found['load_before']:.1f} before, "
             f"{found['load_after']:.1f} after"]
    for name, figures in found.items():
        if isinstance(figures, dict):
            told = ', '.join(f'{key} {value:g}' for key, value in figures.items())
            lines.append(f'{name:>12}: {told}')
    return '\n'.join(lines)
