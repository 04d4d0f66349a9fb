"""OS::Heat::InstanceGroup.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from heatlite.common import grouputils
from heatlite.common.i18n import _
from heatlite.common.timeutils import parse_isoduration
from heatlite.engine.resources import balanced, catalogue, members
from heatlite.engine.resources.rest.bodies import without_nulls
from heatlite.language.template import Template

NAME = 'OS::Heat::InstanceGroup'
MEMBER = 'OS::Heat::ScaledResource'     # the type of members; environments say what that is
LONGEST_PAUSE = 3600                    # seconds
NO_ADDRESS = '0.0.0.0'


class InstanceGroup(balanced.BalancedGroup):
    """A group of a given number of servers of one launch configuration."""

    validates_at_creation = True
    accepts_any_attribute = False

    PROPERTIES: tuple[str, ...]
    PROPERTIES = (AVAILABILITY_ZONES, LAUNCH_CONFIGURATION_NAME, SIZE, LOAD_BALANCER_NAMES, TAGS) = (
        'AvailabilityZones', 'LaunchConfigurationName', 'Size', 'LoadBalancerNames', 'Tags')
    _ROLLING_UPDATE_SCHEMA_KEYS = (MIN_INSTANCES_IN_SERVICE, MAX_BATCH_SIZE, PAUSE_TIME) = (
        'MinInstancesInService', 'MaxBatchSize', 'PauseTime')
    ROLLING_UPDATE = 'RollingUpdate'
    ATTRIBUTES: tuple[str, ...]
    ATTRIBUTES = (INSTANCE_LIST,) = ('InstanceList',)

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    update_policy_schema = catalogue.update_policy(NAME)
    support_status = catalogue.status(NAME)

    def validate(self) -> object:
        found = super().validate()
        self._check_policy()
        return found

    def _check_policy(self) -> None:
        policy = self.update_policy[self.ROLLING_UPDATE] if self.ROLLING_UPDATE in self.update_policy_schema else None
        if policy and parse_isoduration(policy[self.PAUSE_TIME]) > LONGEST_PAUSE:
            raise ValueError(_('Maximum %s is 1 hour.') % self.PAUSE_TIME)

    def get_size(self) -> int:
        return int(self.properties[self.SIZE])

    # --- members ------------------------------------------------------------------------------------------

    def member_definition(self) -> dict[str, object]:
        source = self._launch_configuration()
        given = {name: without_nulls(value) for name, value in source.properties.items()
                 if value is not None and name != 'InstanceId'}
        return self._member({**source.copied_properties(), **given}, source.t.metadata())

    def _launch_configuration(self) -> Any:
        """Raise ValueError when no member has the name."""
        name = self.properties[self.LAUNCH_CONFIGURATION_NAME]
        found = self.stack.resource_by_refid(name)
        if found is None:
            raise ValueError(_('%(lc)s (%(ref)s) reference can not be found.')
                             % {'lc': self.LAUNCH_CONFIGURATION_NAME, 'ref': name})
        return found

    def _member(self, given: Mapping[str, object], metadata: object) -> dict[str, object]:
        properties = dict(given)
        if self._tags():
            properties['Tags'] = self._tags()
        zones = self.properties.get('VPCZoneIdentifier') if 'VPCZoneIdentifier' in self.properties_schema else None
        if zones:
            properties['SubnetId'] = zones[0]
        found: dict[str, object] = {'Type': MEMBER, 'Properties': properties}
        if metadata:
            found['Metadata'] = metadata
        return found

    def _tags(self) -> list[dict[str, object]]:
        """A group's tag names it for metering, unless the user has chosen tags for that."""
        given = [dict(tag) for tag in self.properties[self.TAGS] or ()]
        if any(str(tag['Key']).startswith('metering.') for tag in given):
            return given
        return [*given, {'Key': 'metering.groupname', 'Value': self.group_name()}]

    def group_name(self) -> str:
        """The same for members made with the group and for later ones, unlike the reference, which is the name in the
        template until the group has an id."""
        return str(self.physical_resource_name())

    def assembled(self, members: Mapping[str, members.Member], version: tuple[str, str] = members.VERSION) -> Template:
        names = list(members)
        return Template({
            'HeatTemplateFormatVersion': '2012-12-12', 'Resources': dict(members),
            'Outputs': {name: {'Value': value} for name, value in self._outputs(names)}}, source='nested_stack')

    def _outputs(self, names: Sequence[str]) -> Iterator[tuple[str, object]]:
        yield members.REFS_MAP, {name: {'Ref': name} for name in names}
        yield self.INSTANCE_LIST, {name: {'Fn::GetAtt': [name, 'PublicIp']} for name in names}

    def definition_changed(self, prop_diff: Mapping[str, object]) -> bool:
        return self.LAUNCH_CONFIGURATION_NAME in prop_diff

    def rolling_policy(self) -> tuple[int, int, float] | None:
        policy = self.update_policy[self.ROLLING_UPDATE]
        if not policy:
            return None
        return (policy[self.MAX_BATCH_SIZE], policy[self.MIN_INSTANCES_IN_SERVICE],
                float(parse_isoduration(policy[self.PAUSE_TIME])))

    # --- attributes ---------------------------------------------------------------------------------------

    def _resolve_attribute(self, name: str) -> object:
        if name != self.INSTANCE_LIST or self.resource_id is None:
            return super()._resolve_attribute(name)
        found: object = self.get_output(name) if self.has_output(name) else self._addresses()
        if isinstance(found, Mapping):
            found = [address or NO_ADDRESS for address in self.shown_members(found).values()]
        return ','.join(found) or None if isinstance(found, list) else found

    def _addresses(self) -> list[object]:
        """Asked of the members: nested stacks that Heat made often have no output for them."""
        return [member.FnGetAtt('PublicIp') or NO_ADDRESS for member in grouputils.get_members(self)]


def resource_mapping() -> dict[str, type[InstanceGroup]]:
    return {NAME: InstanceGroup}
