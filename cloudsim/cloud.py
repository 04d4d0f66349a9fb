"""One region of the simulated cloud: its services, its clock, its settings and its faults."""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from cloudsim import service as services
from cloudsim.clock import Clock
from cloudsim.faults import Faults
from cloudsim.messages import Call
from cloudsim.service import Service
from cloudsim.settings import Settings
from cloudsim.store import Table, Thing
from heatlite.common.runtime import Runtime

# In the order they are filled; a later one may rely on an earlier one's seeds.
SERVICES = ('identity', 'image', 'network', 'compute', 'volume', 'object-store', 'load-balancer', 'dns', 'key-manager',
            'alarming', 'messaging', 'workflow', 'shared-file-system', 'container-infra', 'database', 'baremetal',
            'container', 'reservation', 'rating')


REGIONS = 'regions'             # path below which the other regions are reached, by name


class Cloud:
    """`url` is where it is reached from outside: the catalog is made of it. `regions`: names of more regions, each a
    cloud of its own with the identity service of the first."""

    def __init__(self, runtime: Runtime, url: str, settings: Settings | None = None, regions: Iterable[str] = (),
                 first: Cloud | None = None) -> None:
        self.runtime = runtime
        self.url = url.rstrip('/')
        self.settings = settings or Settings()
        self.first = first or self              # the region that has the identity service
        self.outside: dict[str, str] = {}       # type -> URL of services that are not ours (orchestration)
        self.regions: dict[str, Cloud] = {}     # the other ones
        self.build()
        self.regions = {name: Cloud(runtime, f'{self.url}/{REGIONS}/{name}', replace(self.settings, region=name),
                                    first=self) for name in regions}

    def build(self) -> None:
        """A fresh cloud, as a reset leaves it. A reset of the first region is one of all, as users are in no region."""
        self.clock = Clock(self.runtime)
        self.faults = Faults()
        self.requests = 0
        self.journal: list[tuple[str, str, str, int]] = []      # the last requests: service, method, path, status
        self.services: dict[str, Service] = {} if self.first is self else {'identity': self.first.services['identity']}
        self._when_built: list[Callable[[], None]] = []
        for name in SERVICES:
            built = None if name in self.services else self._service(name)
            if built is not None:
                self.services[name] = built
        for action in self._when_built:
            action()
        for each in self.services.values():
            if each.cloud is self:
                each.seed(self.nobody(each))
        self.service('identity').add_region(self)
        for region in self.regions.values():
            region.build()

    def _service(self, name: str) -> Service | None:
        module = 'cloudsim.services.' + name.replace('-', '_')
        try:
            description = services.describe(name.replace('-', '_'))
        except FileNotFoundError:
            return None
        description = services.named(description, name)
        found = importlib.import_module(module) if find_spec(module) is not None else None
        made: type[Service] = getattr(found, 'SERVICE', Service)
        return made(self, description)

    def when_built(self, action: Callable[[], None]) -> None:
        """Once all services are there."""
        self._when_built.append(action)

    def uuid(self) -> str:
        return self.runtime.uuid()

    def seed_id(self, name: str, dashes: bool = False) -> str:
        """The same for the same name in every run, so that a reset changes no id of a seed; another in each region."""
        region = '' if self.first is self else f'{self.settings.region}:'
        made = uuid.uuid5(uuid.NAMESPACE_URL, f'cloudsim:{region}{name}')
        return str(made) if dashes else made.hex

    def service(self, name: str) -> Any:
        """Any: callers know the class."""
        return self.services[name]

    def table(self, name: str) -> Table:
        """By service and kind: network.ports."""
        service, kind = name.split('.', 1)
        table: Table = self.services[service].collection(kind).table
        return table

    def thing(self, name: str, id: str | None) -> Thing | None:
        return None if id is None else self.table(name).get(id)

    def nobody(self, service: Service, of: Call | None = None) -> Call:
        """A call that no client made, with all rights: for what services ask of each other. `of`: on whose behalf."""
        call = Call(self, service, {'REQUEST_METHOD': 'POST', 'PATH_INFO': ''}, '', b'', '')
        if of is not None:
            call.project_id = of.project_id
            call.request_id = of.request_id
        call.version = (999, 0)
        return call
