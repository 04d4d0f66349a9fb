"""Shared file systems (Manila)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from heatlite.common import exception
from heatlite.engine import constraints
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import collection, http, service

CLIENT_NAME = 'manila'


MICROVERSION = '2.15'                       # newer ones rename what templates know
HEADER = 'X-OpenStack-Manila-API-Version'   # the word of this service; keystoneauth sends the common one as well


class ShareTypes(collection.HasSpecs):
    path, key, plural = '/types', 'share_type', 'share_types'

    def create(self, name: str, spec_driver_handles_share_servers: bool,    # type: ignore[override] # as in manilaclient
               spec_snapshot_support: bool | None = None, is_public: bool = True,
               extra_specs: Mapping[str, object] | None = None, description: str | None = None) -> collection.Entity:
        specs = {**(extra_specs or {}), 'driver_handles_share_servers': spec_driver_handles_share_servers}
        if spec_snapshot_support is not None:
            specs['snapshot_support'] = spec_snapshot_support
        return super().create(**{'name': name, 'extra_specs': specs, 'description': description,
                                 'share_type_access:is_public': is_public})


class ShareClient(collection.Client):
    share_types = cached_property(ShareTypes)
    shares = cached_property(collection.plain('/shares', 'share', 'shares'))
    share_networks = cached_property(collection.plain('/share-networks', 'share_network', 'share_networks'))
    share_snapshots = cached_property(collection.plain('/snapshots', 'snapshot', 'snapshots'))
    security_services = cached_property(collection.plain('/security-services', 'security_service', 'security_services'))


class ManilaClientPlugin(service.ServicePlugin[ShareClient]):
    option_group = CLIENT_NAME
    service_types = [SHARE, SHARE_V2] = ['shared-file-system', 'sharev2']
    api_version = {'min_version': '2', 'max_version': '2.latest'}
    client_class = ShareClient

    def adapter(self, service_type: str | None = None, **given: object) -> http.ServiceAdapter:
        given.setdefault('additional_headers', {HEADER: MICROVERSION})
        return super().adapter(service_type, **given)

    def _service_type(self) -> str:
        return self.service_types[0]

    def _one(self, entity: str, path: str, plural: str, wanted: str) -> str:
        """Return the id of the only one. Raises EntityNotFound, NoUniqueMatch."""
        entries = self._listed(path, plural) if wanted else []
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
