"""Nova: servers that boot in no time, and what belongs to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cloudsim.messages import Call
from cloudsim.service import Route, Service
from cloudsim.services.compute import (
    actions,
    attachments,
    flavors,
    groups,
    hosts,
    interfaces,
    keypairs,
    metadata,
    quotas,
    servers,
)
from cloudsim.store import Thing


class ComputeService(Service):
    classes = {'servers': servers.Servers, 'flavors': flavors.Flavors, 'os-keypairs': keypairs.KeyPairs,
               'os-server-groups': groups.ServerGroups, 'os-aggregates': groups.Aggregates}

    def own_routes(self) -> Iterable[Route]:
        for part in (servers, actions, attachments, flavors, groups, hosts, interfaces, metadata, quotas):
            yield from part.routes(self)

    def shorten(self, path: str) -> str:
        """The oldest version's paths, and those with a project in them, are those of the newest."""
        parts = path.split('/')
        if parts[0] == 'v2' and len(parts) > 1 and parts[1]:
            parts[0] = 'v2.1'
        if parts[0] == 'v2.1' and len(parts) > 2 and len(parts[1]) == 32 and '-' not in parts[1]:
            del parts[1]
        return '/'.join(parts)

    def seed(self, call: Call) -> None:
        flavors.seed(self, call)

    def port_is_gone(self, port: Thing) -> None:
        """The network service says: somebody deleted a port of a server."""
        if port['device_owner'].startswith('compute:'):
            server = self.collection('servers').table.get(port['device_id'])
            if server is not None:
                interfaces.forget(server, port.id)

    def server(self, id: Any) -> Thing | None:
        found: Thing | None = self.collection('servers').table.get(id) if id else None
        return found


SERVICE = ComputeService
