"""OS::Heat::AutoScalingGroup.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.engine.resources import catalogue, group_outputs, members, packed_types
from heatlite.engine.resources.aws.autoscaling import autoscaling_group

if TYPE_CHECKING:
    from heatlite.engine.properties import Schema

NAME = 'OS::Heat::AutoScalingGroup'


class AutoScalingResourceGroup(autoscaling_group.AutoScalingGroup):
    """A group of members of one definition. Scaling policies and updates change its size within limits."""

    accepts_any_attribute = True            # those of the members

    PROPERTIES: tuple[str, ...]
    PROPERTIES = (RESOURCE, MAX_SIZE, MIN_SIZE, COOLDOWN, DESIRED_CAPACITY, ROLLING_UPDATES) = (
        'resource', 'max_size', 'min_size', 'cooldown', 'desired_capacity', 'rolling_updates')
    _ROLLING_UPDATES_SCHEMA = (MIN_IN_SERVICE, MAX_BATCH_SIZE, PAUSE_TIME) = (
        'min_in_service', 'max_batch_size', 'pause_time')
    ATTRIBUTES: tuple[str, ...]
    ATTRIBUTES = (OUTPUTS, OUTPUTS_LIST, CURRENT_SIZE, REFS, REFS_MAP) = (
        'outputs', 'outputs_list', 'current_size', 'refs', 'refs_map')

    member_attributes = group_outputs.SCALED
    assembled, _outputs = members.MemberGroup.assembled, members.MemberGroup._outputs
    nested_members = staticmethod(packed_types.scaled_members)

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    update_policy_schema: dict[str, Schema] = {}
    support_status = catalogue.status(NAME)

    def member_definition(self) -> dict[str, object]:
        # null for a property of the members is the empty value, as in any resource: it stays.
        return {key: value for key, value in self.properties[self.RESOURCE].items() if value is not None}

    def definition_changed(self, prop_diff: Mapping[str, object]) -> bool:
        return self.RESOURCE in prop_diff

    def rolling_policy(self) -> tuple[int, int, float] | None:
        policy = self.properties[self.ROLLING_UPDATES]
        if not policy:
            return None
        return policy[self.MAX_BATCH_SIZE], policy[self.MIN_IN_SERVICE], float(policy[self.PAUSE_TIME] or 0)


def resource_mapping() -> dict[str, type[AutoScalingResourceGroup]]:
    return {NAME: AutoScalingResourceGroup}
