"""Each list of values is read from its service, and its constraint accepts what the list has."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.engine.clients.constraint_values import LISTS
from heatlite.rpc import messages
from tests.simulation.openstack import stack

RESOURCES = {
    'net': ('OS::Neutron::Net', {'name': 'inside'}),
    'subnet': ('OS::Neutron::Subnet', {'network': {'get_resource': 'net'}, 'name': 'inside', 'cidr': '10.9.0.0/24'}),
    'router': ('OS::Neutron::Router', {'name': 'edge'}),
    'group': ('OS::Neutron::SecurityGroup', {'name': 'web'}),
    'pool': ('OS::Neutron::SubnetPool', {'name': 'pool', 'prefixes': ['10.8.0.0/16']}),
    'scope': ('OS::Neutron::AddressScope', {'name': 'scope'}),
    'quality': ('OS::Neutron::QoSPolicy', {'name': 'gold'}),
    'zone': ('OS::Designate::Zone', {'name': 'example.org.', 'email': 'a@example.org'}),
    'disk': ('OS::Cinder::Volume', {'name': 'disk', 'size': 1}),
    'key': ('OS::Nova::KeyPair', {'name': 'own'}),
    'server': ('OS::Nova::Server', {'name': 'web', 'image': 'cirros', 'flavor': 'm1.tiny',
                                    'networks': [{'network': {'get_resource': 'net'}}]}),
    'balancer': ('OS::Octavia::LoadBalancer', {'name': 'lb', 'vip_subnet': {'get_resource': 'subnet'}}),
    'members': ('OS::Octavia::Pool', {'name': 'members', 'loadbalancer': {'get_resource': 'balancer'},
                                      'protocol': 'HTTP', 'lb_algorithm': 'ROUND_ROBIN'})}
EMPTY = {'cinder.backup', 'cinder.snapshot', 'cinder.qos_specs'}          # nothing makes one here


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1) as found:
        found.create(RESOURCES)
        yield found


def test_constraints_accept_what_their_lists_have(it):
    found = {name: it.cluster.ask(messages.ListConstraintValues(name, 1000)) for name in LISTS}
    assert {name: each['unread'] for name, each in found.items() if each['unread']} == {}
    assert {name for name, each in found.items() if not each['values']} == EMPTY
    assert all(each['is_whole'] for each in found.values())
    values = {f'{name}-{place}': (name, each['id'])
              for name in found for place, each in enumerate(found[name]['values'])}
    plan = it.planned(action='create', stack_name='form', template={
        'heat_template_version': '2021-04-16', 'parameters': {
            key: {'type': 'string', 'constraints': [{'custom_constraint': name}]}
            for key, (name, _id) in values.items()},
        'resources': {'one': {'type': 'OS::Heat::Value', 'properties': {'value': 1}}}},
        environment={'parameters': {key: value for key, (_name, value) in values.items()}})
    assert [each['action'] for each in plan.document['changes']] == ['create']


def test_values_are_ordered_by_name_and_limited(it):
    found = it.cluster.ask(messages.ListConstraintValues('nova.flavor', 1000))['values']
    assert [each['name'] for each in found] == sorted(each['name'] for each in found)
    assert len(found) > 2
    some = it.cluster.ask(messages.ListConstraintValues('nova.flavor', 2))
    assert some == {'values': found[:2], 'is_whole': False, 'unread': None}


def test_a_service_that_fails_leaves_the_form_usable(it):
    it.fault(kind='error', service='compute', path='*/flavors', status=503, count=0)
    found = it.cluster.ask(messages.ListConstraintValues('nova.flavor', 1000))
    assert found == {'values': [], 'is_whole': False, 'unread': 'the service does not answer'}


@pytest.mark.parametrize('name', ['ip_addr', 'neutron.port', 'not.known'])
def test_a_constraint_without_a_list(it, name):
    with pytest.raises(exception.EntityNotFound):
        it.cluster.ask(messages.ListConstraintValues(name, 1000))
