"""Refactors of stacks in the simulated OpenStack: no request is sent to it, counted there."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.rpc import messages
from tests.simulation.cluster import done, wait
from tests.simulation.openstack import stack, template

SERVER = ('OS::Nova::Server', {
    'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [{'port': {'get_resource': 'port'}}]})
RESOURCES = {
    'net': ('OS::Neutron::Net', {}),
    'subnet': ('OS::Neutron::Subnet', {'network': {'get_resource': 'net'}, 'cidr': '10.7.0.0/24'}),
    'port': ('OS::Neutron::Port', {'network': {'get_resource': 'net'},
                                   'fixed_ips': [{'subnet': {'get_resource': 'subnet'}}]}),
    'disk': ('OS::Cinder::Volume', {'size': 1}),
    'server': SERVER,
    'at': ('OS::Cinder::VolumeAttachment', {'instance_uuid': {'get_resource': 'server'},
                                            'volume_id': {'get_resource': 'disk'}}),
    'pass': ('OS::Heat::RandomString', {'length': 12})}


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1) as found:
        found.create(RESOURCES)
        wait(found.cluster, 10)
        yield found


def refactor(it, stacks, moves, allowed=()):
    """A refactor, during which no request is sent."""
    before = it.count_requests()
    for kind in (messages.PreviewRefactor, messages.Refactor):
        answer = it.cluster.ask(kind(tuple(stacks), tuple(
            {'from': {'stack': source, 'resource': name}, 'to': {'stack': target, 'resource': new}}
            for source, name, target, new in moves)), allowed)
    assert it.count_requests() == before
    return answer


def ids(it, stack_id):
    return {name: each[0][2] for name, each in it.cluster.states(stack_id).items()}


def unchanged(it, stack_id, wanted, **more):
    before, writes = it.cluster.states(stack_id), it.cloud.writes()
    it.cluster.update(stack_id, wanted, **more)
    done(it.cluster, stack_id, 'UPDATE')
    assert it.cluster.states(stack_id) == before and it.cloud.writes() == writes


def test_networks_go_to_a_stack_of_their_own_and_back(it):
    before = ids(it, it.id)
    base = template({'network': RESOURCES['net'], 'subnet': (
        'OS::Neutron::Subnet', {'network': {'get_resource': 'network'}, 'cidr': '10.7.0.0/24'})})
    base['outputs'] = {'net': {'value': {'get_resource': 'network'}}}
    rest = template({**{name: each for name, each in RESOURCES.items() if name not in ('net', 'subnet')}, 'port': (
        'OS::Neutron::Port', {'network': {'get_param': 'net'}, 'fixed_ips': [{'subnet': {'get_param': 'subnet'}}]})})
    rest['parameters'] = {'net': {'type': 'string'}, 'subnet': {'type': 'string'}}
    environment = {'parameters': {name: before[name] for name in ('net', 'subnet')}}
    answer = refactor(it, [{'stack_id': it.id, 'template': rest, 'environment': environment},
                           {'stack_name': 'base', 'template': base}],
                      [(it.id, 'net', 'base', 'network'), (it.id, 'subnet', 'base', 'subnet')])
    new = answer['stacks'][1]['id']
    assert ids(it, new) == {'network': before['net'], 'subnet': before['subnet']}
    assert it.cluster.row(new).outputs[0]['output_value'] == before['net']
    unchanged(it, it.id, rest, environment=environment)
    unchanged(it, new, base)
    wait(it.cluster, 10)
    refactor(it, [{'stack_id': it.id, 'template': template(RESOURCES)}, {'stack_id': new, 'template': template({})}],
             [(new, 'network', it.id, 'net'), (new, 'subnet', it.id, 'subnet')])
    assert ids(it, it.id) == before
    unchanged(it, it.id, template(RESOURCES))
    for each in (new, it.id):
        it.cluster.delete(each)
        it.cluster.settle(each)
    assert it.request('nova', 'GET', '/servers')['servers'] == []
    assert it.request('neutron', 'GET', f"/networks?id={before['net']}")['networks'] == []


def test_all_of_it_gets_other_names(it):
    before = ids(it, it.id)
    names = {name: f'{name}2' for name in RESOURCES}

    def renamed(value):
        match value:
            case {'get_resource': name}:
                return {'get_resource': names[name]}
            case dict():
                return {key: renamed(each) for key, each in value.items()}
            case list():
                return [renamed(each) for each in value]
        return value

    wanted = template({names[name]: (kind, renamed(given)) for name, (kind, given) in RESOURCES.items()})
    refactor(it, [{'stack_id': it.id, 'template': wanted, 'rename': 'other'}],
             [(it.id, name, it.id, new) for name, new in names.items()])
    assert ids(it, it.id) == {names[name]: each for name, each in before.items()}
    server = it.request('nova', 'GET', f"/servers/{before['server']}")['server']
    assert server['name'].startswith('s-server-')
    unchanged(it, it.id, wanted)
    report = it.cluster.ask(messages.LookForDrift(it.id))
    assert report['resources'] == []
    wanted['resources']['server2']['properties']['metadata'] = {'a': 'b'}
    it.cluster.update(it.id, wanted)
    done(it.cluster, it.id, 'UPDATE')
    assert ids(it, it.id)['server2'] == before['server']
    it.cluster.delete(it.id)
    it.cluster.settle(it.id)
    assert it.request('nova', 'GET', '/servers')['servers'] == []


def test_another_value_is_refused_without_a_question(it):
    wanted = template({**RESOURCES, 'disk': ('OS::Cinder::Volume', {'size': 2}), 'server': (
        SERVER[0], {**SERVER[1], 'image': 'nowhere'})})
    error = refactor(it, [{'stack_id': it.id, 'template': wanted}], [], [exception.NotARefactor])
    assert 's/disk: ' in str(error) and 's/server: ' in str(error)


def test_types_whose_service_must_have_an_extension(cloud):
    """Whether it has is not asked: the objects are there."""
    router = {'router': ('OS::Neutron::Router', {}), 'group': ('OS::Neutron::SecurityGroup', {})}
    with stack(cloud, engines=1) as it:
        it.create(router)
        wait(it.cluster, 120)                   # what is known of the service holds for a minute
        refactor(it, [{'stack_id': it.id, 'template': template({f'{name}_2': each for name, each in router.items()})}],
                 [(it.id, name, it.id, f'{name}_2') for name in router])
