"""OS::Heat::CloudConfig.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

import yaml

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
        written = yaml.safe_dump(self.properties[self.CLOUD_CONFIG] or {}, default_flow_style=False)
        return {'group': 'Heat::Ungrouped', 'config': f'#cloud-config\n{written}'}


def resource_mapping() -> dict[str, type[CloudConfig]]:
    return {NAME: CloudConfig}
