"""Servers with a fixed address: the replacement has it, and the server to which a stack returns has it again."""

from __future__ import annotations

import pytest

from heatlite.rpc import messages
from tests.simulation.cluster import done
from tests.simulation.openstack import stack, template

ADDRESS = '10.77.0.10'
NETWORKS = {
    'made by Nova': [{'network': {'get_resource': 'net'}, 'fixed_ip': ADDRESS}],
    'made by the type': [{'subnet': {'get_resource': 'subnet'}, 'fixed_ip': ADDRESS}],
    'both': [{'network': {'get_resource': 'net'}, 'fixed_ip': '10.77.0.11'},
             {'subnet': {'get_resource': 'subnet'}, 'fixed_ip': ADDRESS}],
    'given': [{'port': {'get_resource': 'port'}}],
}


def wanted(kind, **more):
    body = template({
        'net': ('OS::Neutron::Net', {}),
        'subnet': ('OS::Neutron::Subnet', {'network': {'get_resource': 'net'}, 'cidr': '10.77.0.0/24'}),
        'port': ('OS::Neutron::Port', {'network': {'get_resource': 'net'}, 'fixed_ips': [
            {'subnet': {'get_resource': 'subnet'}, 'ip_address': ADDRESS if kind == 'given' else '10.77.0.50'}]}),
        's': ('OS::Nova::Server', {'image': 'cirros', 'flavor': 'm1.tiny', 'networks': NETWORKS[kind], **more})})
    body['resources']['s']['depends_on'] = 'subnet'
    return body


def holder(it, address=ADDRESS):
    """The server that has the address; None: a port has it that is in no server."""
    port, = [port for port in it.request('neutron', 'GET', '/ports')['ports']
             if address in [fixed['ip_address'] for fixed in port['fixed_ips']]]
    return port['device_id'] or None


def left(it):
    """Servers and ports that exist, without the port that the template has."""
    ports = it.request('neutron', 'GET', '/ports')['ports']
    return (sorted(server['id'] for server in it.request('nova', 'GET', '/servers')['servers']),
            len([port for port in ports if port['device_owner'].startswith('compute:')]))


@pytest.mark.parametrize('kind', NETWORKS)
@pytest.mark.parametrize('is_marked', [False, True], ids=['changed', 'marked'])
def test_the_replacement_has_the_address(cloud, kind, is_marked):
    with stack(cloud, engines=1) as it:
        it.id = it.cluster.create('s', wanted(kind))
        done(it.cluster, it.id, 'CREATE')
        before = it.physical_id('s')
        if is_marked:
            it.cluster.ask(messages.MarkUnhealthy(it.id, 's', True, 'it may be broken'))
        it.cluster.update(it.id, wanted(kind, **({} if is_marked else {'user_data': 'x'})))
        done(it.cluster, it.id, 'UPDATE')
        after = it.physical_id('s')
        assert after != before and holder(it) == after
        cloud.advance(10)
        assert left(it) == ([after], len(NETWORKS[kind]))


@pytest.mark.parametrize('kind', [kind for kind in NETWORKS if kind != 'given'])
def test_a_broken_server_is_replaced(cloud, kind):
    with stack(cloud, engines=1) as it:
        it.id = it.cluster.create('s', wanted(kind, metadata={'cloud_fault': 'spawn'}))
        assert it.cluster.settle(it.id).status == 'FAILED'
        it.cluster.update(it.id, wanted(kind))
        done(it.cluster, it.id, 'UPDATE')
        assert holder(it) == it.physical_id('s')


FAULTS = {
    'refused': {'kind': 'error', 'status': 400}, 'never came up': {'kind': 'fail', 'text': 'No valid host'},
}


@pytest.mark.parametrize('kind', NETWORKS)
@pytest.mark.parametrize('fault', FAULTS)
@pytest.mark.parametrize('is_rolled_back', [True, False], ids=['rollback', 'update back'])
def test_the_former_server_has_its_address_again(cloud, kind, fault, is_rolled_back):
    with stack(cloud, engines=1) as it:
        it.id = it.cluster.create('s', wanted(kind))
        done(it.cluster, it.id, 'CREATE')
        before = it.physical_id('s')
        it.fault(service='compute', method='POST', path='*/servers', count=1000, **FAULTS[fault])
        it.cluster.update(it.id, wanted(kind, user_data='x'), disable_rollback=not is_rolled_back)
        if is_rolled_back:
            done(it.cluster, it.id, 'ROLLBACK')
        else:
            assert it.cluster.settle(it.id).status == 'FAILED'
            it.cluster.update(it.id, wanted(kind))
            done(it.cluster, it.id, 'UPDATE')
        assert it.physical_id('s') == before == holder(it)
        cloud.advance(10)
        assert left(it) == ([before], len(NETWORKS[kind]))
        it.cloud._ask('DELETE', '/_sim/faults')
        it.cluster.update(it.id, wanted(kind, user_data='y'))
        done(it.cluster, it.id, 'UPDATE')
        assert holder(it) == it.physical_id('s') != before
