"""OS::Heat::CloudConfig.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from heatlite.common import yaml_writing
from heatlite.engine.resources import catalogue
from heatlite.engine.resources.openstack.heat import software_config

NAME = 'OS::Heat::CloudConfig'


class CloudConfig(software_config.SoftwareConfig):
    """The configuration for cloud-init, as a map."""

    CLOUD_CONFIG = 'cloud_config'

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def fields(self) -> dict[str, object]:
        written = yaml_writing.dumped(self.properties[self.CLOUD_CONFIG] or {}, self.CLOUD_CONFIG)
        return {'group': 'Heat::Ungrouped', 'config': f'#cloud-config\n{written}'}


def resource_mapping() -> dict[str, type[CloudConfig]]:
    return {NAME: CloudConfig}
