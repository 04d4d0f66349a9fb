"""One service that answers for all: every path with an odd number of parts is a collection of anything, over real HTTP.

It knows no service's rules. What it is good for: seeing which requests a described type makes, and what it makes of
the answers, of errors, and of replies that never come.
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from heatlite.common.context import RequestContext
from heatlite.engine.resources import packed

# type of the service -> versions it answers with at its root, newest first: (id, microversions)
VERSIONS = {
    'identity': [('v3.14', None)], 'network': [('v2.0', None)], 'image': [('v2.16', None)],
    'compute': [('v2.1', '2.96')], 'volumev3': [('v3.0', '3.70')], 'load-balancer': [('v2.27', None)],
    'dns': [('v2', None)], 'baremetal': [('v1', '1.90')], 'key-manager': [('v1', None)],
    'shared-file-system': [('v2', '2.80')], 'workflow': [('v2', None)], 'messaging': [('v2', None)],
    'alarming': [], 'container-infra': [], 'reservation': [], 'database': [], 'object-store': [], 'lantern': [],
}
EXTENSIONS = sorted({alias for name in packed.names()
                     for alias in re.split('[ ,]+', packed.facts(name).get('required_service_extension') or '')})
KNOWN = 'known'
ID = re.compile('/([0-9a-f]{8}-[0-9a-f-]{27}|lost-[a-z0-9_-]+)$')    # where nothing is
SINGULARS = {'availabilityzoneprofiles': 'availability_zone_profile', 'availabilityzones': 'availability_zone',
             'qos_specs': 'qos_specs', 'qos': 'qos_specs'}
OTHER_PLURALS = {'types': ('volume_types', 'share_types'), 'os_hosts': ('hosts',)}
BY_NAME = ('/os-keypairs', '/cron_triggers', '/lbaas/availabilityzones')        # their things have no other id
ERRORS = {'network': lambda text: {'NeutronError': {'type': 'Fault', 'message': text, 'detail': ''}},
          'load-balancer': lambda text: {'faultcode': 'Client', 'faultstring': text, 'debuginfo': None}}


@dataclass
class Request:
    service: str
    method: str
    path: str
    body: Any
    query: dict[str, str]
    headers: dict[str, str]

    def __str__(self) -> str:
        return f'{self.method} {self.path}'


@dataclass
class Fault:
    """Hits the next `count` requests that match `METHOD path` (a regular expression). `lost`: served, not answered."""

    match: str
    status: int = 0
    count: int = 1
    lost: bool = False
    text: str = 'the lamp is busy'


@dataclass
class Cloud:
    """What is there, what was asked, and what goes wrong. `born`: fields every new thing has, by its key in bodies."""

    url: str = ''
    things: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)       # 'METHOD /path' -> (status, body)
    born: dict[str, Any] = field(default_factory=lambda: {'status': 'ACTIVE', 'provisioning_status': 'ACTIVE'})

    def said(self, *methods: str) -> list[str]:
        """The requests that change something, or those of `methods`."""
        wanted = methods or ('POST', 'PUT', 'PATCH', 'DELETE')
        return [str(request) for request in self.requests if request.method in wanted]

    def body(self, wanted: str) -> Any:
        """Of the last request that reads `METHOD /path`."""
        return [request.body for request in self.requests if str(request) == wanted][-1]

    def collection(self, path: str) -> dict[str, Any]:
        """Things by path below a collection."""
        return {found: thing for found, thing in self.things.items() if found.rpartition('/')[0] == path}

    # --- one request --------------------------------------------------------------------------------------

    def seed(self, path: str, **said: Any) -> None:
        """Something that was there before."""
        *_, collection, last = path.split('/')
        self.things[path] = {'id': last, 'name': last, **said, '_key': singular(collection)}

    def answer(self, request: Request) -> tuple[int, Any]:
        self.requests.append(request)
        known = self.answers.get(str(request))
        if known is not None:
            return known() if callable(known) else known
        match request.method:
            case 'POST':
                name = parts(request.body)[1].get('name') if request.path in BY_NAME else None
                return self.made(request, f'{request.path}/{name or uuid.uuid4()}')
            case 'GET' | 'HEAD':
                return self.shown(request)
            case 'PUT' | 'PATCH':
                return self.changed(request)
        if self.things.pop(request.path, None) is None:
            return 404, {}
        for inner in [path for path in self.things if path.startswith(f'{request.path}/')]:
            del self.things[inner]
        return 204, None

    def made(self, request: Request, path: str) -> tuple[int, Any]:
        key, fields = parts(request.body)
        thing = {'id': path.rpartition('/')[2], **fields, **self.born, '_key': key}
        collection, _slash, last = path.rpartition('/')
        thing.update(uuid=last, alarm_id=last, subscription_id=last)
        thing[f'{singular(collection.rpartition("/")[2])}_ref'] = f'{self.url}/{request.service}{path}'
        self.things[path] = thing
        return 201, whole(thing)

    def shown(self, request: Request) -> tuple[int, Any]:
        if request.path in self.things:
            return 200, whole(self.things[request.path])
        found = [thing for path, thing in self.things.items() if path.rpartition('/')[0] == request.path
                 and all(str(thing.get(name)) == value for name, value in request.query.items() if name in thing)]
        guessed = None if found else self.guessed(request)
        if guessed is not None:
            return 200, guessed
        if not found and ID.search(request.path):
            return 404, {}
        key = (found[0]['_key'] or request.path.rpartition('/')[2].rstrip('s')) if found else ''
        plural = request.path.rpartition('/')[2].replace('-', '_')
        names = (plural, f'{key}s', *OTHER_PLURALS.get(plural, ()))
        return 200, {name: [fields(thing) for thing in found] for name in names}

    def guessed(self, request: Request) -> Any:
        """Whatever is called known-something exists."""
        *_, collection, last = request.path.split('/')
        if last == 'extensions':
            return {'extensions': [{'alias': alias, 'name': alias} for alias in EXTENSIONS]}
        if last.startswith(KNOWN) or last == 'default':
            thing = {**self.born, 'id': last, 'name': last, 'uuid': last, 'network_id': 'known-network'}
            return {singular(collection): thing, **thing}
        names = ('id', 'name', 'floating_ip_address')
        wanted = next((request.query[name] for name in names if name in request.query), '')
        if wanted and wanted.startswith(KNOWN):
            plural = last.replace('-', '_')
            return {name: [{'id': wanted, 'name': wanted}] for name in (plural, *OTHER_PLURALS.get(plural, ()))}
        return None

    def changed(self, request: Request) -> tuple[int, Any]:
        thing = self.things.get(request.path)
        if thing is None:
            return self.made(request, request.path) if request.method == 'PUT' else (404, {})
        if isinstance(request.body, list):
            for change in request.body:
                thing[change['path'][1:]] = change.get('value')
        else:
            thing.update(parts(request.body)[1])
        return 200, whole(thing)


def singular(collection: str) -> str:
    word = collection.replace('-', '_')
    if word in SINGULARS:
        return SINGULARS[word]
    return f'{word[:-3]}y' if word.endswith('ies') else word.removesuffix('s')


def parts(body: Any) -> tuple[str | None, dict[str, Any]]:
    """(key, fields) of a body with or without a key around it."""
    if isinstance(body, dict) and len(body) == 1:
        (key, value), = body.items()
        if isinstance(value, dict):
            return key, value
    return None, body if isinstance(body, dict) else {}


def fields(thing: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in thing.items() if name != '_key'}


def whole(thing: dict[str, Any]) -> Any:
    return {thing['_key']: fields(thing)} if thing['_key'] else fields(thing)


# --- over HTTP -------------------------------------------------------------------------------------------

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize = -1                           # one packet for an answer: no waiting for acknowledgements
    disable_nagle_algorithm = True
    cloud: Cloud

    def log_message(self, *arguments: Any) -> None:
        pass

    def serve(self) -> None:
        address = urlsplit(self.path)
        _, service, *rest = address.path.split('/')
        raw = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        versions = VERSIONS[service]
        if versions and (not rest or rest in ([''], [versions[0][0]], [versions[0][0], ''], ['v3'], ['v3', ''])):
            return self.reply(service, 300 if not rest else 200, self.discovery(service, rest))
        if versions:
            rest = rest[1:]
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw.decode()
        request = Request(service, self.command, '/' + '/'.join(unquote(part) for part in rest), body, query,
                          dict(self.headers))
        fault = next((each for each in self.cloud.faults if each.count and re.search(each.match, str(request))), None)
        if fault is not None:
            fault.count -= 1
            if fault.status:
                self.cloud.requests.append(request)
                return self.reply(service, fault.status, None, fault.text)
        status, answer = self.cloud.answer(request)
        if service == 'object-store' and status == 200 and self.command in ('GET', 'HEAD'):
            answer = ([], {'x-container-bytes-used': '0', 'x-container-object-count': '0'})
        if fault is not None and fault.lost:
            self.close_connection = True
            self.connection.close()
            return None
        return self.reply(service, status, answer, 'not found' if status == 404 else '')

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = serve

    def discovery(self, service: str, rest: list[str]) -> Any:
        versions = [(name, newest, name.split('.')[0] if service == 'identity' else name)
                    for name, newest in VERSIONS[service]]
        entries = [{'id': name, 'status': 'CURRENT', 'version': newest or '',
                    'min_version': f'{newest[0]}.1' if newest else '',
                    'links': [{'rel': 'self', 'href': f'{self.cloud.url}/{service}/{place}'}]}
                   for name, newest, place in versions]
        if rest and rest[0]:
            return {'version': entries[0]}
        return {'versions': {'values': entries}} if service == 'identity' else {'versions': entries}

    def reply(self, service: str, status: int, body: Any, error: str = '') -> None:
        headers = {}
        if status >= 400 and error:
            body = ERRORS.get(service, lambda text: {'error': {'message': text, 'code': status}})(error)
        if isinstance(body, tuple):
            body, headers = body
        content = b'' if body is None or status == 204 else json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(content)))
        self.send_header('x-openstack-request-id', 'req-lamp')
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(content)


@contextmanager
def running() -> Iterator[Cloud]:
    cloud = Cloud()
    server = ThreadingHTTPServer(('127.0.0.1', 0), type('BoundHandler', (Handler,), {'cloud': cloud}))
    server.daemon_threads = True
    cloud.url = f'http://127.0.0.1:{server.server_port}'
    thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.02}, daemon=True)
    thread.start()
    try:
        yield cloud
    finally:
        server.shutdown()
        server.server_close()


def context(cloud: Cloud) -> RequestContext:
    """Of somebody whose catalogue has every service."""
    token = {'token': {
        'methods': ['password'], 'expires_at': '2999-01-01T00:00:00.000000Z',
        'issued_at': '2026-01-01T00:00:00.000000Z',
        'user': {'id': 'u', 'name': 'user', 'domain': {'id': 'd', 'name': 'domain'}},
        'project': {'id': 'p', 'name': 'project', 'domain': {'id': 'd', 'name': 'domain'}},
        'catalog': [{'type': service, 'name': service, 'id': service, 'endpoints': [
            {'interface': 'public', 'region': 'west', 'region_id': 'west', 'id': service,
             'url': f'{cloud.url}/{service}'}]}
            for service in VERSIONS]}}
    return RequestContext(project_id='p', user_id='u', auth_token='t', auth_token_info=token,
                          auth_url=f'{cloud.url}/identity/v3', region_name='west', overwrite=False)
