"""Projects an image is shared with; the project is the id."""

from __future__ import annotations

from typing import Any

from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, NotFound
from cloudsim.store import Thing


class ImageMembers(Collection):
    def do_create(self, call: Call, *parents: str) -> Any:
        image = self.service.collection('images').get(call, parents[-1])
        member = call.json.get('member')
        if not member:
            raise BadRequest("Member to be added not specified")
        if image['visibility'] != 'shared':
            raise Forbidden('Only shared images have members.')
        if self.find(image.id, member) is not None:
            raise Conflict(f'Member {member} is duplicated for image {image.id}')
        thing = self.make(call, {'image_id': image.id, 'status': 'pending'}, image.id, f'{image.id}/{member}')
        thing.data['member_id'] = member
        return 200, thing.data

    def find(self, image_id: str, member: str) -> Thing | None:
        return self.table.get(f'{image_id}/{member}')

    def of_path(self, call: Call, ids: tuple[str, ...]) -> Thing:
        self.service.collection('images').get(call, ids[0])
        found = self.find(ids[0], ids[1])
        if found is None:
            raise NotFound('Member', ids[1])
        return found

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        if changes.get('status') not in ('pending', 'accepted', 'rejected'):
            raise BadRequest('Invalid status')
