"""Key pairs: they belong to a user, and their name is their id."""

from __future__ import annotations

import hashlib
from typing import Any

from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, Conflict, NotFound
from cloudsim.store import Thing


class KeyPairs(Collection):
    filters = False                         # the service lists all of a user's, whatever else is asked

    def owner_of(self, call: Call, said: str | None = None) -> str:
        if said and call.is_admin:
            return said
        return call.identity.user_id if call.identity else ''

    def find(self, call: Call, name: str) -> Thing | None:
        return self.table.get(f'{self.owner_of(call, call.asked("user_id"))}/{name}')

    def seen(self, call: Call, id: str) -> Thing | None:
        return self.find(call, id)

    def get(self, call: Call, id: str) -> Thing:
        found = self.find(call, id)
        if found is None:
            raise NotFound('Keypair', f'{id} not found for user {self.owner_of(call)};')
        return found

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        owner = self.owner_of(call, call.asked('user_id'))
        return [each for each in self.table if each.hidden['user'] == owner]

    def new_id(self, data: dict[str, Any]) -> str:
        return str(data.get('name'))

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data, name = thing.data, given.get('name')
        if not isinstance(name, str) or not name:
            raise BadRequest("Invalid input for field/attribute keypair. 'name' is a required property")
        owner = self.owner_of(call, data.pop('user_id', None))
        if f'{owner}/{name}' in self.table.things:
            raise Conflict(f"Key pair '{name}' already exists.")
        if not data['public_key']:
            if call.version >= (2, 92):
                raise BadRequest("Invalid input for field/attribute keypair. 'public_key' is a required property")
            thing.hidden['private'] = private_key(self.cloud.uuid())
            data['public_key'] = f'ssh-rsa {hashlib.sha512(name.encode()).hexdigest()} Generated-by-Nova'
        elif not str(data['public_key']).startswith(('ssh-', 'ecdsa-', 'sk-', '-----BEGIN')):
            raise BadRequest('Keypair data is invalid: failed to generate fingerprint')
        digest = hashlib.md5(data['public_key'].encode(), usedforsecurity=False).hexdigest()
        data['fingerprint'] = ':'.join(digest[at:at + 2] for at in range(0, 32, 2))
        for field in self.kind.owner:
            data.pop(field, None)
        thing.id, thing.hidden['user'] = f'{owner}/{name}', owner
        thing.hidden['created_at'] = self.cloud.clock.stamp('%Y-%m-%dT%H:%M:%S.%f')

    def do_create(self, call: Call, *parents: str) -> Any:
        thing = self.make(call, call.entity('keypair'))
        shown = {**self.brief(call, thing), 'user_id': thing.hidden['user']}
        if 'private' in thing.hidden:
            shown['private_key'] = thing.hidden.pop('private')
        return (201 if call.version >= (2, 2) else 200), {'keypair': shown}

    def do_delete(self, call: Call, *ids: str) -> Any:
        self.discard(call, self.get(call, ids[-1]))
        return 204 if call.version >= (2, 2) else 202

    def brief(self, call: Call, thing: Thing) -> dict[str, Any]:
        shown = dict(thing.data)
        if call.version < (2, 2):
            shown.pop('type')
        return shown

    def summary(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {'keypair': self.brief(call, thing)}

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {**self.brief(call, thing), 'user_id': thing.hidden['user'], 'created_at': thing.hidden['created_at'],
                'deleted': False, 'deleted_at': None, 'updated_at': None, 'id': thing.number}


def private_key(seed: str) -> str:
    """Looks like a key; opens nothing."""
    lines = [hashlib.sha512(f'{seed}{at}'.encode()).hexdigest()[:64] for at in range(24)]
    return '\n'.join(['-----BEGIN RSA PRIVATE KEY-----', *lines, '-----END RSA PRIVATE KEY-----', ''])
