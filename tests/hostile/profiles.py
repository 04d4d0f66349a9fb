"""The services that the suite attacks, each with two tenants and the default limits: one process, or a cluster."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.hostile.meters import children
from tests.hostile.peers import CFN, CLOUDWATCH, REST
from tests.hostile.tenants import Tenant
from tests.system.processes import Program, answers, free_port
from tests.system.production import Person, Production


@dataclass(frozen=True)
class Target:
    """`programs`: those that must stay alive. `port`: of the REST API; `ports`: of all APIs there are, by name."""

    hostile: Tenant
    neighbour: Tenant
    programs: Callable[[], list[Program]]
    port: int
    ports: Mapping[str, int]

    def pids(self) -> list[int]:
        return [program.process.pid for program in self.programs()]

    def bound(self, size: int) -> None:
        """No program may have more than `size` bytes of addresses: a bomb that works must not take the machine."""
        for pid in set().union(*(children(each) for each in self.pids())):
            resource.prlimit(pid, resource.RLIMIT_AS, (size, size))

    def ended(self) -> list[str]:
        """The programs that have ended, each with the end of its log."""
        return [f'{program.log.name} ended with {program.process.returncode}:\n{program.log.read_text()[-2000:]}'
                for program in self.programs() if program.process.poll() is not None]


@contextlib.contextmanager
def embedded(folder: Path) -> Iterator[Target]:
    """heatlite-all as `make serve` starts it."""
    port = free_port()
    program = Program(folder / 'all.log', '--state-dir', folder / 'state', '--port', port, '--cloud', 'simulated',
                      module='heatlite.cmd.all_in_one')
    try:
        assert program.process.stdout.readline(), program.log.read_text()
        answers(f'http://127.0.0.1:{port}/')
        yield Target(Tenant(f'http://127.0.0.1:{port}/v1/mallory'), Tenant(f'http://127.0.0.1:{port}/v1/alice'),
                     lambda: [program], port, {REST: port})
    finally:
        program.kill()


@contextlib.contextmanager
def production(folder: Path) -> Iterator[Target]:
    """All APIs and two engines on MariaDB, RabbitMQ and Keystone; both tenants are members of their projects."""
    with Production(folder) as cloud:
        def tenant(person: Person) -> Tenant:
            return Tenant(f'{cloud.url}/v1/{person.project_id}', {'X-Auth-Token': person.token}, person.ec2)

        yield Target(tenant(cloud.people['alpha']), tenant(cloud.people['beta']),
                     lambda: [cloud.api, cloud.cfn, cloud.cloudwatch, *cloud.engines], cloud.port,
                     {REST: cloud.port, CFN: cloud.cfn_port, CLOUDWATCH: cloud.cloudwatch_port})


PROFILES = {'embedded': embedded, 'production': production}
