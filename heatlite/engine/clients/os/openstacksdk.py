"""Things of several services, found by name or id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.engine import constraints
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import service

if TYPE_CHECKING:
    from openstack.connection import Connection

CLIENT_NAME = 'openstack'


class OpenStackSDKPlugin(service.StatusPlugin['Connection']):
    """The client is the SDK's connection: plug-ins use it, our own types need only the finders."""

    option_group = CLIENT_NAME
    service_types = [NETWORK] = ['network']

    def _create(self, version: str | None = None) -> Connection:
        from openstack import connection
        return connection.Connection(session=self.context.keystone_session, region_name=self._get_region_name(),
                                     interface=self.interface())

    def is_not_found(self, ex: BaseException) -> bool:
        return super().is_not_found(ex) or type(ex).__name__ in ('ResourceNotFound', 'NotFoundException')

    def _network_thing(self, resource: str, wanted: str) -> str:
        neutron = self.clients.client_plugin('neutron')
        return str(neutron.find_resourceid_by_name_or_id(resource, wanted))

    @shared.MEMOIZE_FINDER
    def find_network_segment(self, value: str) -> str:
        """Return the id of a segment. These raise EntityNotFound."""
        return self._network_thing('segment', value)

    @shared.MEMOIZE_FINDER
    def find_network_port(self, value: str) -> str:
        return self._network_thing('port', value)

    @shared.MEMOIZE_FINDER
    def find_network_ip(self, value: str) -> str:
        """Return a floating address, by its id or by itself."""
        found = self.clients.client('neutron').list_floatingips(
            **{'id' if service.looks_like_uuid(value) else 'floating_ip_address': value})['floatingips']
        if not found:
            raise exception.EntityNotFound(entity='FloatingIP', name=value)
        return str(found[0]['id'])


class SegmentConstraint(constraints.BaseCustomConstraint):
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'find_network_segment'
