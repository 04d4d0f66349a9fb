"""OS::Cinder::Volume and its attachments in the simulated cloud."""

from __future__ import annotations

import pytest
from keystoneauth1 import exceptions

from heatlite.common import exception
from tests.plugins.openstack.cloud import Cloud, Life

VOLUME, ATTACHMENT, VOLUMES = 'OS::Cinder::Volume', 'OS::Cinder::VolumeAttachment', 'volume.volumes'


@pytest.fixture(autouse=True)
def nothing_is_left(cloud: Cloud):
    before = cloud.count(VOLUMES)
    yield
    cloud.advance(10)
    assert cloud.count(VOLUMES) == before


@pytest.fixture
def server(cloud: Cloud):
    life = Life(cloud, 'OS::Nova::Server', {'image': 'cirros', 'flavor': 'm1.tiny', 'user_data_format': 'RAW',
                                            'networks': [{'network': 'private'}]}, name='host')
    yield life.create().resource_id
    life.delete()


def shown(cloud: Cloud, life: Life):
    return cloud.client('cinder').volumes.get(life.physical_id)


def test_life(cloud: Cloud):
    life = Life(cloud, VOLUME, {'size': 1, 'metadata': {'a': 'b'}, 'description': 'disk'})
    life.validate()
    made = life.create()
    found = shown(cloud, life)
    assert (found.name, found.size, found.status) == (made.physical_resource_name(), 1, 'available')
    assert life.attribute('metadata_values') == {'a': 'b'} and life.attribute('metadata') == '{"a": "b"}'
    assert life.attribute('display_description') == 'disk' and life.attribute('size') == '1'
    made.handle_check()
    life.delete()


def test_an_update_that_changes_nothing_writes_nothing(cloud: Cloud):
    life = Life(cloud, VOLUME, {'size': 1, 'name': 'disk'})
    life.create()
    assert life.writes_of(life.update, {'size': 1, 'name': 'disk'}) == []
    life.delete()


def test_update_in_place(cloud: Cloud):
    life = Life(cloud, VOLUME, {'size': 1})
    life.create()
    life.update({'size': 3, 'name': 'disk', 'metadata': {'x': 'y'}})
    found = shown(cloud, life)
    assert (found.size, found.name, found.metadata) == (3, 'disk', {'x': 'y'})
    with pytest.raises(exception.NotSupported):
        life.update({'size': 2, 'name': 'disk'})
    life.delete()


def test_a_lost_reply_makes_no_second_volume(cloud: Cloud):
    before = cloud.count(VOLUMES)
    cloud.fault(kind='lost', service='volume', method='POST', path='*/volumes')
    life = Life(cloud, VOLUME, {'size': 1})
    life.create()
    assert cloud.count(VOLUMES) == before + 1
    life.delete()


def test_gone_already(cloud: Cloud):
    life = Life(cloud, VOLUME, {'size': 1})
    made = life.create()
    cloud.client('cinder').volumes.delete(made.resource_id)
    cloud.advance(5)
    assert life.writes_of(life.delete) == []


def test_attached_and_detached(cloud: Cloud, server: str):
    disk = Life(cloud, VOLUME, {'size': 1}, name='disk')
    volume = disk.create().resource_id
    life = Life(cloud, ATTACHMENT, {'instance_uuid': server, 'volume_id': volume, 'mountpoint': '/dev/vdc'})
    life.validate()
    made = life.create()
    assert shown(cloud, disk).status == 'in-use'
    assert made.find_existing() == made.resource_id
    life.delete()
    assert shown(cloud, disk).status == 'available'
    disk.delete()


def test_an_attachment_moves(cloud: Cloud, server: str):
    first, second = Life(cloud, VOLUME, {'size': 1}, name='a'), Life(cloud, VOLUME, {'size': 1}, name='b')
    ids = [first.create().resource_id, second.create().resource_id]
    life = Life(cloud, ATTACHMENT, {'instance_uuid': server, 'volume_id': ids[0]})
    life.create()
    life.update({'instance_uuid': server, 'volume_id': ids[1]})
    assert [shown(cloud, first).status, shown(cloud, second).status] == ['available', 'in-use']
    life.delete()
    first.delete()
    second.delete()


def test_an_attached_volume_is_taken_out_to_grow(cloud: Cloud, server: str):
    disk = Life(cloud, VOLUME, {'size': 1}, name='disk')
    volume = disk.create().resource_id
    life = Life(cloud, ATTACHMENT, {'instance_uuid': server, 'volume_id': volume})
    life.create()
    disk.update({'size': 2})
    assert shown(cloud, disk).status == 'in-use' and shown(cloud, disk).size == 2
    life.delete()
    disk.delete()


def test_deletion_policy_snapshot_leaves_a_backup(cloud: Cloud):
    before = cloud.ids()['volume.backups']
    life = Life(cloud, VOLUME, {'size': 1}, deletion_policy='Snapshot')
    life.create()
    life.delete()
    made = cloud.ids()['volume.backups'] - before
    assert len(made) == 1
    backup, = made
    cloud.client('cinder').backups.delete(backup)


def test_deletion_policy_snapshot_of_a_volume_that_is_gone(cloud: Cloud):
    backups = cloud.ids()['volume.backups']
    life = Life(cloud, VOLUME, {'size': 1}, deletion_policy='Snapshot')
    made = life.create()
    cloud.client('cinder').volumes.delete(made.resource_id)
    cloud.advance(5)
    life.delete()
    assert cloud.ids()['volume.backups'] == backups
    assert made.resource_id not in cloud.ids()['volume.volumes']


def test_a_volume_that_cannot_be_saved_is_not_deleted(cloud: Cloud):
    """A cloud without the API of backups."""
    life = Life(cloud, VOLUME, {'size': 1}, deletion_policy='Snapshot')
    life.create()
    cloud.fault(kind='error', status=404, service='volume', method='POST', path='*/backups')
    with pytest.raises(exceptions.NotFound):
        life.delete()
    assert shown(cloud, life).status == 'available'
    cloud.client('cinder').volumes.delete(life.physical_id)


@pytest.mark.parametrize('properties', [{}, {'image': 'cirros', 'snapshot_id': 'x', 'size': 1}])
def test_refused(cloud: Cloud, properties):
    with pytest.raises(exception.HeatException):
        Life(cloud, VOLUME, properties).validate()


@pytest.mark.parametrize('metadata', [None, {'a': 'b'}])
@pytest.mark.parametrize('read_only', [None, False])
def test_metadata_of_the_service_itself_are_no_drift(cloud: Cloud, metadata, read_only):
    given = {'metadata': metadata, 'read_only': read_only}
    wanted = {'size': 1, **{name: value for name, value in given.items() if value is not None}}
    life = Life(cloud, 'OS::Cinder::Volume', wanted)
    made, volumes = life.create(), cloud.client('cinder').volumes
    volumes.action(made.resource_id, 'os-attach', {'instance_uuid': 'a', 'mountpoint': '/dev/vdb'})
    shown = volumes.get(made.resource_id).metadata
    assert {'readonly', 'attached_mode'} <= set(shown)
    assert life.drift(wanted) == {}
    if metadata is None:
        volumes.set_metadata(made.resource_id, {'owner': 'me'})
        assert life.drift(wanted) == {}
    volumes.action(made.resource_id, 'os-detach', {})
    life.delete()


def test_drift(cloud: Cloud):
    wanted = {'size': 1, 'name': 'disk', 'metadata': {'a': 'b'}}
    life = Life(cloud, VOLUME, wanted)
    made = life.create()
    assert life.drift(wanted) == {}
    cloud.client('cinder').volumes.update(made.resource_id, name='other')
    assert life.drift(wanted) == {'name': 'disk'}
    life.delete()


@pytest.fixture
def slow(cloud: Cloud):
    """Changes of state take 5 seconds."""
    usual = cloud._sim('GET', 'settings')['work']
    cloud._sim('PUT', 'settings', json={'work': 5.0})
    yield
    cloud._sim('PUT', 'settings', json={'work': usual})


@pytest.mark.parametrize('kind', ['volume_snapshots', 'backups', 'volumes'])
def test_a_delete_whose_answer_is_lost_is_sent_again(cloud: Cloud, slow: None, kind: str):
    """The service refuses the second request, because it still works on the first."""
    disk = Life(cloud, VOLUME, {'size': 1})
    collection = getattr(cloud.client('cinder'), kind)
    disk.create()
    thing = disk.physical_id if kind == 'volumes' else collection.create(volume_id=disk.physical_id).id
    cloud.advance(10)
    cloud.fault(kind='lost', service='volume', method='DELETE', path='*')
    cloud.forget_requests()
    collection.delete(thing)
    assert [status for _service, method, _path, status in cloud.requests() if method == 'DELETE'] == [0, 400]
    cloud.advance(10)
    with pytest.raises(exceptions.NotFound):
        collection.get(thing)
    disk.delete()


def test_a_volume_with_snapshots_of_its_user_is_not_deleted(cloud: Cloud):
    disk = Life(cloud, VOLUME, {'size': 1})
    disk.create()
    snapshots = cloud.client('cinder').volume_snapshots
    made = snapshots.create(volume_id=disk.physical_id)
    cloud.advance(10)
    with pytest.raises(exceptions.BadRequest):
        disk.delete()
    assert snapshots.get(made.id).status == 'available'
    snapshots.delete(made.id)
    cloud.advance(10)
    disk.delete()


def test_a_volume_is_deleted_when_its_work_is_done(cloud: Cloud, slow: None):
    disk = Life(cloud, VOLUME, {'size': 1})
    disk.create()
    cloud.client('cinder').backups.create(disk.physical_id)
    assert shown(cloud, disk).status == 'backing-up'
    cloud.forget_requests()
    disk.delete()
    assert [status for _service, method, _path, status in cloud.requests() if method == 'DELETE'] == [202]
    backups = cloud.client('cinder').backups
    for each in backups.list():
        backups.delete(each.id)
    cloud.advance(10)


def test_a_volume_goes_back_into_its_server_when_a_change_is_refused(cloud: Cloud, server: str):
    disk = Life(cloud, VOLUME, {'size': 1}, name='disk')
    volume = disk.create().resource_id
    life = Life(cloud, ATTACHMENT, {'instance_uuid': server, 'volume_id': volume})
    life.create()
    cloud.fault(kind='error', status=413, service='volume', method='POST', path='*/action')
    with pytest.raises(exception.HeatException):
        disk.update({'size': 2})
    cloud.clear_faults()
    assert (shown(cloud, disk).status, shown(cloud, disk).size) == ('in-use', 1)
    disk.update({'size': 2})
    assert (shown(cloud, disk).status, shown(cloud, disk).size) == ('in-use', 2)
    life.delete()
    disk.delete()


def test_the_id_of_a_type_of_volumes_is_as_good_as_its_name(cloud: Cloud):
    kind = cloud.client('cinder').volume_types.list()[0]
    disk = Life(cloud, VOLUME, {'size': 1, 'volume_type': kind.id})
    disk.create()
    assert disk.drift({'size': 1, 'volume_type': kind.id}) == {}
    disk.update({'size': 1, 'volume_type': kind.name})
    disk.delete()
