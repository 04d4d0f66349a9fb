"""OS::Cinder::Volume and OS::Cinder::VolumeAttachment.

Schema: heatlite/engine/resources/catalogue/cinder.yaml
"""

from __future__ import annotations

import json

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource, translation
from heatlite.engine.clients.os.collection import Fields
from heatlite.engine.properties import Properties, PropertyDiff
from heatlite.engine.resources import catalogue, volume_base
from heatlite.engine.resources.openstack.cinder import taken_out, volume_steps
from heatlite.engine.resources.openstack.cinder.volume_steps import VolumeStep
from heatlite.engine.resources.scheduler_hints import SchedulerHintsMixin
from heatlite.engine.resources.snapshots import Snapshotted
from heatlite.engine.resources.steps import work_off
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

TYPE = 'OS::Cinder::Volume'
ATTACHMENT_TYPE = 'OS::Cinder::VolumeAttachment'
SERVICE_METADATA = ('readonly', 'attached_mode')     # the service itself adds these


class CinderVolume(volume_base.BaseVolume, SchedulerHintsMixin):
    """A block device that outlives the servers it is attached to."""

    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (
        AVAILABILITY_ZONE, SIZE, SNAPSHOT_ID, BACKUP_ID, NAME, DESCRIPTION, VOLUME_TYPE, METADATA, IMAGE_REF, IMAGE,
        SOURCE_VOLID, CINDER_SCHEDULER_HINTS, READ_ONLY, MULTI_ATTACH) = (
        'availability_zone', 'size', 'snapshot_id', 'backup_id', 'name', 'description', 'volume_type', 'metadata',
        'imageRef', 'image', 'source_volid', 'scheduler_hints', 'read_only', 'multiattach')
    ATTRIBUTES = (
        AVAILABILITY_ZONE_ATTR, SIZE_ATTR, SNAPSHOT_ID_ATTR, DISPLAY_NAME_ATTR, DISPLAY_DESCRIPTION_ATTR,
        VOLUME_TYPE_ATTR, METADATA_ATTR, SOURCE_VOLID_ATTR, STATUS, CREATED_AT, BOOTABLE, METADATA_VALUES_ATTR,
        ENCRYPTED_ATTR, ATTACHMENTS, ATTACHMENTS_LIST, MULTI_ATTACH_ATTR) = (
        'availability_zone', 'size', 'snapshot_id', 'display_name', 'display_description', 'volume_type', 'metadata',
        'source_volid', 'status', 'created_at', 'bootable', 'metadata_values', 'encrypted', 'attachments',
        'attachments_list', 'multiattach')
    CREATED_FROM = (SNAPSHOT_ID, SOURCE_VOLID, IMAGE, IMAGE_REF)

    def translation_rules(self, properties: Properties) -> list[translation.TranslationRule]:
        rule = translation.TranslationRule
        return [rule(properties, rule.REPLACE, [self.IMAGE], value_path=[self.IMAGE_REF])]

    def validate(self) -> None:
        """Check that at most one source of the content is given, and a size unless the source has one."""
        super().validate()
        given = [name for name in (self.SNAPSHOT_ID, self.SOURCE_VOLID, self.IMAGE) if self.properties[name]]
        if len(given) > 1:
            raise exception.StackValidationFailed(message=_(
                'Cannot define the following properties at the same time: %s.') % ', '.join(given))
        if self.properties[self.SIZE] is None and not any(
                self.properties[name] for name in (self.SNAPSHOT_ID, self.SOURCE_VOLID, self.BACKUP_ID)) \
                and self.SIZE not in getattr(self.t, 'deferred', ()):
            raise exception.StackValidationFailed(message=_(
                'If neither "%(backup)s" nor "%(size)s" is provided, one and only one of %(source)s must be '
                'specified, but currently specified options: %(given)s.') % {
                    'backup': self.BACKUP_ID, 'size': self.SIZE,
                    'source': ', '.join(f'"{name}"' for name in (self.SOURCE_VOLID, self.SNAPSHOT_ID)), 'given': given})

    # --- creating -----------------------------------------------------------------------------------------

    def _name(self) -> str | None:
        return self.properties[self.NAME] or self.physical_resource_name()

    def _description(self) -> str | None:
        found: str | None = self.properties[self.DESCRIPTION]
        return found

    def _create_arguments(self) -> dict[str, object]:
        arguments = super()._create_arguments()
        if self.properties[self.IMAGE]:
            arguments['imageRef'] = self.client_plugin('glance').find_image_by_name_or_id(self.properties[self.IMAGE])
        for name in (self.SNAPSHOT_ID, self.SOURCE_VOLID, self.VOLUME_TYPE):
            if self.properties[name]:
                arguments[name] = self.properties[name]
        if self.properties[self.METADATA]:
            arguments['metadata'] = self.properties[self.METADATA]
        if self.properties[self.MULTI_ATTACH]:
            arguments['multiattach'] = True
        arguments['scheduler_hints'] = self._scheduler_hints(self.properties[self.CINDER_SCHEDULER_HINTS])
        if self.properties[self.BACKUP_ID] and not arguments['size']:
            arguments['size'] = self.client_plugin().get_volume_backup(self.properties[self.BACKUP_ID]).size
        return arguments

    def check_create_complete(self, *args: object) -> bool:
        if not super().check_create_complete():
            return False
        if self.properties[self.READ_ONLY] is not None and self.data().get('read_only') is None:
            self.client().volumes.update_readonly_flag(self.resource_id, self.properties[self.READ_ONLY])
            self.data_set('read_only', 'set')
        return True

    # --- attributes ---------------------------------------------------------------------------------------

    def _resolve_attribute(self, name: str) -> object:
        if self.resource_id is None:
            return None
        volume = self.client().volumes.get(self.resource_id).to_dict()
        match name:
            case self.METADATA_ATTR:
                return json.dumps(volume.get('metadata') or {})
            case self.METADATA_VALUES_ATTR:
                return volume.get('metadata') or {}
            case self.DISPLAY_NAME_ATTR:
                return volume.get('name')
            case self.DISPLAY_DESCRIPTION_ATTR:
                return volume.get('description')
            case self.ATTACHMENTS_LIST:
                return volume.get('attachments') or []
            case self.MULTI_ATTACH_ATTR:
                return volume.get('multiattach')
        found = volume.get(name)
        return str(found) if found is not None or name != self.SNAPSHOT_ID else found

    # --- updating -----------------------------------------------------------------------------------------

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: PropertyDiff) -> list[VolumeStep]:
        """Send the changes that take effect at once. Return the others as steps for `check_update_complete`."""
        volumes = self.client().volumes
        if self.NAME in prop_diff or self.DESCRIPTION in prop_diff:
            name, description = self._after(prop_diff, self.NAME), self._after(prop_diff, self.DESCRIPTION)
            volumes.update(self.resource_id, name=name or self.physical_resource_name(), description=description)
        if self.METADATA in prop_diff:
            volumes.update_all_metadata(self.resource_id, prop_diff[self.METADATA] or {})
        steps: list[VolumeStep] = []
        if prop_diff.get(self.BACKUP_ID) is not None:
            steps.append({'do': 'restore', 'backup': prop_diff[self.BACKUP_ID]})
        if self.VOLUME_TYPE in prop_diff:
            if prop_diff[self.VOLUME_TYPE] is None:
                raise exception.UpdateReplace(self.name)
            present = volumes.get(self.resource_id).volume_type
            if not volume_steps.is_of_type(self, present, prop_diff[self.VOLUME_TYPE]):
                steps.append({'do': 'retype', 'type': prop_diff[self.VOLUME_TYPE]})
        if prop_diff.get(self.SIZE) is not None:
            steps.append({'do': 'extend', 'size': self._larger(prop_diff[self.SIZE])})
        if self.READ_ONLY in prop_diff:
            steps.append({'do': 'read_only', 'flag': bool(prop_diff[self.READ_ONLY])})
        return volume_steps.around_attachment(self, steps)

    def has_unfinished_update(self) -> bool:
        """Whether the volume has to be put back into a server."""
        return bool(taken_out.places(self))

    def _after(self, prop_diff: dict[str, object], name: str) -> object:
        return prop_diff[name] if name in prop_diff else self.properties[name]

    def _larger(self, size: int) -> int:
        now = self.client().volumes.get(self.resource_id).size
        if size < now:
            raise exception.NotSupported(feature=_('Shrinking volume'))
        return size

    def check_update_complete(self, steps: list[VolumeStep]) -> bool:
        return work_off(self, steps, volume_steps.STEPS)

    def needs_replace_failed(self) -> bool:
        if not self.resource_id:
            return True
        with self.client_plugin().ignore_not_found:
            if self.client().volumes.get(self.resource_id).status not in ('error', 'deleting'):
                return False
        return True

    def parse_live_resource_data(self, resource_properties: Properties,
                                 resource_data: Fields) -> dict[str, object]:
        """Return the values of properties that the template gives: the service has values for the others, too."""
        live = {name: resource_data.get(name) for name in (self.NAME, self.SIZE, self.DESCRIPTION, self.VOLUME_TYPE)
                if resource_properties.get(name) is not None}
        if live.get(self.VOLUME_TYPE) is not None and volume_steps.is_of_type(
                self, live[self.VOLUME_TYPE], resource_properties[self.VOLUME_TYPE]):
            live[self.VOLUME_TYPE] = resource_properties[self.VOLUME_TYPE]
        shown = resource_data.get('metadata') or {}
        if shown.get('readonly') is not None and resource_properties.get(self.READ_ONLY) is not None:
            live[self.READ_ONLY] = shown['readonly']
        if resource_properties.get(self.METADATA):          # the default is an empty map
            live[self.METADATA] = {key: value for key, value in shown.items() if key not in SERVICE_METADATA}
        return live

    # --- snapshots ----------------------------------------------------------------------------------------

    def handle_snapshot(self) -> str | None:
        if self.resource_id is None:                # its create has failed
            return None
        backup = self.client().backups.create(self.resource_id, force=True)
        self.data_set('backup_id', backup.id)
        return str(backup.id)

    def check_snapshot_complete(self, backup_id: str | None) -> bool:
        if backup_id is None:
            return True
        backup = self.client().backups.get(backup_id)
        if backup.status == 'creating':
            return False
        if backup.status != 'available':
            raise exception.ResourceInError(resource_status=backup.status)
        return True

    def handle_delete_snapshot(self, snapshot: Snapshotted) -> str | None:
        backup_id = (snapshot.get('resource_data') or {}).get('backup_id')
        if backup_id is None:
            return None
        if self.client_plugin().not_found_in_call(self.client().backups.delete, backup_id):
            return None
        return str(backup_id)

    def check_delete_snapshot_complete(self, backup_id: str | None) -> bool:
        return backup_id is None or bool(
            self.client_plugin().not_found_in_call(self.client().backups.get, backup_id))

    def handle_restore(self, defn: ResourceDefinition, restore_data: Snapshotted) -> object:
        """The definition whose volume is made of the saved backup, whatever it was made of before."""
        backup_id = (restore_data.get('resource_data') or {})['backup_id']
        ignored = (self.IMAGE_REF, self.IMAGE, self.SOURCE_VOLID, self.SNAPSHOT_ID)
        given = defn.freeze()._properties or {}
        kept = {name: value for name, value in given.items() if name not in ignored and value is not None}
        return defn.freeze(properties={**kept, self.BACKUP_ID: backup_id})


class CinderVolumeAttachment(volume_base.BaseVolumeAttachment):
    """Attaches a volume to a server."""

    support_status = catalogue.status(ATTACHMENT_TYPE)
    properties_schema = catalogue.properties(ATTACHMENT_TYPE)
    attributes_schema = catalogue.attribute_schemata(ATTACHMENT_TYPE)

    PROPERTIES = (INSTANCE_ID, VOLUME_ID, DEVICE) = ('instance_uuid', 'volume_id', 'mountpoint')


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE: CinderVolume, ATTACHMENT_TYPE: CinderVolumeAttachment}
