"""Shared file systems (Manila)."""

from __future__ import annotations

from typing import Any

from heatlite.common import exception
from heatlite.engine import constraints
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import service

CLIENT_NAME = 'manila'


MICROVERSION = '2.15'                       # newer ones rename what templates know
HEADER = 'X-OpenStack-Manila-API-Version'   # the word of this service; keystoneauth sends the common one as well


class ManilaClientPlugin(service.ServicePlugin):
    option_group = CLIENT_NAME
    service_types = [SHARE, SHARE_V2] = ['shared-file-system', 'sharev2']
    api_version = {'min_version': '2', 'max_version': '2.latest'}

    def adapter(self, service_type: str | None = None, **given: Any) -> Any:
        given.setdefault('additional_headers', {HEADER: MICROVERSION})
        return super().adapter(service_type, **given)

    def _service_type(self) -> str:
        return self.service_types[0]

    def _one(self, entity: str, path: str, plural: str, wanted: str) -> str:
        """Raises EntityNotFound, NoUniqueMatch."""
        entries = self._listed(path, plural)
        if any(entry['id'] == wanted for entry in entries):
            return wanted
        named = [entry for entry in entries if entry.get('name') == wanted]
        if len(named) > 1:
            raise NoUniqueMatch(entity=entity, name=wanted)
        if not named:
            raise exception.EntityNotFound(entity=entity, name=wanted)
        return str(named[0]['id'])

    @shared.MEMOIZE_FINDER
    def get_share_network(self, value: str) -> str:
        return self._one('share network', '/share-networks', 'share_networks', value)

    @shared.MEMOIZE_FINDER
    def get_share_type(self, value: str) -> str:
        return self._one('share type', '/types', 'share_types', value)

    @shared.MEMOIZE_FINDER
    def get_share_snapshot(self, value: str) -> str:
        return self._one('share snapshot', '/snapshots', 'snapshots', value)

    @shared.MEMOIZE_FINDER
    def get_security_service(self, value: str) -> str:
        return self._one('security service', '/security-services', 'security_services', value)


class NoUniqueMatch(exception.HeatException):
    msg_fmt = 'Multiple %(entity)s matches found for name %(name)s, use an ID to be more specific.'


class ManilaShareBaseConstraint(constraints.BaseCustomConstraint):
    expected_exceptions = (exception.EntityNotFound, NoUniqueMatch)
    resource_client_name = CLIENT_NAME


class ManilaShareNetworkConstraint(ManilaShareBaseConstraint):
    resource_getter_name = 'get_share_network'


class ManilaShareTypeConstraint(ManilaShareBaseConstraint):
    resource_getter_name = 'get_share_type'


class ManilaShareSnapshotConstraint(ManilaShareBaseConstraint):
    resource_getter_name = 'get_share_snapshot'
