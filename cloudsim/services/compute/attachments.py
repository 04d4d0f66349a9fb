"""Volumes attached to servers; both services keep a book of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, NotFound, Problem
from cloudsim.service import Route
from cloudsim.services.compute import block_devices
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.compute import ComputeService

ATTACHABLE = ('ACTIVE', 'PAUSED', 'SHUTOFF', 'SUSPENDED', 'VERIFY_RESIZE')


def routes(service: ComputeService) -> Iterable[Route]:
    servers, cloud = service.collection('servers'), service.cloud

    def volumes() -> Any:
        return cloud.service('volume').collection('volumes')

    def view(call: Call, server: Thing, id: str) -> dict[str, Any]:
        how = server.hidden['volumes'][id]
        shown = {'volumeId': id, 'serverId': server.id, 'device': how.get('device')}
        if call.version < (2, 89):
            shown['id'] = id
        else:
            shown['attachment_id'] = how.get('attachment_id')
            shown['bdm_uuid'] = how.get('attachment_id')
        if call.version >= (2, 70):
            shown['tag'] = how.get('tag')
        if call.version >= (2, 79):
            shown['delete_on_termination'] = how['delete_on_termination']
        return shown

    def everything(call: Call, id: str) -> Any:
        server = servers.get(call, id)
        return 200, {'volumeAttachments': [view(call, server, each) for each in server.hidden.get('volumes', {})]}

    def find(call: Call, id: str, volume_id: str) -> Thing:
        server: Thing = servers.get(call, id)
        if volume_id not in server.hidden.get('volumes', {}):
            raise NotFound('Volume attachment', volume_id)
        return server

    def one(call: Call, id: str, volume_id: str) -> Any:
        return 200, {'volumeAttachment': view(call, find(call, id, volume_id), volume_id)}

    def attach(call: Call, id: str) -> Any:
        server = servers.get(call, id)
        servers.need_state(server, 'attach_volume', ATTACHABLE)
        said = call.entity('volumeAttachment')
        volume = volumes().table.get(str(said.get('volumeId')))
        if volume is None or (volume.project_id != server.project_id and not call.is_admin):
            raise Problem(404, f'Volume {said.get("volumeId")} could not be found.')
        again = volume.id in server.hidden.get('volumes', {})
        if again or (volume['status'] != 'available' and not (volume['multiattach'] and volume['status'] == 'in-use')):
            raise BadRequest(f"Invalid volume: volume {volume.id} status must be available or downloading to reserve, "
                             f"but the current status is {volume['status']}.")
        name = block_devices.device(server, said.get('device'))
        block_devices.remember(server, volume.id, bool(said.get('delete_on_termination')), said.get('tag'))
        server.hidden['volumes'][volume.id].update(device=name, attachment_id=cloud.uuid())
        volumes().begin_attach(call, volume, server.id, name, lambda: server.hidden['volumes'].pop(volume.id, None))
        shown = view(call, server, volume.id)
        for name in ('attachment_id', 'bdm_uuid'):      # a fresh one is shown the old way in every version
            shown.pop(name, None)
        return 200, {'volumeAttachment': {**shown, 'id': volume.id}}

    def detach(call: Call, id: str, volume_id: str) -> Any:
        server = find(call, id, volume_id)
        servers.need_state(server, 'detach_volume', ATTACHABLE)
        volume = volumes().table.get(volume_id)
        if volume is not None and volume['status'] == 'detaching':
            raise BadRequest(f'Invalid volume: Invalid input received: Invalid volume: volume {volume_id} is already '
                             'detaching.')
        if volume is None:
            server.hidden['volumes'].pop(volume_id, None)
        else:
            volumes().begin_detach(call, volume, server.id, lambda: server.hidden['volumes'].pop(volume_id, None))
        return 202

    def change(call: Call, id: str, volume_id: str) -> Any:
        server = find(call, id, volume_id)
        said = call.entity('volumeAttachment')
        if 'delete_on_termination' in said:
            server.hidden['volumes'][volume_id]['delete_on_termination'] = said['delete_on_termination']
        return 202

    base = '/v2.1/servers/{id}/os-volume_attachments'
    yield 'GET', base, everything
    yield 'POST', base, attach
    yield 'GET', base + '/{volume}', one
    yield 'PUT', base + '/{volume}', change
    yield 'DELETE', base + '/{volume}', detach
