"""Zaqar: queues that come into being by themselves, messages, claims, subscriptions, signed URLs."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any

from cloudsim.collection import Collection, patched
from cloudsim.messages import BadRequest, Call, Conflict, NotFound, Problem, Reply
from cloudsim.service import Route, Service
from cloudsim.store import Table, Thing
from cloudsim.versions import opened

KEY = b'cloudsim'
STAMP = '%Y-%m-%dT%H:%M:%S'


class Subscriptions(Collection):
    """Below a queue, which need not be known."""

    def parent(self, call: Call, ids: tuple[str, ...]) -> str | None:
        return f'{call.project_id}/{ids[0]}' if ids else None

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        thing.data['source'] = str(thing.hidden['parent']).split('/', 1)[1]
        for other in self.table.find('parent', thing.hidden['parent']):
            if other['subscriber'] == thing['subscriber']:
                raise Conflict(f'Such subscription already exists.Subscriptions are unique by project + queue + '
                               f'subscriber URI.{thing["subscriber"]}')
        if str(thing['subscriber']).startswith('trust+'):       # only here: an update stores the options as sent
            thing.data['options'] = {**(thing['options'] or {}), 'trust_id': self.cloud.uuid()}

    def do_create(self, call: Call, *parents: str) -> Any:
        thing = self.make(call, dict(call.entity(None)), self.parent(call, parents))
        return 201, {'subscription_id': thing.id}

    def do_update(self, call: Call, *ids: str) -> Any:
        self.amend(call, self.of_path(call, ids), dict(call.entity(None)))
        return 204


class MessagingService(Service):
    classes = {'subscriptions': Subscriptions}

    def __init__(self, cloud: Any, description: Any) -> None:
        self.queues = Table('messaging.queues')
        super().__init__(cloud, description)

    def tables(self) -> Iterable[Table]:
        return [*super().tables(), self.queues]

    def own_routes(self) -> Iterable[Route]:
        queue = '/v2/queues/{queue}'
        yield 'GET', '/v2/queues', self.list_queues
        yield 'PUT', queue, self.put_queue
        yield 'GET', queue, self.show_queue
        yield 'PATCH', queue, self.patch_queue
        yield 'DELETE', queue, self.delete_queue
        yield 'GET', f'{queue}/stats', self.stats
        yield 'POST', f'{queue}/share', self.share
        yield 'POST', f'{queue}/purge', self.purge
        yield 'GET', f'{queue}/messages', self.signed(self.read)
        yield 'POST', f'{queue}/messages', self.signed(self.write)
        yield 'DELETE', f'{queue}/messages', self.signed(self.delete_messages)
        yield 'GET', f'{queue}/messages/{{id}}', self.signed(self.one_message)
        yield 'DELETE', f'{queue}/messages/{{id}}', self.signed(self.delete_message)
        yield 'POST', f'{queue}/claims', self.signed(self.claim)
        yield 'DELETE', f'{queue}/claims/{{id}}', self.signed(self.release)
        yield 'GET', '/v2/ping', opened(lambda call: 204)
        yield 'GET', '/v2/health', lambda call: (200, {})

    # Queues.

    def queue(self, call: Call, name: str, make: bool = True) -> Thing:
        found = self.queues.get(f'{call.project_id}/{name}')
        if found is None:
            if not make:
                raise NotFound('Queue', name)
            if len(name) > 64:
                raise BadRequest('Queue names may not exceed 64 characters.')
            found = self.queues.add(Thing(f'{call.project_id}/{name}', call.project_id, {
                'name': name, 'metadata': {}}, {'messages': {}}))
        return found

    def list_queues(self, call: Call) -> Any:
        own = self.queues.find('project_id', call.project_id)
        return 200, {'queues': [{'name': each['name'], 'href': f'/v2/queues/{each["name"]}',
                                 'metadata': each['metadata']} for each in own], 'links': []}

    def put_queue(self, call: Call, name: str) -> Any:
        is_new = self.queues.get(f'{call.project_id}/{name}') is None
        found = self.queue(call, name)
        if call.raw:
            found.data['metadata'] = call.entity(None)
        return 201 if is_new else 204

    def show_queue(self, call: Call, name: str) -> Any:
        # A queue nobody has made looks like an empty one.
        found = self.queues.get(f'{call.project_id}/{name}')
        defaults = {'_max_messages_post_size': 262144, '_default_message_ttl': 3600, '_default_message_delay': 0,
                    '_dead_letter_queue': None, '_dead_letter_queue_messages_ttl': None, '_max_claim_count': None}
        return 200, {**defaults, **(found['metadata'] if found is not None else {})}

    def patch_queue(self, call: Call, name: str) -> Any:
        found = self.queue(call, name, make=False)
        changed = patched({'metadata': found['metadata']}, call.json)
        found.data['metadata'] = changed.get('metadata', found['metadata'])
        return 200, found['metadata']

    def delete_queue(self, call: Call, name: str) -> Any:
        found = self.queues.get(f'{call.project_id}/{name}')
        if found is not None:
            self.queues.remove(found)
        for each in self.collection('subscriptions').table.find('parent', f'{call.project_id}/{name}'):
            self.collection('subscriptions').drop(each)
        return 204

    def stats(self, call: Call, name: str) -> Any:
        found = self.queue(call, name)
        return 200, {'messages': {'free': len(found.hidden['messages']), 'claimed': 0,
                                  'total': len(found.hidden['messages'])}}

    def purge(self, call: Call, name: str) -> Any:
        self.queue(call, name).hidden['messages'].clear()
        return 204

    # Signed URLs.

    def share(self, call: Call, name: str) -> Any:
        said = call.json
        paths = [f'/v2/queues/{name}/{each}' for each in said.get('paths') or ['messages']]
        methods = said.get('methods') or ['GET']
        expires = said.get('expires') or self.cloud.clock.stamp(STAMP, 86400)
        return 200, {'project': call.project_id, 'paths': paths, 'methods': methods, 'expires': expires[:19],
                     'signature': signature(call.project_id or '', paths, methods, expires[:19])}

    def signed(self, function: Any) -> Any:
        """With a token, or with the four headers of a signed URL."""
        def checked(call: Call, *ids: str) -> Any:
            if call.identity is None:
                project = call.header('X-Project-ID') or ''
                paths, methods = ((call.header(name) or '').split(',') for name in ('URL-Paths', 'URL-Methods'))
                expires = call.header('URL-Expires') or ''
                if call.header('URL-Signature') != signature(project, paths, methods, expires) \
                        or call.method not in methods or expires < self.cloud.clock.stamp(STAMP) \
                        or not any(call.path.startswith(each) for each in paths):
                    raise Problem(401 if not call.header('URL-Signature') else 404, 'Not authorized')
                call.project_id = project
            return function(call, *ids)

        return opened(checked)

    # Messages.

    def write(self, call: Call, name: str) -> Any:
        said = call.json.get('messages') if isinstance(call.json, dict) else call.json
        if not isinstance(said, list) or not said:
            raise BadRequest('No messages were found in the request body.')
        kept = self.queue(call, name).hidden['messages']
        ids = []
        for each in said:
            id = self.cloud.uuid().replace('-', '')[:24]
            kept[id] = {'id': id, 'body': each.get('body'), 'ttl': each.get('ttl', 3600), 'age': 0,
                        'href': f'/v2/queues/{name}/messages/{id}'}
            ids.append(id)
        return 201, {'resources': [f'/v2/queues/{name}/messages/{id}' for id in ids]}

    def read(self, call: Call, name: str) -> Any:
        kept = self.queue(call, name).hidden['messages']
        wanted = call.query.get('ids')
        found = [kept[id] for each in wanted for id in each.split(',') if id in kept] if wanted else \
            list(kept.values())[:int(call.asked('limit') or 10)]
        found = [each for each in found if 'claim' not in each or call.is_asked('include_claimed')]
        return 200, {'messages': [shown(each) for each in found], 'links': []}

    def one_message(self, call: Call, name: str, id: str) -> Any:
        kept = self.queue(call, name).hidden['messages']
        if id not in kept:
            raise NotFound('Message', id)
        return 200, shown(kept[id])

    def delete_message(self, call: Call, name: str, id: str) -> Any:
        self.queue(call, name).hidden['messages'].pop(id, None)
        return 204

    def delete_messages(self, call: Call, name: str) -> Any:
        kept = self.queue(call, name).hidden['messages']
        if call.asked('pop'):
            taken = [kept.pop(id) for id in list(kept)[:int(call.asked('pop') or 1)]]
            return 200, {'messages': [shown(each) for each in taken]}
        for id in (call.asked('ids') or '').split(','):
            kept.pop(id, None)
        return 204

    def claim(self, call: Call, name: str) -> Any:
        kept = self.queue(call, name).hidden['messages']
        free = [each for each in kept.values() if 'claim' not in each][:int(call.asked('limit') or 10)]
        if not free:
            return 204
        id = self.cloud.uuid().replace('-', '')[:24]
        for each in free:
            each['claim'] = id
        return Reply(201, {'messages': [shown(each) for each in free]}, {'Location': f'/v2/queues/{name}/claims/{id}'})

    def release(self, call: Call, name: str, id: str) -> Any:
        for each in self.queue(call, name).hidden['messages'].values():
            if each.get('claim') == id:
                del each['claim']
        return 204


def shown(message: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != 'claim'}


def signature(project: str, paths: list[str], methods: list[str], expires: str) -> str:
    text = '\n'.join([','.join(paths), ','.join(methods), project, expires])
    return hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()


SERVICE = MessagingService
