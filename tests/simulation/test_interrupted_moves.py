"""Servers whose networks an update has begun to change are brought to where the next definition wants them."""

from __future__ import annotations

import pytest

from tests.simulation.cluster import done, kill_the_owner
from tests.simulation.openstack import stack, template


def wanted(*networks, **more):
    """A server in the networks of these numbers."""
    body = template({
        **{f'net{number}': ('OS::Neutron::Net', {}) for number in range(3)},
        **{f'subnet{number}': ('OS::Neutron::Subnet', {
            'network': {'get_resource': f'net{number}'}, 'cidr': f'10.8{number}.0.0/24'}) for number in range(3)},
        's': ('OS::Nova::Server', {'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [
            {'network': {'get_resource': f'net{number}'}, 'fixed_ip': f'10.8{number}.0.9', **more}
            for number in networks]})})
    body['resources']['s']['depends_on'] = ['subnet0', 'subnet1', 'subnet2']
    return body


def addresses(it):
    ports = it.request('neutron', 'GET', f'/ports?device_id={it.physical_id("s")}')['ports']
    return sorted(fixed['ip_address'] for port in ports for fixed in port['fixed_ips'])


def create(it, definition):
    it.id = it.cluster.create('s', definition)
    done(it.cluster, it.id, 'CREATE')


@pytest.mark.parametrize('at', [['10.80.0.9', '10.81.0.9'], ['10.81.0.9']])
@pytest.mark.parametrize('number', range(3))
def test_an_update_after_a_kill(cloud, at, number):
    """Back to where it was, on to where it was to go, and elsewhere."""
    with stack(cloud, engines=2) as it:
        create(it, wanted(0))
        it.cluster.update(it.id, wanted(1))
        universe = it.cluster.universe
        assert universe.run(lambda: not universe.steps % 5 and addresses(it) == at, limit=200)
        assert it.cluster.row(it.id).status == 'IN_PROGRESS'
        kill_the_owner(it.cluster, it.id)
        it.cluster.update(it.id, wanted(number))
        done(it.cluster, it.id, 'UPDATE')
        assert addresses(it) == [f'10.8{number}.0.9']
        before = it.count_requests()
        it.cluster.update(it.id, wanted(number))
        done(it.cluster, it.id, 'UPDATE')
        assert it.count_requests() == before                    # nothing is left to be done


@pytest.mark.parametrize('before, after, refused', [
    (wanted(0), wanted(0, 1, 2), 2),
    (wanted(0, tag='a'), wanted(0, tag='b'), 1),        # detached first, as only one can have the address
    (wanted(0), wanted(1, 2), 1),
])
def test_a_rollback_after_a_refusal(cloud, before, after, refused):
    with stack(cloud, engines=1) as it:
        create(it, before)
        it.fault(kind='error', status=400, service='compute', method='POST', path='*/os-interface', nth=refused,
                 count=1)
        it.cluster.update(it.id, after, disable_rollback=False)
        done(it.cluster, it.id, 'ROLLBACK')
        assert addresses(it) == ['10.80.0.9']


def test_networks_that_nova_has_chosen(cloud):
    """They stay when the rollback takes away what the update has added."""
    with stack(cloud, engines=1) as it:
        create(it, template({'s': ('OS::Nova::Server', {
            'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [{'allocate_network': 'auto'}]})}))
        chosen = addresses(it)
        assert chosen
        it.fault(kind='error', status=400, service='compute', method='POST', path='*/os-interface', nth=2, count=1)
        it.cluster.update(it.id, wanted(0, 1), disable_rollback=False)
        done(it.cluster, it.id, 'ROLLBACK')
        assert addresses(it) == chosen


def test_a_port_that_somebody_else_has_plugged_in_stays(cloud):
    with stack(cloud, engines=1) as it:
        create(it, wanted(0))
        it.request('nova', 'POST', f'/servers/{it.physical_id("s")}/os-interface', {
            'interfaceAttachment': {'net_id': it.physical_id('net2')}})
        it.cloud.advance(100)
        it.fault(kind='error', status=400, service='compute', method='POST', path='*/os-interface', count=1)
        before = addresses(it)
        it.cluster.update(it.id, wanted(0, 1), disable_rollback=False)
        done(it.cluster, it.id, 'ROLLBACK')
        assert addresses(it) == before and len(before) == 2
