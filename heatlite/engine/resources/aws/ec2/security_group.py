"""AWS::EC2::SecurityGroup.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.engine import resource
from heatlite.engine.clients.os import service
from heatlite.engine.resources import catalogue, existing
from heatlite.engine.resources.openstack.neutron import security_rules
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

if TYPE_CHECKING:
    from heatlite.engine.clients.os.neutron import NeutronClientPlugin
    from heatlite.engine.properties import Values

TYPE = 'AWS::EC2::SecurityGroup'
ANY_PROTOCOL = ('-1', 'all')


class SecurityGroup(resource.Resource):
    """A set of rules for the traffic to and from instances, for IPv4 only."""

    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (GROUP_DESCRIPTION, VPC_ID, SECURITY_GROUP_INGRESS, SECURITY_GROUP_EGRESS) = (
        'GroupDescription', 'VpcId', 'SecurityGroupIngress', 'SecurityGroupEgress')
    _RULE_KEYS = (RULE_CIDR_IP, RULE_FROM_PORT, RULE_TO_PORT, RULE_IP_PROTOCOL, RULE_SOURCE_SECURITY_GROUP_ID,
                  RULE_SOURCE_SECURITY_GROUP_NAME) = (
        'CidrIp', 'FromPort', 'ToPort', 'IpProtocol', 'SourceSecurityGroupId', 'SourceSecurityGroupName')

    @property
    def _plugin(self) -> NeutronClientPlugin:
        return self.client_plugin('neutron')

    def handle_create(self) -> None:
        body = {'name': self.physical_resource_name(), 'description': self.properties[self.GROUP_DESCRIPTION]}
        group_id = existing.create(self, lambda: str(self.client('neutron').create_security_group(
            {'security_group': body})['security_group']['id']))
        self.resource_id_set(group_id)

    def check_create_complete(self, *args: object) -> bool:
        """Rules are made here: a group found after a crash may have none yet."""
        self._make_so(self.properties[self.SECURITY_GROUP_INGRESS], self.properties[self.SECURITY_GROUP_EGRESS])
        return True

    def find_existing(self) -> str | None:
        found = self.client('neutron').list_security_groups(name=self.physical_resource_name())['security_groups']
        return existing.choose(self, found, own_name=True)

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: dict[str, object]) -> None:
        if prop_diff:
            after = json_snippet.properties(self.properties_schema, self.context)
            self._make_so(after[self.SECURITY_GROUP_INGRESS], after[self.SECURITY_GROUP_EGRESS])

    def handle_delete(self) -> None:
        """Raise PhysicalResourceExists while something uses it: then it is tried again."""
        if self.resource_id is None:
            return
        client = self.client('neutron')
        try:
            for rule in client.show_security_group(self.resource_id)['security_group']['security_group_rules']:
                with self._plugin.ignore_not_found:
                    client.delete_security_group_rule(rule['id'])
            client.delete_security_group(self.resource_id)
        except Exception as error:
            if self._plugin.is_conflict(error):
                raise exception.PhysicalResourceExists(name=self.physical_resource_name()) from error
            self._plugin.ignore_not_found(error)

    # --- rules --------------------------------------------------------------------------------------------

    def _make_so(self, ingress: Iterable[Values] | None, egress: Iterable[Values] | None) -> None:
        """Make the rules of the group as given. Without any for egress, those that Neutron gave the group remain."""
        there = self.client('neutron').show_security_group(self.resource_id)['security_group']['security_group_rules']
        wanted = [self._rule('ingress', entry) for entry in ingress or ()]
        wanted += [self._rule('egress', entry) for entry in egress or ()]
        security_rules.make_so(self._plugin, self.resource_id, there, wanted,
                               lambda rule: rule['direction'] == 'egress' and not egress)

    def _rule(self, direction: str, entry: Mapping[str, object]) -> dict[str, object]:
        protocol = entry.get(self.RULE_IP_PROTOCOL)
        found: dict[str, object] = {'direction': direction, 'ethertype': 'IPv4'}
        if entry.get(self.RULE_CIDR_IP):
            found['remote_ip_prefix'] = entry[self.RULE_CIDR_IP]
        if protocol and str(protocol).lower() not in ANY_PROTOCOL:
            found['protocol'] = str(protocol).lower()
            for name, given in (('port_range_min', self.RULE_FROM_PORT), ('port_range_max', self.RULE_TO_PORT)):
                if entry.get(given) not in (None, '', '-1'):
                    found[name] = entry[given]
        group = entry.get(self.RULE_SOURCE_SECURITY_GROUP_ID) or entry.get(self.RULE_SOURCE_SECURITY_GROUP_NAME)
        if group:
            found['remote_group_id'] = group if service.looks_like_uuid(group) else \
                self._plugin.get_secgroup_uuids([group])[0]
        return found


def resource_mapping() -> dict[str, type[SecurityGroup]]:
    return {TYPE: SecurityGroup}
