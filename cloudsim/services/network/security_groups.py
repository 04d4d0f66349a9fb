"""Security groups and rules; every project has one named default from its first use on."""

from __future__ import annotations

from typing import Any

from cloudsim.messages import BadRequest, Call, Conflict
from cloudsim.services.network import addresses
from cloudsim.services.network.neutral import NeutronCollection
from cloudsim.store import Thing

SAME = ('direction', 'ethertype', 'port_range_min', 'port_range_max', 'remote_group_id', 'remote_address_group_id')
NUMBERS = {
    'ah': 51, 'dccp': 33, 'egp': 8, 'esp': 50, 'gre': 47, 'hopopt': 0, 'icmp': 1, 'icmpv6': 58, 'igmp': 2, 'ip': 0,
    'ipip': 4, 'ipv6-encap': 41, 'ipv6-frag': 44, 'ipv6-icmp': 58, 'ipv6-nonxt': 59, 'ipv6-opts': 60, 'ipv6-route': 43,
    'ospf': 89, 'pgm': 113, 'rsvp': 46, 'sctp': 132, 'tcp': 6, 'udp': 17, 'udplite': 136, 'vrrp': 112}
WITH_PORTS = (6, 17, 33, 132, 136)
ICMP = (1, 58)
FOR_IPV6 = (41, 43, 44, 58, 59, 60)
EVERYWHERE = ('0.0.0.0/0', '::/0', None, '')


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
        self.normalize(data)
        self.check_sense(data)
        if data['remote_ip_prefix']:
            data['normalized_cidr'] = str(addresses.network(data['remote_ip_prefix']))
        for other in self.table.find('security_group_id', data['security_group_id']):
            if key_of(other.data) == key_of(data):
                raise Conflict(f'Security group rule already exists. Rule id is {other.id}.',
                               'SecurityGroupRuleExists')

    def normalize(self, data: dict[str, Any]) -> None:
        """As Neutron does before it compares and stores a rule."""
        protocol = None if data['protocol'] in (None, '', 'any') else str(data['protocol']).lower()
        if data['ethertype'] == 'IPv6':
            protocol = {'icmp': 'ipv6-icmp', 'icmpv6': 'ipv6-icmp', '1': '58'}.get(str(protocol), protocol)
        if protocol is not None and number_of(protocol) is None:
            raise BadRequest(f'Security group rule protocol {protocol} not supported.',
                             'SecurityGroupRuleInvalidProtocol')
        data['protocol'] = protocol
        if (data['port_range_min'], data['port_range_max']) == (1, 65535):
            data['port_range_min'] = data['port_range_max'] = None
        if data['remote_ip_prefix']:
            data['remote_ip_prefix'] = addresses.interface(data['remote_ip_prefix'])

    def check_sense(self, data: dict[str, Any]) -> None:
        if data['direction'] not in ('ingress', 'egress'):
            raise BadRequest(f"Invalid input for direction. Reason: '{data['direction']}' is not in ['ingress', "
                             "'egress'].", 'HTTPBadRequest')
        if data['ethertype'] not in ('IPv4', 'IPv6'):
            raise BadRequest(f"Invalid input for ethertype: {data['ethertype']}", 'SecurityGroupRuleInvalidEtherType')
        self.check_ports(data)
        prefix = data['remote_ip_prefix']
        if prefix and data['ethertype'] != f'IPv{addresses.network(prefix).version}':
            raise BadRequest(f"Conflicting value ethertype {data['ethertype']} for CIDR {prefix}",
                             'SecurityGroupRuleParameterConflict')
        if number_of(data['protocol']) in FOR_IPV6 and data['ethertype'] == 'IPv4':
            raise BadRequest(f"Invalid ethertype {data['ethertype']} for protocol {data['protocol']}.",
                             'SecurityGroupEthertypeConflictWithProtocol')
        if prefix and data['remote_group_id']:
            raise BadRequest('Only remote_ip_prefix or remote_group_id may be provided.',
                             'SecurityGroupMultipleRemoteParameters')

    def check_ports(self, data: dict[str, Any]) -> None:
        low, high = data['port_range_min'], data['port_range_max']
        if low is None and high is None:
            return
        if data['protocol'] is None:
            raise BadRequest('Must also specify protocol if port range is given.',
                             'SecurityGroupProtocolRequiredWithPorts')
        number = number_of(data['protocol'])
        if number in ICMP:
            if low is None:
                raise BadRequest(f'ICMP code (port-range-max) {high} is provided but ICMP type (port-range-min) is '
                                 'missing.', 'SecurityGroupMissingIcmpType')
        elif number not in WITH_PORTS:
            raise BadRequest(f'Ports cannot be specified for protocol {data["protocol"]}. Ports are only supported for '
                             'DCCP, SCTP, TCP, UDP, UDPLITE.', 'SecurityGroupInvalidProtocolForPort')
        elif 0 in (low, high):
            raise BadRequest('Invalid value for port 0', 'SecurityGroupInvalidPortValue')
        elif low is None or high is None or low > high:
            raise BadRequest('For TCP/UDP protocols, port_range_min must be <= port_range_max',
                             'SecurityGroupInvalidPortRange')

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


def number_of(protocol: str | None) -> int | None:
    """None for any protocol, and for a name that does not exist."""
    if protocol is not None and protocol.isdigit():
        return int(protocol)
    return NUMBERS.get(str(protocol))


def key_of(data: dict[str, Any]) -> tuple[Any, ...]:
    """Equal for rules of a group of which Neutron stores one only."""
    prefix = data['remote_ip_prefix']
    return (*(data[name] for name in SAME), number_of(data['protocol']), None if prefix in EVERYWHERE else prefix)
