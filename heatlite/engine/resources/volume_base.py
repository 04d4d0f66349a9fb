"""The base classes of volumes and their attachments, for the types of both OpenStack and AWS."""

from __future__ import annotations

from typing import Required, TypedDict

from oslo_config import cfg

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.clients.os.collection import Fields
from heatlite.engine.properties import PropertyDiff, Values
from heatlite.engine.resources import existing
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

BUSY_CREATING = ('creating', 'restoring-backup', 'downloading')
UNDER_WAY = frozenset({*BUSY_CREATING, 'deleting', 'uploading', 'backing-up', 'extending', 'retyping', 'attaching',
                       'detaching', 'reserved'})     # a delete is refused, and will be possible by itself
BACKUP, DELETED = 'backup', 'deleted'


class VolumeDeletion(TypedDict, total=False):
    """`backup`: the id of the one that is made before, or None; `saved`: it is there."""

    backup: Required[str | None]
    saved: bool


class Attachment(TypedDict):
    server: str
    volume: str
    device: str | None


class Detachment(TypedDict):
    """`called`: it was asked for; `freed`: the volume is out of the server."""

    server: str
    volume: str
    attachment: str
    called: bool
    freed: bool


class Reattachment(TypedDict, total=False):
    """An attachment becomes another one: what an update returns."""

    detach: Required[Detachment]
    attach: Required[Attachment]
    detached: bool
    attached: bool


class BaseVolume(resource.Resource):
    """Subclasses say how a create looks: `_create_arguments`, `_fetch_name_and_description`.

    What handlers return is plain JSON: a restarted engine goes on with it.
    """

    default_client_name = 'cinder'
    entity = 'volumes'
    _volume_creating_status = list(BUSY_CREATING)

    NAME_PROPERTY: str | None = 'name'

    # --- creating -----------------------------------------------------------------------------------------

    def handle_create(self) -> str:
        backup_id = self.properties.get(self.BACKUP_ID)         # type: ignore[attr-defined]
        if backup_id is not None:
            self.client_plugin().get_volume_backup(backup_id)
        arguments = self._create_arguments()
        volume_id = existing.create(self, lambda: str(self.client().volumes.create(**arguments).id),
                                    None if self._has_own_name() else self._namesakes)
        self.resource_id_set(volume_id)
        return volume_id

    def _create_arguments(self) -> dict[str, object]:
        name, description = self._fetch_name_and_description()
        return {'size': self.properties[self.SIZE],             # type: ignore[attr-defined]
                'availability_zone': self.properties[self.AVAILABILITY_ZONE] or None,   # type: ignore[attr-defined]
                'name': name, 'description': description}

    def _fetch_name_and_description(self) -> tuple[object, object]:
        return self._name(), self._description()

    def _name(self) -> str | None:
        key = self.NAME_PROPERTY
        given: str | None = self.properties.get(key) if key is not None and key in self.properties else None
        return given or self.physical_resource_name()

    def _description(self) -> str | None:
        return self.physical_resource_name()

    def find_existing(self) -> str | None:
        return existing.choose(self, self._namesakes(), self._has_own_name())

    def _has_own_name(self) -> bool:
        return bool(self._name() == self.physical_resource_name())

    def _namesakes(self) -> list[Fields]:
        name = self._name()
        return [entry for entry in self.list_named(name) if entry.get('name') == name]

    def list_named(self, name: str | None) -> list[Fields]:
        query = {} if name is None else {'name': name}
        return [volume.to_dict() for volume in self.client().volumes.list(search_opts=query)]

    def check_create_complete(self, *args: object) -> bool:
        volume = self.client().volumes.get(self.resource_id)
        if volume.status == 'available':
            return self._is_restored(volume)
        if volume.status in self._volume_creating_status:
            return False
        if volume.status == 'error':
            raise exception.ResourceInError(resource_status=volume.status)
        raise exception.ResourceUnknownStatus(resource_status=volume.status, result=_('Volume create failed'))

    def _is_restored(self, volume: object) -> bool:
        """A volume from a backup is made empty, then filled. Remembered in the resource's data, so it is done once."""
        backup_id = self.properties.get(self.BACKUP_ID)         # type: ignore[attr-defined]
        if backup_id is None:
            return True
        if self.data().get('restored') == backup_id:
            return True
        self.client().restores.restore(backup_id, self.resource_id)
        self.data_set('restored', backup_id)
        return False

    # --- checking -----------------------------------------------------------------------------------------

    def handle_check(self) -> None:
        self._check_created()
        volume = self.client().volumes.get(self.resource_id)
        self._verify_check_conditions([
            {'attr': 'status', 'expected': ['available', 'in-use'], 'current': volume.status}])

    @classmethod
    def validate_deletion_policy(cls, policy: str) -> None:
        """Snapshots are backups: the operator says whether the cloud has them."""
        super().validate_deletion_policy(policy)
        if policy == resource.SNAPSHOT and not cfg.CONF.volumes.backups_enabled:
            raise exception.StackValidationFailed(message=_('"%s" deletion policy not supported - volume backup '
                                                            'service is not enabled.') % policy)

    # --- deleting -----------------------------------------------------------------------------------------

    def handle_delete(self) -> VolumeDeletion:
        return {'backup': None}

    def handle_snapshot_delete(self, state: tuple[str, str]) -> VolumeDeletion:
        """Begin a backup, after which the volume is deleted. No backup is made of a volume whose create or update has
        failed, or that does not exist."""
        if state in ((self.CREATE, self.FAILED), (self.UPDATE, self.FAILED)) or not self.resource_id:
            return {'backup': None}
        return {'backup': self._begin_backup()}

    def _begin_backup(self) -> str | None:
        """Return the id of a backup that is being made; None if the volume is gone."""
        try:
            return str(self.client().backups.create(self.resource_id).id)
        except Exception as error:
            self.client_plugin().ignore_not_found(error)
            if self._exists():
                raise
            return None

    def _exists(self) -> bool:
        return not self.client_plugin().not_found_in_call(self.client().volumes.get, self.resource_id)

    def check_delete_complete(self, progress: VolumeDeletion) -> bool:
        if self.resource_id is None:
            return True
        if progress['backup'] is not None and not progress.get('saved'):
            if not self._is_saved(progress['backup']):
                return False
            progress['saved'] = True
        return self._is_gone()

    def _is_saved(self, backup_id: str) -> bool:
        backup = self.client().backups.get(backup_id)
        if backup.status == 'creating':
            return False
        if backup.status != 'available':
            raise exception.ResourceUnknownStatus(resource_status=backup.status, result=_('Volume backup failed'))
        return True

    def _is_gone(self) -> bool:
        """Ask for the deletion if that was not done, by what the volume says of itself.

        Snapshots of the volume are not the stack's: the service refuses to delete a volume that has some.
        """
        try:
            volume = self.client().volumes.get(self.resource_id)
            if volume.status in UNDER_WAY:
                return False
            if volume.status == 'in-use':
                raise exception.Error(_('Volume in use'))
            if volume.status == 'error_deleting':
                raise exception.ResourceInError(resource_status=volume.status)
            self.client().volumes.delete(self.resource_id)
        except Exception as error:
            self.client_plugin().ignore_not_found(error)
            return True
        return False


class BaseVolumeAttachment(resource.Resource):
    """Subclasses name their properties: INSTANCE_ID, VOLUME_ID, DEVICE."""

    default_client_name = 'cinder'
    repaired_in_place = True                # a server has a volume at most once

    def handle_create(self) -> Attachment:
        progress = self._attachment(self.properties)
        self._attach(progress)
        return progress

    def _attachment(self, given: Values) -> Attachment:
        return {'server': given[self.INSTANCE_ID], 'volume': given[self.VOLUME_ID],     # type: ignore[attr-defined]
                'device': given[self.DEVICE]}                                           # type: ignore[attr-defined]

    def _attach(self, progress: Attachment) -> bool:
        """Request the attachment. Return False after a conflict: then the request must be sent again later."""
        plugin = self.client_plugin('nova')
        device = progress['device'] or None
        made = existing.create(self, lambda: plugin.attach_volume(progress['server'], progress['volume'], device) or '')
        if made:
            self.resource_id_set(made)
        return bool(made)

    def find_existing(self) -> str | None:
        """A server has a volume at most once."""
        return self._found(self.properties[self.INSTANCE_ID], self.properties[self.VOLUME_ID])  # type: ignore[attr-defined]

    def read_imported(self) -> dict[str, object]:
        if self._left_behind() != self.resource_id:
            raise exception.EntityNotFound(entity='Resource', name=self.resource_id)
        return {}

    def _found(self, server: str, volume: str) -> str | None:
        """The id of the attachment of the volume to the server."""
        for attachment in self.client('nova').volumes.get_server_volumes(server):
            if attachment.volumeId == volume:
                return str(attachment.id)
        return None

    def check_create_complete(self, progress: Attachment | None) -> bool:
        """Return whether the volume is attached. `progress`: None if the attachment was found after a crash."""
        progress = progress or self._attachment(self.properties)
        if self.resource_id is None and not self._attach(progress):
            return False
        return bool(self.client_plugin().check_attach_volume_complete(progress['volume']))

    # --- update ----------------------------------------------------------------------------------------

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: PropertyDiff) -> Reattachment | None:
        """Return the steps of a move: detach the volume, then attach it as the new properties say. Another device name
        needs both, too."""
        if not prop_diff and not self.is_uncertain:
            return None
        after = {**self.properties, **prop_diff}
        return {'detach': self._detachment(), 'attach': self._attachment(after)}

    def check_update_complete(self, progress: Reattachment | None) -> bool:
        if progress is None:
            return True
        if not progress.get('detached'):
            if not self._is_detached(progress['detach']):
                return False
            progress['detached'] = True
            return False                        # stored before the next request: from then on, what is found is new
        if not progress.get('attached'):
            wanted = progress['attach']
            made = self._found(wanted['server'], wanted['volume'])      # asked for before a crash
            if made is not None:
                self.resource_id_set(made)
            progress['attached'] = made is not None or self._attach(wanted)
            return False
        return bool(self.client_plugin().check_attach_volume_complete(progress['attach']['volume']))

    # --- detaching ----------------------------------------------------------------------------------------

    def object_key(self) -> object:
        return self.properties[self.INSTANCE_ID], self.properties[self.VOLUME_ID]       # type: ignore[attr-defined]

    def handle_delete(self) -> Detachment | None:
        """Begin to detach the volume. If the request for the attachment was not answered, look for the attachment,
        unless the replacement of this resource has made it."""
        if self.is_taken_over():
            return None
        if self.resource_id is None:
            found = self._left_behind()
            if found is None:
                return None
            self.resource_id_set(found)
        return self._detachment()

    def _left_behind(self) -> str | None:
        try:
            return self.find_existing()
        except Exception as error:
            self.client_plugin('nova').ignore_not_found(error)
            return None

    def _detachment(self) -> Detachment:
        return {'server': self.properties[self.INSTANCE_ID],        # type: ignore[attr-defined]
                'volume': self.properties[self.VOLUME_ID],          # type: ignore[attr-defined]
                'attachment': self.resource_id or '', 'called': False, 'freed': False}

    def check_delete_complete(self, progress: Detachment | None) -> bool:
        return progress is None or self._is_detached(progress)

    def _is_detached(self, progress: Detachment) -> bool:
        """Ask for it, then wait for the volume, then for the server."""
        compute, storage = self.client_plugin('nova'), self.client_plugin('cinder')
        if not progress['called']:
            progress['called'] = compute.detach_volume(progress['server'], progress['attachment'])
            return False
        if not progress['freed']:
            progress['freed'] = storage.check_detach_volume_complete(progress['volume'], progress['server'])
            if not progress['freed']:
                return False
        return bool(compute.check_detach_volume_complete(progress['server'], progress['attachment']))
