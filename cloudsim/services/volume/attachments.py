"""The newer way to attach (since 3.27): an attachment is a thing of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call
from cloudsim.service import Route
from cloudsim.services.volume.volumes import LinkedCollection
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.volume import VolumeService


class Attachments(LinkedCollection):
    service: VolumeService
    SHORT = ('id', 'volume_id', 'instance', 'status')

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        volume = self.service.collection('volumes').get(call, str(given.get('volume_uuid')))
        if volume['status'] not in ('available', 'reserved') and not volume['multiattach']:
            raise BadRequest(f'Invalid volume: Volume {volume.id} status must be available or downloading')
        data = thing.data
        data.update(volume_id=volume.id, instance=given.get('instance_uuid'), attach_mode=given.get('mode') or 'rw')
        for name in ('volume_uuid', 'instance_uuid', 'connector', 'mode'):
            data.pop(name, None)
        self.service.collection('volumes').table.change(volume, status='reserved')

    def complete(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        volumes = self.service.collection('volumes')
        self.table.change(thing, status='attached', attached_at=self.cloud.clock.stamp(self.kind.stamp_form))
        volumes.attach(volumes.table.get(thing['volume_id']), thing['instance'], '/dev/vdb', id=thing.id)
        return 204

    def left(self, thing: Thing) -> None:
        volumes = self.service.collection('volumes')
        volume = volumes.table.get(thing['volume_id'])
        if volume is not None:
            volumes.detach(volume, None, thing.id)

    def do_delete(self, call: Call, *ids: str) -> Any:
        self.discard(call, self.get(call, ids[-1]))
        return 200, {'attachments': []}


def routes(service: VolumeService) -> Iterable[Route]:
    def complete(call: Call, id: str) -> Any:
        if 'os-complete' not in call.json:
            raise BadRequest('There is no such action.')
        return service.collection('attachments').complete(call, id)

    yield 'POST', '/v3/attachments/{id}/action', complete
