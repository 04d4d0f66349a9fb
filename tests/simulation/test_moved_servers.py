"""Attributes of a server whose networks change say where it is now, though Nova shows its addresses later."""

from __future__ import annotations

from tests.simulation.cluster import done, outputs
from tests.simulation.openstack import stack, template


def wanted(*networks):
    body = template({
        **{f'net{number}': ('OS::Neutron::Net', {}) for number in range(2)},
        **{f'subnet{number}': ('OS::Neutron::Subnet', {
            'network': {'get_resource': f'net{number}'}, 'cidr': f'10.8{number}.0.0/24'}) for number in range(2)},
        's': ('OS::Nova::Server', {'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [
            {'network': {'get_resource': f'net{number}'}, 'fixed_ip': f'10.8{number}.0.9'} for number in networks]})})
    body['resources']['s']['depends_on'] = ['subnet0', 'subnet1']
    body['outputs'] = {'networks': {'value': {'get_attr': ['s', 'networks']}}}
    return body


def test_a_server_that_moves(cloud):
    with stack(cloud, engines=1) as it:
        it.id = it.cluster.create('s', wanted(0))
        done(it.cluster, it.id, 'CREATE')
        before = it.physical_id('s')
        for networks in ((1,), (0, 1), (0,)):
            it.cluster.update(it.id, wanted(*networks))
            shown = outputs(done(it.cluster, it.id, 'UPDATE'))
            assert it.physical_id('s') == before
            assert sorted({address for listed in shown['networks'].values() for address in listed}) == [
                f'10.8{number}.0.9' for number in sorted(networks)]
