"""The whole simulated cloud: its services, its clock, its settings and its faults."""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Callable
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


class Cloud:
    """`url` is where it is reached from outside: the catalog is made of it."""

    def __init__(self, runtime: Runtime, url: str, settings: Settings | None = None) -> None:
        self.runtime = runtime
        self.url = url.rstrip('/')
        self.settings = settings or Settings()
        self.outside: dict[str, str] = {}       # type -> URL of services that are not ours (orchestration)
        self.build()

    def build(self) -> None:
        """A fresh cloud, as a reset leaves it."""
        self.clock = Clock(self.runtime)
        self.faults = Faults()
        self.requests = 0
        self.journal: list[tuple[str, str, str, int]] = []      # the last requests: service, method, path, status
        self.services: dict[str, Service] = {}
        self._when_built: list[Callable[[], None]] = []
        for name in SERVICES:
            built = self._service(name)
            if built is not None:
                self.services[name] = built
        for action in self._when_built:
            action()
        for each in self.services.values():
            each.seed(self.nobody(each))

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

    @staticmethod
    def seed_id(name: str, dashes: bool = False) -> str:
        """The same for the same name in every run, so that a reset changes no id of a seed."""
        made = uuid.uuid5(uuid.NAMESPACE_URL, 'cloudsim:' + name)
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
