"""A template is written from a project; the first plan with it and its imports changes nothing."""

from __future__ import annotations

import time

import pytest
import yaml

from heatlite.common import exception
from heatlite.rpc import messages
from tests.simulation.cluster import done
from tests.simulation.openstack import stack

MANY = 98                   # servers, so that there are 502 objects


def resources(count=1):
    """`count` servers, each with a port, a disk and an address, in a network of their own behind one router."""
    found = {
        'net': ('OS::Neutron::Net', {'name': 'inside', 'tags': ['blue']}),
        'subnet': ('OS::Neutron::Subnet', {'network': {'get_resource': 'net'}, 'name': 'inside', 'cidr': '10.9.0.0/16',
                                           'dns_nameservers': ['10.0.0.2']}),
        'router': ('OS::Neutron::Router', {'name': 'edge', 'external_gateway_info': {'network': 'public'}}),
        'interface': ('OS::Neutron::RouterInterface', {
            'router': {'get_resource': 'router'}, 'subnet': {'get_resource': 'subnet'}}),
        'group': ('OS::Neutron::SecurityGroup', {'name': 'web', 'rules': [
            {'protocol': 'tcp', 'port_range_min': 80, 'port_range_max': 80},
            {'protocol': 'tcp', 'remote_mode': 'remote_group_id'}]}),
        'zone': ('OS::Designate::Zone', {'name': 'example.org.', 'email': 'a@example.org'}),
        'record': ('OS::Designate::RecordSet', {
            'zone': {'get_resource': 'zone'}, 'name': 'www.example.org.', 'type': 'A', 'records': ['10.9.0.9']}),
        'container': ('OS::Swift::Container', {'name': 'files'}),
        'balancer': ('OS::Octavia::LoadBalancer', {'name': 'lb', 'vip_subnet': {'get_resource': 'subnet'}}),
        'pool': ('OS::Octavia::Pool', {'name': 'pool', 'loadbalancer': {'get_resource': 'balancer'}, 'protocol': 'HTTP',
                                       'lb_algorithm': 'ROUND_ROBIN'}),
        'listener': ('OS::Octavia::Listener', {
            'name': 'http', 'loadbalancer': {'get_resource': 'balancer'}, 'protocol': 'HTTP', 'protocol_port': 80,
            'default_pool': {'get_resource': 'pool'}}),
        'monitor': ('OS::Octavia::HealthMonitor', {
            'pool': {'get_resource': 'pool'}, 'type': 'TCP', 'delay': 5, 'timeout': 4, 'max_retries': 3})}
    for number in range(count):
        found |= {
            f'port{number}': ('OS::Neutron::Port', {
                'name': f'web{number}', 'network': {'get_resource': 'net'},
                'fixed_ips': [{'subnet': {'get_resource': 'subnet'}}],
                'security_groups': [{'get_resource': 'group'}]}),
            f'server{number}': ('OS::Nova::Server', {
                'name': f'web{number}', 'image': 'cirros', 'flavor': 'm1.tiny', 'metadata': {'role': 'web'},
                'networks': [{'port': {'get_resource': f'port{number}'}}]}),
            f'disk{number}': ('OS::Cinder::Volume', {'name': f'disk{number}', 'size': 1}),
            f'attached{number}': ('OS::Cinder::VolumeAttachment', {
                'instance_uuid': {'get_resource': f'server{number}'},
                'volume_id': {'get_resource': f'disk{number}'}}),
            f'member{number}': ('OS::Octavia::PoolMember', {
                'pool': {'get_resource': 'pool'}, 'address': f'10.9.1.{number + 1}', 'protocol_port': 8080,
                'subnet': {'get_resource': 'subnet'}})}
    return found


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1) as found:
        yield found


def released(it, count=1):
    it.create(resources(count))
    it.cluster.ask(messages.ReleaseStack(it.id))
    it.cluster.settle(it.id)
    it.id = ''


def generated(it, **wanted):
    found = it.cluster.ask(messages.GenerateProjectTemplate(**wanted))
    return found, yaml.safe_load(found['template'])


def planned(it, found):
    return it.planned(action='create', stack_name='taken', template=yaml.safe_load(found['template']),
                      imports=found['imports'])


def test_the_first_plan_imports_and_changes_nothing(it):
    released(it)
    before = it.cloud.writes()
    found, written = generated(it)
    assert found['unread'] == [] and found['in_stacks'] == 0
    made = {kind for kind, _properties in resources().values()}
    assert made <= set(found['summary']), made - set(found['summary'])
    plan = planned(it, found)
    assert {(change['path'][0], change['action'], str(change['values'])) for change in plan.document['changes']} == {
        (name, 'import', '[]') for name in written['resources']}
    it.id = it.apply(plan)['stack_id']
    done(it.cluster, it.id, 'CREATE')
    assert it.cloud.writes() == before
    assert not it.cluster.ask(messages.LookForDrift(it.id))['is_drifted']
    again, _written = generated(it)
    assert again['imports'] == {} and again['in_stacks'] == len(found['imports'])


@pytest.mark.thorough
def test_a_project_of_five_hundred_objects(cloud):
    """No more calls at once than a service is sent requests: others would wait for a lock of the real machine."""
    with stack(cloud, engines=1, **{'engine.runner_pool_size': 32}) as it:
        for service, limits in (('nova', {'instances': -1, 'cores': -1, 'ram': -1}), ('neutron', {'port': -1}),
                                ('cinder', {'volumes': -1, 'gigabytes': -1})):
            it.quota(service, **limits)
        released(it, MANY)
        asked, began = it.count_requests(), time.process_time()
        found, written = generated(it)
        read, generating = it.count_requests() - asked, time.process_time() - began
        assert len(written['resources']) == len(found['imports']) >= len(resources(MANY))  # the cloud has some, too
        asked, began = it.count_requests(), time.process_time()
        plan = planned(it, found)
        print(f'{len(written["resources"])} objects: template {read} requests, {generating:.1f} s of CPU; '
              f'plan {it.count_requests() - asked} requests, {time.process_time() - began:.1f} s of CPU')
        assert {(change['action'], str(change['values'])) for change in plan.document['changes']} == {('import', '[]')}


def test_references_and_parameters_stand_in_place_of_ids(it):
    released(it)
    found, written = generated(it)
    server = written['resources']['server_web0']
    assert server['properties'] == {
        'name': 'web0', 'flavor': {'get_param': 'flavor_m1_tiny'}, 'image': {'get_param': 'image_cirros'},
        'networks': [{'port': {'get_resource': 'port_web0'}}], 'metadata': {'role': 'web'}, 'user_data_format': 'RAW'}
    assert written['parameters']['external_network_public'] == {
        'type': 'string', 'description': 'External network', 'default': 'public',
        'constraints': [{'custom_constraint': 'neutron.network'}]}
    assert not {each for each in found['imports'] if str(found['imports'][each]['id']) in found['template']} - {
        'container_files'}


def test_a_selection(it):
    released(it, 2)
    everything, _written = generated(it)
    for wanted, kept in (
            ({'types': ('OS::Neutron::Net',)}, lambda name, entry: entry['type'] == 'OS::Neutron::Net'),
            ({'name': 'web1'}, lambda name, entry: entry.get('properties', {}).get('name') == 'web1'),
            ({'tags': ('blue',)}, lambda name, entry: 'blue' in entry['properties'].get('tags', ()))):
        found, written = generated(it, **wanted)
        assert found['imports'] and len(found['imports']) < len(everything['imports'])
        assert all(kept(*each) for each in written['resources'].items()), written
        plan = planned(it, found)
        assert {change['action'] for change in plan.document['changes']} == {'import'}
    found, written = generated(it, networks=('inside',))
    assert {'net_inside', 'subnet_inside', 'router_edge', 'server_web0', 'port_web1'} <= set(written['resources'])
    assert 'zone_example_org' not in written['resources']


@pytest.mark.parametrize('wrong, error', [
    ({'types': ('OS::Heat::Value',)}, exception.HTTPBadRequest), ({'networks': ('x',)}, exception.EntityNotFound)])
def test_what_is_refused(it, wrong, error):
    assert isinstance(it.cluster.ask(messages.GenerateProjectTemplate(**wrong), [error]), error)


def test_a_service_that_does_not_answer_is_named(it):
    it.fault(kind='error', service='block-storage', method='GET', path='*', status=503, count=0)
    found, _written = generated(it)
    assert [each['what'] for each in found['unread']] == ['volumes']
