"""The table of what is promised, measured: `python -m tests.bench BACKEND`, one of sqlite, mariadb, postgresql, and
production (MariaDB, RabbitMQ, Keystone, secrets sealed, seen by an ordinary member). What the template language costs
alone: `python -m tests.bench language`; metrics and alarms: `python -m tests.bench alarms`; plans with their checks:
`python -m tests.bench plans`; how large an installation may be: `python -m tests.bench capacity`.

The bare write limit of the database is measured in the same run. Quote medians, and how busy the machine was.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench import capacity, deployments, language, plans, scale, scale_out, scenarios, writes
from tests.bench.scenarios import act, flat
from tests.system.processes import ask, eventually

LANGUAGE, ALARMS, PLANS, CAPACITY = 'language', 'alarms', 'plans', 'capacity'
SCENARIOS = {**scenarios.SCENARIOS, 'scale_out': scale_out.scale_out, 'scale': scale.scale}


def whole_life(deployment, count: int) -> dict:
    """A flat stack of `count` no-op resources: create, update of one, of none, delete."""
    before = deployments.transactions(deployment)
    url, figures = scenarios.lives(deployment, f's{count}', flat(count), count)
    after = deployments.transactions(deployment)
    with deployments.Meter(deployment) as update:
        act(deployment, 'PUT', url, {'template': flat(count, changed=1)})
    with deployments.Meter(deployment) as nothing:
        act(deployment, 'PUT', url, {'template': flat(count, changed=1)})
    with deployments.Meter(deployment) as delete:
        act(deployment, 'DELETE', url)
    return {
        **figures, 'transactions': None if before is None or after is None else after - before,
        'update_one_seconds': update.wall, 'update_nothing_seconds': nothing.wall, 'delete_seconds': delete.wall}


def many_small(deployment, stacks: int = 200, resources: int = 5) -> dict:
    """Stacks that are all asked for at once."""
    with deployments.Meter(deployment) as meter:
        urls = []
        for number in range(stacks):
            status, found = ask('POST', f'{deployment.url}/stacks',
                                {'stack_name': f'm{number}', 'template': flat(resources)})
            assert status == 201, found
            urls.append(f"{deployment.url}/stacks/m{number}/{found['stack']['id']}")
        for url in urls:
            while ask('GET', f'{url}?resolve_outputs=false')[1]['stack']['stack_status'] != 'CREATE_COMPLETE':
                time.sleep(0.02)
    for url in urls:
        ask('DELETE', url)
    eventually('the end of the deletes', lambda: not ask('GET', f'{deployment.url}/stacks')[1]['stacks'])
    return {'stacks': stacks, 'stacks_per_second': stacks / meter.wall, 'cpu_ms_per_stack': meter.cpu / stacks * 1000}


def reading(deployment, requests: int = 500) -> dict:
    """GET one stack, one connection after the other."""
    url = act(deployment, 'POST', f'{deployment.url}/stacks', {'stack_name': 'read', 'template': flat(5)})
    times = []
    for _ in range(requests):
        began = time.monotonic()
        ask('GET', url)
        times.append((time.monotonic() - began) * 1000)
    act(deployment, 'DELETE', url)
    ordered = sorted(times)
    return {'get_p50_ms': statistics.median(ordered), 'get_p99_ms': ordered[int(len(ordered) * 0.99)]}


def measure(backend: str, sizes: list[int]) -> dict:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        deployment = deployments.start(backend, folder)
        try:
            found = {'backend': backend, 'load_before': os.getloadavg()[0],
                     'start_seconds': deployment.seconds_to_first_answer,
                     'idle_mib': sum(process.memory_info().rss for process in deployment.processes) / 2 ** 20}
            found['flat'] = [whole_life(deployment, size) for size in sizes]
            found.update(many_small(deployment))
            found.update(reading(deployment))
        finally:
            deployment.stop()
    found['bare_write_us_per_resource'] = writes.limit(backend)
    found['load_after'] = os.getloadavg()[0]
    return found


def table(found: dict) -> str:
    lines = [f"{found['backend']}: start to first answer {found['start_seconds']:.2f} s, "
             f"idle {found['idle_mib']:.0f} MiB, "
             f"load {found['load_before']:.1f} before, {found['load_after']:.1f} after",
             f"{'flat stack':>12} {'create s':>9} {'res/s':>7} {'CPU ms/res':>11} {'MiB':>6} {'trans.':>7} "
             f"{'update 1 s':>11} {'no-op s':>8} {'delete s':>9}"]
    for row in found['flat']:
        told = '-' if row['transactions'] is None else f"{row['transactions']:.0f}"
        lines.append(f"{row['resources']:>12} {row['create_seconds']:>9.2f} {row['created_per_second']:>7.0f} "
                     f"{row['create_cpu_ms']:>11.3f} {row['mib']:>6.0f} {told:>7} "
                     f"{row['update_one_seconds']:>11.2f} {row['update_nothing_seconds']:>8.2f} "
                     f"{row['delete_seconds']:>9.2f}")
    lines.append(f"{found['stacks']} stacks of 5 at once: {found['stacks_per_second']:.0f}/s, "
                 f"{found['cpu_ms_per_stack']:.1f} ms CPU each; GET one stack p50 {found['get_p50_ms']:.2f} ms, "
                 f"p99 {found['get_p99_ms']:.2f} ms (a connection each)")
    lines.append(f"bare bulk INSERT of the rows of one resource: {found['bare_write_us_per_resource']:.0f} us")
    return '\n'.join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog='python -m tests.bench', description=__doc__)
    parser.add_argument('backend', choices=[*deployments.BACKENDS, LANGUAGE, ALARMS, PLANS, CAPACITY])
    parser.add_argument('--sizes', default='1000,10000')
    parser.add_argument('--json', action='store_true')
    parser.add_argument('--scenarios', nargs='?', const=','.join(SCENARIOS), metavar='NAME,NAME',
                        help='these instead (without names: all of them): ' + ', '.join(SCENARIOS))
    parser.add_argument('--smaller', type=int, default=1, help='divides the sizes of the scenarios')
    large = parser.add_argument_group(CAPACITY, 'without --engines: two and four, measured and simulated')
    large.add_argument('--engines', type=int)
    large.add_argument('--resources', type=int, default=10_000_000, help='that exist, in stacks of 20')
    large.add_argument('--projects', type=int, default=1000)
    large.add_argument('--stacks', type=int, help='in flight; 20 for each engine')
    large.add_argument('--seconds', type=float, default=5.0, help='of each period that is measured')
    large.add_argument('--seed', type=int, default=1)
    chosen = parser.parse_args()
    if chosen.backend == ALARMS:                # with the threads of an engine, which are chosen before all else
        raise SystemExit(subprocess.call([sys.executable, '-W', 'ignore', '-m', 'tests.bench.alarms',
                                          *(['--json'] if chosen.json else [])]))
    if chosen.backend == LANGUAGE:
        found, shown = language.measure(chosen.smaller), language.table
    elif chosen.backend == CAPACITY:
        found, shown = capacity.measure(chosen.engines, chosen.resources, chosen.projects, chosen.stacks,
                                        chosen.seconds, chosen.seed), capacity.table
    elif chosen.backend == PLANS:
        found, shown = plans.measure(chosen.smaller), plans.table
    elif chosen.scenarios:
        wanted = {name: SCENARIOS[name] for name in chosen.scenarios.split(',')}
        found, shown = scenarios.measure(chosen.backend, wanted, chosen.smaller), scenarios.table
    else:
        found, shown = measure(chosen.backend, [int(size) for size in chosen.sizes.split(',')]), table
    print(json.dumps(found, indent=1) if chosen.json else shown(found))


if __name__ == '__main__':
    main()
