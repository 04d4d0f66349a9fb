"""Reads what services list as objects of a template: which properties their resources would have.

Each function takes an entry of a service's list and returns what a template says of it. Left out is what is the default
of its type, and what services fill in.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from heatlite.planning.project_template import FoundObject, ObjectReference

Entry = Mapping[str, Any]
INTERFACES = ('network:router_interface', 'network:router_interface_distributed',
              'network:ha_router_replicated_interface')
OF_SERVICES = 'network:'            # owners of ports that services make for themselves begin with it
EGRESS = {('egress', 'IPv4'), ('egress', 'IPv6')}
SERVICE_METADATA = frozenset({'readonly', 'attached_mode'})      # of volumes: Cinder itself adds these
OF_ZONES = frozenset({'SOA', 'NS'})   # records that a zone has by itself


def network(entry: Entry) -> FoundObject:
    return FoundObject('net', entry['id'], entry['name'], _given({
        'name': entry['name'], 'shared': entry.get('shared') or None, 'dns_domain': entry.get('dns_domain'),
        'admin_state_up': _unless(True, entry.get('admin_state_up')),
        'port_security_enabled': _unless(True, entry.get('port_security_enabled')), **_tags(entry)}),
        _tags_of(entry), frozenset({entry['id']}))


def subnet(entry: Entry) -> FoundObject:
    return FoundObject('subnet', entry['id'], entry['name'], _given({
        'network': ObjectReference('net', entry['network_id']), 'name': entry['name'], 'cidr': entry['cidr'],
        'ip_version': _unless(4, entry.get('ip_version')), 'enable_dhcp': _unless(True, entry.get('enable_dhcp')),
        'ipv6_ra_mode': entry.get('ipv6_ra_mode'), 'ipv6_address_mode': entry.get('ipv6_address_mode'),
        'dns_nameservers': entry.get('dns_nameservers'), 'host_routes': entry.get('host_routes'), **_tags(entry)})
        | _addresses(entry), _tags_of(entry), frozenset({entry['network_id']}))


def _addresses(entry: Entry) -> dict[str, object]:
    """Return the gateway and the pools, unless they are what the service chooses."""
    whole = ipaddress.ip_network(entry['cidr'])
    gateway = entry.get('gateway_ip')
    usual = whole[1] if whole.num_addresses > 2 else None
    addresses: dict[str, object] = {}
    if gateway is None:
        addresses['gateway_ip'] = ''                # none
    elif ipaddress.ip_address(gateway) != usual:
        addresses['gateway_ip'] = gateway
    pools = entry.get('allocation_pools') or []
    if pools and pools != _usual_pools(whole, gateway):
        addresses['allocation_pools'] = [dict(pool) for pool in pools]
    return addresses


def _usual_pools(whole: ipaddress.IPv4Network | ipaddress.IPv6Network, gateway: str | None) -> list[dict[str, str]]:
    """Return the pools of a subnet that was made without any: all addresses but the gateway's."""
    if whole.num_addresses <= 2:
        return []
    first, last = int(whole[1]), int(whole[-1]) - (whole.version == 4)
    kind = type(whole[0])
    at = int(ipaddress.ip_address(gateway)) if gateway is not None else None
    if at is None or not first <= at <= last:
        parts = [(first, last)]
    else:
        parts = [(first, at - 1), (at + 1, last)]
    return [{'start': str(kind(start)), 'end': str(kind(end))} for start, end in parts if start <= end]


def router(entry: Entry, networks: Iterable[str]) -> FoundObject:
    """`networks`: ids of those that it joins."""
    gateway = entry.get('external_gateway_info') or {}
    outside = {'external_gateway_info': _given({
        'network': ObjectReference('external_network', gateway['network_id']),
        'enable_snat': _unless(True, gateway.get('enable_snat'))})} if gateway else {}
    return FoundObject('router', entry['id'], entry['name'], _given({
        'name': entry['name'], 'admin_state_up': _unless(True, entry.get('admin_state_up')), **outside,
        **_tags(entry)}), _tags_of(entry), frozenset(networks))


def interfaces(port: Entry, names: Mapping[str, str]) -> Iterator[FoundObject]:
    """Yield the interfaces that a port of a router is. `names`: id -> name of routers and subnets."""
    for address in port['fixed_ips']:
        where, inside = port['device_id'], address['subnet_id']
        yield FoundObject('interface', f'{where}:subnet_id={inside}',
                          '_'.join(names.get(each) or each for each in (where, inside)),
                          {'router': ObjectReference('router', where), 'subnet': ObjectReference('subnet', inside)},
                          networks=frozenset({port['network_id']}))


def port(entry: Entry, owner: str = '') -> FoundObject:
    """`owner`: the name of the server that it is in."""
    return FoundObject('port', entry['id'], entry['name'] or owner, _given({
        'network': ObjectReference('net', entry['network_id']), 'name': entry['name'],
        'admin_state_up': _unless(True, entry.get('admin_state_up')),
        'fixed_ips': [{'subnet': ObjectReference('subnet', each['subnet_id']), 'ip_address': each['ip_address']}
                      for each in entry.get('fixed_ips') or ()],
        'security_groups': [ObjectReference('security_group', each) for each in entry.get('security_groups') or ()],
        'allowed_address_pairs': [_given(dict(each)) for each in entry.get('allowed_address_pairs') or ()],
        'port_security_enabled': _unless(True, entry.get('port_security_enabled')),
        'binding:vnic_type': _unless('normal', entry.get('binding:vnic_type')), **_tags(entry)}),
        _tags_of(entry), frozenset({entry['network_id']}))


def security_group(entry: Entry) -> FoundObject:
    rules = entry.get('security_group_rules') or []
    egress = [rule for rule in rules if rule['direction'] == 'egress']
    is_usual = len(egress) == len(EGRESS) and all(_is_open(rule) for rule in egress)
    shown = [_rule(rule, entry['id']) for rule in sorted(rules, key=lambda rule: str(sorted(
        (name, str(value)) for name, value in rule.items() if name not in ('id', 'created_at', 'updated_at'))))
        if not (is_usual and rule['direction'] == 'egress')]
    return FoundObject('security_group', entry['id'], entry['name'], _given({
        'name': entry['name'], 'description': entry.get('description'), 'rules': shown, **_tags(entry)}),
        _tags_of(entry))


def _is_open(rule: Entry) -> bool:
    return (rule['direction'], rule.get('ethertype')) in EGRESS and not any(rule.get(name) for name in (
        'protocol', 'port_range_min', 'port_range_max', 'remote_ip_prefix', 'remote_group_id'))


def _rule(rule: Entry, own: str) -> dict[str, object]:
    remote = rule.get('remote_group_id')
    return _given({
        'direction': _unless('ingress', rule['direction']), 'ethertype': _unless('IPv4', rule.get('ethertype')),
        'protocol': rule.get('protocol'), 'port_range_min': rule.get('port_range_min'),
        'port_range_max': rule.get('port_range_max'), 'remote_ip_prefix': rule.get('remote_ip_prefix'),
        'remote_mode': 'remote_group_id' if remote else None,
        'remote_group_id': ObjectReference('security_group', remote) if remote and remote != own else None,
        'description': rule.get('description')})


def floating_ip(entry: Entry, networks: Iterable[str]) -> FoundObject:
    """`networks`: that of its port."""
    return FoundObject('floating_ip', entry['id'], entry['floating_ip_address'], _given({
        'floating_network': ObjectReference('external_network', entry['floating_network_id']),
        'port_id': ObjectReference('port', entry['port_id']) if entry.get('port_id') else None,
        'fixed_ip_address': entry.get('fixed_ip_address'), **_tags(entry)}), _tags_of(entry), frozenset(networks))


def server_group(entry: Entry) -> FoundObject:
    policies = entry.get('policies') or [entry['policy']]
    return FoundObject('server_group', entry['id'], entry['name'], {'name': entry['name'], 'policies': list(policies)})


def server(entry: Entry, ports: Iterable[Entry], root: str | None, group: str | None) -> FoundObject:
    """`ports`: its own; `root`: the volume that it boots from; `group`: the group that it is in."""
    plugged = sorted(ports, key=lambda each: each['id'])
    image = entry.get('image') or {}
    return FoundObject('server', entry['id'], entry['name'], _given({
        'name': entry['name'], 'flavor': ObjectReference('flavor', _flavor(entry['flavor'])),
        'image': ObjectReference('image', image['id']) if image else None,
        'block_device_mapping_v2': [{'volume_id': ObjectReference('volume', root), 'boot_index': 0}] if root else None,
        'key_name': ObjectReference('key', entry['key_name']) if entry.get('key_name') else None,
        'networks': [{'port': ObjectReference('port', each['id'])} for each in plugged],
        'scheduler_hints': {'group': ObjectReference('server_group', group)} if group else None,
        'metadata': entry.get('metadata'), 'user_data_format': 'RAW', **_tags(entry)}),
        _tags_of(entry), frozenset(each['network_id'] for each in plugged))


def _flavor(entry: Entry) -> str:
    return str(entry['id'] if 'id' in entry else entry['original_name'])


def volume(entry: Entry, networks: Iterable[str]) -> FoundObject:
    """`networks`: of the servers that it is in."""
    kind = entry.get('volume_type')
    return FoundObject('volume', entry['id'], entry.get('name') or '', _given({
        'name': entry.get('name'), 'description': entry.get('description'), 'size': entry['size'],
        'volume_type': ObjectReference('volume_type', kind) if kind else None,
        'metadata': {name: value for name, value in (entry.get('metadata') or {}).items()
                     if name not in SERVICE_METADATA}}),
        networks=frozenset(networks))


def attachment(volume: Entry, attached: Entry, server: str, networks: Iterable[str]) -> FoundObject:
    """Return a volume in a server. `attached`: an entry of the volume's attachments; `server`: its name."""
    name = '_'.join(each for each in (server, volume.get('name') or '') if each)
    return FoundObject('attachment', str(attached.get('id') or volume['id']), name, _given({
        'instance_uuid': ObjectReference('server', attached['server_id']),
        'volume_id': ObjectReference('volume', volume['id']),
        'mountpoint': attached.get('device')}), networks=frozenset(networks))


def load_balancer(entry: Entry) -> FoundObject:
    return FoundObject('load_balancer', entry['id'], entry['name'], _given({
        'name': entry['name'], 'description': entry.get('description'),
        'vip_subnet': ObjectReference('subnet', entry['vip_subnet_id']), 'vip_address': entry.get('vip_address'),
        'admin_state_up': _unless(True, entry.get('admin_state_up')), **_tags(entry)}), _tags_of(entry),
        frozenset({entry['vip_network_id']} if entry.get('vip_network_id') else ()))


def pool(entry: Entry) -> FoundObject:
    return FoundObject('pool', entry['id'], entry['name'], _given({
        'name': entry['name'], 'description': entry.get('description'),
        'loadbalancer': ObjectReference('load_balancer', entry['loadbalancers'][0]['id']),
        'protocol': entry['protocol'],
        'lb_algorithm': entry['lb_algorithm'],
        'session_persistence': _given(dict(entry['session_persistence'])) if entry.get('session_persistence') else None,
        'admin_state_up': _unless(True, entry.get('admin_state_up'))}))


def listener(entry: Entry) -> FoundObject:
    default = entry.get('default_pool_id')
    return FoundObject('listener', entry['id'], entry['name'], _given({
        'name': entry['name'], 'description': entry.get('description'),
        'loadbalancer': ObjectReference('load_balancer', entry['loadbalancers'][0]['id']),
        'protocol': entry['protocol'],
        'protocol_port': entry['protocol_port'], 'default_pool': ObjectReference('pool', default) if default else None,
        'connection_limit': _unless(-1, entry.get('connection_limit')),
        'admin_state_up': _unless(True, entry.get('admin_state_up'))}))


def member(entry: Entry, of: Entry) -> FoundObject:
    """`of`: its pool."""
    return FoundObject('member', entry['id'], f"{of['name']}_{entry['address']}", _given({
        'pool': ObjectReference('pool', of['id']), 'address': entry['address'], 'protocol_port': entry['protocol_port'],
        'subnet': ObjectReference('subnet', entry['subnet_id']) if entry.get('subnet_id') else None,
        'weight': _unless(1, entry.get('weight')), 'admin_state_up': _unless(True, entry.get('admin_state_up'))}))


def monitor(entry: Entry) -> FoundObject:
    is_web = entry['type'] in ('HTTP', 'HTTPS')
    return FoundObject('monitor', entry['id'], entry.get('name') or '', _given({
        'pool': ObjectReference('pool', entry['pools'][0]['id']), 'type': entry['type'], 'delay': entry['delay'],
        'timeout': entry['timeout'], 'max_retries': entry['max_retries'],
        **({name: entry.get(name) for name in ('http_method', 'url_path', 'expected_codes')} if is_web else {}),
        'admin_state_up': _unless(True, entry.get('admin_state_up'))}))


def zone(entry: Entry) -> FoundObject:
    return FoundObject('zone', entry['id'], entry['name'], _given({
        'name': entry['name'], 'email': entry.get('email'), 'description': entry.get('description'),
        'ttl': entry.get('ttl'), 'type': _unless('PRIMARY', entry.get('type')),
        'masters': entry.get('masters')}))


def record(entry: Entry, of: Entry) -> FoundObject | None:
    """`of`: its zone. None for the records that a zone has by itself."""
    if entry['type'] in OF_ZONES and entry['name'] == of['name']:
        return None
    return FoundObject('record', entry['id'], f"{entry['name']}_{entry['type']}", _given({
        'zone': ObjectReference('zone', of['id']), 'name': entry['name'], 'type': entry['type'],
        'records': sorted(entry['records']), 'ttl': entry.get('ttl'), 'description': entry.get('description')}))


def container(entry: Entry) -> FoundObject:
    return FoundObject('container', entry['name'], entry['name'], {'name': entry['name']})


def share_network(entry: Entry) -> FoundObject:
    return FoundObject('share_network', entry['id'], entry.get('name') or '', _given({
        'name': entry.get('name'), 'description': entry.get('description'),
        'neutron_network': ObjectReference('net', entry['neutron_net_id']) if entry.get('neutron_net_id') else None,
        'neutron_subnet': ObjectReference('subnet',
                                          entry['neutron_subnet_id']) if entry.get('neutron_subnet_id') else None}),
        networks=frozenset({entry['neutron_net_id']} if entry.get('neutron_net_id') else ()))


def share(entry: Entry) -> FoundObject:
    kind, where = entry.get('share_type_name') or entry.get('share_type'), entry.get('share_network_id')
    return FoundObject('share', entry['id'], entry.get('name') or '', _given({
        'name': entry.get('name'), 'description': entry.get('description'), 'share_protocol': entry['share_proto'],
        'size': entry['size'], 'share_type': ObjectReference('share_type', kind) if kind else None,
        'share_network': ObjectReference('share_network', where) if where else None,
        'is_public': entry.get('is_public') or None, 'metadata': entry.get('metadata')}))


def is_of_service(port: Entry) -> bool:
    """Whether a service has made the port for itself, and removes it."""
    return str(port.get('device_owner') or '').startswith(OF_SERVICES)


def is_interface(port: Entry) -> bool:
    return port.get('device_owner') in INTERFACES


def _tags_of(entry: Entry) -> tuple[str, ...]:
    return tuple(sorted(entry.get('tags') or ()))


def _tags(entry: Entry) -> dict[str, object]:
    return {'tags': list(_tags_of(entry))}


def _unless(usual: object, value: object) -> object:
    """Return the value; None if it is the usual one."""
    return None if value == usual else value


def _given(properties: dict[str, object]) -> dict[str, object]:
    """Return the properties that have a value; False and 0 are some."""
    return {name: value for name, value in properties.items() if value is not None and value not in ('', [], {}, ())}
