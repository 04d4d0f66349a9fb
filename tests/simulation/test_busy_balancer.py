"""Load balancers that are busy are waited for; a replacement that conflicts with what it replaces fails at once."""

from __future__ import annotations

import copy

import pytest

from tests.simulation.cluster import done
from tests.simulation.openstack import stack, template

RESOURCES = {
    'net': ('OS::Neutron::Net', {}),
    'subnet': ('OS::Neutron::Subnet', {'network': {'get_resource': 'net'}, 'cidr': '10.9.0.0/24'}),
    'balancer': ('OS::Octavia::LoadBalancer', {'vip_subnet': {'get_resource': 'subnet'}}),
    'listener': ('OS::Octavia::Listener', {
        'loadbalancer': {'get_resource': 'balancer'}, 'protocol': 'HTTP', 'protocol_port': 80}),
    'pool': ('OS::Octavia::Pool', {
        'listener': {'get_resource': 'listener'}, 'protocol': 'HTTP', 'lb_algorithm': 'ROUND_ROBIN'}),
    'monitor': ('OS::Octavia::HealthMonitor', {
        'pool': {'get_resource': 'pool'}, 'type': 'HTTP', 'delay': 5, 'timeout': 3, 'max_retries': 2})}
QUICKLY = 300                                   # of simulated time; the stack would have had an hour


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1) as found:
        found.create(RESOURCES)
        yield found


def changed(name, **properties):
    found = copy.deepcopy(RESOURCES)
    found[name][1].update(properties)
    return found


@pytest.mark.parametrize('name, change, said', [
    ('monitor', {'type': 'TCP'}, 'already has a health monitor'),
    ('listener', {'protocol': 'TCP'}, 'already using protocol_port')])
def test_a_conflict_with_the_thing_that_is_replaced_is_final(it, name, change, said):
    began = it.cluster.universe.time
    it.cluster.update(it.id, template(changed(name, **change)))
    row = it.cluster.settle(it.id)
    assert (row.action, row.status) == ('UPDATE', 'FAILED') and said in row.reason
    assert it.cluster.universe.time - began < QUICKLY


def test_changes_in_one_balancer_wait_for_each_other(it):
    it.cluster.update(it.id, template({**changed('monitor', delay=6), **{
        f'member{number}': ('OS::Octavia::PoolMember', {
            'pool': {'get_resource': 'pool'}, 'address': f'10.9.0.{number}', 'protocol_port': 80})
        for number in range(3)}}))
    done(it.cluster, it.id, 'UPDATE')
