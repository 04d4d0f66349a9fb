"""Properties that are removed from a template, in the simulated network service."""

from __future__ import annotations

import pytest

from tests.plugins.openstack.cloud import Cloud, Life


def network(cloud: Cloud) -> Life:
    made = Life(cloud, 'OS::Neutron::Net', {'port_security_enabled': False}, name='net')
    made.create()
    return made


def subnet(cloud: Cloud, life: Life):
    return cloud.client('neutron').show_subnet(life.physical_id)['subnet']


@pytest.mark.parametrize('cidr, before, after, gateway, pools', [
    ('10.7.0.0/24', {'allocation_pools': [{'start': '10.7.0.10', 'end': '10.7.0.20'}]}, {}, '10.7.0.1',
     [('10.7.0.2', '10.7.0.254')]),
    ('10.7.0.0/24', {'allocation_pools': [{'start': '10.7.0.10', 'end': '10.7.0.20'}], 'gateway_ip': '10.7.0.5'},
     {'gateway_ip': '10.7.0.5'}, '10.7.0.5', [('10.7.0.1', '10.7.0.4'), ('10.7.0.6', '10.7.0.254')]),
    ('10.7.0.0/24', {'gateway_ip': '10.7.0.254'}, {}, '10.7.0.1', [('10.7.0.2', '10.7.0.254')]),
    ('10.7.0.0/24', {'gateway_ip': ''}, {}, '10.7.0.1', [('10.7.0.2', '10.7.0.254')]),
    ('2001:db8:7::/64', {'gateway_ip': '2001:db8:7::5'}, {}, '2001:db8:7::',
     [('2001:db8:7::1', '2001:db8:7:0:ffff:ffff:ffff:ffff')])])
def test_a_subnet_gets_the_addresses_of_a_new_one(cloud: Cloud, cidr, before, after, gateway, pools):
    net = network(cloud)
    given = {'network': net.physical_id, 'cidr': cidr, 'ip_version': 6 if ':' in cidr else 4}
    life = Life(cloud, 'OS::Neutron::Subnet', {**given, **before}, name='subnet')
    life.create()
    life.update({**given, **after})
    found = subnet(cloud, life)
    assert found['gateway_ip'] == gateway
    assert [(pool['start'], pool['end']) for pool in found['allocation_pools']] == pools
    new = Life(cloud, 'OS::Neutron::Subnet', {**given, **after}, name='new')
    life.delete()
    new.create()
    assert (subnet(cloud, new)['gateway_ip'], subnet(cloud, new)['allocation_pools']) == (
        found['gateway_ip'], found['allocation_pools']), 'what the service gives a new one'
    new.delete()
    net.delete()


def test_a_port_gets_what_a_new_one_has(cloud: Cloud):
    net = network(cloud)
    given = {'network': net.physical_id}
    life = Life(cloud, 'OS::Neutron::Port', {**given, 'dns_name': 'web', 'port_security_enabled': True,
                                             'propagate_uplink_status': False})
    life.create()
    life.update(given)
    port = cloud.client('neutron').show_port(life.physical_id)['port']
    assert (port['dns_name'], port['port_security_enabled'], port['propagate_uplink_status']) == ('', False, True)
    life.delete()
    net.delete()


@pytest.mark.parametrize('given, removed, shown', [
    ({'min_prefixlen': 24, 'default_prefixlen': 26}, {'min_prefixlen': 24}, ('24', '24', '32')),
    ({'min_prefixlen': 24}, {}, ('8', '8', '32')), ({'max_prefixlen': 28, 'default_quota': 4}, {}, ('8', '8', '32'))])
def test_a_pool_of_subnets_gets_what_a_new_one_has(cloud: Cloud, given, removed, shown):
    life = Life(cloud, 'OS::Neutron::SubnetPool', {'prefixes': ['10.0.0.0/8'], **given})
    life.create()
    life.update({'prefixes': ['10.0.0.0/8'], **removed})
    pool = cloud.client('neutron').show_subnetpool(life.physical_id)['subnetpool']
    assert tuple(str(pool[f'{name}_prefixlen']) for name in ('min', 'default', 'max')) == shown
    life.delete()
