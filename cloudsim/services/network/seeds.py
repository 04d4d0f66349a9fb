"""The networks of a fresh cloud: public, private, and a router between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cloudsim.messages import Call
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.network import NetworkService


def fill(service: NetworkService, call: Call) -> None:
    owner = call.cloud.first.seed_id('projects/admin')

    def put(kind: str, **given: Any) -> Thing:
        id = call.cloud.seed_id(f'{kind}/{given["name"]}', dashes=True)
        thing: Thing = service.collection(kind).system_make(given, owner, id)
        return thing

    public = put('networks', name='public', is_default=True, **{
        'router:external': True, 'provider:network_type': 'flat', 'provider:physical_network': 'public'})
    put('subnets', name='public-subnet', network_id=public.id, ip_version=4, cidr='172.24.0.0/16',
        gateway_ip='172.24.0.1', enable_dhcp=False)
    private = put('networks', name='private', shared=True)
    subnet = put('subnets', name='private-subnet', network_id=private.id, ip_version=4, cidr='10.0.0.0/16',
                 dns_nameservers=['192.0.2.53'])
    router = put('routers', name='router', external_gateway_info={'network_id': public.id})
    service.collection('ports').system_make({
        'network_id': private.id, 'device_id': router.id, 'device_owner': 'network:router_interface',
        'security_groups': [], 'fixed_ips': [{'subnet_id': subnet.id, 'ip_address': subnet['gateway_ip']}]}, owner)
    rules = service.collection('rule-types')
    for name in ('bandwidth_limit', 'dscp_marking', 'minimum_bandwidth', 'minimum_packet_rate'):
        rules.make(call, {'type': name})
    agents = service.collection('agents')
    for kind, binary in (('L3 agent', 'neutron-l3-agent'), ('DHCP agent', 'neutron-dhcp-agent')):
        agents.make(call, {'agent_type': kind, 'binary': binary, 'host': 'network-1'},
                    id=call.cloud.seed_id(f'agents/{binary}', dashes=True))
    service.collection('security-groups').default(call.cloud.first.seed_id('projects/demo'))
