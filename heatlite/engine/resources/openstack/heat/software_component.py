"""OS::Heat::SoftwareComponent.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources import catalogue
from heatlite.engine.resources.openstack.heat import software_config

NAME = 'OS::Heat::SoftwareComponent'
COMPONENT = 'component'                 # its group


class SoftwareComponent(software_config.SoftwareConfig):
    """Several configurations for the several actions of one piece of software."""

    validates_at_creation = True
    CONFIGS = 'configs'
    CONFIG_ACTIONS, CONFIG_CONFIG, CONFIG_TOOL = 'actions', 'config', 'tool'          # of one of them

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def validate(self) -> object:
        found = super().validate()
        seen: set[object] = set()
        configs = self.properties[self.CONFIGS]
        for entry in configs if isinstance(configs, list) else ():      # else they are not known yet
            actions = entry[self.CONFIG_ACTIONS] if isinstance(entry, dict) else None
            if not isinstance(actions, list):
                continue                    # not known yet
            if seen.intersection(actions):
                raise exception.StackValidationFailed(message=_(
                    'Defining more than one configuration for the same action in SoftwareComponent "%s" is not '
                    'allowed.') % self.name)
            seen.update(actions)
        return found

    def fields(self) -> dict[str, object]:
        return {'group': COMPONENT, 'options': self.properties[self.OPTIONS], 'inputs': self.declared_inputs(),
                'outputs': self.declared_outputs(),
                'config': {self.CONFIGS: [dict(entry) for entry in self.properties[self.CONFIGS]]}}

    def _resolve_attribute(self, name: str) -> object:
        stored = self._stored()
        config = stored['config'] if stored is not None else None
        return config.get(self.CONFIGS) if isinstance(config, Mapping) else None


def resource_mapping() -> dict[str, type[SoftwareComponent]]:
    return {NAME: SoftwareComponent}
