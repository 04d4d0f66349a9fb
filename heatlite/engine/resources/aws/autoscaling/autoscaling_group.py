"""AWS::AutoScaling::AutoScalingGroup.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources import catalogue, scaled
from heatlite.engine.resources.openstack.heat import instance_group

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Entity
    from heatlite.engine.resources.cooldown import Seconds

NAME = 'AWS::AutoScaling::AutoScalingGroup'


class AutoScalingGroup(scaled.AdjustedGroup, instance_group.InstanceGroup):
    """A group of servers of one launch configuration. Scaling policies and updates change its size within limits."""

    PROPERTIES: tuple[str, ...]
    validates_at_creation = True
    PROPERTIES = (AVAILABILITY_ZONES, LAUNCH_CONFIGURATION_NAME, MAX_SIZE, MIN_SIZE, COOLDOWN, DESIRED_CAPACITY,
                  HEALTH_CHECK_GRACE_PERIOD, HEALTH_CHECK_TYPE, LOAD_BALANCER_NAMES, VPCZONE_IDENTIFIER, TAGS,
                  INSTANCE_ID) = (
        'AvailabilityZones', 'LaunchConfigurationName', 'MaxSize', 'MinSize', 'Cooldown', 'DesiredCapacity',
        'HealthCheckGracePeriod', 'HealthCheckType', 'LoadBalancerNames', 'VPCZoneIdentifier', 'Tags', 'InstanceId')
    ROLLING_UPDATE = 'AutoScalingRollingUpdate'

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    update_policy_schema = catalogue.update_policy(NAME)
    support_status = catalogue.status(NAME)

    def bounds(self) -> tuple[int, int | None, int | None]:
        return (self.properties[self.MIN_SIZE], self.properties[self.MAX_SIZE],
                self.properties[self.DESIRED_CAPACITY])

    def group_cooldown(self) -> Seconds:
        found: Seconds = self.properties[self.COOLDOWN]
        return found

    # From here down is what the two kinds of groups do differently; sizes are a matter of the bounds.
    get_size = scaled.AdjustedGroup.get_size

    def validate(self) -> object:
        found = super().validate()
        least, most, wanted = self.bounds()
        if isinstance(least, int) and isinstance(most, int):
            if least < 0:
                raise exception.StackValidationFailed(
                    message=_('The size of AutoScalingGroup can not be less than zero'))
            if least > most:
                raise exception.StackValidationFailed(message=_('MinSize can not be greater than MaxSize'))
            if isinstance(wanted, int) and not least <= wanted <= most:
                raise exception.StackValidationFailed(
                    message=_('DesiredCapacity must be between MinSize and MaxSize'))
        self._check_source()
        return found

    def _check_source(self) -> None:
        """Members are made of a launch configuration or after a server, one of the two."""
        if self.INSTANCE_ID not in self.properties_schema:
            return
        given = [name for name in (self.INSTANCE_ID, self.LAUNCH_CONFIGURATION_NAME)
                 if name in self.properties.given and self.properties.given[name] is not None]
        if len(given) != 1:
            raise exception.StackValidationFailed(message=_(
                'Either "InstanceId" or "LaunchConfigurationName" must be provided.'))

    def member_definition(self) -> dict[str, object]:
        server = self.properties[self.INSTANCE_ID]
        if server is None:
            return super().member_definition()
        return self._member(like(self.client_plugin('nova').get_server(server)), None)

    def definition_changed(self, prop_diff: Mapping[str, object]) -> bool:
        return self.LAUNCH_CONFIGURATION_NAME in prop_diff

    def _tags(self) -> list[dict[str, object]]:
        return [*super()._tags(), {'Key': 'metering.AutoScalingGroupName', 'Value': self.group_name()}]


def like(server: Entity) -> dict[str, object]:
    """Return the properties of a launch configuration for copies of a server."""
    image, flavor = server.image, server.flavor
    return {'ImageId': image['id'] if isinstance(image, dict) else image,
            'InstanceType': flavor.get('id') or flavor.get('original_name'),
            'KeyName': server.key_name,
            'SecurityGroups': [group['name'] for group in getattr(server, 'security_groups', None) or ()]}


def resource_mapping() -> dict[str, type[AutoScalingGroup]]:
    return {NAME: AutoScalingGroup}
