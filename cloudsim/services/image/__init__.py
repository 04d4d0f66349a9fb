"""Glance: images, with their bytes counted and hashed but not kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cloudsim.messages import Call
from cloudsim.service import Route, Service
from cloudsim.services.image import images, members


class ImageService(Service):
    classes = {'images': images.Images, 'members': members.ImageMembers}

    def own_routes(self) -> Iterable[Route]:
        yield from images.routes(self)
        yield 'GET', '/v2/info/import', lambda call: (200, {'import-methods': {
            'description': 'Import methods available.', 'type': 'array',
            'value': ['glance-direct', 'web-download', 'copy-image']}})
        yield 'GET', '/v2/info/stores', lambda call: (200, {'stores': [{'id': 'file', 'default': True}]})
        yield 'GET', '/v2/schemas/{name}', self.schema

    def schema(self, call: Call, name: str) -> Any:
        collection = {'image': 'images', 'member': 'members', 'task': 'tasks'}.get(name.rstrip('s'), 'images')
        fields = self.collection(collection).kind.fields
        return 200, {'name': name, 'properties': {each: {'type': ['null', 'string']} for each in fields},
                     'additionalProperties': {'type': 'string'}, 'links': []}

    def seed(self, call: Call) -> None:
        call.project_id = call.cloud.first.seed_id('projects/admin')
        image = self.collection('images').make(call, {
            'name': 'cirros', 'disk_format': 'raw', 'container_format': 'bare', 'visibility': 'public'},
            id=call.cloud.seed_id('images/cirros', dashes=True))
        self.collection('images').fill(image, b'an image of nothing\n' * 1024)


SERVICE = ImageService
