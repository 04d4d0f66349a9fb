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


POOLS = [{'start': '10.7.0.10', 'end': '10.7.0.20'}]


@pytest.mark.parametrize('before, after, gateway, pools', [
    ({'allocation_pools': POOLS}, {}, '10.7.0.1', []),
    ({'allocation_pools': POOLS, 'gateway_ip': '10.7.0.5'}, {'gateway_ip': '10.7.0.5'}, '10.7.0.5', []),
    ({'allocation_pools': POOLS, 'gateway_ip': '10.7.0.5'}, {'allocation_pools': POOLS}, None, POOLS)])
def test_a_subnet_has_no_gateway_and_no_pools_then(cloud: Cloud, before, after, gateway, pools):
    """As in Heat, whose functional tests say so."""
    net = network(cloud)
    given = {'network': net.physical_id, 'cidr': '10.7.0.0/24'}
    life = Life(cloud, 'OS::Neutron::Subnet', {**given, **before}, name='subnet')
    life.create()
    life.update({**given, **after})
    found = subnet(cloud, life)
    assert (found['gateway_ip'], found['allocation_pools']) == (gateway, pools)
    life.delete()
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
