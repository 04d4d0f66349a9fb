"""The checks of types see values that depend on other resources: before the stack is stored as far as these are known,
and once more before the first request that creates the resource."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.engine.resources.openstack.nova import server_checks
from tests.simulation.openstack import stack, template

SERVER = {'image': 'cirros', 'flavor': 'm1.tiny'}
PORT = ('OS::Neutron::Port', {'network': 'private'})
CASES = {                                   # properties of a resource that are right unless `v` is what it is
    'a server': ('servers', 'OS::Nova::Server', {**SERVER, 'networks': [
        {'port': {'get_attr': ['v', 'value']}, 'fixed_ip': '10.0.0.9'}]},
        'Cannot define the following properties at the same time: networks/fixed_ip, networks/port.'),
    'a described type': ('subnets', 'OS::Neutron::Subnet', {
        'network': 'private', 'cidr': '10.7.0.0/24', 'gateway_ip': {'get_attr': ['v', 'value']}},
        'Gateway IP address "x" is in invalid format.')}


@pytest.mark.parametrize('collection, kind, properties, text', CASES.values(), ids=CASES)
def test_the_whole_check_runs_before_the_creation(cloud, collection, kind, properties, text):
    value = {'get_resource': 'port'} if kind == 'OS::Nova::Server' else 'x'
    with stack(cloud, engines=1) as it:
        it.id = it.cluster.create('s', template({
            'port': PORT, 'v': ('OS::Heat::Value', {'value': value}), 'r': (kind, properties)}))
        row = it.cluster.settle(it.id)
        assert (row.action, row.status) == ('CREATE', 'FAILED') and text in row.reason
        assert not [each for each in it.requests() if each.startswith('POST') and each.endswith(f'/{collection}')]


def test_a_reference_hides_nothing_that_is_wrong(cloud):
    resources = {'port': PORT, 'r': ('OS::Nova::Server', {
        **SERVER, 'security_groups': ['default'], 'networks': [{'port': {'get_resource': 'port'}}]})}
    with stack(cloud, engines=1) as it, pytest.raises(
            exception.ResourcePropertyConflict, match='security_groups, networks/port'):
        it.cluster.create('s', template(resources))


@pytest.mark.parametrize('has_references, checks', [(False, 1), (True, 2)])
def test_a_type_without_references_is_not_checked_again(cloud, monkeypatch, has_references, checks):
    """Its values were known when the stack was stored. What the checks ask the service is asked once."""
    checked = []
    monkeypatch.setattr(server_checks, '_check_limits', record(checked, server_checks._check_limits))
    network = {'port': {'get_resource': 'port'}} if has_references else {'network': 'private'}
    with stack(cloud, engines=1) as it:
        it.create({'port': PORT, 'r': (
            'OS::Nova::Server', {**SERVER, 'networks': [network], 'metadata': {'a': 'b'}})})
        assert len(checked) == checks
        assert len([each for each in it.requests() if '/limits' in each]) == 1


def record(calls, function):
    def recorded(*arguments):
        calls.append(arguments)
        return function(*arguments)
    return recorded
