"""What only one object can have is released before a replacement is created, and is taken back if there is none.

No action may end COMPLETE while a server or a port is without what its definition gives it.
"""

from __future__ import annotations

import pytest

from heatlite.rpc import messages
from tests.simulation.cluster import done, kill_the_owner, wait
from tests.simulation.openstack import stack, template

IN_USE = '10.77.0.1{}'.format           # addresses of servers


def reference(name):
    return {'get_resource': name}


def networks(number=1):
    return {**{f'net{each}': ('OS::Neutron::Net', {}) for each in range(number)},
            **{f'subnet{each}': ('OS::Neutron::Subnet', {
                'network': reference(f'net{each}'), 'cidr': f'10.7{7 + each}.0.0/24'}) for each in range(number)}}


def server(entries, **properties):
    return 'OS::Nova::Server', {'image': 'cirros', 'flavor': 'm1.tiny', 'networks': entries, **properties}


def with_ports(number=1, **properties):
    """A server with so many ports that the template names."""
    return template({
        **networks(),
        **{f'port{each}': ('OS::Neutron::Port', {'network': reference('net0'), 'fixed_ips': [
            {'subnet': reference('subnet0')}]}) for each in range(number)},
        'it': server([{'port': reference(f'port{each}')} for each in range(number)], **properties)})


def with_addresses(entry, number=1, **properties):
    """A server with so many addresses, and no port of the template."""
    body = template({**networks(), 'it': server([{**entry, 'fixed_ip': IN_USE(each)} for each in range(number)],
                                                **properties)})
    body['resources']['it']['depends_on'] = 'subnet0'
    return body


def port(net=0):
    return template({**networks(2), 'it': ('OS::Neutron::Port', {
        'network': reference(f'net{net}'), 'fixed_ips': [{'subnet': reference(f'subnet{net}')}]})})


def attached(it, number=1):
    """The number of ports that the template names and the server has."""
    return sum(it.request('neutron', 'GET', f'/ports/{it.physical_id(f"port{each}")}')['port']['device_id']
               == it.physical_id('it') for each in range(number))


def addressed(it, number=1):
    """The number of its addresses that the server has."""
    ports = it.request('neutron', 'GET', f'/ports?device_id={it.physical_id("it")}')['ports']
    return len({fixed['ip_address'] for each in ports for fixed in each['fixed_ips']}
               & {IN_USE(each) for each in range(number)})


def addresses(it):
    return it.request('neutron', 'GET', f'/ports/{it.physical_id("it")}')['port']['fixed_ips']


KINDS = {
    'given port': (with_ports, {'user_data': 'x'}, attached),
    'address of a port of its own': (lambda **more: with_addresses({'subnet': reference('subnet0')}, **more),
                                     {'user_data': 'x'}, addressed),
    'address of a port of Nova': (lambda **more: with_addresses({'network': reference('net0')}, **more),
                                  {'user_data': 'x'}, addressed),
    'port': (port, {'net': 1}, addresses),
}


def begin(it, former):
    """Create the stack. Return the id of the object that is replaced later."""
    it.id = it.cluster.create('s', former)
    done(it.cluster, it.id, 'CREATE')
    return it.physical_id('it')


def detachments(it):
    return [each for each in it.requests() if each.startswith('DELETE') and '/os-interface/' in each]


def until(it, condition):
    universe = it.cluster.universe
    assert universe.run(lambda: not universe.steps % 5 and condition(), limit=100)


@pytest.mark.parametrize('is_killed', [True, False], ids=['killed', 'running'])
@pytest.mark.parametrize('kind', KINDS)
def test_an_update_back_after_the_release(cloud, kind, is_killed):
    wanted, changed, has = KINDS[kind]
    with stack(cloud, engines=2) as it:
        begin(it, wanted())
        held = has(it)
        assert held
        it.cluster.update(it.id, wanted(**changed))
        until(it, lambda: not has(it))
        states = it.cluster.states(it.id)['it']
        assert len(states) == 1                                 # no replacement was begun
        if is_killed:
            kill_the_owner(it.cluster, it.id)
        it.cluster.update(it.id, wanted())
        done(it.cluster, it.id, 'UPDATE')
        if is_killed:
            assert it.cluster.states(it.id)['it'] == states and has(it) == held
        else:                                                   # the update may have got its replacement meanwhile
            assert has(it)


@pytest.mark.parametrize('way', ['time-out of the release', 'failure of another', 'update', 'cancel'])
def test_a_release_that_does_not_end(cloud, way):
    key = {'key': ('OS::Nova::KeyPair', {'name': 'k'})} if way == 'failure of another' else {}
    with stack(cloud, engines=1) as it:
        before = begin(it, with_ports(2))
        it.fault(kind='error', status=202, count=1, nth=2, service='compute', method='DELETE', path='*/os-interface/*')
        it.fault(kind='error', status=400, count=1, service='compute', method='POST', path='*/os-keypairs')
        wanted = with_ports(2, user_data='x')
        wanted['resources'].update(template(key)['resources'])
        it.cluster.update(it.id, wanted, disable_rollback=False)
        if way in ('update', 'cancel'):
            until(it, lambda: attached(it, 2) == 1)
        if way == 'update':
            it.cluster.update(it.id, with_ports(2))
        elif way == 'cancel':
            it.cluster.ask(messages.CancelStack(it.id, True))
        done(it.cluster, it.id, 'UPDATE' if way == 'update' else 'ROLLBACK')
        assert it.physical_id('it') == before and attached(it, 2) == 2


def test_an_update_back_before_the_release_goes_on(cloud):
    entry = {'network': reference('net0')}
    with stack(cloud, engines=1) as it:
        before = begin(it, with_addresses(entry, 2))
        assert addressed(it, 2) == 2
        it.fault(kind='error', status=202, count=1, service='compute', method='DELETE', path='*/os-interface/*')
        it.cluster.update(it.id, with_addresses(entry, 2, user_data='x'))
        until(it, lambda: detachments(it))
        it.cluster.update(it.id, with_addresses(entry, 2))
        wait(it.cluster, 5)
        it.request('nova', 'DELETE', detachments(it)[0].removeprefix('DELETE compute/v2.1'))
        done(it.cluster, it.id, 'UPDATE')
        wait(it.cluster, 60)
        assert it.physical_id('it') == before and addressed(it, 2) == 2


def test_a_release_that_is_said_to_have_failed(cloud):
    with stack(cloud, engines=1) as it:
        before = begin(it, port())
        held = addresses(it)
        it.fault(kind='error_after', status=500, count=1, service='network', method='PUT', path='*/ports/*')
        it.cluster.update(it.id, port(1), disable_rollback=False)
        done(it.cluster, it.id, 'ROLLBACK')
        assert it.physical_id('it') == before and addresses(it) == held


@pytest.mark.parametrize('kind, path', [('port', '*/ports'), ('given port', '*/servers')])
def test_a_release_goes_on_after_a_kill_and_its_replacement_fails(cloud, kind, path):
    wanted, changed, has = KINDS[kind]
    with stack(cloud, engines=2) as it:
        before = begin(it, wanted())
        held = has(it)
        it.fault(kind='error', status=400, count=1, service='network' if kind == 'port' else 'compute', method='POST',
                 path=path)
        it.cluster.update(it.id, wanted(**changed), disable_rollback=False)
        until(it, lambda: not has(it))
        kill_the_owner(it.cluster, it.id)
        done(it.cluster, it.id, 'ROLLBACK')
        assert it.physical_id('it') == before and has(it) == held


def test_a_release_goes_on_after_a_kill_though_what_was_released_is_taken(cloud):
    with stack(cloud, engines=2) as it:
        before = begin(it, port())
        held = [{'ip_address': each['ip_address']} for each in addresses(it)]
        it.cluster.update(it.id, port(1))
        until(it, lambda: not addresses(it))
        kill_the_owner(it.cluster, it.id)
        it.request('neutron', 'POST', '/ports', {'port': {
            'network_id': it.physical_id('net0'), 'fixed_ips': held}})
        done(it.cluster, it.id, 'UPDATE')
        assert it.physical_id('it') != before and addresses(it)
