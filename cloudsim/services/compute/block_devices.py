"""The disks of servers: volumes they boot from, volumes attached later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, Conflict
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.compute.servers import Servers


def said(given: dict[str, Any]) -> list[dict[str, Any]]:
    """All devices of a request in the form of version 2; the old form names a volume or snapshot by its position."""
    found = list(given.get('block_device_mapping_v2') or ())
    for each in given.get('block_device_mapping') or ():
        kind = 'snapshot' if each.get('snapshot_id') else 'volume'
        found.append({'source_type': kind, 'destination_type': 'volume', 'device_name': each.get('device_name'),
                      'uuid': each.get('volume_id') or each.get('snapshot_id'), 'volume_size': each.get('volume_size'),
                      'delete_on_termination': each.get('delete_on_termination'), 'boot_index': 0})
    return found


def check(servers: Servers, call: Call, given: dict[str, Any], image: Thing | None) -> None:
    """What the API refuses at once. Raises Problem."""
    volumes = servers.cloud.table('volume.volumes')
    if given.get('block_device_mapping_v2') and not any(
            str(each.get('boot_index')) == '0' for each in given['block_device_mapping_v2']):
        raise BadRequest('Block Device Mapping is Invalid: Boot sequence for the instance and image/block device '
                         'mapping combination is not valid.')
    for each in said(given):
        source, id = each.get('source_type'), each.get('uuid')
        if source == 'volume':
            volume = volumes.get(str(id))
            if volume is None:
                raise BadRequest(f'Block Device Mapping is Invalid: failed to get volume {id}.')
            if volume['status'] not in ('available', 'reserved'):
                raise BadRequest(f'Block Device Mapping is Invalid: volume {id} is not available, status '
                                 f'{volume["status"]}.')
        elif source == 'image' and servers.cloud.thing('image.images', id) is None:
            raise BadRequest(f'Block Device Mapping is Invalid: failed to get image {id}.')
        elif source == 'snapshot' and servers.cloud.thing('volume.snapshots', id) is None:
            raise BadRequest(f'Block Device Mapping is Invalid: failed to get snapshot {id}.')
        elif source == 'image' and each.get('destination_type') == 'volume' and not each.get('volume_size'):
            raise BadRequest('Block Device Mapping is Invalid: Images with destination_type \'volume\' need to have a '
                             'non-zero size specified')


def attach(servers: Servers, call: Call, server: Thing, given: dict[str, Any]) -> None:
    """Makes or takes the volumes while the server builds."""
    volumes = servers.cloud.service('volume').collection('volumes')
    for each in said(given):
        if each.get('destination_type') == 'local' or (each.get('source_type') == 'blank' \
                and each.get('destination_type') != 'volume'):
            continue
        if each['source_type'] == 'volume':
            volume = volumes.table.get(each['uuid'])
            if volume is None:
                raise Conflict(f'Volume {each["uuid"]} is gone.')
        else:
            request: dict[str, Any] = {'size': each.get('volume_size') or 1, 'name': '', 'metadata': {}}
            if each['source_type'] in ('image', 'snapshot'):
                request['imageRef' if each['source_type'] == 'image' else 'snapshot_id'] = each['uuid']
            if each.get('volume_type'):
                request['volume_type'] = each['volume_type']
            asking = servers.cloud.nobody(volumes.service, call)
            asking.identity = call.identity
            asking.project_id = server.project_id
            volume = volumes.make(asking, request)
        volumes.attach(volume, server.id, device(server, each.get('device_name')))
        remember(server, volume.id, bool(each.get('delete_on_termination')), each.get('tag'))


def remember(server: Thing, volume_id: str, goes_with_it: bool, tag: str | None) -> None:
    server.hidden.setdefault('volumes', {})[volume_id] = {'delete_on_termination': goes_with_it, 'tag': tag}


def device(server: Thing, wanted: str | None = None) -> str:
    """The next free name of a disk."""
    return wanted or f'/dev/vd{chr(ord("a") + (1 if server["image"] else 0) + len(server.hidden.get("volumes", {})))}'


def detach_all(servers: Servers, server: Thing) -> None:
    volumes = servers.cloud.service('volume').collection('volumes')
    for id, how in server.hidden.get('volumes', {}).items():
        volume = volumes.table.get(id)
        if volume is not None:
            volumes.detach(volume, server.id)
            if how['delete_on_termination']:
                volumes.drop(volume)


def attached(servers: Servers, call: Call, server: Thing) -> list[dict[str, Any]]:
    return [{'id': id, **({'delete_on_termination': how['delete_on_termination']} if call.version >= (2, 3) else {})}
            for id, how in server.hidden.get('volumes', {}).items()]
