"""Names (Designate)."""

from __future__ import annotations

from heatlite.common import exception
from heatlite.engine import constraints
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import collection, service

CLIENT_NAME = 'designate'


class DesignateClientPlugin(service.ServicePlugin[collection.Client]):
    option_group = CLIENT_NAME
    service_types = [DNS] = ['dns']
    api_version = {'min_version': '2', 'max_version': '2.latest'}
    client_class = collection.Client

    @shared.MEMOIZE_FINDER
    def get_zone_id(self, zone_id_or_name: str) -> str:
        """Return the id of a zone. Raises EntityNotFound."""
        found = self._got(f'/zones/{zone_id_or_name}', None) if service.looks_like_uuid(zone_id_or_name) else None
        if found is not None:
            return str(found['id'])
        named = self._listed('/zones', 'zones', name=zone_id_or_name)
        if len(named) != 1:
            raise exception.EntityNotFound(entity='Designate Zone', name=zone_id_or_name)
        return str(named[0]['id'])


class DesignateZoneConstraint(constraints.BaseCustomConstraint):
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'get_zone_id'
