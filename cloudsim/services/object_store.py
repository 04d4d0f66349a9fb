"""Swift: accounts, containers, objects; headers are metadata; signed URLs need no token."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, NotFound, Problem, Reply
from cloudsim.service import Route, Service
from cloudsim.store import Table, Thing
from cloudsim.versions import opened

KEPT = ('X-Container-', 'X-Object-', 'X-Account-', 'X-Delete-', 'X-Versions-', 'X-History-')
CONTENT = ('Content-Type', 'Content-Encoding', 'Content-Disposition')
TEXT = 'text/plain; charset=utf-8'


class ObjectStore(Service):
    def __init__(self, cloud: Any, description: Any) -> None:
        self.accounts: dict[str, dict[str, str]] = {}
        self.containers = Table('object-store.containers')
        self.objects = Table('object-store.objects', ('container',))
        self.latest = 0                         # when the last object was put, in units of 10 microseconds
        super().__init__(cloud, description)

    def tables(self) -> Iterable[Table]:
        return [self.containers, self.objects]

    def own_routes(self) -> Iterable[Route]:
        yield 'GET', '/info', opened(lambda call: (200, {
            'swift': {'version': '2.35.0', 'max_file_size': 5368709122, 'max_object_name_length': 1024},
            'tempurl': {'methods': ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'],
                        'allowed_digests': ['sha1', 'sha256', 'sha512']}}))
        for method in ('GET', 'HEAD', 'PUT', 'POST', 'DELETE'):
            yield method, '/v1/{account}', getattr(self, 'account_' + method.lower())
            yield method, '/v1/{account}/{container}', self.allowed(getattr(self, 'container_' + method.lower()))
            yield method, '/v1/{account}/{container}/{object*}', self.allowed(getattr(self, 'object_' + method.lower()))

    def allowed(self, function: Any) -> Any:
        """With a token of the account's project (or an admin's), a signature, or what the container lets everybody."""
        def checked(call: Call, account: str, container: str, *rest: str) -> Any:
            path = call.environ['PATH_INFO']
            if rest:
                rest = (path.split(f'/{account}/{container}/', 1)[-1],)      # slashes at its ends are part of a name
            if not self.may(call, account, container, path):
                raise Problem(401, 'This server could not verify that you are authorized to access the document you '
                                   'requested.') if call.identity is None else Forbidden('Access was denied.')
            return function(call, account, container, *rest)

        return opened(checked)

    def may(self, call: Call, account: str, container: str, path: str) -> bool:
        if call.identity is not None and (call.is_admin or account == f'AUTH_{call.project_id}'):
            return True
        if call.asked('temp_url_sig'):
            return self.is_signed(call, account, path)
        found = self.containers.get(f'{account}/{container}')
        return found is not None and call.method in ('GET', 'HEAD') and '.r:*' in found['headers'].get(
            'X-Container-Read', '')

    def is_signed(self, call: Call, account: str, path: str) -> bool:
        expires = call.asked('temp_url_expires') or '0'
        if not expires.isdigit() or int(expires) < self.cloud.clock.now():
            return False
        place = '/v1' + path.split('/v1', 1)[1]
        keys = [value for name, value in self.accounts.get(account, {}).items() if 'Temp-Url-Key' in name]
        methods = [call.method, *(['PUT', 'GET', 'POST'] if call.method == 'HEAD' else [])]
        return any(hmac.new(key.encode(), f'{method}\n{expires}\n{prefix}{place}'.encode(), digest).hexdigest()
                   == call.asked('temp_url_sig') for key in keys for method in methods
                   for digest in (hashlib.sha1, hashlib.sha256, hashlib.sha512)
                   for prefix in ('', '/object-store'))

    # Accounts.

    def account_head(self, call: Call, account: str) -> Reply:
        own = self.own(account)
        headers = {'X-Account-Container-Count': str(len(own)), 'X-Account-Object-Count': str(sum(
            self.objects.count('container', each.id) for each in own)), 'X-Account-Bytes-Used': '0'}
        return Reply(204, None, {**headers, **self.accounts.get(account, {})}, TEXT)

    def account_get(self, call: Call, account: str) -> Reply:
        head = self.account_head(call, account)
        rows = [{'name': each['name'], 'count': self.objects.count('container', each.id), 'bytes': self.bytes(each)}
                for each in sorted(self.own(account), key=lambda each: each['name'])]
        return self.listed(call, rows, head.headers)

    def account_post(self, call: Call, account: str) -> Reply:
        if account != f'AUTH_{call.project_id}' and not call.is_admin:
            raise Forbidden('Access was denied.')
        merge(self.accounts.setdefault(account, {}), call)
        return Reply(204)

    account_put = account_post

    def account_delete(self, call: Call, account: str) -> Reply:
        raise Problem(403, 'Access was denied.')

    def own(self, account: str) -> list[Thing]:
        return [each for each in self.containers if each.hidden['account'] == account]

    def bytes(self, container: Thing) -> int:
        return sum(len(each.hidden['content']) for each in self.objects.find('container', container.id))

    # Containers.

    def find(self, account: str, container: str) -> Thing:
        found = self.containers.get(f'{account}/{container}')
        if found is None:
            raise NotFound('Container', container)
        return found

    def container_put(self, call: Call, account: str, container: str) -> Reply:
        found = self.containers.get(f'{account}/{container}')
        if found is None:
            call.service.charge(account.removeprefix('AUTH_'), 'containers', len(self.own(account)), 1)
            made = Thing(f'{account}/{container}', account.removeprefix('AUTH_'),
                         {'name': container, 'headers': {}}, {'account': account})
            merge(self.containers.add(made)['headers'], call)
            return Reply(201, None, content_type=TEXT)
        merge(found['headers'], call)
        return Reply(202, None, content_type=TEXT)

    def container_post(self, call: Call, account: str, container: str) -> Reply:
        merge(self.find(account, container)['headers'], call)
        return Reply(204)

    def container_head(self, call: Call, account: str, container: str) -> Reply:
        found = self.find(account, container)
        return Reply(204, None, {'X-Container-Object-Count': str(self.objects.count('container', found.id)),
                                 'X-Container-Bytes-Used': str(self.bytes(found)), **found['headers']}, TEXT)

    def container_get(self, call: Call, account: str, container: str) -> Reply:
        head = self.container_head(call, account, container)
        prefix, delimiter = call.asked('prefix') or '', call.asked('delimiter')
        rows: list[dict[str, Any]] = []
        for each in sorted(self.objects.find('container', f'{account}/{container}'), key=lambda each: each['name']):
            name = each['name']
            if not name.startswith(prefix):
                continue
            if delimiter and delimiter in name[len(prefix):]:
                part = prefix + name[len(prefix):].split(delimiter)[0] + delimiter
                if {'subdir': part} not in rows:
                    rows.append({'subdir': part})
                continue
            rows.append({'name': name, 'bytes': len(each.hidden['content']), 'hash': each['etag'],
                         'content_type': each['headers']['Content-Type'], 'last_modified': each['modified']})
        return self.listed(call, rows, head.headers)

    def listed(self, call: Call, rows: list[dict[str, Any]], headers: dict[str, str]) -> Reply:
        marker, end, limit = call.asked('marker') or '', call.asked('end_marker'), int(call.asked('limit') or 10000)
        kept = [each for each in rows if each.get('name', each.get('subdir', '')) > marker
                and (not end or each.get('name', each.get('subdir', '')) < end)][:limit]
        if call.asked('format') == 'json' or 'json' in (call.header('Accept') or ''):
            return Reply(200, kept, headers)
        text = ''.join(f'{each.get("name", each.get("subdir"))}\n' for each in kept).encode()
        return Reply(200 if text else 204, text or None, headers, TEXT)

    def container_delete(self, call: Call, account: str, container: str) -> Reply:
        found = self.find(account, container)
        if self.objects.count('container', found.id):
            raise Conflict('There was a conflict when trying to complete your request.')
        self.containers.remove(found)
        return Reply(204)

    # Objects.

    def object(self, account: str, container: str, name: str) -> Thing:
        found = self.objects.get(f'{account}/{container}/{name}')
        if found is None:
            raise NotFound('Object', name)
        return found

    def object_put(self, call: Call, account: str, container: str, name: str) -> Reply:
        place = self.find(account, container)
        content = call.raw
        if call.header('X-Copy-From'):
            source = unquote(call.header('X-Copy-From') or '').lstrip('/').split('/', 1)
            content = self.object(account, source[0], source[1]).hidden['content']
        etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if (call.header('ETag') or etag).strip('"') != etag:
            raise Problem(422, 'Unprocessable Entity')
        old = self.objects.get(f'{place.id}/{name}')
        if old is not None:
            self.archive(place, old)
            self.objects.remove(old)
        headers = {'Content-Type': call.header('Content-Type') or 'application/octet-stream'}
        made = self.objects.add(Thing(f'{place.id}/{name}', place.project_id, {
            'name': name, 'container': place.id, 'etag': etag, 'headers': headers, 'timestamp': self.timestamp(),
            'modified': self.cloud.clock.stamp('%Y-%m-%dT%H:%M:%S.%f'),
            'date': self.cloud.clock.stamp('%a, %d %b %Y %H:%M:%S GMT')}, {'content': content}))
        merge(made['headers'], call)
        return Reply(201, None, {'ETag': etag, 'Last-Modified': made['date']}, TEXT)

    def timestamp(self) -> str:
        """Of an object: as X-Timestamp gives it. No two are equal, even while the clock is stopped."""
        self.latest = max(int(self.cloud.clock.now() * 100000), self.latest + 1)
        return f'{self.latest // 100000:010d}.{self.latest % 100000:05d}'

    def archive(self, place: Thing, old: Thing) -> None:
        """A container with a versions location keeps what is written over, named by the time of that, the oldest
        first."""
        kept_in = place['headers'].get('X-Versions-Location') or place['headers'].get('X-History-Location')
        archive = self.containers.get(f'{place.hidden["account"]}/{unquote(kept_in)}') if kept_in else None
        if archive is not None:
            name = f'{versions_of(old["name"])}{old["timestamp"]}'
            self.objects.add(Thing(f'{archive.id}/{name}', old.project_id, {
                **old.data, 'name': name, 'container': archive.id}, dict(old.hidden)))

    def object_head(self, call: Call, account: str, container: str, name: str) -> Reply:
        found = self.object(account, container, name)
        return Reply(200, None, {**self.times(found), 'Content-Length': str(len(found.hidden['content'])),
                                 **found['headers']}, found['headers']['Content-Type'])

    def object_get(self, call: Call, account: str, container: str, name: str) -> Reply:
        found = self.object(account, container, name)
        return Reply(200, found.hidden['content'], {**self.times(found), **found['headers']},
                     found['headers']['Content-Type'])

    def times(self, found: Thing) -> dict[str, str]:
        return {'ETag': found['etag'], 'Last-Modified': found['date'], 'X-Timestamp': found['timestamp']}

    def object_post(self, call: Call, account: str, container: str, name: str) -> Reply:
        found = self.object(account, container, name)
        kind = found['headers']['Content-Type']
        found.data['headers'] = {'Content-Type': kind}
        merge(found['headers'], call)
        return Reply(202, None, content_type=TEXT)

    def object_delete(self, call: Call, account: str, container: str, name: str) -> Reply:
        found = self.object(account, container, name)
        self.objects.remove(found)
        place = self.find(account, container)
        kept_in = place['headers'].get('X-Versions-Location')
        if kept_in:                             # the version before takes its place
            prefix = versions_of(name)
            older = [each for each in self.objects.find('container', f'{account}/{unquote(kept_in)}')
                     if each['name'].startswith(prefix)]
            if older:
                self.objects.remove(older[-1])
                self.objects.add(Thing(f'{place.id}/{name}', place.project_id, {
                    **older[-1].data, 'name': name, 'container': place.id}, older[-1].hidden))
        return Reply(204)


def versions_of(name: str) -> str:
    """What the names of the versions of an object begin with; the time of each follows."""
    return f'{len(name.encode()):03x}{name}/'


def merge(headers: dict[str, str], call: Call) -> None:
    """Takes what is metadata out of a request; an empty value, or X-Remove-..., takes it away."""
    for name, value in call.environ.items():
        if name in ('CONTENT_TYPE',):
            continue
        title = '-'.join(part.capitalize() for part in name.removeprefix('HTTP_').split('_'))
        if title.startswith('X-Remove-'):
            headers.pop('X-' + title.removeprefix('X-Remove-'), None)
        elif title.startswith(KEPT) or title in CONTENT:
            try:
                value.encode('latin-1').decode()
            except UnicodeError:
                raise BadRequest('Metadata must be valid UTF-8') from None
            if value == '':
                headers.pop(title, None)
            else:
                headers[title] = value
    kind = call.environ.get('CONTENT_TYPE')
    if kind and 'Content-Type' in headers:
        headers['Content-Type'] = kind


SERVICE = ObjectStore
