"""Databases (Trove)."""

from __future__ import annotations

from functools import cached_property

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import constraints
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import collection, service

CLIENT_NAME = 'trove'


class Instances(collection.Creating):
    path, key, plural = '/instances', 'instance', 'instances'

    def action(self, instance: object, name: str, body: object) -> None:
        self.http.post(self._url(instance, 'action'), json={name: body})

    def resize_instance(self, instance: object, flavor_id: str) -> None:
        self.action(instance, 'resize', {'flavorRef': flavor_id})

    def resize_volume(self, instance: object, volume_size: int) -> None:
        self.action(instance, 'resize', {'volume': {'size': volume_size}})

    def edit(self, instance: object, **fields: object) -> None:
        self.http.patch(self._url(instance), json={'instance': fields})


class DatabaseClient(collection.Client):
    instances = cached_property(Instances)
    flavors = cached_property(collection.plain('/flavors', 'flavor', 'flavors'))
    datastores = cached_property(collection.plain('/datastores', 'datastore', 'datastores'))
    clusters = cached_property(collection.plain('/clusters', 'cluster', 'clusters'))


class TroveClientPlugin(service.ServicePlugin[DatabaseClient]):
    option_group = CLIENT_NAME
    service_types = [DATABASE] = ['database']
    client_class = DatabaseClient

    @shared.MEMOIZE_FINDER
    def find_flavor_by_name_or_id(self, flavor: str) -> str:
        """Return the id of a flavor. Raises EntityNotFound."""
        found = self._got(collection.path_of('flavors', flavor), 'flavor')
        if found is not None:
            return str(found['id'])
        named = [entry for entry in self._listed('/flavors', 'flavors') if entry['name'] == flavor]
        return str(service.the_only_one('Flavor', flavor, named)['id'])

    get_flavor_id = find_flavor_by_name_or_id

    def validate_datastore(self, datastore_type: str | None, datastore_version: str | None, ds_type_key: str,
                           ds_version_key: str) -> None:
        """Raise StackValidationFailed unless both, or none, are given and known."""
        if not datastore_type:
            if datastore_version:
                raise exception.StackValidationFailed(message=_(
                    'Not allowed - %(version)s without %(type)s.') % {'version': ds_version_key, 'type': ds_type_key})
            return
        try:
            versions = self._listed(collection.path_of('datastores', datastore_type, 'versions'), 'versions')
        except Exception as error:
            if self.is_not_found(error):
                raise exception.StackValidationFailed(message=_(
                    'Datastore type %s is not known.') % datastore_type) from error
            raise
        known = sorted({entry[name] for entry in versions for name in ('id', 'name')})
        if datastore_version and datastore_version not in known:
            raise exception.StackValidationFailed(message=_(
                'Datastore version %(version)s for datastore type %(type)s is not valid. Allowed versions are '
                '%(allowed)s.') % {'version': datastore_version, 'type': datastore_type, 'allowed': ', '.join(known)})


class FlavorConstraint(constraints.BaseCustomConstraint):
    expected_exceptions = (exception.EntityNotFound, exception.PhysicalResourceNameAmbiguity)
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'find_flavor_by_name_or_id'
