"""Containers (Zun)."""

from __future__ import annotations

import shlex
from functools import cached_property

from heatlite.common import exception
from heatlite.engine.clients.os import collection, http, service

CLIENT_NAME = 'zun'


VERSION_HEADER = 'OpenStack-API-Version'
MICROVERSION = 'container 1.12'
OF_NETWORKS = {VERSION_HEADER: 'container 1.18'}     # networks of a container, each with all its addresses
OF_TERMINALS = {VERSION_HEADER: 'container 1.36'}    # `tty` apart from `interactive`; commands are lists since 1.20


class Containers(collection.Creating):
    path, plural = '/containers', 'containers'

    def run(self, **fields: object) -> collection.Entity:
        body = collection.without_none(fields)
        headers = None
        if 'tty' in body:
            headers = OF_TERMINALS
            if isinstance(body.get('command'), str):
                body['command'] = shlex.split(str(body['command']))
        return self._entity(self.http.post(self.path, params={'run': 'true'}, json=body, headers=headers))

    def rename(self, container: collection.EntityOrId, name: str) -> None:
        self.update(container, name=name)

    def update(self, what: collection.EntityOrId, **fields: object) -> collection.Entity | None:
        return self._changed(self.http.patch(self._url(what), json=fields, headers=OF_NETWORKS))

    def delete(self, what: collection.EntityOrId, **params: object) -> None:
        self.http.delete(self._url(what), params=params or None)

    def network_list(self, container: collection.EntityOrId) -> list[collection.Entity]:
        found = self.http.get(self._url(container, 'network_list'), headers=OF_NETWORKS).json()['networks']
        return [collection.Entity(self, entry) for entry in found]

    def network_attach(self, container: collection.EntityOrId, **params: object) -> None:
        self.http.post(self._url(container, 'network_attach'), params=params, headers=OF_NETWORKS)

    def network_detach(self, container: collection.EntityOrId, **params: object) -> None:
        self.http.post(self._url(container, 'network_detach'), params=params, headers=OF_NETWORKS)


class ContainerClient(collection.Client):
    containers = cached_property(Containers)


class ZunClientPlugin(service.ServicePlugin[ContainerClient]):
    option_group = CLIENT_NAME
    service_types = [CONTAINER, APPLICATION_CONTAINER] = ['container', 'application-container']
    client_class = ContainerClient

    def adapter(self, service_type: str | None = None, **given: object) -> http.ServiceAdapter:
        given.setdefault('additional_headers', {VERSION_HEADER: MICROVERSION})
        return super().adapter(service_type, **given)

    # --- changes of a container ---------------------------------------------------------------------------

    def update_container(self, container_id: str, **prop_diff: object) -> None:
        if prop_diff:
            self.client().containers.update(container_id, **prop_diff)

    def network_detach(self, container_id: str, port_id: str) -> bool:
        return not self.not_found_in_call(self.client().containers.network_detach, container_id, port=port_id)

    def network_attach(self, container_id: str, port_id: str | None = None, net_id: str | None = None,
                       fip: str | None = None, security_groups: object = None) -> bool:
        params = {name: value for name, value in (('port', port_id), ('network', net_id), ('fixed_ip', fip)) if value}
        self.client().containers.network_attach(container_id, **params)
        return True

    def _ports(self, container_id: str) -> list[str]:
        return [entry.port_id for entry in self.client().containers.network_list(container_id)]

    def check_network_detach(self, container_id: str, port_id: str) -> bool:
        with self.ignore_not_found:
            if port_id in self._ports(container_id):
                return False
        return True

    def check_network_attach(self, container_id: str, port_id: str | None) -> bool:
        return not port_id or port_id in self._ports(container_id)

    def check_active(self, container: collection.Entity) -> bool:
        """Return whether the container is active. Raises ResourceInError."""
        if container.status == 'Error':
            raise exception.ResourceInError(resource_status=container.status)
        return bool(container.status == 'Running')
