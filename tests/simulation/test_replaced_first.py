"""What can exist only once is removed before its replacement is created; if that fails, the former object comes back.

No action may end COMPLETE while the object of its definition is gone.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from tests.simulation.cluster import done, kill_the_owner
from tests.simulation.openstack import stack, template

KEYS = [f'ssh-rsa AAAAB3NzaC1yc2E{letter * 12} someone' for letter in 'abc']


def key(number, name='k'):
    return template({'it': ('OS::Nova::KeyPair', {'name': name, 'public_key': KEYS[number]})})


def keys(it):
    return {each['keypair']['name']: each['keypair']['public_key']
            for each in it.request('nova', 'GET', '/os-keypairs')['keypairs']}


def interface(number):
    return template({
        'net': ('OS::Neutron::Net', {}),
        'subnet': ('OS::Neutron::Subnet', {'network': {'get_resource': 'net'}, 'cidr': '10.78.0.0/24'}),
        **{f'router{each}': ('OS::Neutron::Router', {}) for each in range(3)},
        'it': ('OS::Neutron::RouterInterface', {'router': {'get_resource': f'router{number}'},
                                                'subnet': {'get_resource': 'subnet'}})})


def routers(it):
    """Routers with an interface in the subnet of the stack."""
    ports = it.request('neutron', 'GET', '/ports')['ports']
    return [port['device_id'] for port in ports if port['device_owner'] == 'network:router_interface'
            and port['fixed_ips'][0]['ip_address'].startswith('10.78.0.')]


KINDS = {
    'key pair': (key, lambda it, number: keys(it) == {'k': KEYS[number]},
                 {'service': 'compute', 'method': 'POST', 'path': '*/os-keypairs'}),
    'router interface': (interface, lambda it, number: routers(it) == [it.physical_id(f'router{number}')],
                         {'service': 'network', 'method': 'PUT', 'path': '*/add_router_interface'}),
}


@contextmanager
def created(cloud, body, engines=1):
    """A stack, once it is created."""
    with stack(cloud, engines=engines) as it:
        it.id = it.cluster.create('s', body)
        done(it.cluster, it.id, 'CREATE')
        yield it


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('is_rolled_back', [True, False], ids=['rollback', 'update back'])
def test_a_failed_replacement(cloud, kind, is_rolled_back):
    wanted, has, calls = KINDS[kind]
    with created(cloud, wanted(0)) as it:
        assert has(it, 0)
        it.fault(kind='error', status=400, count=1, **calls)
        it.cluster.update(it.id, wanted(1), disable_rollback=not is_rolled_back)
        if is_rolled_back:
            done(it.cluster, it.id, 'ROLLBACK')
        else:
            assert it.cluster.settle(it.id).status == 'FAILED'
            it.cluster.update(it.id, wanted(0))
            done(it.cluster, it.id, 'UPDATE')
        assert has(it, 0)
        it.cluster.update(it.id, wanted(2))
        done(it.cluster, it.id, 'UPDATE')
        assert has(it, 2)
        it.cluster.delete(it.id)
        it.cluster.settle(it.id)
        assert keys(it) == {} and routers(it) == []


@pytest.mark.parametrize('kind', KINDS)
def test_a_rollback_that_fails_too(cloud, kind):
    wanted, has, calls = KINDS[kind]
    with created(cloud, wanted(0)) as it:
        it.fault(kind='error', status=400, count=2, **calls)
        it.cluster.update(it.id, wanted(1), disable_rollback=False)
        assert (it.cluster.settle(it.id).action, it.cluster.settle(it.id).status) == ('ROLLBACK', 'FAILED')
        it.cluster.update(it.id, wanted(0))
        done(it.cluster, it.id, 'UPDATE')
        assert has(it, 0)


def test_the_object_stays_if_its_name_changes(cloud):
    with created(cloud, key(0)) as it:
        it.fault(kind='error', status=400, count=1, **KINDS['key pair'][2])
        it.cluster.update(it.id, key(1, 'other'))
        assert it.cluster.settle(it.id).status == 'FAILED' and keys(it) == {'k': KEYS[0]}
        it.cluster.update(it.id, key(1, 'other'))
        done(it.cluster, it.id, 'UPDATE')
        cloud.advance(10)
        assert keys(it) == {'other': KEYS[1]}


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('is_killed', [True, False], ids=['killed', 'running'])
def test_a_request_for_the_former_definition_before_the_replacement_is_created(cloud, kind, is_killed):
    wanted, has, _calls = KINDS[kind]
    with created(cloud, wanted(0), engines=2) as it:
        it.cluster.update(it.id, wanted(1))
        assert it.cluster.universe.run(lambda: it.cluster.states(it.id)['it'][0][2] is None, limit=100)
        if is_killed:
            kill_the_owner(it.cluster, it.id)
        it.cluster.update(it.id, wanted(0))
        done(it.cluster, it.id, 'UPDATE')
        assert has(it, 0)


@pytest.mark.parametrize('kind', KINDS)
def test_a_kill_before_the_removal_is_stored(cloud, kind):
    wanted, has, _calls = KINDS[kind]
    with created(cloud, wanted(0), engines=2) as it:
        before = it.cluster.states(it.id)['it']
        it.cluster.update(it.id, wanted(1))
        assert it.cluster.universe.run(lambda: not has(it, 0), limit=100)
        assert it.cluster.states(it.id)['it'] == before
        kill_the_owner(it.cluster, it.id)
        it.cluster.update(it.id, wanted(0))
        done(it.cluster, it.id, 'UPDATE')
        assert has(it, 0)
