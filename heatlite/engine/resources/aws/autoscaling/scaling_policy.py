"""AWS::AutoScaling::ScalingPolicy.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from heatlite.engine.resources import catalogue
from heatlite.engine.resources.openstack.heat import scaling_policy

NAME = 'AWS::AutoScaling::ScalingPolicy'


class AWSScalingPolicy(scaling_policy.AutoScalingPolicy):
    """Changes the size of a group at each signal. Its reference is the signed URL for signals."""

    PROPERTIES = (AUTO_SCALING_GROUP_NAME, SCALING_ADJUSTMENT, ADJUSTMENT_TYPE, COOLDOWN, MIN_ADJUSTMENT_STEP) = (
        'AutoScalingGroupName', 'ScalingAdjustment', 'AdjustmentType', 'Cooldown', 'MinAdjustmentStep')
    ATTRIBUTES = (ALARM_URL,) = ('AlarmUrl',)
    SIGNAL_URL = ''

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def _percent(self) -> str:
        return 'PercentChangeInCapacity'

    def get_reference_id(self) -> str:
        if self.resource_id is None:
            return str(self.name)
        return self._get_ec2_signed_url(never_expire=True) or str(self.resource_id)


def resource_mapping() -> dict[str, type[AWSScalingPolicy]]:
    return {NAME: AWSScalingPolicy}
