"""OS::Nova::Server in the simulated cloud."""

from __future__ import annotations

import base64
import email
import json
import re

import pytest

from heatlite.common import exception
from heatlite.engine.clients import answers, caching
from heatlite.engine.clients.os import pending_servers
from tests.plugins.openstack.cloud import Cloud, Life, plain

SERVER, SERVERS, PORTS = 'OS::Nova::Server', 'compute.servers', 'network.ports'
PLAIN = {'image': 'cirros', 'flavor': 'm1.tiny', 'user_data_format': 'RAW', 'networks': [{'network': 'private'}]}

NOWHERE = ('One of the properties "network", "port", "allocate_network" or "subnet" should be set for the specified '
           'network of server "r".')


@pytest.fixture(autouse=True)
def nothing_is_left(cloud: Cloud):
    before = cloud.count(SERVERS), cloud.count(PORTS)
    yield
    cloud.advance(10)
    assert (cloud.count(SERVERS), cloud.count(PORTS)) == before


def server(cloud: Cloud, **properties) -> Life:
    return Life(cloud, SERVER, {**PLAIN, **properties})


def shown(cloud: Cloud, life: Life):
    return cloud.client('nova').servers.get(life.physical_id)


def test_life(cloud: Cloud):
    life = server(cloud, metadata={'colour': 'red', 'rooms': [1, 2]}, user_data='#!/bin/sh\n', config_drive=True)
    life.validate()
    made = life.create()
    assert False in life.polls                  # it had to be waited for
    found = shown(cloud, life)
    assert found.name == made.physical_resource_name() and found.status == 'ACTIVE'
    assert found.metadata == {'colour': 'red', 'rooms': '[1, 2]'}
    assert len(found.name) <= 53
    made.handle_check()
    life.delete()


def looks(cloud: Cloud) -> list[str]:
    return [plain(path) for _service, method, path, _status in cloud.requests()
            if method == 'GET' and plain(path).startswith('/servers')]


def test_many_that_wait_ask_once(cloud: Cloud):
    """A list tells who is still on the way; only who is there, or gone, is looked at."""
    lives = [server(cloud) for _number in range(5)]
    made = [life.fresh('CREATE') for life in lives]
    for each in made:
        each.handle_create()
    cloud.forget_requests()
    assert [each.check_create_complete() for each in made] == [False] * 5 and looks(cloud) == ['/servers']
    lives[0].runtime.sleep(pending_servers.FRESH)
    cloud.advance(60)
    cloud.forget_requests()
    assert [each.check_create_complete() for each in made] == [True] * 5
    assert looks(cloud) == ['/servers', *['/servers/ID'] * 5]
    for life in lives:
        life.delete()


def test_a_deletion_asks_for_no_names(cloud: Cloud):
    life = server(cloud)
    life.create()
    life.runtime.sleep(caching.ONE_WORK + 1)
    cloud.forget_requests()
    life.delete()
    assert {plain(path).split('/')[1] for service, _method, path, _status in cloud.requests()
            if service != 'identity'} == {'servers'}


def test_attributes(cloud: Cloud):
    life = server(cloud, name='web')
    life.create()
    assert life.attribute('name') == 'web'
    address = life.attribute('first_address')
    assert address.startswith('10.0.')
    assert life.attribute('networks', 'private') == [address] == life.attribute('networks', cloud.network())
    entry = life.attribute('addresses', 'private', 0)
    assert entry['addr'] == address and entry['port'] and entry['network']['name'] == 'private'
    assert entry['subnets'][0]['cidr'] == '10.0.0.0/16'
    assert life.attribute('show')['id'] == life.physical_id
    assert life.attribute('console_urls', 'novnc').startswith('http')
    assert set(life.attribute('console_urls')) >= {'novnc', 'serial'}
    assert life.attribute('tags') == []
    life.delete()


def test_an_update_that_changes_nothing_writes_nothing(cloud: Cloud):
    life = server(cloud, name='web', tags=['a'], metadata={'a': 'b'})
    life.create()
    assert life.writes_of(life.update, {**PLAIN, 'name': 'web', 'tags': ['a'], 'metadata': {'a': 'b'}}) == []
    life.delete()


def test_changes_at_once(cloud: Cloud):
    life = server(cloud, metadata={'old': '1', 'kept': '2'}, tags=['a'])
    life.create()
    life.update({**PLAIN, 'name': 'web', 'metadata': {'kept': '2', 'new': '3'}, 'tags': ['b', 'c']})
    found = shown(cloud, life)
    assert (found.name, found.metadata, sorted(found.tags)) == ('web', {'kept': '2', 'new': '3'}, ['b', 'c'])
    life.delete()


def test_resize(cloud: Cloud):
    life = server(cloud)
    life.create()
    writes = life.writes_of(life.update, {**PLAIN, 'flavor': 'm1.small'})
    assert writes == ['POST /servers/ID/action'] * 2        # resize, confirm
    assert shown(cloud, life).flavor['original_name'] == 'm1.small' and shown(cloud, life).status == 'ACTIVE'
    life.delete()


def test_a_resize_goes_on_after_a_restart(cloud: Cloud):
    life = server(cloud)
    life.create()
    after = life.define({**PLAIN, 'flavor': 'm1.small'})
    old = life.fresh('CREATE', 'COMPLETE')
    template_diff, property_diff = old.changes(old.compare(after))
    steps = life.fresh('UPDATE').handle_update(after, template_diff, property_diff)
    stored = json.dumps(steps)
    life.fresh('UPDATE').check_update_complete(steps)       # the request is in; here the engine dies
    again = json.loads(stored)
    while not life.fresh('UPDATE').check_update_complete(again):
        cloud.advance(1)
    assert shown(cloud, life).flavor['original_name'] == 'm1.small' and shown(cloud, life).status == 'ACTIVE'
    life.delete()


def test_rebuild(cloud: Cloud):
    images = cloud.client('glance').images
    other = images.create(name='other', disk_format='raw', container_format='bare')
    cloud.client('glance').http.put(f'/images/{other.id}/file', data=b'x',
                                    headers={'Content-Type': 'application/octet-stream'})
    cloud.advance(1)
    life = server(cloud)
    made = life.create()
    assert life.writes_of(life.update, {**PLAIN, 'image': 'other'}) == ['POST /servers/ID/action']
    assert shown(cloud, life).id == made.resource_id
    assert shown(cloud, life).image['id'] == other.id
    life.delete()
    images.delete(other.id)


@pytest.mark.parametrize('change', [
    {'key_name': 'other'}, {'user_data': 'new'}, {'flavor': 'm1.small', 'flavor_update_policy': 'REPLACE'},
    {'availability_zone': 'nova'}])
def test_replaced(cloud: Cloud, change):
    life = server(cloud, user_data='old')
    life.create()
    with pytest.raises(exception.UpdateReplace):
        life.update({**PLAIN, 'user_data': 'old', **change})
    life.delete()


def test_networks_are_changed_in_place(cloud: Cloud):
    neutron = cloud.client('neutron')
    port = neutron.create_port({'port': {'network_id': cloud.network()}})['port']['id']
    life = server(cloud)
    made = life.create()
    first = neutron.list_ports(device_id=made.resource_id)['ports'][0]['id']
    life.update({**PLAIN, 'networks': [{'port': port}]})
    assert [each['id'] for each in neutron.list_ports(device_id=made.resource_id)['ports']] == [port] != [first]
    life.update({**PLAIN, 'networks': [{'port': port}, {'subnet': 'private-subnet'}]})
    assert len(neutron.list_ports(device_id=made.resource_id)['ports']) == 2
    life.update({**PLAIN, 'networks': [{'network': 'private'}]})
    life.delete()
    neutron.delete_port(port)


def networks_of(cloud: Cloud, life: Life):
    return [port['network_id'] for port in cloud.client('neutron').list_ports(device_id=life.physical_id)['ports']]


@pytest.fixture
def second_network(cloud: Cloud):
    neutron = cloud.client('neutron')
    network = neutron.create_network({'network': {'name': 'second'}})['network']['id']
    subnet = neutron.create_subnet({'subnet': {'network_id': network, 'ip_version': 4, 'cidr': '10.9.0.0/24'}})
    yield network
    neutron.delete_subnet(subnet['subnet']['id'])
    neutron.delete_network(network)


@pytest.mark.parametrize('before, after, count', [
    ([{'network': 'private'}], [{'allocate_network': 'none'}], 0), ([{'allocate_network': 'auto'}], None, 1),
    ([{'allocate_network': 'none'}], [{'network': 'private'}], 1), ([{'network': 'private'}], None, 1),
    ([{'allocate_network': 'auto'}], [{'network': 'private'}], 1),
    ([{'allocate_network': 'none'}], [{'allocate_network': 'auto'}], 1)])
def test_a_word_for_the_networks_becomes_a_list_and_back(cloud: Cloud, before, after, count):
    life = server(cloud, networks=before)
    life.create()
    life.update({**PLAIN, 'networks': after} if after else {key: value for key, value in PLAIN.items()
                                                            if key != 'networks'})
    assert len(networks_of(cloud, life)) == count
    life.delete()


def test_networks_that_nova_chose_go_with_the_word(cloud: Cloud, second_network: str):
    life = server(cloud, networks=[{'allocate_network': 'none'}])
    life.create()
    life.update({**PLAIN, 'networks': [{'network': 'private'}]})
    life.update({**PLAIN, 'networks': [{'network': second_network}]})
    assert networks_of(cloud, life) == [second_network]
    life.delete()


def test_a_new_port_of_its_own_with_an_address_is_attached(cloud: Cloud, second_network: str):
    life = server(cloud)
    life.create()
    subnet = cloud.client('neutron').list_subnets(network_id=second_network)['subnets'][0]['id']
    life.update({**PLAIN, 'networks': [{'network': 'private'}, {'subnet': subnet, 'fixed_ip': '10.9.0.77'}]})
    port, = cloud.client('neutron').list_ports(device_id=life.physical_id, network_id=second_network)['ports']
    assert port['fixed_ips'][0]['ip_address'] == '10.9.0.77'
    life.delete()


def test_a_new_network_has_the_groups_of_the_server(cloud: Cloud, second_network: str):
    neutron = cloud.client('neutron')
    group = neutron.create_security_group({'security_group': {'name': 'web'}})['security_group']['id']
    life = server(cloud, security_groups=['web'])
    life.create()
    life.update({**PLAIN, 'security_groups': ['web'],
                 'networks': [{'network': 'private'}, {'network': second_network}]})
    port, = neutron.list_ports(device_id=life.physical_id, network_id=second_network)['ports']
    assert port['security_groups'] == [group]
    life.delete()
    neutron.delete_security_group(group)


def created_with(life: Life) -> dict:
    """Create a server and return the body that Nova got."""
    made = life.fresh('CREATE')
    made.handle_create()
    answer = answers.last()
    assert (answer.method, answer.path, answer.response.status_code) == ('POST', '/servers', 202)
    life.runtime.sleep(60)
    assert made.check_create_complete()
    return json.loads(answer.response.request.body)['server']


def test_a_server_with_an_image_may_have_further_disks(cloud: Cloud):
    life = server(cloud, block_device_mapping_v2=[{'swap_size': 512}])
    body = created_with(life)
    image, swap = body['block_device_mapping_v2']
    assert (image['source_type'], image['uuid'], str(image['boot_index'])) == ('image', body['imageRef'], '0')
    assert swap == {'source_type': 'blank', 'destination_type': 'local', 'guest_format': 'swap', 'volume_size': 512,
                    'boot_index': -1, 'delete_on_termination': True}
    life.delete()


def test_empty_names_are_none(cloud: Cloud):
    life = server(cloud, key_name='', availability_zone='', reservation_id='')
    assert not {'key_name', 'availability_zone', 'reservation_id'} & created_with(life).keys()
    life.delete()


def test_ports_of_its_own(cloud: Cloud):
    life = server(cloud, networks=[{'subnet': 'private-subnet', 'fixed_ip': '10.0.7.7',
                                    'port_extra_properties': {'port_security_enabled': False}}])
    made = life.create()
    port = cloud.client('neutron').list_ports(device_id=made.resource_id)['ports'][0]
    assert port['fixed_ips'][0]['ip_address'] == '10.0.7.7' and port['port_security_enabled'] is False
    assert port['name'] == f'{made.physical_resource_name()}-port-0'
    life.delete()


def test_a_port_that_went_with_its_server_keeps_nobody_from_deleting_it(cloud: Cloud):
    life = server(cloud)
    made = life.create()
    port = cloud.client('neutron').list_ports(device_id=made.resource_id)['ports'][0]['id']
    life.update({**PLAIN, 'networks': [{'port': port}]})
    cloud.client('nova').servers.delete(made.resource_id)
    life.runtime.sleep(caching.ONE_WORK + 1)
    life.delete()
    assert not cloud.client('neutron').list_ports(id=port)['ports']


def test_a_given_port_is_handed_to_the_replacement_and_back(cloud: Cloud):
    neutron = cloud.client('neutron')
    port = neutron.create_port({'port': {'network_id': cloud.network()}})['port']['id']
    life = server(cloud, networks=[{'port': port}])
    made = life.create()
    old = life.fresh('UPDATE')
    old.prepare_for_replace()
    assert not neutron.show_port(port)['port']['device_id']
    old.restore_prev_rsrc(convergence=True)
    assert neutron.show_port(port)['port']['device_id'] == made.resource_id
    life.delete()
    assert not neutron.show_port(port)['port']['device_id']
    neutron.delete_port(port)


def test_a_port_is_taken_back_from_a_replacement_that_never_came_up(cloud: Cloud):
    neutron = cloud.client('neutron')
    port = neutron.create_port({'port': {'network_id': cloud.network()}})['port']['id']
    life = server(cloud, networks=[{'port': port}])
    made = life.create()
    life.fresh('UPDATE').prepare_for_replace()
    cloud.fault(kind='fail', service='compute', method='POST', path='*/servers', text='No valid host')
    other = server(cloud, networks=[{'port': port}])
    with pytest.raises(exception.ResourceInError):
        other.create()
    assert neutron.show_port(port)['port']['device_id'] == other.physical_id
    life.stack.rows = {7: other.physical_id}
    old = life.fresh('UPDATE')
    old.replaced_by = 7
    old.restore_prev_rsrc(convergence=True)
    assert neutron.show_port(port)['port']['device_id'] == made.resource_id
    other.delete()
    life.delete()
    neutron.delete_port(port)


def test_drift(cloud: Cloud):
    wanted = {**PLAIN, 'name': 'web', 'metadata': {'a': 'b'}}
    life = Life(cloud, SERVER, wanted)
    made = life.create()
    assert life.drift(wanted) == {}
    cloud.client('nova').servers.update(made.resource_id, name='other')
    cloud.client('nova').servers.set_meta(made.resource_id, {'a': 'c'})
    assert life.drift(wanted) == {'name': 'web', 'metadata': {'a': 'b'}}
    cloud.client('nova').servers.delete(made.resource_id)
    cloud.advance(5)
    with pytest.raises(exception.EntityNotFound):
        life.drift(wanted)
    life.delete()


def test_suspend_and_resume(cloud: Cloud):
    life = server(cloud)
    life.create()
    life.run('SUSPEND')
    assert shown(cloud, life).status == 'SUSPENDED'
    life.run('RESUME')
    assert shown(cloud, life).status == 'ACTIVE'
    life.delete()


def test_gone_already(cloud: Cloud):
    life = server(cloud)
    made = life.create()
    cloud.client('nova').servers.delete(made.resource_id)
    cloud.advance(5)
    assert life.fresh('CREATE', 'COMPLETE').needs_replace_failed()
    assert life.attribute('networks') is None
    life.delete()


def test_a_build_that_fails(cloud: Cloud):
    cloud.fault(kind='fail', service='compute', method='POST', path='*/servers', text='No valid host')
    life = server(cloud)
    with pytest.raises(exception.ResourceInError, match='No valid host'):
        life.create()
    life.delete()


def test_a_lost_reply_makes_no_second_server(cloud: Cloud):
    cloud.fault(kind='lost', service='compute', method='POST', path='*/servers')
    life = server(cloud)
    before = cloud.count(SERVERS)
    made = life.create()
    assert cloud.count(SERVERS) == before + 1 and shown(cloud, life).name == made.physical_resource_name()
    life.delete()


def test_nothing_was_made_when_nothing_arrived(cloud: Cloud):
    cloud.fault(kind='error', service='compute', method='POST', path='*/servers', status=500)
    before = cloud.count(SERVERS)
    life = server(cloud)
    with pytest.raises(Exception):              # noqa: B017 - whatever the service says
        life.run('CREATE')
    assert cloud.count(SERVERS) == before
    assert life.fresh('CREATE').find_existing() is None


def test_busy_services_are_asked_again(cloud: Cloud):
    life = server(cloud)
    cloud.fault(kind='throttle', service='compute', method='POST', path='*/servers', seconds=0)
    life.create()
    cloud.fault(kind='error', service='compute', method='GET', path='*/servers/*', status=503, count=1)
    assert shown(cloud, life).status == 'ACTIVE'
    life.delete()


def test_snapshot_restore_and_what_is_left_of_them(cloud: Cloud):
    images = cloud.count('image.images')
    life = server(cloud)
    life.create()
    life.run('SNAPSHOT')
    saved = {'resource_data': life.fresh('SNAPSHOT').data()}
    assert cloud.count('image.images') == images + 1
    restored = life.fresh('RESUME').handle_restore(life.definition, saved)
    assert restored.properties(life.kind().properties_schema)['image'] == saved['resource_data']['snapshot_image_id']
    life.fresh('SNAPSHOT').handle_delete_snapshot(saved)
    assert cloud.count('image.images') == images
    life.delete()


def test_deletion_policy_snapshot(cloud: Cloud):
    before = cloud.ids()['image.images']
    life = server(cloud)
    life.definition = life.define(life.definition._properties, deletion_policy='Snapshot')
    life.create()
    life.delete()
    image, = cloud.ids()['image.images'] - before
    assert cloud.client('glance').images.get(image).name.startswith('city-')
    cloud.client('glance').images.delete(image)


def test_deletion_policy_snapshot_of_a_server_that_is_gone(cloud: Cloud):
    before = cloud.count('image.images')
    life = server(cloud)
    life.definition = life.define(life.definition._properties, deletion_policy='Snapshot')
    cloud.client('nova').servers.delete(life.create().resource_id)
    cloud.advance(5)
    life.delete()
    assert cloud.count('image.images') == before


@pytest.mark.parametrize('properties, text', [
    ({'image': None}, 'Neither image nor bootable volume'),
    ({'networks': [{'fixed_ip': '10.0.0.9'}]}, NOWHERE), ({'networks': [{}]}, NOWHERE),
    ({'networks': [{'allocate_network': 'auto'}, {'network': 'private'}]},
     'Property "allocate_network" can not be specified if multiple network interfaces set for server.'),
    *(({'networks': [{'allocate_network': 'auto', **more}]},
       'Can not specify "allocate_network" with other keys of networks at the same time.') for more in (
           {'network': 'private'}, {'tag': 'x'}, {'fixed_ip': '10.0.0.9'},
           {'port_extra_properties': {'admin_state_up': False}})),
    ({'networks': [{'network': 'private', 'floating_ip': '172.24.0.9'}]},
     'Property "floating_ip" is not supported if only "network" is specified, because the corresponding port can not '
     'be retrieved.'),
    ({'personality': {'/a': 'b'}},
     'Cannot use the personality parameter as nova no longer supports it. Use user_data instead.'),
    ({'image': None, 'block_device_mapping_v2': [{'swap_size': 1, 'ephemeral_size': 1}]},
     'Cannot define the following properties at the same time: volume_id, snapshot_id, image, swap_size, '
     'ephemeral_size, ephemeral_format.'),
    ({'block_device_mapping_v2': [{'image': 'cirros'}]}, 'Multiple bootable sources for instance r.'),
    ({'image': None, 'block_device_mapping_v2': [{'image': 'cirros', 'boot_index': 1}]},
     'Neither image nor bootable volume is specified for instance r'),
    ({'metadata': {str(number): 'x' for number in range(129)}}, 'must not contain greater than 128 entries'),
    ({'block_device_mapping': [{'device_name': 'vda'}]}, 'Either volume_id or snapshot_id'),
    ({'flavor': 'no-such-flavor'}, 'no-such-flavor'),
])
def test_refused(cloud: Cloud, properties, text):
    wanted = {name: value for name, value in {**PLAIN, **properties}.items() if value is not None}
    with pytest.raises(exception.HeatException, match=re.escape(text)):
        Life(cloud, SERVER, wanted).validate()


def test_port_with_extra_properties_is_accepted(cloud: Cloud):
    port = Life(cloud, 'OS::Neutron::Port', {'network': 'private'}, name='p')
    port.create()
    networks = [{'port': port.physical_id, 'port_extra_properties': {'admin_state_up': True}}]
    assert server(cloud, networks=networks).validate() is None
    port.delete()


@pytest.mark.parametrize('image, text', [
    ({'status': 'queued'}, 'Image status is required to be active not queued.'),
    ({'min_ram': 4096}, 'Image {id} requires 4096 minimum ram. Flavor m1.tiny has only 512.'),
    ({'min_disk': 99}, 'Image {id} requires 99 GB minimum disk space. Flavor m1.tiny has only 1 GB.')])
def test_an_image_that_does_not_go_with_the_flavor(cloud: Cloud, image, text):
    made = cloud.client('glance').images.create(name='big', disk_format='raw', container_format='bare', **{
        name: value for name, value in image.items() if name != 'status'})
    if 'status' not in image:
        cloud.client('glance').http.request(f'/images/{made.id}/file', 'PUT', data=b'x', headers={
            'Content-Type': 'application/octet-stream'})
    with pytest.raises(exception.StackValidationFailed, match=re.escape(text.format(id=made.id))):
        server(cloud, image=made.id).validate()
    cloud.client('glance').images.delete(made.id)


def test_the_status_of_an_image_that_is_not_active_is_not_remembered(cloud: Cloud):
    made = cloud.client('glance').images.create(name='later', disk_format='raw', container_format='bare')
    with pytest.raises(exception.StackValidationFailed, match='not queued'):
        server(cloud, image=made.id).validate()
    cloud.client('glance').http.request(f'/images/{made.id}/file', 'PUT', data=b'x', headers={
        'Content-Type': 'application/octet-stream'})
    server(cloud, image=made.id).validate()
    cloud.client('glance').images.delete(made.id)


def test_deployments_in_metadata(cloud: Cloud):
    life = Life(cloud, SERVER, {**PLAIN, 'user_data_format': 'SOFTWARE_CONFIG'}, metadata={'deployments': []})
    with pytest.raises(exception.StackValidationFailed, match='deployments key not allowed in resource metadata'):
        life.validate()


def test_devices(cloud: Cloud):
    kind = server(cloud).kind()
    assert kind._build_block_device_mapping_v2([
        {'volume_id': 'v', 'boot_index': 0}, {'snapshot_id': 's', 'volume_size': 3, 'delete_on_termination': True},
        {'swap_size': 64}, {'ephemeral_size': 2, 'ephemeral_format': 'ext4'}]) == [
        {'uuid': 'v', 'source_type': 'volume', 'destination_type': 'volume', 'boot_index': 0},
        {'uuid': 's', 'source_type': 'snapshot', 'destination_type': 'volume', 'volume_size': 3,
         'delete_on_termination': True},
        {'source_type': 'blank', 'destination_type': 'local', 'boot_index': -1, 'delete_on_termination': True,
         'guest_format': 'swap', 'volume_size': 64},
        {'source_type': 'blank', 'destination_type': 'local', 'boot_index': -1, 'delete_on_termination': True,
         'volume_size': 2, 'guest_format': 'ext4'}]


def test_user_data_with_long_headers_is_refused(cloud: Cloud):
    text = 'Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Disposition: ' + 'f x' * 7000 + '\n\nx\n'
    with pytest.raises(ValueError, match='The header "Content-Disposition" of the MIME message has more than 1024'):
        cloud.plugin('nova').build_userdata({}, text, user_data_format='SOFTWARE_CONFIG')


def test_a_script_may_look_like_headers(cloud: Cloud):
    text = 'run: ' + 'f x' * 7000 + '\nmore: lines\n'
    assert text in cloud.plugin('nova').build_userdata({}, text, user_data_format='SOFTWARE_CONFIG')


def test_json_of_great_depth_is_user_data_like_any_text(cloud: Cloud):
    assert '[[[' in cloud.plugin('nova').build_userdata({}, '[' * 50_000, user_data_format='SOFTWARE_CONFIG')


def test_cfn_user_data(cloud: Cloud):
    text = cloud.plugin('nova').build_userdata({'a': 1}, '#!/bin/sh\necho hi\n', user_data_format='SOFTWARE_CONFIG')
    message = email.message_from_string(text)
    parts = {part.get_filename(): part for part in message.get_payload()}
    assert list(parts)[:3] == [None, 'boothook.sh', 'part-handler.py'] or set(parts) >= {
        'boothook.sh', 'part-handler.py', 'cfn-init-data'}
    assert json.loads(parts['cfn-init-data'].get_payload()) == {'a': 1}
    ignition = json.loads(cloud.plugin('nova').build_userdata(
        {'a': 1}, json.dumps({'ignition': {'version': '3.0.0'}}), user_data_format='SOFTWARE_CONFIG'))
    stored = ignition['storage']['files'][0]['contents']['source'].partition('base64,')[2]
    assert json.loads(base64.b64decode(stored)) == {'a': 1}


def test_an_image_that_is_gone_is_no_drift(cloud: Cloud):
    """Images are rotated: servers that were made of them stay."""
    glance = cloud.client('glance')
    image = glance.images.create(name='old', disk_format='raw', container_format='bare')
    glance.http.put(f'/images/{image.id}/file', data=b'x', headers={'Content-Type': 'application/octet-stream'})
    wanted = {**PLAIN, 'image': 'old', 'metadata': {'a': 'b'}}
    life = server(cloud, **wanted)
    life.create()
    glance.images.delete(image.id)
    life.runtime.sleep(caching.ONE_WORK + 1)
    assert life.drift(wanted) == {}
    cloud.plugin('nova').meta_update(shown(cloud, life), {'a': 'c'})
    assert life.drift(wanted) == {'metadata': {'a': 'b'}}
    life.delete()


def test_a_flavor_that_is_gone_is_no_drift(cloud: Cloud, simulator: str):
    """A retired flavor stays that of its servers, which may still be resized to another one."""
    flavors = Cloud(simulator, 'admin').client('nova').flavors
    flavor = flavors.create('retired', 512, 1, 1)
    life = server(cloud, flavor='retired')
    life.create()
    flavors.delete(flavor.id)
    life.runtime.sleep(caching.ONE_WORK + 1)
    assert life.drift({**PLAIN, 'flavor': 'retired'}) == {}
    assert set(life.drift({**PLAIN, 'flavor': 'm1.small'})) == {'flavor'}
    life.delete()


def test_metadata_with_maps_and_lists_is_no_drift(cloud: Cloud):
    wanted = {**PLAIN, 'metadata': {'a': {'b': 1}, 'rooms': [1, 2]}}
    life = server(cloud, **wanted)
    life.create()
    assert life.drift(wanted) == {}
    life.delete()
