"""Volumes that an update takes out of their servers are put back when the update is interrupted."""

from __future__ import annotations

import pytest

from tests.simulation.cluster import done, kill_the_owner
from tests.simulation.openstack import stack, template


def ref(name):
    return {'get_resource': name}


def attached(size, **more):
    return template({
        'net': ('OS::Neutron::Net', {}),
        'subnet': ('OS::Neutron::Subnet', {'network': ref('net'), 'cidr': '10.77.0.0/24'}),
        'port': ('OS::Neutron::Port', {'network': ref('net'), 'fixed_ips': [{'subnet': ref('subnet')}]}),
        'server': ('OS::Nova::Server', {'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [{'port': ref('port')}]}),
        'volume': ('OS::Cinder::Volume', {'size': size, **more}),
        'attachment': ('OS::Cinder::VolumeAttachment', {
            'instance_uuid': ref('server'), 'volume_id': ref('volume'), 'mountpoint': '/dev/vdx'})})


def volume(it):
    return it.request('cinder', 'GET', f'/volumes/{it.physical_id("volume")}')['volume']


def kill_while_it_is_out(it):
    """An engine dies in an update that extends the attached volume."""
    it.id = it.cluster.create('s', attached(1))
    done(it.cluster, it.id, 'CREATE')
    assert volume(it)['status'] == 'in-use'
    it.cluster.update(it.id, attached(2))
    universe = it.cluster.universe
    assert universe.run(lambda: not universe.steps % 5 and volume(it)['status'] == 'available', limit=200)
    kill_the_owner(it.cluster, it.id)


@pytest.mark.parametrize('wanted', [attached(1), attached(2), attached(3)])
def test_an_update_of_another_engine_puts_it_back(cloud, wanted):
    with stack(cloud, engines=2) as it:
        kill_while_it_is_out(it)
        it.cluster.update(it.id, wanted)
        done(it.cluster, it.id, 'UPDATE')
        found = volume(it)
        assert found['status'] == 'in-use' and found['size'] == wanted['resources']['volume']['properties']['size']
        assert [each['server_id'] for each in found['attachments']] == [it.physical_id('server')]
        before = it.count_requests()
        it.cluster.update(it.id, wanted)
        done(it.cluster, it.id, 'UPDATE')
        assert it.count_requests() == before                    # nothing is left to be done


def test_a_server_that_is_gone_gets_none(cloud):
    with stack(cloud, engines=2) as it:
        kill_while_it_is_out(it)
        it.request('nova', 'DELETE', f'/servers/{it.physical_id("server")}')
        it.cloud.advance(100)
        it.cluster.update(it.id, attached(1))
        done(it.cluster, it.id, 'UPDATE')
        assert volume(it)['status'] == 'available'


def test_a_rollback_after_a_timeout_puts_it_back(cloud):
    """The rollback has its own time: if the extension takes too long for that as well, the stack says so."""
    with stack(cloud, engines=1) as it:
        it.id = it.cluster.create('s', attached(1))
        done(it.cluster, it.id, 'CREATE')
        it.fault(kind='stay', service='volumev3', method='POST', path='*/volumes/*/action', body='os-extend', count=1)
        it.cluster.update(it.id, attached(2), disable_rollback=False, timeout_mins=2)
        row = it.cluster.settle(it.id)
        assert (row.action, row.status) == ('ROLLBACK', 'FAILED') and not volume(it)['attachments']
        it.request('cinder', 'POST', f'/volumes/{it.physical_id("volume")}/action',
                   {'os-reset_status': {'status': 'available'}})
        it.cluster.update(it.id, attached(1))
        done(it.cluster, it.id, 'UPDATE')
        assert [each['server_id'] for each in volume(it)['attachments']] == [it.physical_id('server')]
