"""Calls of Python libraries of OpenStack that plug-ins of 2014 to 2018 make, over HTTP to the simulated cloud."""

from __future__ import annotations

import copy

import pytest
from keystoneauth1 import exceptions

from heatlite.common import exception
from heatlite.engine import properties, resource
from heatlite.engine.clients.os.collection import AmbiguousMatch
from heatlite.engine.types import registry
from tests.plugins.openstack.cloud import Cloud, Life


@pytest.fixture
def cloud(simulator):
    """As an administrator: types, flavors and projects are for them."""
    registry.create()
    yield Cloud(simulator, 'admin')
    registry.use(None)


def test_a_flavor_with_specifications_and_projects(cloud):
    nova = cloud.client('nova')
    flavor = nova.flavors.create(name='tiny', ram=64, vcpus=1, disk=1, swap=2, ephemeral=3, rxtx_factor=2.0,
                                 flavorid='auto', is_public=False)
    try:
        found = nova.flavors.get(flavor.id)
        assert (found.ram, found.swap, getattr(found, 'OS-FLV-EXT-DATA:ephemeral')) == (64, 2, 3)
        flavor.set_keys({'a': 'b', 'c': 'd'})
        assert flavor.get_keys() == {'a': 'b', 'c': 'd'}
        flavor.unset_keys(['a'])
        assert flavor.get_keys() == {'c': 'd'}
        project = cloud.context.project_id
        nova.flavor_access.add_tenant_access(flavor, project)
        assert [each.tenant_id for each in nova.flavor_access.list(flavor=flavor)].count(project) == 1
        nova.flavor_access.remove_tenant_access(flavor, project)
        assert project not in [each.tenant_id for each in nova.flavor_access.list(flavor=flavor)]
    finally:
        nova.flavors.delete(flavor)


def test_a_volume_type_by_its_name_alone(cloud):
    cinder = cloud.client('cinder')
    kind = cinder.volume_types.create('fast')
    try:
        kind.set_keys({'a': 'b'})
        assert cinder.volume_types.get(kind.id).get_keys() == {'a': 'b'}
        kind.unset_keys(kind.get_keys())
        assert kind.get_keys() == {}
    finally:
        cinder.volume_types.delete(kind)


def test_a_share_type_and_a_security_service(cloud):
    manila = cloud.client('manila')
    kind = manila.share_types.create(name='st', spec_driver_handles_share_servers=True, is_public=True)
    service = manila.security_services.create(type='ldap', dns_ip='1.2.3.4')
    try:
        kind.set_keys({'a': 'b'})
        assert {'a', 'driver_handles_share_servers'} <= set(kind.get_keys())
        assert manila.security_services.update(service.id, name='other').name == 'other'
    finally:
        manila.share_types.delete(kind)
        manila.security_services.delete(service)


@pytest.mark.parametrize('collection, key, fields', [
    ('projects', 'project', {'domain': 'default'}), ('groups', 'group', {'domain': 'default'}),
    ('users', 'user', {'domain': 'default', 'password': 'secret'}), ('roles', 'role', {})])
def test_identity_takes_what_to_change_by_its_name(cloud, collection, key, fields):
    things = getattr(cloud.client('keystone').client, collection)
    made = things.create(name='before', **fields)
    try:
        assert things.update(**{key: made.id}, name='after').name == 'after'
        with pytest.raises(TypeError, match=key):
            things.update(name='no-such-thing')
        assert things.update(made, name='again').name == things.get(made.id).name == 'again'
    finally:
        things.delete(made)


def test_secrets_and_orders_are_sent_when_they_are_stored(cloud):
    barbican = cloud.client('barbican')
    before = cloud.count('key-manager.secrets')
    secret = barbican.secrets.create(name='s', payload='text', payload_content_type='text/plain', bit_length=None)
    assert cloud.count('key-manager.secrets') == before
    ref = secret.store()
    assert (barbican.secrets.get(ref).status, barbican.secrets.get(ref).payload) == ('ACTIVE', 'text')
    order_ref = barbican.orders.create(type='key', name='o', algorithm='aes', bit_length=256, mode='cbc').submit()
    order = barbican.orders.get(order_ref)
    assert (order.error_reason, order.container_ref) == (None, None)
    assert copy.copy(order).status == order.status
    with pytest.raises(AttributeError):
        _missing = order.colour
    barbican.orders.delete(order_ref)
    for entry in barbican.secrets.list():
        barbican.secrets.delete(entry.secret_ref)
    with pytest.raises(exceptions.NotFound, match='^Not Found'):
        barbican.secrets.delete(ref)
    with pytest.raises(exceptions.NotFound, match='^Not Found'):
        barbican.secrets.get(ref)


def test_secrets_of_a_container_are_its_attributes(cloud):
    barbican = cloud.client('barbican')
    ref = barbican.secrets.create(name='s', payload='text', payload_content_type='text/plain').store()
    container_ref = cloud.plugin('barbican').create_generic_container('c', {'certificate': ref})
    container = barbican.containers.get(container_ref)
    assert (container.name, container.certificate.payload) == ('c', 'text')
    barbican.containers.delete(container_ref)
    barbican.secrets.delete(ref)


def test_a_queue_exists_once_it_was_made(cloud):
    zaqar = cloud.client('zaqar')
    queue = zaqar.queue('orders', auto_create=False)
    assert not queue.exists()
    queue.ensure_exists()
    assert queue.exists()
    assert not zaqar.queue('order', auto_create=False).exists()
    queue.delete()
    assert zaqar.api_url.startswith('http://127.0.0.1')


def test_networks_are_found_by_the_name_or_the_id(cloud):
    neutron = cloud.client('neutron')
    made = [neutron.create_network({'network': {'name': name}})['network'] for name in ('one', 'two', 'two')]
    try:
        assert neutron.find_resource('network', 'one')['id'] == made[0]['id']
        assert neutron.find_resource('network', made[1]['id'])['name'] == 'two'
        with pytest.raises(AmbiguousMatch):
            neutron.find_resource('network', 'two')
        with pytest.raises(exceptions.NotFound):
            neutron.find_resource('network', 'three')
    finally:
        for network in made:
            neutron.delete_network(network['id'])


class Size(resource.Resource):
    """As plug-ins of 2015 are written: the client by its shortcut, entities that change themselves."""

    properties_schema = {
        'ram': properties.Schema(properties.Schema.INTEGER, required=True),
        'specs': properties.Schema(properties.Schema.MAP, default='', update_allowed=True)}

    def handle_create(self):
        flavor = self.nova().flavors.create(
            name=self.physical_resource_name(), ram=self.properties['ram'], vcpus=1, disk=0)
        self.resource_id_set(flavor.id)
        if self.properties['specs']:
            flavor.set_keys(self.properties['specs'])

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        flavor = self.nova().flavors.get(self.resource_id)
        flavor.unset_keys(flavor.get_keys())
        flavor.set_keys(prop_diff['specs'])

    def handle_delete(self):
        try:
            self.nova().flavors.delete(self.resource_id)
        except Exception as error:
            self.client_plugin('nova').ignore_not_found(error)


def test_the_life_of_a_plugin_that_makes_such_calls(cloud):
    registry.current().register('Acme::Size', Size)
    before = cloud.ids()
    life = Life(cloud, 'Acme::Size', {'ram': 64, 'specs': {'a': 'b'}})
    life.create()
    flavors = cloud.client('nova').flavors
    assert flavors.get(life.physical_id).get_keys() == {'a': 'b'}
    life.update({'ram': 64, 'specs': {'c': 'd'}})
    assert flavors.get(life.physical_id).get_keys() == {'c': 'd'}
    with pytest.raises(exception.UpdateReplace):
        life.update({'ram': 128, 'specs': {'c': 'd'}})
    life.run('DELETE')
    assert cloud.ids() == before
