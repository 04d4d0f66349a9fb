"""Snapshots and backups of volumes, and backups restored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call
from cloudsim.service import Route
from cloudsim.services.volume.volumes import LinkedCollection
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.volume import VolumeService


class VolumeSnapshots(LinkedCollection):
    service: VolumeService
    SHORT = ('id', 'name', 'description', 'status', 'size', 'volume_id', 'created_at', 'updated_at', 'metadata')

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        volume = self.service.collection('volumes').table.get(data['volume_id'])
        forced = str(data.pop('force', False)).lower() == 'true' or call.version >= (3, 66)
        if volume['status'] not in (('available', 'in-use') if forced else ('available',)):
            raise BadRequest(f'Invalid volume: Volume {volume.id} status must be available, but current status is: '
                             f'{volume["status"]}.')
        data.update({'size': volume['size'], 'user_id': call.identity.user_id if call.identity else None,
                     'metadata': data['metadata'] or {},
                     'os-extended-snapshot-attributes:project_id': thing.project_id,
                     'os-extended-snapshot-attributes:progress': '100%'})
        thing.hidden['bootable'] = volume.hidden.get('bootable')

    def leaving(self, call: Call, thing: Thing) -> None:
        if thing['status'] not in ('available', 'error', 'error_deleting'):
            raise BadRequest('Invalid snapshot: Snapshot status must be available or error.')

    def do_create(self, call: Call, *parents: str) -> Any:
        status, answer = super().do_create(call, *parents)
        return status, {'snapshot': {name: value for name, value in answer['snapshot'].items() if ':' not in name}}


class Backups(LinkedCollection):
    service: VolumeService

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        volume = self.service.collection('volumes').table.get(data['volume_id'])
        forced = data.pop('force', False)
        incremental = bool(data.pop('incremental', False))
        allowed = ('available', 'in-use') if forced or data['snapshot_id'] else ('available',)
        if volume['status'] not in allowed:
            raise BadRequest(f'Invalid volume: Volume to be backed up must be {" or ".join(allowed)} but the current '
                             f'status is "{volume["status"]}".')
        if incremental and not self.table.find('volume_id', volume.id):
            raise BadRequest('Invalid backup: No backups available to do an incremental backup.')
        data.update(size=volume['size'], is_incremental=incremental, data_timestamp=self.cloud.clock.stamp(
            self.kind.stamp_form), container=data['container'] or 'volumebackups', object_count=1)
        thing.hidden.update(bootable=volume.hidden.get('bootable'), before=volume['status'], volume=volume)

    def started(self, call: Call, thing: Thing) -> None:
        # The volume shows that it is being read, until the backup is there.
        volume, before = thing.hidden.pop('volume'), thing.hidden.pop('before')
        if thing['status'] == 'creating' and not thing['snapshot_id']:
            volumes = self.service.collection('volumes')
            volumes.table.change(volume, status='backing-up')
            volumes.finish(self.cloud.nobody(self.service), volume, before,
                           lambda: volumes.table.change(volume, status=before))

    def do_create(self, call: Call, *parents: str) -> Any:
        thing = self.make(call, call.entity('backup'))
        return 202, {'backup': {'id': thing.id, 'name': thing['name'], 'links': self.links(thing)}}

    def leaving(self, call: Call, thing: Thing) -> None:
        if thing['status'] not in ('available', 'error'):
            raise BadRequest('Invalid backup: Backup status must be available or error.')

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {**thing.data, 'links': self.links(thing)}

    def restore(self, call: Call, id: str) -> Any:
        backup, said = self.get(call, id), call.json.get('restore') or {}
        if backup['status'] != 'available':
            raise BadRequest('Invalid backup: Backup status must be available.')
        volumes = self.service.collection('volumes')
        if said.get('volume_id'):
            volume = volumes.get(call, said['volume_id'])
            if volume['status'] != 'available':
                raise BadRequest('Invalid volume: Volume to be restored to must be available.')
            if volume['size'] < backup['size']:
                raise BadRequest('Invalid volume: volume size is too small to restore backup.')
        else:
            volume = volumes.make(self.cloud.nobody(self.service, call), {
                'size': backup['size'], 'name': said.get('name') or f'restore_backup_{backup.id}',
                'description': backup['description']})
        volumes.table.change(volume, status='restoring-backup', bootable=str(bool(backup.hidden['bootable'])).lower())
        volume.hidden['bootable'] = backup.hidden['bootable']
        self.table.change(backup, status='restoring')

        def done() -> None:
            volumes.table.change(volume, status='available')
            self.table.change(backup, status='available')

        volumes.finish(call, volume, 'error_restoring', done)
        return 202, {'restore': {'backup_id': backup.id, 'volume_id': volume.id, 'volume_name': volume['name']}}


def routes(service: VolumeService) -> Iterable[Route]:
    yield 'POST', '/v3/backups/{id}/restore', service.collection('backups').restore
