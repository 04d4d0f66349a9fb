"""OS::Heat::StructuredConfig and its deployments: configs that are maps.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

from heatlite.common import exception
from heatlite.common.document_size import measure
from heatlite.engine import resource
from heatlite.engine.resources import catalogue
from heatlite.engine.resources.openstack.heat import software_config, software_deployment
from heatlite.language.budget import ITEM, Budget
from heatlite.rpc.software import ConfigEntry, ShownConfig

CONFIG, DEPLOYMENT, GROUP, OLD_GROUP = (
    'OS::Heat::StructuredConfig', 'OS::Heat::StructuredDeployment', 'OS::Heat::StructuredDeploymentGroup',
    'OS::Heat::StructuredDeployments')


class StructuredConfig(software_config.SoftwareConfig):
    """A configuration for servers as a map, with inputs and outputs."""

    properties_schema = catalogue.properties(CONFIG)
    attributes_schema = catalogue.attribute_schemata(CONFIG)
    support_status = catalogue.status(CONFIG)


class StructuredDeployment(software_deployment.SoftwareDeployment):
    """Applies a map to a server, with `{get_input: name}` replaced by the values of inputs."""

    PROPERTIES = (*software_deployment.SoftwareDeployment.PROPERTIES, 'input_key', 'input_values_validate')
    INPUT_KEY, INPUT_VALUES_VALIDATE = 'input_key', 'input_values_validate'
    LAX, STRICT = 'LAX', 'STRICT'

    properties_schema = catalogue.properties(DEPLOYMENT)
    attributes_schema = catalogue.attribute_schemata(DEPLOYMENT)
    support_status = catalogue.status(DEPLOYMENT)

    def derived_config(self, source: ShownConfig, inputs: list[ConfigEntry]) -> object:
        values = {entry['name']: entry.get('value') for entry in inputs}
        found = with_inputs(copy.deepcopy(source['config'] or {}), self.properties[self.INPUT_KEY], values,
                            self.properties[self.INPUT_VALUES_VALIDATE] == self.STRICT)
        limits = self.stack.defn.limits.of_later    # the places of an input share its value until the config is written
        Budget(limits).make(self.properties[self.INPUT_KEY], ITEM * measure(found, limits))
        return found


def with_inputs(part: object, key: str, values: Mapping[str, object], strict: bool) -> object:
    """Maps with the one `key` replaced by the input of that name, at any depth.

    An input that is not given is null; `strict`: UserParameterMissing.
    """
    match part:
        case Mapping() if len(part) == 1 and isinstance(part.get(key), str):
            name = part[key]
            if strict and name not in values:
                raise exception.UserParameterMissing(key=name)
            return values.get(name)
        case Mapping():
            return {name: with_inputs(value, key, values, strict) for name, value in part.items()}
        case list() | tuple():
            return [with_inputs(value, key, values, strict) for value in part]
    return part


class StructuredDeploymentGroup(software_deployment.SoftwareDeploymentGroup):
    """Applies a map to each of several servers."""

    member_type = DEPLOYMENT
    member_properties = (*software_deployment.SoftwareDeploymentGroup.member_properties,
                         'input_key', 'input_values_validate')

    properties_schema = catalogue.properties(GROUP)
    attributes_schema = catalogue.attribute_schemata(GROUP)
    update_policy_schema = catalogue.update_policy(GROUP)
    support_status = catalogue.status(GROUP)


class StructuredDeployments(StructuredDeploymentGroup):
    """The name that StructuredDeploymentGroup had in former years."""

    properties_schema = catalogue.properties(OLD_GROUP)
    attributes_schema = catalogue.attribute_schemata(OLD_GROUP)
    update_policy_schema = catalogue.update_policy(OLD_GROUP)
    support_status = catalogue.status(OLD_GROUP)


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {CONFIG: StructuredConfig, DEPLOYMENT: StructuredDeployment, GROUP: StructuredDeploymentGroup,
            OLD_GROUP: StructuredDeployments}
