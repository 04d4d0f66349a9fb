"""The catalog: services and endpoints as a token shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cloudsim.services.identity import IdentityService


class Catalog:
    def __init__(self, service: IdentityService) -> None:
        self.service = service
        self._made: dict[str | None, list[dict[str, Any]]] = {}
        self._state: tuple[int, ...] = ()

    def forget(self) -> None:
        """After a change of a service or an endpoint."""
        self._made.clear()

    def of(self, project_id: str | None) -> list[dict[str, Any]]:
        services = self.service.collection('services').table
        endpoints = self.service.collection('endpoints').table
        state = (services.made, len(services), endpoints.made, len(endpoints))
        if state != self._state:
            self._state = state
            self._made.clear()
        if project_id not in self._made:
            found = []
            for each in services:
                if each['enabled']:
                    found.append({'id': each.id, 'type': each['type'], 'name': each['name'], 'endpoints': [
                        {'id': endpoint.id, 'interface': endpoint['interface'], 'region': endpoint['region_id'],
                         'region_id': endpoint['region_id'], 'url': filled(endpoint['url'], project_id)}
                        for endpoint in endpoints.find('service_id', each.id) if endpoint['enabled']
                        and (project_id is not None or '_id)s' not in endpoint['url'])]})
            self._made[project_id] = found
        return self._made[project_id]


def filled(url: str, project_id: str | None) -> str:
    for name in ('project_id', 'tenant_id'):
        for form in (f'%({name})s', f'$({name})s'):
            url = url.replace(form, project_id or '')
    return url
