"""Images: described first, filled later, by upload or by import."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim import listing
from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, Problem, Reply
from cloudsim.service import Route
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.image import ImageService

READ_ONLY = ('status', 'size', 'checksum', 'os_hash_algo', 'os_hash_value', 'virtual_size', 'created_at', 'updated_at',
             'file', 'schema', 'self', 'direct_url')
VISIBILITIES = ('public', 'private', 'shared', 'community')


class Images(Collection):
    service: ImageService

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        self.checked(call, given)
        thing.data['tags'] = sorted(set(thing.data['tags'] or ()))

    def checked(self, call: Call, given: dict[str, Any]) -> None:
        for name in given:
            if name in READ_ONLY:
                raise Forbidden(f"Attribute '{name}' is read-only.")
        visibility = given.get('visibility')
        if visibility is not None and visibility not in VISIBILITIES:
            raise BadRequest(f"Invalid value '{visibility}' for visibility.")
        if visibility == 'public' and not call.is_admin:
            raise Forbidden('You are not authorized to complete publicize_image action.')

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        self.own(call, thing)
        self.checked(call, changes)
        for name in [each for each, value in changes.items() if value is None and each not in self.kind.fields]:
            thing.data.pop(name, None)
            del changes[name]
        if 'tags' in changes:
            changes['tags'] = sorted(set(changes['tags'] or ()))

    def own(self, call: Call, thing: Thing) -> None:
        if not call.is_admin and thing.project_id != call.project_id:
            raise Forbidden('You are not permitted to modify this image.')

    def leaving(self, call: Call, thing: Thing) -> None:
        self.own(call, thing)
        if thing['protected']:
            raise Forbidden(f'Image {thing.id} is protected and cannot be deleted.')

    def is_visible(self, call: Call, thing: Thing) -> bool:
        if super().is_visible(call, thing) or thing['visibility'] == 'community':
            return True
        return any(each['member_id'] == call.project_id for each in
                   self.service.collection('members').table.find('parent', thing.id))

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        wanted, status = call.asked('visibility'), call.asked('member_status', 'accepted')
        found = super().candidates(call, parent)
        known = {each.id for each in found}
        for member in self.service.collection('members').table:
            image = self.table.get(member.hidden['parent'])
            if member['member_id'] == call.project_id and image is not None and image.id not in known \
                    and status in ('all', member['status']):
                found.append(image)
        if wanted == 'community':
            return self.table.find('visibility', 'community')
        hidden = call.is_asked('os_hidden')
        return [each for each in found if wanted in (None, 'all', each['visibility']) and each['os_hidden'] == hidden]

    def filterable(self, thing: Thing, name: str) -> Any:
        if name in ('visibility', 'member_status', 'os_hidden', 'tag'):
            return thing['tags'] if name == 'tag' else listing.MISSING
        return super().filterable(thing, name)

    def do_list(self, call: Call, *parents: str) -> Any:
        answer = listing.page(call, self, self.candidates(call, None))
        links = answer.pop('images_links', None)
        answer.update(first='/v2/images', schema='/v2/schemas/images')
        if links:
            answer['next'] = links[0]['href'].split('/image', 1)[1]
        return 200, answer

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        id = thing.id
        return {**{name: value for name, value in thing.data.items() if name != 'locations'},
                'self': f'/v2/images/{id}', 'file': f'/v2/images/{id}/file', 'schema': '/v2/schemas/image'}

    # Bytes.

    def fill(self, thing: Thing, content: bytes) -> None:
        self.table.change(
            thing, status='active', size=len(content), os_hash_algo='sha512', stores='file',
            checksum=hashlib.md5(content, usedforsecurity=False).hexdigest(),
            os_hash_value=hashlib.sha512(content).hexdigest(), updated_at=self.cloud.clock.stamp())

    def upload(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        self.own(call, thing)
        if thing['status'] not in ('queued', 'uploading', 'saving'):
            raise Conflict(f'Image status transition from {thing["status"]} to saving is not allowed')
        if not thing['disk_format'] or not thing['container_format']:
            raise BadRequest('Properties disk_format, container_format must be set prior to saving data.')
        self.fill(thing, call.raw)
        return 204

    def stage(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        thing.hidden['staged'] = call.raw
        self.table.change(thing, status='uploading')
        return 204

    def download(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        if thing['status'] != 'active':
            return 204
        return Reply(200, b'\0' * min(thing['size'], 65536), content_type='application/octet-stream')

    def fetch(self, call: Call, id: str) -> Any:
        """Import: nothing is fetched; a URI with `fail` in it fails."""
        thing, said = self.get(call, id), call.json
        method = (said.get('method') or {}).get('name')
        if method not in ('web-download', 'glance-direct', 'copy-image'):
            raise BadRequest(f"Unknown import method name '{method}'.")
        if not thing['disk_format'] or not thing['container_format']:
            raise Conflict('\'disk_format\' needs to be set before import')
        if thing['status'] != ('uploading' if method == 'glance-direct' else 'queued'):
            raise Conflict(f'Image is not in the state to import: {thing["status"]}')
        uri = said['method'].get('uri') or ''
        if method == 'web-download' and not uri.startswith(('http://', 'https://')):
            raise BadRequest(f'URI for web-download does not pass filtering: {uri}')
        self.table.change(thing, status='importing')
        content = thing.hidden.pop('staged', uri.encode() * 1024)

        def done() -> None:
            if 'fail' in uri:
                self.table.change(thing, status='queued', os_glance_failed_import='file')
            else:
                self.fill(thing, content)

        self.finish(call, thing, 'killed', done)
        return 202

    # Copies of servers and volumes.

    def of_server(self, call: Call, server: Thing, name: str, metadata: dict[str, Any]) -> Thing:
        image = self.made(call, name, {**{each: str(value) for each, value in metadata.items()},
                                       'image_type': 'snapshot', 'instance_uuid': server.id,
                                       'user_id': server['user_id'], 'base_image_ref':
                                       server['image']['id'] if server['image'] else ''})
        servers = self.cloud.table('compute.servers')
        servers.change(server, **{'OS-EXT-STS:task_state': 'image_uploading'})

        def done() -> None:
            self.fill(image, b'a snapshot of a server')
            servers.change(server, **{'OS-EXT-STS:task_state': None})

        self.finish(call, image, 'killed', done)
        return image

    def of_volume(self, call: Call, volume: Thing, said: dict[str, Any]) -> Thing:
        image = self.made(call, said.get('image_name') or '', {
            'disk_format': said.get('disk_format') or 'raw',
            'container_format': said.get('container_format') or 'bare'})
        volumes, before = self.cloud.table('volume.volumes'), volume['status']
        volumes.change(volume, status='uploading')

        def done() -> None:
            self.fill(image, b'a copy of a volume')
            volumes.change(volume, status=before)

        self.finish(call, image, 'killed', done)
        return image

    def made(self, call: Call, name: str, more: dict[str, Any]) -> Thing:
        asking = self.cloud.nobody(self.service, call)
        return self.make(asking, {'name': name, 'visibility': 'private', 'disk_format': 'raw',
                                  'container_format': 'bare', **more})


def routes(service: ImageService) -> Iterable[Route]:
    images = service.collection('images')

    def action(call: Call, id: str, name: str) -> Any:
        thing = images.get(call, id)
        images.own(call, thing)
        before, after = {'deactivate': (('active', 'deactivated'), 'deactivated'),
                         'reactivate': (('deactivated', 'active'), 'active')}.get(name, ((), ''))
        if not before:
            raise Problem(404, 'The resource could not be found.')
        if thing['status'] not in before:
            raise Forbidden(f'Not allowed to {name} image in status \'{thing["status"]}\'')
        images.table.change(thing, status=after)
        return 204

    def add_tag(call: Call, id: str, tag: str) -> Any:
        thing = images.get(call, id)
        images.table.change(thing, tags=sorted({*thing['tags'], tag}))
        return 204

    def remove_tag(call: Call, id: str, tag: str) -> Any:
        thing = images.get(call, id)
        if tag not in thing['tags']:
            raise Problem(404, 'Tag not found.')
        images.table.change(thing, tags=[each for each in thing['tags'] if each != tag])
        return 204

    base = '/v2/images/{id}'
    yield 'PUT', base + '/file', images.upload
    yield 'GET', base + '/file', images.download
    yield 'PUT', base + '/stage', images.stage
    yield 'POST', base + '/import', images.fetch
    yield 'POST', base + '/actions/{name}', action
    yield 'PUT', base + '/tags/{tag}', add_tag
    yield 'DELETE', base + '/tags/{tag}', remove_tag


