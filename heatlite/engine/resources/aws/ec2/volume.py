"""AWS::EC2::Volume and AWS::EC2::VolumeAttachment.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.resources import catalogue, volume_base

TYPE, ATTACHMENT_TYPE = 'AWS::EC2::Volume', 'AWS::EC2::VolumeAttachment'


class Volume(volume_base.BaseVolume):
    """A volume of the block storage."""

    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (AVAILABILITY_ZONE, SIZE, BACKUP_ID, TAGS) = ('AvailabilityZone', 'Size', 'SnapshotId', 'Tags')
    _TAG_KEYS = (TAG_KEY, TAG_VALUE) = ('Key', 'Value')
    NAME_PROPERTY = None

    def validate(self) -> None:
        super().validate()
        if not self.properties[self.SIZE] and not self.properties[self.BACKUP_ID] \
                and not {self.SIZE, self.BACKUP_ID} & set(self.t.deferred):
            raise exception.StackValidationFailed(message=_(
                'If "%(size)s" is not provided, "%(backup)s" must be.') % {
                    'size': self.SIZE, 'backup': self.BACKUP_ID})

    def _create_arguments(self) -> dict[str, object]:
        arguments = super()._create_arguments()
        if self.properties[self.TAGS]:
            arguments['metadata'] = {tag[self.TAG_KEY]: tag[self.TAG_VALUE] for tag in self.properties[self.TAGS]}
        if not arguments['size'] and self.properties[self.BACKUP_ID]:
            arguments['size'] = self.client_plugin().get_volume_backup(self.properties[self.BACKUP_ID]).size
        return arguments


class VolumeAttachment(volume_base.BaseVolumeAttachment):
    """Attaches a volume to an instance."""

    support_status = catalogue.status(ATTACHMENT_TYPE)
    properties_schema = catalogue.properties(ATTACHMENT_TYPE)
    attributes_schema = catalogue.attribute_schemata(ATTACHMENT_TYPE)

    PROPERTIES = (INSTANCE_ID, VOLUME_ID, DEVICE) = ('InstanceId', 'VolumeId', 'Device')


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE: Volume, ATTACHMENT_TYPE: VolumeAttachment}
