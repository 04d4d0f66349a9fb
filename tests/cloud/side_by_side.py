"""The same templates on heatlite and on OpenStack's own Heat, in the same cloud: states, resources, outputs, objects,
time.

    python -m tests.cloud.side_by_side CLOUD http://127.0.0.1:8104/v1/PROJECT [--processes TEXT] [TEMPLATE...]

CLOUD is a name in clouds.yaml, the URL is that of the other service. TEXT stands in the command lines of its
processes on this machine, so that its CPU time can be told. Stacks are made with the `openstack` command. Prints every
difference, and a table of times. Exit code: 0 when nothing differs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cloud import clouds, deployment
from tests.cloudsim.compare import shape

TEMPLATES = Path(__file__).with_name('templates')
COMMAND = Path(sys.executable).with_name('openstack')
TICKS = os.sysconf('SC_CLK_TCK')


@dataclass(frozen=True)
class Result:
    """Of one template on one service."""

    state: str
    resources: tuple[tuple[str, str, str], ...]     # type, status, depth in the tree
    outputs: dict[str, str]                         # path -> kind of value
    objects: dict[str, int]
    deleted: str
    seconds: tuple[float, float]                    # creation, deletion
    cpu: float                                      # seconds of its processes, for both


@dataclass
class Service:
    name: str
    deployment: deployment.Deployment
    environment: dict[str, str]                     # for the command
    processes: str

    def cpu(self) -> float:
        return sum(spent(folder) for folder in Path('/proc').iterdir()
                   if folder.name.isdigit() and self.processes in command_line(folder))


def command_line(folder: Path) -> str:
    try:
        return (folder / 'cmdline').read_bytes().replace(b'\0', b' ').decode(errors='replace')
    except OSError:
        return ''                                   # it has ended meanwhile


def spent(folder: Path) -> float:
    try:
        fields = (folder / 'stat').read_text().rpartition(')')[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def run(service: Service, cloud: clouds.Cloud, template: Path) -> Result:
    name = f'side-{template.stem}'
    before, cpu = cloud.listing(), service.cpu()
    made = subprocess.run([str(COMMAND), 'stack', 'create', '-f', 'value', '-c', 'id', '-t', str(template), name],
                          env={**os.environ, **service.environment}, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-2000:]
    began = time.monotonic()                        # the command has been answered: the work begins
    stack = f'/stacks/{name}/{made.stdout.split()[-1]}'
    state = service.deployment.settled(stack)
    created = time.monotonic() - began
    if state != 'CREATE_COMPLETE':
        print(f'{service.name}: {service.deployment.why(stack)}')
    listed = service.deployment.resources(stack)
    outputs = {each['output_key']: each.get('output_value') for each in service.deployment.stack(stack)['outputs']}
    objects = {kind: len(ids - before[kind]) for kind, ids in cloud.listing().items() if ids - before[kind]}
    began = time.monotonic()
    deleted = service.deployment.delete(stack)
    gone = time.monotonic() - began
    members = tuple(sorted((each['resource_type'], each['resource_status'], depth(each)) for each in listed))
    return Result(state, members, shape(outputs), objects, deleted, (created, gone), service.cpu() - cpu)


def depth(resource: dict[str, Any]) -> str:
    return 'nested' if 'parent_resource' in resource else 'top'


def differences(one: Result, other: Result) -> list[str]:
    found = []
    for what in ('state', 'deleted', 'outputs', 'objects'):
        left, right = getattr(one, what), getattr(other, what)
        if left != right:
            found.append(f'{what}: {left} | {right}')
    counts = Counter(one.resources), Counter(other.resources)
    for each in sorted(counts[0] | counts[1]):
        if counts[0][each] != counts[1][each]:
            found.append(f'resource {" ".join(each)}: {counts[0][each]} | {counts[1][each]}')
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.cloud.side_by_side', description='heatlite beside Heat.')
    parser.add_argument('cloud')
    parser.add_argument('url')
    parser.add_argument('--processes', default='realheat', metavar='TEXT')
    parser.add_argument('templates', nargs='*', type=Path, default=sorted(TEMPLATES.glob('*.yaml')))
    said = parser.parse_args(arguments)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, clouds.of(said.cloud, Path(folder)) as cloud, \
            deployment.running(cloud, Path(folder)) as ours:
        token = cloud.token()
        services = [Service('heatlite', ours, {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': ours.url}, folder),
                    Service('Heat', deployment.Deployment(said.url, token), {
                        'OS_AUTH_TYPE': 'admin_token', 'OS_ENDPOINT': said.url, 'OS_TOKEN': token}, said.processes)]
        rows = []
        for template in said.templates:
            results = [run(service, cloud, template) for service in services]
            found = differences(*results)
            wrong += len(found)
            for each in found:
                print(f'{template.stem}: {each}')
            rows += [(template.stem, service.name, *result.seconds, result.cpu)
                     for service, result in zip(services, results, strict=True)]
    print(f'{wrong} differences (heatlite | Heat)\n')
    print(f'{"template":<14}{"service":<10}{"create":>9}{"delete":>9}{"CPU":>9}'
          f'   seconds; load {os.getloadavg()[0]:.1f}')
    for stem, name, created, deleted, cpu in rows:
        print(f'{stem:<14}{name:<10}{created:>9.1f}{deleted:>9.1f}{cpu:>9.1f}')
    return wrong > 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
