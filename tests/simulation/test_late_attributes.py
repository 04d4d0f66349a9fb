"""Outputs with attributes that say what resources created later have added to an object."""

from __future__ import annotations

from heatlite.rpc import messages
from tests.simulation.cluster import done
from tests.simulation.openstack import Stack, stack, template


def ref(name):
    return {'get_resource': name}


NETWORK = {
    'net': ('OS::Neutron::Net', {}),
    'subnet': ('OS::Neutron::Subnet', {'network': ref('net'), 'cidr': '10.77.0.0/24'}),
    'router': ('OS::Neutron::Router', {}),
    'gateway': ('OS::Neutron::RouterGateway', {'router_id': ref('router'), 'network': 'public'}),
    'interface': ('OS::Neutron::RouterInterface', {'router': ref('router'), 'subnet': ref('subnet')}),
    'port': ('OS::Neutron::Port', {'network': ref('net'), 'fixed_ips': [{'subnet': ref('subnet')}]}),
    'server': ('OS::Nova::Server', {'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [{'port': ref('port')}]}),
    'fip': ('OS::Neutron::FloatingIP', {'floating_network': 'public'}),
    'association': ('OS::Neutron::FloatingIPAssociation', {'floatingip_id': ref('fip'), 'port_id': ref('port')})}
ZONE = {
    'zone': ('OS::Designate::Zone', {'name': 'example.org.', 'email': 'a@example.org'}),
    'record': ('OS::Designate::RecordSet', {
        'name': 'www.example.org.', 'zone': ref('zone'), 'type': 'A', 'records': ['10.0.0.1']})}
BALANCER = {
    'net': ('OS::Neutron::Net', {}),
    'subnet': ('OS::Neutron::Subnet', {'network': ref('net'), 'cidr': '10.77.0.0/24'}),
    'lb': ('OS::Octavia::LoadBalancer', {'vip_subnet': ref('subnet')}),
    'listener': ('OS::Octavia::Listener', {'loadbalancer': ref('lb'), 'protocol': 'HTTP', 'protocol_port': 80}),
    'pool': ('OS::Octavia::Pool', {'listener': ref('listener'), 'lb_algorithm': 'ROUND_ROBIN', 'protocol': 'HTTP'}),
    'member': ('OS::Octavia::PoolMember', {'pool': ref('pool'), 'address': '10.77.0.9', 'protocol_port': 80}),
    'monitor': ('OS::Octavia::HealthMonitor', {
        'pool': ref('pool'), 'type': 'HTTP', 'delay': 5, 'timeout': 3, 'max_retries': 2}),
    'policy': ('OS::Octavia::L7Policy', {'listener': ref('listener'), 'action': 'REJECT'}),
    'rule': ('OS::Octavia::L7Rule', {
        'l7policy': ref('policy'), 'type': 'PATH', 'compare_type': 'STARTS_WITH', 'value': '/x'})}


def shown(it: Stack, resources, **attributes):
    """The outputs of a new stack as they are shown: name of the resource -> values of its attributes."""
    body = template(resources)
    body['outputs'] = {name: {'value': [{'get_attr': [name, attribute]} for attribute in wanted]}
                       for name, wanted in attributes.items()}
    it.id = it.cluster.create('s', body)
    row = done(it.cluster, it.id, 'CREATE')
    assert all(output.get('live') for output in row.outputs)        # so the API asks an engine, as here
    return {each['output_key']: each['output_value'] for each in it.cluster.ask(messages.ResolveOutputs(it.id))}


def test_networks_routers_ports_and_floating_addresses(cloud):
    with stack(cloud, engines=1) as it:
        found = shown(it, NETWORK, net=['subnets'], router=['external_gateway_info'],
                      port=['device_id', 'device_owner', 'status'], fip=['port_id', 'router_id'])
        [gateway] = found.pop('router')
        assert gateway['network_id']
        assert found == {
            'net': [[it.physical_id('subnet')]], 'port': [it.physical_id('server'), 'compute:nova', 'ACTIVE'],
            'fip': [it.physical_id('port'), it.physical_id('router')]}


def test_zones(cloud):
    with stack(cloud, engines=1) as it:
        [serial] = shown(it, ZONE, zone=['serial'])['zone']
        assert serial == it.request('designate', 'GET', f'/zones/{it.physical_id("zone")}')['serial']


def test_balancers(cloud):
    with stack(cloud, engines=1) as it:
        found = shown(it, BALANCER, lb=['pools'], listener=['default_pool_id'],
                      pool=['listeners', 'healthmonitor_id', 'members'], policy=['rules'])
        assert found == {
            'lb': [[{'id': it.physical_id('pool')}]], 'listener': [it.physical_id('pool')],
            'pool': [[{'id': it.physical_id('listener')}], it.physical_id('monitor'),
                     [{'id': it.physical_id('member')}]],
            'policy': [[{'id': it.physical_id('rule')}]]}
