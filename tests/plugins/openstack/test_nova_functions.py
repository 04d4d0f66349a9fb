"""`heat.engine.resources.nova_utils`, as plug-ins of 2013 and 2014 use it, with a server in the simulated cloud."""

from __future__ import annotations

import importlib

import pytest

from heatlite.common import exception, runtime
from heatlite.engine.compat import aliases
from tests.plugins.openstack.cloud import Life


@pytest.fixture
def nova_utils():
    aliases.install()
    return importlib.import_module('heat.engine.resources.nova_utils')


def test_names_are_found(cloud, nova_utils):
    nova = cloud.client('nova')
    assert nova_utils.get_flavor_id(nova, 'm1.tiny') == nova_utils.get_flavor_id(
        nova, nova_utils.get_flavor_id(nova, 'm1.tiny'))
    assert nova.flavors.get(nova_utils.get_flavor_id(nova, 'm1.tiny')).name == 'm1.tiny'
    images = [image.name for image in cloud.client('glance').images.list()]
    assert images and nova_utils.get_image_id(nova, images[0])
    for search, name in ((nova_utils.get_flavor_id, 'none'), (nova_utils.get_image_id, 'none'),
                         (nova_utils.get_keypair, 'none')):
        with pytest.raises(exception.EntityNotFound):
            search(nova, name)


def test_the_life_of_a_server(cloud, nova_utils):
    runtime.use(cloud.runtime)
    nova = cloud.client('nova')
    image = next(image for image in cloud.client('glance').images.list() if image.status == 'active')
    server = nova.servers.create('s', nova_utils.get_image_id(nova, image.id),
                                 nova_utils.get_flavor_id(nova, 'm1.tiny'),
                                 nics=[{'net-id': cloud.network()}])      # other tests leave images without data
    assert server.id
    for _second in range(60):
        nova_utils.refresh_server(server)
        if server.status not in nova_utils.deferred_server_statuses:
            break
        cloud.runtime.sleep(1)
    assert server.status == 'ACTIVE'
    address = nova_utils.server_to_ipaddress(nova, server.id)
    assert address == nova_utils.get_ip(server, 'private', 4)
    cloud.fault(kind='error', service='compute', method='GET', status=403)
    with pytest.raises(Exception, match='403'):             # that is no server without an address
        nova_utils.server_to_ipaddress(nova, server.id)
    cloud.clear_faults()
    nova_utils.meta_update(nova, server, {'a': 'b', 'c': [1]})
    nova_utils.refresh_server(server)
    assert server.metadata == nova_utils.meta_serialize({'a': 'b', 'c': [1]}) == {'a': 'b', 'c': '[1]'}
    assert nova_utils.absolute_limits(nova).maxServerMeta > 0
    for step, _nothing in enumerate(nova_utils.delete_server(server)):
        assert step < 100
        cloud.runtime.sleep(1)
    assert nova_utils.server_to_ipaddress(nova, server.id) is None
    assert list(nova_utils.delete_server(server)) == []


def test_user_data_has_the_metadata_of_the_resource(cloud, nova_utils):
    made = Life(cloud, 'OS::Heat::RandomString', metadata={'colour': 'red'}).create()
    assert '"colour": "red"' in nova_utils.build_userdata(made, 'echo hi', 'ec2-user')
