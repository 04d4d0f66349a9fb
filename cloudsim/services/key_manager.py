"""Barbican: secrets, containers of them, orders that make them. What is named everywhere is its URL."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, Conflict, NotFound, Problem, Reply
from cloudsim.service import Route, Service
from cloudsim.store import Thing


class Referred(Collection):
    """Shown by its URL, `secret_ref` and so on."""

    def ref(self, thing: Thing) -> str:
        return f'{self.cloud.url}/key-manager{self.kind.path}/{thing.id}'

    @property
    def ref_name(self) -> str:
        return f'{self.kind.name[:-1]}_ref'

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        shown = {name: value for name, value in thing.data.items() if name != 'id'}
        return {**shown, self.ref_name: self.ref(thing)}

    def do_create(self, call: Call, *parents: str) -> Any:
        thing = self.make(call, dict(call.entity(None)))
        return self.kind.codes.get('create', 201), {self.ref_name: self.ref(thing)}

    def do_list(self, call: Call, *parents: str) -> Any:
        status, answer = super().do_list(call, *parents)
        return status, {**answer, 'total': len(answer[self.kind.collection_key])}


class Secrets(Referred):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        payload, kind = data.pop('payload', None), data.pop('payload_content_type', None)
        encoding = data.pop('payload_content_encoding', None)
        if payload is not None:
            if payload == '':
                raise BadRequest('Provided object does not match schema \'Secret\': If \'payload\' specified, must be '
                                 'non empty')
            if not kind:
                raise BadRequest("Provided object does not match schema 'Secret': If 'payload' is supplied, "
                                 "'payload_content_type' must also be supplied.")
            self.keep(thing, decoded(payload, encoding), kind)
        elif kind and not encoding:
            raise BadRequest("payload must be provided when payload_content_type is")
        data['creator_id'] = call.identity.user_id if call.identity else None

    def keep(self, thing: Thing, payload: bytes, kind: str) -> None:
        thing.hidden['payload'] = payload
        thing.data['content_types'] = {'default': kind}

    def do_show(self, call: Call, *ids: str) -> Any:
        accept = call.header('Accept') or ''
        if accept in ('', '*/*') or 'json' in accept:
            return super().do_show(call, *ids)
        return self.payload(call, ids[-1])

    def payload(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        if 'payload' not in thing.hidden:
            raise NotFound('Secret payload of', id)
        return Reply(200, thing.hidden['payload'], content_type=thing['content_types']['default'])

    def put(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        if 'payload' in thing.hidden:
            raise Conflict('Secret already has data, cannot modify it.')
        self.keep(thing, decoded(call.raw.decode('latin-1'), call.header('Content-Encoding')),
                  call.header('Content-Type') or 'text/plain')
        return 204

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        shown = super().view(call, thing)
        return shown if shown['content_types'] else {each: shown[each] for each in shown if each != 'content_types'}


def decoded(payload: str, encoding: str | None) -> bytes:
    if encoding == 'base64':
        try:
            return base64.b64decode(payload, validate=True)
        except ValueError:
            raise BadRequest('Invalid payload for payload_content_encoding') from None
    return payload.encode('latin-1', 'replace') if payload.isascii() else payload.encode()


class SecretContainers(Referred):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        if thing['type'] not in ('generic', 'rsa', 'certificate'):
            raise BadRequest("Provided object does not match schema 'Container': type")
        refs = [each.get('secret_ref') for each in thing['secret_refs']]
        if len(refs) != len(set(refs)):
            raise BadRequest("Provided object does not match schema 'Container': Duplicate secret ids are not allowed. "
                             "Invalid property: 'secret_refs'")
        for each in thing['secret_refs']:
            if self.service.collection('secrets').seen(call, str(each.get('secret_ref')).rsplit('/', 1)[-1]) is None:
                raise Problem(404, f"Secret provided for '{each.get('name')}' doesn't exist.")
        thing.data['creator_id'] = call.identity.user_id if call.identity else None

    def consumers(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        if call.method == 'POST':
            thing['consumers'].append({'name': call.json.get('name'), 'URL': call.json.get('URL')})
            return 200, self.view(call, thing)
        if call.method == 'DELETE':
            thing.data['consumers'] = [each for each in thing['consumers'] if each['URL'] != call.json.get('URL')]
            return 200, self.view(call, thing)
        return 200, {'consumers': thing['consumers'], 'total': len(thing['consumers'])}


class Orders(Referred):
    MADE = {'asymmetric': ('public_key', 'private_key'), 'certificate': ('certificate', 'intermediates')}

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        if thing['type'] not in ('key', *self.MADE):
            raise BadRequest("Invalid order type")
        thing.data['creator_id'] = call.identity.user_id if call.identity else None

    def work(self, call: Call, thing: Thing, verb: str, **how: Any) -> None:
        asking = self.cloud.nobody(self.service, call)
        super().work(call, thing, verb, then=(lambda: self.carry_out(asking, thing)) if verb == 'create' else None)

    def carry_out(self, call: Call, thing: Thing) -> None:
        secrets, containers = self.service.collection('secrets'), self.service.collection('containers')
        meta = thing['meta']

        def secret(name: str) -> str:
            made = secrets.make(call, {
                'name': meta.get('name') or name, 'algorithm': meta.get('algorithm'), 'mode': meta.get('mode'),
                'bit_length': meta.get('bit_length'),
                'payload': f'{name} of {thing.id}', 'payload_content_type': 'text/plain'})
            ref: str = secrets.ref(made)
            return ref

        if thing['type'] == 'key':
            thing.data['secret_ref'] = secret('key')
            return
        refs = [{'name': name, 'secret_ref': secret(name)} for name in self.MADE[thing['type']]]
        kind = 'rsa' if thing['type'] == 'asymmetric' else 'certificate'
        made = containers.make(call, {'name': meta.get('name'), 'type': kind, 'secret_refs': refs})
        thing.data['container_ref'] = containers.ref(made)


class KeyManagerService(Service):
    classes = {'secrets': Secrets, 'containers': SecretContainers, 'orders': Orders}

    def own_routes(self) -> Iterable[Route]:
        secrets, containers = self.collection('secrets'), self.collection('containers')
        yield 'PUT', '/v1/secrets/{id}', secrets.put
        yield 'GET', '/v1/secrets/{id}/payload', secrets.payload
        for method in ('GET', 'POST', 'DELETE'):
            yield method, '/v1/containers/{id}/consumers', containers.consumers
        for collection in (secrets, containers):
            bound = Access(collection)
            for method in ('GET', 'PUT', 'PATCH', 'DELETE'):
                yield method, collection.item_path + '/acl', bound.handle
        yield 'GET', '/v1/quotas', lambda call: (200, {'quotas': {name: self.limit(call.project_id, name) for name in (
            'secrets', 'orders', 'containers', 'consumers', 'cas')}})


class Access:
    """Who may read a secret or a container, besides its project."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    def handle(self, call: Call, id: str) -> Any:
        thing = self.collection.get(call, id)
        if call.method == 'DELETE':
            thing.hidden.pop('acl', None)
            return 200
        if call.method != 'GET':
            now = thing.hidden.setdefault('acl', {})
            now.update({name: {'project-access': True, **said} for name, said in call.json.items()})
            return 200, {'acl_ref': f'{self.collection.cloud.url}/key-manager{call.path}'}
        return 200, thing.hidden.get('acl') or {'read': {'project-access': True}}


SERVICE = KeyManagerService
