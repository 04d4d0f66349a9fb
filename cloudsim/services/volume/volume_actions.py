"""POST .../action on volumes, snapshots and backups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, Forbidden, NotFound
from cloudsim.service import Route
from cloudsim.services.volume.volumes import Volumes
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.volume import VolumeService


def need(volume: Thing, what: str, *states: str) -> None:
    if volume['status'] not in states:
        raise BadRequest(f'Invalid volume: Volume {volume.id} status must be {" or ".join(states)} to {what}, but '
                         f'current status is {volume["status"]}.')


def extend(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    size, before = int(said.get('new_size') or 0), volume['status']
    need(volume, 'extend', *(('available', 'in-use') if call.version >= (3, 42) else ('available',)))
    if size <= volume['size']:
        raise BadRequest(f'Invalid input received: New size for extend must be greater than current size. (current: '
                         f'{volume["size"]}, extended: {size}).')
    volumes.charge(volume.project_id, size - volume['size'])
    volumes.table.change(volume, status='extending')
    volumes.finish(call, volume, 'error_extending', lambda: volumes.table.change(volume, size=size, status=before))
    return 202


def retype(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    need(volume, 'retype', 'available', 'in-use')
    kind = volumes.service.collection('types').named(said.get('new_type'))
    if kind.id == volume['volume_type_id']:
        raise BadRequest('Invalid volume: New volume_type same as original.')
    before = volume['status']
    volumes.table.change(volume, status='retyping')
    volumes.finish(call, volume, before, lambda: volumes.table.change(
        volume, status=before, volume_type=kind['name'], volume_type_id=kind.id))
    return 202


def reserve(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    need(volume, 'reserve', 'available')
    volumes.table.change(volume, status='attaching')
    return 202


def unreserve(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    if volume['status'] == 'attaching':
        volumes.table.change(volume, status='in-use' if volume['attachments'] else 'available')
    return 202


def attach(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    need(volume, 'attach', 'available', 'attaching')
    volumes.attach(volume, said.get('instance_uuid'), said.get('mountpoint') or '/dev/vdb')
    mode = said.get('mode') or 'rw'
    volumes.table.change(volume, metadata={
        'readonly': str(mode == 'ro'), **volume['metadata'], 'attached_mode': mode})
    return 202


def detach(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    volumes.detach(volume, None, said.get('attachment_id'))
    return 202


def begin_detaching(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    need(volume, 'detach', 'in-use')
    volumes.table.change(volume, status='detaching')
    return 202


def roll_detaching(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    if volume['status'] == 'detaching':
        volumes.table.change(volume, status='in-use')
    return 202


def readonly(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    volumes.table.change(volume, metadata={**volume['metadata'], 'readonly': str(bool(said.get('readonly')))})
    return 202


def bootable(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    volume.hidden['bootable'] = str(said.get('bootable')).lower() == 'true'
    volumes.table.change(volume, bootable=str(volume.hidden['bootable']).lower())
    return 200


def reset_status(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    if not call.is_admin:
        raise Forbidden
    volume.task += 1
    volumes.table.change(volume, status=said['status'])
    return 202


def force_delete(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    if not call.is_admin:
        raise Forbidden
    volumes.drop(volume)
    return 202


def set_image_metadata(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    now = volume.data.setdefault('volume_image_metadata', {})
    now.update(said.get('metadata') or {})
    return 200, {'metadata': now}


def unset_image_metadata(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    if said.get('key') not in volume.data.get('volume_image_metadata', {}):
        raise NotFound('Image metadata', str(said.get('key')))
    del volume.data['volume_image_metadata'][said['key']]
    return 200


def show_image_metadata(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    return 200, {'metadata': volume.data.get('volume_image_metadata', {})}


def revert(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    need(volume, 'revert', 'available')
    volumes.service.collection('snapshots').get(call, said.get('snapshot_id'))
    volumes.table.change(volume, status='reverting')
    volumes.finish(call, volume, 'error', lambda: volumes.table.change(volume, status='available'))
    return 202


def upload(volumes: Volumes, call: Call, volume: Thing, said: Any) -> Any:
    need(volume, 'upload', 'available', 'in-use')
    images = volumes.cloud.service('image').collection('images')
    image = images.of_volume(call, volume, said)
    return 202, {'os-volume_upload_image': {
        'id': volume.id, 'image_id': image.id, 'image_name': image['name'], 'status': 'uploading',
        'size': volume['size'], 'disk_format': image['disk_format'], 'container_format': image['container_format'],
        'display_description': volume['description'], 'updated_at': volume['updated_at'], 'volume_type': None}}


ACTIONS: dict[str, Callable[[Any, Call, Thing, Any], Any]] = {
    'os-extend': extend, 'os-retype': retype, 'os-reserve': reserve, 'os-unreserve': unreserve, 'os-attach': attach,
    'os-detach': detach, 'os-begin_detaching': begin_detaching, 'os-roll_detaching': roll_detaching,
    'os-update_readonly_flag': readonly, 'os-set_bootable': bootable, 'os-reset_status': reset_status,
    'os-force_delete': force_delete, 'os-set_image_metadata': set_image_metadata,
    'os-unset_image_metadata': unset_image_metadata, 'os-show_image_metadata': show_image_metadata, 'revert': revert,
    'os-volume_upload_image': upload}


def routes(service: VolumeService) -> Iterable[Route]:
    def acting(kind: str, known: tuple[str, ...]) -> Callable[[Call, str], Any]:
        collection = service.collection(kind)

        def act(call: Call, id: str) -> Any:
            thing = collection.get(call, id)
            name, said = next(iter(call.json.items()), ('', None))
            if name not in known:
                raise BadRequest(f'There is no such action: {name}')
            return ACTIONS[name](collection, call, thing, said or {})

        return act

    yield 'POST', '/v3/volumes/{id}/action', acting('volumes', tuple(ACTIONS))
    for kind in ('snapshots', 'backups'):
        yield 'POST', f'/v3/{kind}/{{id}}/action', acting(kind, ('os-reset_status', 'os-force_delete'))
