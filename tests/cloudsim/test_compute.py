"""Nova: the life of a server, and what belongs to it."""

import pytest


def show(compute, id):
    return compute.get(f'/servers/{id}').json()['server']


def test_a_server_builds_then_is_active_then_is_gone(sim, compute, server):
    id = server()
    assert show(compute, id)['status'] == 'BUILD'
    sim.advance()
    shown = show(compute, id)
    assert (shown['status'], shown['OS-EXT-STS:vm_state']) == ('ACTIVE', 'active')
    address, = shown['addresses']['private']
    assert address['addr'].startswith('10.0.')
    assert compute.delete(f'/servers/{id}').status_code == 204
    assert show(compute, id)['OS-EXT-STS:task_state'] == 'deleting'
    sim.advance()
    assert compute.get(f'/servers/{id}').status_code == 404
    assert not [each for each in sim.ids('network.ports') if each == address['OS-EXT-IPS-MAC:mac_addr']]


def test_ports_we_bring_stay_those_nova_made_go(sim, compute, network, server, seed, make):
    own = make(network, '/v2.0/ports', 'port', network_id=seed('network.networks', 'private'), name='own')
    before = set(sim.ids('network.ports'))
    id = server(networks=[{'port': own['id']}, {'uuid': seed('network.networks', 'private')}])
    sim.advance()
    shown = network.get(f'/v2.0/ports/{own["id"]}').json()['port']
    assert (shown['device_id'], shown['status']) == (id, 'ACTIVE')
    made, = set(sim.ids('network.ports')) - before
    compute.delete(f'/servers/{id}')
    sim.advance()
    assert set(sim.ids('network.ports')) == before
    assert made not in before
    assert network.get(f'/v2.0/ports/{own["id"]}').json()['port']['device_id'] == ''


def test_security_groups_are_those_of_the_ports_by_name(sim, compute, network, server, seed, make):
    group = make(network, '/v2.0/security-groups', 'security_group', name='web')['id']
    private = seed('network.networks', 'private')
    own = make(network, '/v2.0/ports', 'port', network_id=private, security_groups=[group])
    ids = server(security_groups=[{'name': group}]), server(networks=[{'port': own['id']}, {'uuid': private}])
    sim.advance()
    assert [show(compute, id)['security_groups'] for id in ids] == [
        [{'name': 'web'}], [{'name': 'web'}, {'name': 'default'}]]
    listed = compute.get(f'/servers/{ids[0]}/os-security-groups').json()['security_groups']
    assert [each['id'] for each in listed] == [group]


@pytest.mark.parametrize('wrong', [
    {'imageRef': 'nowhere'}, {'flavorRef': 'nowhere'}, {'networks': [{'uuid': 'nowhere'}]}, {'name': ''},
    {'networks': [{'port': 'nowhere'}]}, {'key_name': 'nowhere'}, {'availability_zone': 'nowhere'},
    {'security_groups': [{'name': 'nowhere'}]},
    {'block_device_mapping_v2': [{'source_type': 'volume', 'uuid': 'nowhere', 'boot_index': 1}]}])
def test_what_is_wrong_is_refused_and_leaves_nothing(sim, compute, seed, wrong):
    answer = compute.post('/servers', json={'server': {
        'name': 'one', 'imageRef': seed('image.images', 'cirros'), 'flavorRef': seed('compute.flavors', 'm1.tiny'),
        'networks': [{'uuid': seed('network.networks', 'private')}], **wrong}})
    assert answer.status_code == 400
    assert answer.json()['badRequest']['message']
    assert sim.ids('compute.servers') == []


@pytest.mark.parametrize('action, status', [
    ('os-stop', 'SHUTOFF'), ('suspend', 'SUSPENDED'), ('pause', 'PAUSED'), ('shelve', 'SHELVED_OFFLOADED')])
def test_actions_take_time_and_forbid_others_meanwhile(sim, compute, server, action, status):
    id = server()
    assert compute.post(f'/servers/{id}/action', json={action: None}).status_code == 409
    sim.advance()
    assert compute.post(f'/servers/{id}/action', json={action: None}).status_code == 202
    assert compute.post(f'/servers/{id}/action', json={action: None}).status_code == 409
    sim.advance()
    assert show(compute, id)['status'] == status


def test_resize_is_confirmed_or_reverted(sim, compute, server, seed):
    id, small = server(), seed('compute.flavors', 'm1.small')
    sim.advance()
    for end, flavor in (({'revertResize': None}, 'm1.tiny'), ({'confirmResize': None}, 'm1.small')):
        assert compute.post(f'/servers/{id}/action', json={'resize': {'flavorRef': small}}).status_code == 202
        assert show(compute, id)['status'] == 'RESIZE'
        sim.advance()
        assert show(compute, id)['status'] == 'VERIFY_RESIZE'
        compute.post(f'/servers/{id}/action', json=end)
        sim.advance()
        assert show(compute, id)['status'] == 'ACTIVE'
        assert show(compute, id)['flavor']['original_name'] == flavor


def test_rebuild_and_snapshot(sim, compute, server, seed):
    id = server()
    sim.advance()
    answer = compute.post(f'/servers/{id}/action', json={'rebuild': {
        'imageRef': seed('image.images', 'cirros'), 'name': 'again'}})
    assert (answer.status_code, answer.json()['server']['status']) == (202, 'REBUILD')
    sim.advance()
    assert (show(compute, id)['status'], show(compute, id)['name']) == ('ACTIVE', 'again')
    image = compute.post(f'/servers/{id}/action', json={'createImage': {'name': 'shot'}}).json()['image_id']
    images = sim.service('image')
    assert images.get(f'/v2/images/{image}').json()['status'] == 'queued'
    sim.advance()
    assert images.get(f'/v2/images/{image}').json()['status'] == 'active'


def test_microversions_change_answers(sim, server):
    id = server()
    old, new = (sim.service('compute', default_microversion=each) for each in ('2.1', '2.96'))
    assert 'links' in old.get(f'/servers/{id}').json()['server']['flavor']
    assert 'tags' not in old.get(f'/servers/{id}').json()['server']
    answer = new.get(f'/servers/{id}')
    assert answer.json()['server']['flavor']['original_name'] == 'm1.tiny'
    assert answer.headers['OpenStack-API-Version'] == 'compute 2.96'
    assert answer.headers['x-compute-request-id'].startswith('req-')
    assert sim.service('compute', default_microversion='2.999').get('/servers').status_code == 406


def test_volumes_are_attached_and_detached(sim, compute, volume, server, make):
    id = server()
    disk = make(volume, '/volumes', 'volume', size=1)['id']
    sim.advance()
    attached = make(compute, f'/servers/{id}/os-volume_attachments', 'volumeAttachment', volumeId=disk)
    assert (attached['id'], attached['device']) == (disk, '/dev/vdb')
    assert volume.get(f'/volumes/{disk}').json()['volume']['status'] == 'reserved'
    sim.advance()
    shown = volume.get(f'/volumes/{disk}').json()['volume']
    assert (shown['status'], shown['attachments'][0]['server_id']) == ('in-use', id)
    assert volume.delete(f'/volumes/{disk}').status_code == 400
    assert compute.delete(f'/servers/{id}/os-volume_attachments/{disk}').status_code == 202
    assert volume.get(f'/volumes/{disk}').json()['volume']['status'] == 'detaching'
    sim.advance()
    assert volume.get(f'/volumes/{disk}').json()['volume']['status'] == 'available'
    assert compute.get(f'/servers/{id}/os-volume_attachments/{disk}').status_code == 404


def test_servers_boot_from_volumes(sim, compute, volume, server, seed):
    id = server(imageRef='', block_device_mapping_v2=[{
        'source_type': 'image', 'destination_type': 'volume', 'uuid': seed('image.images', 'cirros'), 'volume_size': 2,
        'boot_index': 0, 'delete_on_termination': True}])
    sim.advance()
    disk, = sim.ids('volume.volumes')
    shown = volume.get(f'/volumes/{disk}').json()['volume']
    assert (shown['status'], shown['bootable'], shown['size']) == ('in-use', 'true', 2)
    assert show(compute, id)['image'] == ''
    compute.delete(f'/servers/{id}')
    sim.advance()
    assert sim.ids('volume.volumes') == []


def test_interfaces_come_and_go(sim, compute, server, seed):
    id = server()
    sim.advance()
    made = compute.post(f'/servers/{id}/os-interface', json={'interfaceAttachment': {
        'net_id': seed('network.networks', 'private')}}).json()['interfaceAttachment']
    assert len(compute.get(f'/servers/{id}/os-interface').json()['interfaceAttachments']) == 2
    assert compute.delete(f'/servers/{id}/os-interface/{made["port_id"]}').status_code == 202
    sim.advance()
    assert len(compute.get(f'/servers/{id}/os-interface').json()['interfaceAttachments']) == 1
    assert made['port_id'] not in sim.ids('network.ports')


def test_a_port_serves_one_server(compute, network, server, seed, make):
    port = make(network, '/v2.0/ports', 'port', network_id=seed('network.networks', 'private'))['id']
    server(networks=[{'port': port}])
    compute.get('/servers')                     # it builds
    again = compute.post('/servers', json={'server': {
        'name': 'two', 'imageRef': seed('image.images', 'cirros'), 'flavorRef': seed('compute.flavors', 'm1.tiny'),
        'networks': [{'port': port}]}})
    assert again.status_code == 409
    assert 'is still in use' in again.json()['conflictingRequest']['message']


def test_metadata_and_tags(compute, server):
    id = server(metadata={'a': '1'})
    compute.post(f'/servers/{id}/metadata', json={'metadata': {'b': '2'}})
    assert compute.get(f'/servers/{id}/metadata').json()['metadata'] == {'a': '1', 'b': '2'}
    compute.put(f'/servers/{id}/metadata', json={'metadata': {'c': '3'}})
    assert compute.get(f'/servers/{id}/metadata').json()['metadata'] == {'c': '3'}
    assert compute.delete(f'/servers/{id}/metadata/a').status_code == 404
    compute.put(f'/servers/{id}/tags', json={'tags': ['x', 'y']})
    assert show(compute, id)['tags'] == ['x', 'y']


def test_key_pairs(sim, compute, make):
    made = make(compute, '/os-keypairs', 'keypair', name='k')
    assert made['private_key'].startswith('-----BEGIN')
    assert 'private_key' not in compute.get('/os-keypairs/k').json()['keypair']
    assert compute.post('/os-keypairs', json={'keypair': {'name': 'k'}}).status_code == 409
    new = sim.service('compute', default_microversion='2.92')
    assert new.post('/os-keypairs', json={'keypair': {'name': 'l'}}).status_code == 400
    assert compute.delete('/os-keypairs/k').status_code == 204
    assert compute.delete('/os-keypairs/k').status_code == 404


def test_groups_flavors_aggregates(sim, seed):
    cloud = sim.connect('admin').compute
    group = cloud.create_server_group(name='g', policy='anti-affinity')
    assert group.policy == 'anti-affinity'
    flavor = cloud.create_flavor(name='f', ram=64, vcpus=1, disk=1, is_public=False)
    cloud.create_flavor_extra_specs(flavor, {'hw:x': 'y'})
    cloud.flavor_add_tenant_access(flavor, sim.session().get_project_id())
    assert sim.connect().compute.get_flavor(flavor.id).extra_specs == {'hw:x': 'y'}
    aggregate = cloud.create_aggregate(name='a', availability_zone='zone-2')
    cloud.add_host_to_aggregate(aggregate, 'compute-1')
    assert cloud.get_aggregate(aggregate.id).hosts == ['compute-1']
    assert {each.name for each in cloud.availability_zones()} == {'nova', 'zone-2'}


def test_quotas_are_kept(sim, compute, server, seed):
    project = sim.session().get_project_id()
    admin = sim.service('compute', 'admin')
    admin.put(f'/os-quota-sets/{project}', json={'quota_set': {'instances': 1}})
    server()
    answer = compute.post('/servers', json={'server': {
        'name': 'two', 'imageRef': seed('image.images', 'cirros'), 'flavorRef': seed('compute.flavors', 'm1.tiny'),
        'networks': 'none'}})
    assert answer.status_code == 403
    assert 'Quota exceeded' in answer.json()['forbidden']['message']
    admin.delete(f'/os-quota-sets/{project}')
    assert compute.get('/limits').json()['limits']['absolute']['maxTotalInstances'] == -1


def test_other_projects_see_nothing(sim, compute, server):
    id = server()
    other = sim.service('compute', 'admin')
    assert other.get('/servers').json()['servers'] == []
    assert [each['id'] for each in other.get('/servers?all_tenants=1').json()['servers']] == [id]
    demo = sim.session().get_project_id()
    assert sim.service('identity', 'admin').get(f'/v3/projects/{demo}').status_code == 200


def test_lists_have_pages_and_filters(compute, server):
    ids = [server(name=f's{at}') for at in range(5)]
    first = compute.get('/servers?limit=2').json()
    assert [each['id'] for each in first['servers']] == ids[:2]
    second = compute.get(first['servers_links'][0]['href']).json()
    assert [each['id'] for each in second['servers']] == ids[2:4]
    assert [each['id'] for each in compute.get('/servers/detail?name=s3').json()['servers']] == [ids[3]]
    assert compute.get('/servers/detail?status=ACTIVE').json()['servers'] == []


def test_faults_that_metadata_asks_for(sim, compute, server):
    id = server(metadata={'cloud_fault': 'spawn'})
    sim.advance()
    shown = show(compute, id)
    assert shown['status'] == 'ERROR'
    assert 'No valid host' in shown['fault']['message']
