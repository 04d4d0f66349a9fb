"""AWS::AutoScaling::LaunchConfiguration.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

import json

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.resources import catalogue
from heatlite.engine.resources.aws.autoscaling.autoscaling_group import like
from heatlite.engine.rsrc_defn import ResourceDefinitionDiff

NAME = 'AWS::AutoScaling::LaunchConfiguration'
COPIED = 'lc_properties'                # key of the data: what was copied of a server, as JSON


class LaunchConfiguration(resource.Resource):
    """The image, flavor and further properties of the servers of a group."""

    INSTANCE_ID, IMAGE_ID, INSTANCE_TYPE = 'InstanceId', 'ImageId', 'InstanceType'

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    validates_at_creation = True
    support_status = catalogue.status(NAME)

    def validate(self) -> object:
        found = super().validate()
        given = self.properties.given
        if given.get(self.INSTANCE_ID) is None and (
                given.get(self.IMAGE_ID) is None or given.get(self.INSTANCE_TYPE) is None):
            raise exception.StackValidationFailed(message=_(
                'If without InstanceId, ImageId and InstanceType are required.'))
        return found

    def handle_create(self) -> None:
        """A server to copy is looked at once: what becomes of it later is its own matter."""
        server = self.properties[self.INSTANCE_ID]
        if server is not None:
            self.data_set(COPIED, json.dumps(like(self.client_plugin('nova').get_server(server))))
        self.resource_id_set(self.physical_resource_name())

    def copied_properties(self) -> dict[str, object]:
        found = json.loads(self.data().get(COPIED, '{}'))
        return {name: value for name, value in found.items() if value}

    def needs_replace_with_tmpl_diff(self, tmpl_diff: ResourceDefinitionDiff) -> bool:
        return bool(tmpl_diff.metadata_changed())

    def get_reference_id(self) -> str:
        """Return the physical name, by which groups refer to it."""
        return self.physical_resource_name() if self.resource_id is not None else str(self.name)    # type: ignore[return-value]


def resource_mapping() -> dict[str, type[LaunchConfiguration]]:
    return {NAME: LaunchConfiguration}
