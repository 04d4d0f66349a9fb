"""Security groups and rules; every project has one named default from its first use on."""

from __future__ import annotations

from typing import Any

from cloudsim.messages import BadRequest, Call, Conflict
from cloudsim.services.network import addresses
from cloudsim.services.network.neutral import NeutronCollection
from cloudsim.store import Thing

SAME = ('direction', 'ethertype', 'protocol', 'port_range_min', 'port_range_max', 'remote_ip_prefix',
        'remote_group_id', 'remote_address_group_id')


class SecurityGroups(NeutronCollection):
    def default(self, project_id: str | None) -> Thing:
        """The project's own; made when it is not there."""
        for each in self.table.find('project_id', project_id):
            if each['name'] == 'default':
                return each
        made = self.system_make({'name': 'default', 'description': 'Default security group'}, project_id)
        rules = self.service.collection('security-group-rules')
        for ethertype in ('IPv4', 'IPv6'):
            rules.system_make({'security_group_id': made.id, 'direction': 'ingress', 'ethertype': ethertype,
                               'remote_group_id': made.id}, project_id)
        return made

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        thing.data['security_group_rules'] = []
        if call.identity is None:
            return
        self.default(thing.project_id)
        if thing['name'] == 'default':
            raise Conflict('Default security group already exists.', 'SecurityGroupDefaultAlreadyExists')

    def started(self, call: Call, thing: Thing) -> None:
        for ethertype in ('IPv4', 'IPv6'):
            self.service.collection('security-group-rules').system_make(
                {'security_group_id': thing.id, 'direction': 'egress', 'ethertype': ethertype}, thing.project_id)

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        if thing['name'] == 'default' and changes.get('name', 'default') != 'default':
            raise Conflict('Updating default security group not allowed.', 'SecurityGroupCannotUpdateDefault')
        if changes.get('stateful') not in (None, thing['stateful']) \
                and self.service.collection('ports').table.find('security_groups', thing.id):
            raise Conflict(f'Security Group {thing.id} in use.', 'SecurityGroupInUse')

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        if call.identity is not None and call.project_id:
            self.default(call.project_id)
        return super().candidates(call, parent)

    def leaving(self, call: Call, thing: Thing) -> None:
        if thing['name'] == 'default' and not call.is_admin:
            raise Conflict('Insufficient rights for removing default security group.',
                           'SecurityGroupCannotRemoveDefault')

    def left(self, thing: Thing) -> None:
        rules = self.service.collection('security-group-rules')
        for field in ('security_group_id', 'remote_group_id'):
            for each in rules.table.find(field, thing.id):
                rules.drop(each)


class SecurityGroupRules(NeutronCollection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        for name in ('port_range_min', 'port_range_max'):
            if isinstance(data[name], str):
                data[name] = int(data[name]) if data[name].lstrip('-').isdigit() else data[name]
        if data['protocol'] is not None:
            data['protocol'] = str(data['protocol']).lower()
        self.check_sense(data)
        if data['remote_ip_prefix']:
            data['normalized_cidr'] = str(addresses.network(data['remote_ip_prefix']))
        for other in self.table.find('security_group_id', data['security_group_id']):
            if all(other[name] == data[name] for name in SAME):
                raise Conflict(f'Security group rule already exists. Rule id is {other.id}.',
                               'SecurityGroupRuleExists')

    def check_sense(self, data: dict[str, Any]) -> None:
        if data['direction'] not in ('ingress', 'egress'):
            raise BadRequest(f"Invalid input for direction. Reason: '{data['direction']}' is not in ['ingress', "
                             "'egress'].", 'HTTPBadRequest')
        if data['ethertype'] not in ('IPv4', 'IPv6'):
            raise BadRequest(f"Invalid input for ethertype: {data['ethertype']}", 'SecurityGroupRuleInvalidEtherType')
        low, high = data['port_range_min'], data['port_range_max']
        if (low is not None or high is not None) and data['protocol'] is None:
            raise BadRequest('Must also specify protocol if port range is given.',
                             'SecurityGroupProtocolRequiredWithPorts')
        if data['protocol'] in ('tcp', 'udp', '6', '17') and isinstance(low, int) and isinstance(high, int) \
                and low > high:
            raise BadRequest('For TCP/UDP protocols, port_range_min must be <= port_range_max',
                             'SecurityGroupInvalidPortRange')
        if data['remote_ip_prefix'] and data['remote_group_id']:
            raise BadRequest('Only remote_ip_prefix or remote_group_id may be provided.',
                             'SecurityGroupMultipleRemoteParameters')

    def started(self, call: Call, thing: Thing) -> None:
        group = self.service.thing('security-groups', thing['security_group_id'])
        self.table.change(thing, belongs_to_default_sg=group['name'] == 'default')
        thing.hidden['shown'] = {**thing.data, 'tags': [], 'standard_attr_id': thing.number}
        group.data['security_group_rules'].append(thing.hidden['shown'])

    def left(self, thing: Thing) -> None:
        group = self.service.thing('security-groups', thing['security_group_id'])
        if group is not None:
            group.data['security_group_rules'] = [each for each in group.data['security_group_rules']
                                                  if each is not thing.hidden['shown']]
