"""Plans of updates that look at reality: what was changed behind the engine's back is found, and nothing else is."""

from __future__ import annotations

import random

import pytest

from heatlite.common import exception
from heatlite.engine.clients.batched_reads import COLLECTIONS
from heatlite.planning import plan as planning
from tests.simulation.cluster import done
from tests.simulation.openstack import stack

RESOURCES = {
    'net': ('OS::Neutron::Net', {'name': 'a', 'admin_state_up': True}),
    'subnet': ('OS::Neutron::Subnet', {'network': {'get_resource': 'net'}, 'cidr': '10.9.0.0/24',
                                       'dns_nameservers': ['192.0.2.1']}),
    'port': ('OS::Neutron::Port', {'network': {'get_resource': 'net'}, 'name': 'b'}),
    'router': ('OS::Neutron::Router', {'name': 'c'}),
    'group': ('OS::Neutron::SecurityGroup', {'name': 'e', 'description': 'doors'}),
    'server': ('OS::Nova::Server', {'name': 'f', 'image': 'cirros', 'flavor': 'm1.tiny', 'metadata': {'a': 'b'},
                                    'networks': [{'network': 'private'}]}),
    'disk': ('OS::Cinder::Volume', {'name': 'g', 'size': 1, 'metadata': {'k': 'v'}}),
    'plain_disk': ('OS::Cinder::Volume', {'size': 1}),
}
# resource, path -> client plug-in, collection, key, the field that is changed, its new value
CHANGES = {
    ('net', 'name'): ('neutron', 'networks', 'network', 'name', 'x'),
    ('net', 'admin_state_up'): ('neutron', 'networks', 'network', 'admin_state_up', False),
    ('subnet', 'dns_nameservers', 0): ('neutron', 'subnets', 'subnet', 'dns_nameservers', '192.0.2.9'),
    ('port', 'name'): ('neutron', 'ports', 'port', 'name', 'x'),
    ('port', 'admin_state_up'): ('neutron', 'ports', 'port', 'admin_state_up', False),
    ('router', 'name'): ('neutron', 'routers', 'router', 'name', 'x'),
    ('group', 'description'): ('neutron', 'security-groups', 'security_group', 'description', 'x'),
    ('server', 'name'): ('nova', 'servers', 'server', 'name', 'x'),
    ('disk', 'name'): ('cinder', 'volumes', 'volume', 'name', 'x'),
}


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1) as found:
        found.create(RESOURCES)
        yield found


def change(it, resource, *path):
    """Change one value behind the engine's back; the new value."""
    service, collection, key, field, value = CHANGES[resource, *path]
    told = [value] if len(path) > 1 else value
    it.request(service, 'PUT', f'/{collection}/{it.physical_id(resource)}', {key: {field: told}})
    return value


def drift(plan):
    """{(resource, path): (stored, live, wanted)}"""
    return {(each['path'][0], *value['path']): (value['before'], value['live'], value['after'])
            for each in plan.document['changes'] for value in each['values']}


def test_what_was_changed_is_found_and_nothing_else(it):
    rng = random.Random(5)
    assert it.plan(RESOURCES, converge=True).document['is_empty']
    remaining = list(CHANGES)
    rng.shuffle(remaining)
    while remaining:
        chosen = [remaining.pop() for _ in range(min(rng.randint(1, 4), len(remaining)))]
        values = {place: change(it, *place) for place in chosen}
        plan = it.plan(RESOURCES, converge=True)
        found = drift(plan)
        assert {place: live for place, (_stored, live, _wanted) in found.items()} == values
        assert all(stored == wanted != live for stored, live, wanted in found.values())
        assert {each['path'][0] for each in plan.document['changes'] if each['action'] != 'none'} == {
            resource for resource, *_path in chosen}
        assert it.plan(RESOURCES).document['is_empty']      # without a look at reality there is nothing to do
        it.apply(plan)
        done(it.cluster, it.id, 'UPDATE')
        assert it.plan(RESOURCES, converge=True).document['is_empty']


def test_a_plan_shows_stored_live_and_wanted_values(it):
    change(it, 'net', 'name')
    wanted = {**RESOURCES, 'net': ('OS::Neutron::Net', {'name': 'z', 'admin_state_up': True})}
    plan = it.plan(wanted, converge=True)
    assert drift(plan) == {('net', 'name'): ('a', 'x', 'z')}
    assert plan.document['changes'][0]['values'][0]['cause']['what'] == 'resources.net.properties.name'
    cause = it.plan(RESOURCES, converge=True).document['changes'][0]['values'][0]['cause']
    assert (cause['kind'], cause['what']) == ('cloud', it.physical_id('net'))
    assert plan.document['refreshed_at'] is not None
    assert it.plan(wanted).document['changes'][0]['values'][0].get('live', 'not read') == 'not read'


def test_a_change_after_the_plan_is_refused_and_named(it):
    change(it, 'net', 'name')
    plan = it.plan(RESOURCES, converge=True)
    change(it, 'port', 'admin_state_up')
    it.request('neutron', 'PUT', f"/networks/{it.physical_id('net')}", {'network': {'name': 'y'}})
    refused = it.apply(plan, (exception.Conflict,))
    assert isinstance(refused, exception.Conflict)
    assert 'What the cloud has is not what plan' in str(refused)
    assert 'net: update, but with other values of name ("y" in the cloud)' in str(refused)
    assert 'port: none was planned, now it would be update' in str(refused)
    assert it.request('neutron', 'GET', f"/networks/{it.physical_id('net')}")['network']['name'] == 'y'


def test_what_is_gone_is_planned_to_be_made_again(it):
    it.request('cinder', 'DELETE', f"/volumes/{it.physical_id('plain_disk')}")
    it.cloud.advance(100)
    plan = it.plan(RESOURCES, converge=True)
    assert {each['path'][0]: each['action'] for each in plan.document['changes'] if each['action'] != 'none'} == {
        'plain_disk': 'replace'}
    assert plan.document['findings'] == [{'level': 'note', 'path': ['plain_disk'], 'cause': None,
                                          'text': 'Its object is gone in the cloud; it is made again.'}]
    it.apply(plan)
    done(it.cluster, it.id, 'UPDATE')
    assert it.plan(RESOURCES, converge=True).document['is_empty']


def test_plans_look_at_reality_if_all_updates_do(cloud):
    with stack(cloud, engines=1, observe_on_update=True) as it:
        it.create({'net': RESOURCES['net']})
        change(it, 'net', 'name')
        assert drift(it.plan({'net': RESOURCES['net']})) == {('net', 'name'): ('a', 'x', 'a')}


def test_a_hidden_value_stays_hidden_when_it_was_changed(it):
    def hidden(value):
        return {
            'heat_template_version': '2021-04-16', 'parameters': {'word': {
                'type': 'string', 'hidden': True, 'default': value}}, 'resources': {
                'disk': {'type': 'OS::Cinder::Volume', 'properties': {'name': {'get_param': 'word'}, 'size': 1}}}}

    it.cluster.update(it.id, hidden('sesame'))
    done(it.cluster, it.id, 'UPDATE')
    it.request('cinder', 'PUT', f"/volumes/{it.physical_id('disk')}", {'volume': {'name': 'sesame2'}})
    plan = it.planned(action='update', stack_id=it.id, template=hidden('sesame'), converge=True)
    assert plan.summary['update'] == 1
    assert 'sesame' not in str(plan.document)


# --- many at once -----------------------------------------------------------------------------------------

MANY = 40
PLUGINS = {'block-storage': 'cinder', 'compute': 'nova', 'network': 'neutron'}


@pytest.fixture
def many(cloud):
    """Volumes beside networks in a group: a stack and nested ones."""
    disks = {f'disk{number}': ('OS::Cinder::Volume', {'size': 1, 'name': 'd'}) for number in range(MANY)}
    nets = {'nets': ('OS::Heat::ResourceGroup', {'count': MANY, 'resource_def': {
        'type': 'OS::Neutron::Net', 'properties': {'name': 'n'}}})}
    with stack(cloud, engines=1) as found:
        found.create({**disks, **nets})
        found.wanted = {**disks, **nets}
        yield found


def rename(it, service, plural, name, count):
    """Rename objects; return their ids."""
    path = f'/{plural}/detail' if service == 'cinder' else f'/{plural}'
    found = [each['id'] for each in it.request(service, 'GET', path, params={'name': name})[plural]][:count]
    for ident in found:
        it.request(service, 'PUT', f'/{plural}/{ident}', {plural[:-1]: {'name': 'changed'}})
    return set(found)


def test_many_objects_are_read_from_lists(many):
    changed = rename(many, 'cinder', 'volumes', 'd', 5) | rename(many, 'neutron', 'networks', 'n', 5)
    asked = many.count_requests()
    plan = many.plan(many.wanted, converge=True)
    assert many.count_requests() - asked < 30               # and not one for each of the 80
    assert {each['physical_resource_id'] for each in plan.document['changes']
            if any(value.get('live') == 'changed' for value in each['values'])} == changed
    many.apply(plan)
    done(many.cluster, many.id, 'UPDATE')
    assert many.plan(many.wanted, converge=True).document['is_empty']


def test_objects_that_no_list_has_are_read_alone(many):
    """They are gone, or the list is broken."""
    gone = many.listed('cinder', 'volumes', 'd')['id']
    many.request('cinder', 'DELETE', f'/volumes/{gone}')
    many.cloud.advance(100)
    plan = many.plan(many.wanted, converge=True)
    assert [each['physical_resource_id'] for each in plan.document['changes'] if each['action'] == 'replace'] == [gone]
    many.fault(service='volume', path='*/volumes/detail*', kind='error', count=0, status=403)
    after = many.plan(many.wanted, converge=True)
    many.cloud._ask('DELETE', '/_sim/faults')
    assert planning.differences(plan.document, after.document) == []


@pytest.mark.parametrize('service_type, collection', [
    (service_type, each) for service_type, found in COLLECTIONS.items() for each in found])
def test_lists_have_what_single_objects_have(it, service_type, collection):
    service = PLUGINS[service_type]
    if collection.one == 'floatingip':
        it.request(service, 'POST', '/floatingips', {'floatingip': {
            'floating_network_id': it.listed('neutron', 'networks', 'public')['id']}})
    found = it.request(service, 'GET', collection.listed)[collection.many]
    assert found
    for entry in found[:5]:
        single = it.request(service, 'GET', f"{collection.path}/{entry['id']}")[collection.one]
        assert {name: single[name] for name in single if name != 'server_groups'} == entry      # no property reads it
