"""OS::Heat::ScalingPolicy.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from collections.abc import Mapping

from oslo_log import log

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources import catalogue, signal_responder
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.planning import scaling

LOG = log.getLogger(__name__)
NAME = 'OS::Heat::ScalingPolicy'


class AutoScalingPolicy(signal_responder.SignalResponder):
    """Changes the size of a group at each signal."""

    validates_at_creation = True
    looks_up_others = True

    PROPERTIES: tuple[str, ...]
    PROPERTIES = (AUTO_SCALING_GROUP_NAME, SCALING_ADJUSTMENT, ADJUSTMENT_TYPE, COOLDOWN, MIN_ADJUSTMENT_STEP) = (
        'auto_scaling_group_id', 'scaling_adjustment', 'adjustment_type', 'cooldown', 'min_adjustment_step')
    ATTRIBUTES: tuple[str, ...]
    ATTRIBUTES = (ALARM_URL, SIGNAL_URL) = ('alarm_url', 'signal_url')
    parallel_signals = True                 # while the group is being resized further ones are ignored, not kept

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def validate(self) -> object:
        found = super().validate()
        kind = self.properties[self.ADJUSTMENT_TYPE]
        if self.properties[self.MIN_ADJUSTMENT_STEP] is not None and isinstance(kind, str) and (
                scaling.CFN_NAMES.get(kind, kind) != scaling.PERCENT):
            raise exception.ResourcePropertyValueDependency(
                prop1=self.MIN_ADJUSTMENT_STEP, prop2=self.ADJUSTMENT_TYPE, value=self._percent())
        return found

    def _percent(self) -> str:
        return scaling.PERCENT

    def handle_create(self) -> None:
        super().handle_create()
        self._get_ec2_signed_url(never_expire=True)
        self.resource_id_set(self._get_user_id())

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> None:
        """The new properties count from the next signal on."""

    def handle_signal(self, details: object = None) -> None:
        """Return when the group has its new size."""
        alarm = details if isinstance(details, Mapping) else {}
        name = self.properties[self.AUTO_SCALING_GROUP_NAME]
        LOG.info('Policy %s is signalled, alarm state %s', self.name, alarm.get('current', alarm.get('state', 'alarm')))
        adjust = getattr(self.stack.resource_by_refid(name), 'adjust', None)
        if adjust is None:                      # there is no such resource, or it is no group
            raise exception.NotFound(_('Alarm %(alarm)s could not find scaling group named "%(group)s"')
                                     % {'alarm': self.name, 'group': name})
        adjust(self.properties[self.SCALING_ADJUSTMENT], self.properties[self.ADJUSTMENT_TYPE],
               self.properties[self.MIN_ADJUSTMENT_STEP], self.properties[self.COOLDOWN],
               asked_by=None if self.signal_mark is None else (self.name, self.signal_mark))

    def _resolve_attribute(self, name: str) -> str | None:
        if self.resource_id is None:
            return None
        if name == self.ALARM_URL:
            # Without identity no request needs a signature.
            return self._get_ec2_signed_url(never_expire=True) or self._get_heat_signal_url()
        return self._get_heat_signal_url() if name == self.SIGNAL_URL else None


def resource_mapping() -> dict[str, type[AutoScalingPolicy]]:
    return {NAME: AutoScalingPolicy}
