"""Volumes: from nothing, an image, a snapshot, another volume or a backup; attached and let go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from cloudsim.detailed_collection import DetailedCollection
from cloudsim.messages import BadRequest, Call
from cloudsim.service import Route
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.volume import VolumeService

DELETABLE = ('available', 'error', 'error_restoring', 'error_extending', 'error_managing', 'error_deleting')
SINCE = {'provider_id': (3, 21), 'group_id': (3, 13), 'service_uuid': (3, 48), 'shared_targets': (3, 48),
         'cluster_name': (3, 61), 'volume_type_id': (3, 63), 'consumes_quota': (3, 65)}
ADMIN_ONLY = ('os-vol-host-attr:', 'os-vol-mig-status-attr:', 'migration_status')


class LinkedCollection(DetailedCollection):
    """The things of Cinder, which it shows with links."""

    SHORT: ClassVar[tuple[str, ...]] = ('id', 'name', 'links')

    def links(self, thing: Thing) -> list[dict[str, str]]:
        base, path = f'{self.cloud.url}/volume', self.kind.path.removeprefix('/v3')
        return [{'rel': 'self', 'href': f'{base}/v3/{thing.project_id}{path}/{thing.id}'},
                {'rel': 'bookmark', 'href': f'{base}/{thing.project_id}{path}/{thing.id}'}]


class Volumes(LinkedCollection):
    service: VolumeService

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data, hidden = thing.data, thing.hidden
        size = data['size']
        source = self.source(call, given)
        if source is not None:
            of_image = 'disk_format' in source.data         # whose size is in bytes
            least = max(source['min_disk'] or 0, -(-(source['size'] or 0) // 2 ** 30)) if of_image else source['size']
            if size is None and not of_image:
                size = least
            if size is not None and int(size) < least:
                raise BadRequest(f'Invalid input received: Invalid volume size provided for create request: '
                                 f"Size of specified source ({least}GB) is larger than the volume's ({size}GB).")
        try:
            size = int(size)
        except (TypeError, ValueError):
            raise BadRequest(f"Invalid input received: Invalid volume size provided for create request: {size} (size "
                             'argument must be an integer or string representation of an integer and greater than '
                             'zero).') from None
        if size <= 0:
            raise BadRequest(f'Invalid input for field/attribute size. Value: {size}.')
        data['size'] = size
        self.charge(thing.project_id, size)
        kind = self.service.collection('types').named(data.pop('volume_type', None) or 'files')
        data.update(volume_type=kind['name'], volume_type_id=kind.id, user_id=call.identity.user_id
                    if call.identity else None, metadata=dict(data['metadata'] or {}), attachments=[])
        data['encrypted'] = 'encryption' in kind.hidden
        data['os-vol-tenant-attr:tenant_id'] = thing.project_id
        data['availability_zone'] = data['availability_zone'] or 'nova'
        for name in ('imageRef', 'backup_id', 'scheduler_hints', 'source_replica'):
            data.pop(name, None)
        if kind['extra_specs'].get('multiattach') == '<is> True':
            data['multiattach'] = True
        image_id = given.get('imageRef')
        if image_id:
            data['bootable'] = 'true'
            image = self.cloud.thing('image.images', image_id)
            assert image is not None
            data['volume_image_metadata'] = {
                'image_id': image.id, 'image_name': image['name'] or '', 'min_disk': str(image['min_disk']),
                'min_ram': str(image['min_ram']), 'disk_format': image['disk_format'] or '', 'size': str(image['size']),
                'container_format': image['container_format'] or '', 'checksum': image['checksum'] or ''}
        elif source is not None and source.hidden.get('bootable'):
            data['bootable'] = 'true'
        hidden['bootable'] = data['bootable'] == 'true'

    def do_create(self, call: Call, *parents: str) -> Any:
        status, answer = super().do_create(call, *parents)
        answer['volume'].pop('os-vol-tenant-attr:tenant_id')        # shown from the first look on
        return status, answer

    def source(self, call: Call, given: dict[str, Any]) -> Thing | None:
        for field, name in (('snapshot_id', 'snapshots'), ('source_volid', 'volumes'), ('backup_id', 'backups')):
            if given.get(field):
                source: Thing = self.service.collection(name).get(call, given[field])
                if source['status'] not in ('available', 'in-use'):
                    raise BadRequest(f'Invalid {name[:-1]}: Originating {name[:-1]} status must be one of available '
                                     'values')
                return source
        if given.get('imageRef'):
            image = self.cloud.thing('image.images', given['imageRef'])
            if image is None:
                raise BadRequest('Invalid image identifier or unable to access requested image.')
            if image['status'] != 'active':
                raise BadRequest(f'Invalid input received: Invalid volume create request: image {image.id} is not '
                                 'active.')
            return image
        return None

    def charge(self, project: str | None, more: int) -> None:
        if self.service.limit(project, 'gigabytes') >= 0:
            self.service.charge(project, 'gigabytes', self.service.usage(project)['gigabytes'], more)

    def own_fault(self, thing: Thing) -> str | None:
        asked = thing['metadata'].get('cloud_fault')
        return 'A fault on demand' if (asked, thing['status']) in (
            ('create', 'creating'), ('delete', 'deleting'), ('extend', 'extending')) else None

    def fail(self, thing: Thing, state: str, text: str) -> None:
        state = {'deleting': 'error_deleting', 'extending': 'error_extending',
                 'restoring-backup': 'error_restoring'}.get(thing['status'], state)
        super().fail(thing, state, text)

    def leaving(self, call: Call, thing: Thing) -> None:
        if thing['status'] not in DELETABLE or thing['attachments']:
            raise BadRequest('Invalid volume: Volume status must be available or error or error_restoring or '
                             'error_extending or error_managing and must not be migrating, attached, belong to a '
                             'group, have snapshots, awaiting a transfer, or be disassociated from snapshots after '
                             'volume transfer.')
        if self.service.collection('snapshots').table.find('volume_id', thing.id) and not call.is_asked('cascade'):
            raise BadRequest(f'Invalid volume: Volume {thing.id} still has dependent snapshots.')
        for each in self.service.collection('snapshots').table.find('volume_id', thing.id):
            self.service.collection('snapshots').drop(each)

    def is_visible(self, call: Call, thing: Thing) -> bool:
        return super().is_visible(call, thing)

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        shown = {name: value for name, value in thing.data.items()
                 if (name not in SINCE or call.version >= SINCE[name])
                 and (call.is_admin or not name.startswith(ADMIN_ONLY))}
        shown['links'] = self.links(thing)
        return shown

    # Attaching, as the compute service asks for it.

    def attach(self, volume: Thing, server_id: str, device: str, mode: str = 'rw', id: str | None = None) -> None:
        self.table.change(volume, status='in-use', attachments=[*volume['attachments'], {
            'id': volume.id, 'attachment_id': id or self.cloud.uuid(), 'volume_id': volume.id, 'server_id': server_id,
            'host_name': None, 'device': device, 'attached_at': self.cloud.clock.stamp(self.kind.stamp_form)}])
        volume.task += 1

    def detach(self, volume: Thing, server_id: str | None, id: str | None = None) -> None:
        """One attachment, of this server or with this id; all when neither is said."""
        left = [each for each in volume['attachments']
                if (id is not None and each['attachment_id'] != id)
                or (id is None and server_id is not None and each['server_id'] != server_id)]
        self.table.change(volume, attachments=left, status='in-use' if left else 'available')
        volume.task += 1

    def begin_attach(self, call: Call, volume: Thing, server_id: str, device: str, undone: Callable[[], Any]) -> None:
        """reserved, then in-use; a fault undoes it: available again, as the real services do."""
        self.table.change(volume, status='reserved' if not volume['attachments'] else 'in-use')
        fails = volume['metadata'].get('cloud_fault') == 'attach' or (
            call.fault is not None and call.fault.kind == 'fail')
        volume.task += 1
        task = volume.task
        if call.fault is not None and call.fault.kind == 'stay':
            self.table.change(volume, status='attaching')
            return

        def end() -> None:
            if volume.alive and volume.task == task:
                if fails:
                    undone()
                    self.table.change(volume, status='in-use' if volume['attachments'] else 'available')
                else:
                    self.attach(volume, server_id, device)

        self.cloud.clock.after(self.cloud.settings.work, end)

    def begin_detach(self, call: Call, volume: Thing, server_id: str, done: Callable[[], Any]) -> None:
        self.table.change(volume, status='detaching')
        volume.task += 1
        task = volume.task
        if call.fault is not None and call.fault.kind in ('stay', 'fail'):
            return

        def end() -> None:
            if volume.alive and volume.task == task:
                done()
                self.detach(volume, server_id)

        self.cloud.clock.after(self.cloud.settings.work, end)


def routes(service: VolumeService) -> Iterable[Route]:
    def summary(call: Call) -> Any:
        own = service.collection('volumes').candidates(call, None)
        return 200, {'volume-summary': {'total_size': sum(each['size'] for each in own), 'total_count': len(own),
                                        'metadata': {}}}

    yield 'GET', '/v3/volumes/summary', summary


