"""Bare metal (Ironic)."""

from __future__ import annotations

from oslo_config import cfg

from heatlite.common import exception
from heatlite.engine import constraints
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import collection, http, service

CLIENT_NAME = 'ironic'


MICROVERSION = '1.58'                       # what the type of ports needs at most is 1.53


class IronicClientPlugin(service.ServicePlugin[collection.Client]):
    option_group = CLIENT_NAME
    service_types = [BAREMETAL] = ['baremetal']
    api_version = {'min_version': '1', 'max_version': '1.latest'}
    client_class = collection.Client

    def adapter(self, service_type: str | None = None, **given: object) -> http.ServiceAdapter:
        given.setdefault('default_microversion', self.get_max_microversion())
        return super().adapter(service_type, **given)

    @shared.MEMOIZE_EXTENSIONS
    def get_max_microversion(self) -> str:
        """Return the newest that both sides know and the operator allows."""
        newest = getattr(super().adapter().get_endpoint_data(), 'max_microversion', None) or (1, 1)
        ours = [tuple(int(part) for part in each.split('.'))
                for each in (MICROVERSION, cfg.CONF.max_ironic_api_microversion) if each]
        return '.'.join(str(part) for part in min(tuple(newest), *ours))

    def is_version_supported(self, version: str) -> bool:
        return tuple(int(part) for part in version.split('.')) <= tuple(
            int(part) for part in self.get_max_microversion().split('.'))

    def _uuid(self, entity: str, plural: str, wanted: str) -> str:
        found = self._got(collection.path_of(plural, wanted), None)
        if found is None:
            raise exception.EntityNotFound(entity=entity, name=wanted)
        return str(found['uuid'])

    @shared.MEMOIZE_FINDER
    def get_node(self, value: str) -> str:
        """Both raise EntityNotFound."""
        return self._uuid('Node', 'nodes', value)

    @shared.MEMOIZE_FINDER
    def get_portgroup(self, value: str) -> str:
        return self._uuid('Portgroup', 'portgroups', value)


class NodeConstraint(constraints.BaseCustomConstraint):
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'get_node'


class PortGroupConstraint(constraints.BaseCustomConstraint):
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'get_portgroup'
