"""Cinder: volumes and their copies, types and what hangs on them."""

import pytest


@pytest.fixture
def disk(sim, volume, make):
    """The id of an available volume of 2 GiB."""
    made = make(volume, '/volumes', 'volume', size=2, name='disk')
    assert made['status'] == 'creating'
    sim.advance()
    return made['id']


def state(volume, id, kind='volumes'):
    return volume.get(f'/{kind}/{id}').json()[kind[:-1]]['status']


def test_a_volume_becomes_available_and_goes(sim, volume, disk):
    assert state(volume, disk) == 'available'
    assert volume.delete(f'/volumes/{disk}').status_code == 202
    assert state(volume, disk) == 'deleting'
    sim.advance()
    assert volume.get(f'/volumes/{disk}').status_code == 404


@pytest.mark.parametrize('wrong, code', [({'size': 0}, 400), ({'size': 'x'}, 400), ({}, 400), (
    {'size': 1, 'snapshot_id': 'nowhere'}, 404), ({'size': 1, 'imageRef': 'nowhere'}, 400), (
    {'size': 1, 'volume_type': 'nowhere'}, 404)])
def test_what_is_wrong_is_refused(sim, volume, wrong, code):
    assert volume.post('/volumes', json={'volume': wrong}).status_code == code
    assert sim.ids('volume.volumes') == []


def test_extend_retype_readonly(sim, volume, disk, make):
    def act(**action):
        return volume.post(f'/volumes/{disk}/action', json=action).status_code

    assert act(**{'os-extend': {'new_size': 2}}) == 400
    assert act(**{'os-extend': {'new_size': 3}}) == 202
    assert state(volume, disk) == 'extending'
    sim.advance()
    assert volume.get(f'/volumes/{disk}').json()['volume']['size'] == 3
    make(sim.service('block-storage', 'admin'), '/types', 'volume_type', name='fast')
    assert act(**{'os-retype': {'new_type': 'fast', 'migration_policy': 'never'}}) == 202
    sim.advance()
    assert volume.get(f'/volumes/{disk}').json()['volume']['volume_type'] == 'fast'
    assert act(**{'os-update_readonly_flag': {'readonly': True}}) == 202
    assert volume.get(f'/volumes/{disk}/metadata').json()['metadata'] == {'readonly': 'True'}


def test_snapshots_hold_their_volume(sim, volume, disk, make):
    made = make(volume, '/snapshots', 'snapshot', volume_id=disk)
    sim.advance()
    assert state(volume, made['id'], 'snapshots') == 'available'
    assert volume.delete(f'/volumes/{disk}').status_code == 400
    copy = make(volume, '/volumes', 'volume', snapshot_id=made['id'])
    assert copy['size'] == 2
    volume.delete(f'/snapshots/{made["id"]}')
    sim.advance()
    assert volume.delete(f'/volumes/{disk}').status_code == 202


def test_backups_are_restored(sim, volume, disk, make):
    made = make(volume, '/backups', 'backup', volume_id=disk)
    assert (state(volume, disk), state(volume, made['id'], 'backups')) == ('backing-up', 'creating')
    sim.advance()
    assert (state(volume, disk), state(volume, made['id'], 'backups')) == ('available', 'available')
    answer = volume.post(f'/backups/{made["id"]}/restore', json={'restore': {'volume_id': disk}})
    assert answer.json()['restore']['volume_id'] == disk
    assert state(volume, disk) == 'restoring-backup'
    sim.advance()
    assert state(volume, disk) == 'available'


def test_paths_with_and_without_the_project(sim, disk):
    own = sim.session()
    answer = own.get(f'{sim.url}/volume/v3/volumes/{disk}')
    assert answer.json()['volume']['id'] == disk
    assert own.get(f'{sim.url}/volume/v3/{own.get_project_id()}/volumes').json()['volumes'][0]['id'] == disk


def test_types_and_what_hangs_on_them(sim, volume, make):
    admin = sim.service('block-storage', 'admin')
    kind = make(admin, '/types', 'volume_type', name='secret', **{'os-volume-type-access:is_public': False})['id']
    assert volume.get(f'/types/{kind}').status_code == 404
    access = {'addProjectAccess': {'project': sim.session().get_project_id()}}
    assert admin.post(f'/types/{kind}/action', json=access).status_code == 202
    assert volume.get(f'/types/{kind}').json()['volume_type']['name'] == 'secret'
    admin.post(f'/types/{kind}/extra_specs', json={'extra_specs': {'a': 'b'}})
    assert admin.delete(f'/types/{kind}/extra_specs/a').status_code == 202
    made = make(admin, f'/types/{kind}/encryption', 'encryption', provider='luks', control_location='front-end')
    assert admin.get(f'/types/{kind}/encryption').json()['encryption_id'] == made['encryption_id']
    specs = make(admin, '/qos-specs', 'qos_specs', name='q', consumer='both', iops='10')
    assert specs['specs'] == {'iops': '10'}
    assert admin.get(f'/qos-specs/{specs["id"]}/associate?vol_type_id={kind}').status_code == 202
    assert admin.delete(f'/qos-specs/{specs["id"]}').status_code == 400
    assert admin.get(f'/qos-specs/{specs["id"]}/disassociate_all').status_code == 202
    assert admin.delete(f'/qos-specs/{specs["id"]}').status_code == 202
    assert volume.post('/types', json={'volume_type': {'name': 'x'}}).status_code == 403


def test_quota(sim, volume):
    project = sim.session().get_project_id()
    admin = sim.service('block-storage', 'admin')
    admin.put(f'/os-quota-sets/{project}', json={'quota_set': {'gigabytes': 3}})
    codes = [volume.post('/volumes', json={'volume': {'size': 2}}).status_code for _ in range(2)]
    assert codes == [202, 413]
    used = admin.get(f'/os-quota-sets/{project}?usage=True').json()['quota_set']['gigabytes']
    assert used == {'limit': 3, 'in_use': 2, 'reserved': 0}
