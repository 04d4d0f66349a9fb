"""Block storage (Cinder)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from keystoneauth1 import exceptions

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import constraints
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import collection, service

if TYPE_CHECKING:
    from requests import Response

LOG = logging.getLogger(__name__)

CLIENT_NAME = 'cinder'


class Deletable(collection.Collection):
    """Objects whose deletion takes the service a while."""

    def delete(self, what: collection.EntityOrId) -> None:
        """Also if it is being deleted already: a request whose answer was lost is sent again, and refused (400)."""
        try:
            super().delete(what)
        except exceptions.BadRequest:
            if self.get(what).status != 'deleting':
                raise


class Volumes(Deletable):
    path, key, plural, detail = '/volumes', 'volume', 'volumes', '/detail'

    def create(self, size: int | None = None, scheduler_hints: Mapping[str, object] | None = None,
               **fields: object) -> collection.Entity:
        request = self._wrapped({'size': size, **fields})
        if scheduler_hints:
            request['OS-SCH-HNT:scheduler_hints'] = scheduler_hints
        return self._entity(self.http.post(self.path, json=request))

    def action(self, volume: collection.EntityOrId, name: str, body: object = None) -> Response:
        return self.http.post(self._url(volume, 'action'), json={name: body})

    def extend(self, volume: collection.EntityOrId, new_size: int) -> None:
        self.action(volume, 'os-extend', {'new_size': new_size})

    def retype(self, volume: collection.EntityOrId, volume_type: str, policy: str) -> None:
        self.action(volume, 'os-retype', {'new_type': volume_type, 'migration_policy': policy})

    def update_readonly_flag(self, volume: collection.EntityOrId, flag: bool) -> None:
        self.action(volume, 'os-update_readonly_flag', {'readonly': flag})

    def set_bootable(self, volume: collection.EntityOrId, flag: bool) -> None:
        self.action(volume, 'os-set_bootable', {'bootable': flag})

    def reset_state(self, volume: collection.EntityOrId, state: str) -> None:
        self.action(volume, 'os-reset_status', {'status': state})

    def force_delete(self, volume: collection.EntityOrId) -> None:
        self.action(volume, 'os-force_delete', {})

    def set_metadata(self, volume: collection.EntityOrId, metadata: Mapping[str, str]) -> None:
        self.http.post(self._url(volume, 'metadata'), json={'metadata': metadata})

    def update_all_metadata(self, volume: collection.EntityOrId, metadata: Mapping[str, str]) -> None:
        self.http.put(self._url(volume, 'metadata'), json={'metadata': metadata})

    def delete_metadata(self, volume: collection.EntityOrId, keys: Iterable[str]) -> None:
        for key in keys:
            self.http.delete(self._url(volume, 'metadata', key))


class VolumeSnapshots(Deletable, collection.Creating):
    path, key, plural = '/snapshots', 'snapshot', 'snapshots'


class Backups(Deletable):
    path, key, plural, detail = '/backups', 'backup', 'backups', '/detail'

    def create(self, volume_id: str, **fields: object) -> collection.Entity:
        return self._entity(self.http.post(self.path, json=self._wrapped({'volume_id': volume_id, **fields})))


class Restores(collection.Collection):
    def restore(self, backup_id: str, volume_id: str | None = None, name: str | None = None) -> collection.Entity:
        body = {name_: value for name_, value in (('volume_id', volume_id), ('name', name)) if value}
        answer = self.http.post(f'/backups/{backup_id}/restore', json={'restore': body})
        return collection.Entity(self, answer.json()['restore'])


class VolumeTypes(collection.HasSpecs):
    path, key, plural = '/types', 'volume_type', 'volume_types'

    def create(self, name: str, description: str | None = None, is_public: bool = True) -> collection.Entity:    # type: ignore[override]
        return super().create(**{'name': name, 'description': description,
                                 'os-volume-type-access:is_public': is_public})


class VolumeClient(collection.Client):
    volumes = cached_property(Volumes)
    backups = cached_property(Backups)
    restores = cached_property(Restores)
    volume_types = cached_property(VolumeTypes)
    volume_snapshots = cached_property(VolumeSnapshots)
    qos_specs = cached_property(collection.plain('/qos-specs', 'qos_specs', 'qos_specs'))
    quotas = cached_property(collection.plain('/os-quota-sets', 'quota_set'))


class CinderClientPlugin(shared.ExtensionMixin, service.ServicePlugin[VolumeClient]):
    option_group = CLIENT_NAME
    service_types = [VOLUME_V3, BLOCK_STORAGE] = ['volumev3', 'block-storage']
    api_version = {'min_version': '3', 'max_version': '3.latest'}
    client_class = VolumeClient

    def _service_type(self) -> str:
        return 'block-storage'              # keystoneauth knows that catalogues call it volumev3, too

    def get_volume_api_version(self) -> int:
        return 3

    @shared.MEMOIZE_EXTENSIONS
    def _list_extensions(self) -> list[str]:
        return [entry['alias'] for entry in self.client().http.get('/extensions').json()['extensions']]

    # --- names --------------------------------------------------------------------------------------------

    def _by_id(self, things: collection.Collection, entity: str, wanted: str) -> collection.Entity:
        try:
            return things.get(wanted)
        except Exception as error:
            if self.is_not_found(error) or self.is_bad_request(error):
                raise exception.EntityNotFound(entity=entity, name=wanted) from error
            raise

    def get_volume(self, volume: str) -> str:
        """Return the id of the volume. These four raise EntityNotFound."""
        return str(self._by_id(self.client().volumes, 'Volume', volume).id)

    def get_volume_snapshot(self, snapshot: str) -> str:
        return str(self._by_id(self.client().volume_snapshots, 'VolumeSnapshot', snapshot).id)

    def get_volume_backup(self, backup: str) -> object:
        return self._by_id(self.client().backups, 'Volume backup', backup)

    @shared.MEMOIZE_FINDER
    def get_volume_type(self, volume_type: str) -> str:
        for found in self.client().volume_types.list():
            if volume_type in (found.id, found.name):
                return str(found.id)
        raise exception.EntityNotFound(entity='VolumeType', name=volume_type)

    @shared.MEMOIZE_FINDER
    def get_qos_specs(self, qos_specs: str) -> str:
        return self._find('QoS specs', '/qos-specs', 'qos_specs', 'qos_specs', qos_specs)

    # --- attachments as the volume sees them --------------------------------------------------------------

    def _create_pending(self, volume: collection.Entity) -> bool:
        return volume.status in ('available', 'attaching', 'reserved')

    def check_attach_volume_complete(self, vol_id: str) -> bool:
        """Return whether it is attached. Raises ResourceUnknownStatus."""
        volume = self.client().volumes.get(vol_id)
        if self._create_pending(volume):
            return False
        if volume.status != 'in-use':
            raise exception.ResourceUnknownStatus(resource_status=volume.status,
                                                  result=_('Volume attachment failed'))
        return True

    def check_detach_volume_complete(self, vol_id: str, server_id: str | None = None) -> bool:
        """Return whether it is detached. Raises ResourceUnknownStatus."""
        try:
            volume = self.client().volumes.get(vol_id)
        except Exception as error:
            self.ignore_not_found(error)
            return True
        attachments = getattr(volume, 'attachments', None) or []
        if server_id is not None and all(entry.get('server_id') != server_id for entry in attachments) \
                and volume.status == 'in-use' and attachments:
            return True                         # still in use, but by others
        if volume.status in ('in-use', 'detaching', 'reserved'):
            return False
        if volume.status not in ('available', 'deleting'):
            raise exception.ResourceUnknownStatus(resource_status=volume.status,
                                                  result=_('Volume detachment failed'))
        return True


class BaseCinderConstraint(constraints.BaseCustomConstraint):
    resource_client_name = CLIENT_NAME


class VolumeConstraint(BaseCinderConstraint):
    resource_getter_name = 'get_volume'


class VolumeSnapshotConstraint(BaseCinderConstraint):
    resource_getter_name = 'get_volume_snapshot'


class VolumeTypeConstraint(BaseCinderConstraint):
    resource_getter_name = 'get_volume_type'


class VolumeBackupConstraint(BaseCinderConstraint):
    resource_getter_name = 'get_volume_backup'


class QoSSpecsConstraint(BaseCinderConstraint):
    expected_exceptions = (exception.EntityNotFound, exception.PhysicalResourceNameAmbiguity)
    resource_getter_name = 'get_qos_specs'
