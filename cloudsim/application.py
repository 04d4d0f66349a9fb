"""The WSGI application: one request in, the right service found, one answer out, faults in between."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from cloudsim import admin, errors
from cloudsim.cloud import REGIONS, Cloud
from cloudsim.faults import Fault
from cloudsim.messages import Call, Problem, Reply
from cloudsim.service import Service

LOG = logging.getLogger(__name__)

JOURNAL = 1000                  # requests kept for GET /_sim/requests
FOR_EVER = 86400.0              # seconds; a hanging connection is closed in the end

StartResponse = Callable[..., Any]


class Application:
    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self._encode = json.JSONEncoder(separators=(',', ':')).encode

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        path: str = environ['PATH_INFO']
        if not path.isascii():                      # WSGI hands over bytes in the shape of Latin-1
            path = environ['PATH_INFO'] = path.encode('latin-1').decode('utf-8', 'replace')
        cloud, path = self.region(path)
        environ['PATH_INFO'] = path
        head, _, rest = path.lstrip('/').partition('/')
        raw = body(environ)
        if head == '_sim':
            return self.send(environ, start_response, admin.answer(cloud, environ, rest, raw), {})
        if cloud.settings.latency > 0:
            cloud.runtime.sleep(cloud.settings.latency)
        service = cloud.services.get(head)
        if service is None:             # the identity service also answers at the root, where people look first
            service, rest = cloud.services['identity'], path.lstrip('/')
        call = Call(cloud, service, environ, '/' + service.shorten(rest), raw, 'req-' + cloud.uuid())
        return self.handle(call, start_response)

    def region(self, path: str) -> tuple[Cloud, str]:
        """The region that a path leads to, and the path below it."""
        _, head, name, *rest = [*path.split('/', 3), '', ''][:4]
        if head == REGIONS and name in self.cloud.regions:
            return self.cloud.regions[name], '/' + ''.join(rest)
        return self.cloud, path

    def handle(self, call: Call, start_response: StartResponse) -> Iterable[bytes]:
        cloud, service = call.cloud, call.service
        cloud.clock.catch_up()
        fault: Fault | None = None
        try:
            handler, ids, known = service.routes.find(call.method, call.path)
            identify(call, handler)
            fault = cloud.faults.strike(call) if cloud.faults.rules else None
            if fault is not None:
                self.before(call, fault)
            if handler is None:
                raise Problem(405, 'Method Not Allowed') if known else Problem(404, 'The resource could not be found.')
            service.agree(call)
            reply = as_reply(handler(call, *ids))
            if fault is not None:
                self.afterwards(call, fault)
        except Problem as problem:
            reply = failure(service, problem)
        except Closed:
            self.note(call, 0)
            return hang_up(call.environ, start_response)
        except Exception:
            LOG.exception('%s %s/%s', call.method, service.name, call.path)
            reply = failure(service, Problem(500, 'The simulator failed; see its log.'))
        self.note(call, reply.status)
        own = {'x-openstack-request-id': call.request_id, **service.answer_headers(call)}
        if service.description.request_id != 'x-openstack-request-id':
            own[service.description.request_id] = call.request_id
        return self.send(call.environ, start_response, reply, own)

    def before(self, call: Call, fault: Fault) -> None:
        """What a fault does before the request is looked at."""
        match fault.kind:
            case 'error':
                raise Problem(fault.status, fault.text, 'Fault', dict(fault.headers))
            case 'throttle':
                seconds = str(int(fault.seconds) or 1)
                raise Problem(429, fault.text, 'OverLimit', {'Retry-After': seconds, **fault.headers})
            case 'refused':
                raise Closed
            case 'hang':
                call.cloud.runtime.sleep(fault.seconds or FOR_EVER)
                raise Closed
            case 'slow':
                call.cloud.runtime.sleep(fault.seconds)
                call.cloud.clock.catch_up()
            case 'gone':
                forget(call)
            case _:
                call.fault = fault

    def afterwards(self, call: Call, fault: Fault) -> None:
        """What a fault does after the request was served."""
        match fault.kind:
            case 'lost':
                raise Closed
            case 'hang_after':
                call.cloud.runtime.sleep(fault.seconds or FOR_EVER)
                raise Closed
            case 'error_after':
                raise Problem(fault.status, fault.text, 'Fault', dict(fault.headers))

    def note(self, call: Call, status: int) -> None:
        cloud = call.cloud
        cloud.requests += 1
        cloud.journal.append((call.service.name, call.method, call.path, status))
        if len(cloud.journal) > 2 * JOURNAL:
            del cloud.journal[:JOURNAL]

    def send(self, environ: dict[str, Any], start_response: StartResponse, reply: Reply,
             own: dict[str, str]) -> Iterable[bytes]:
        content = reply.body
        if content is None:
            content = b''
        elif not isinstance(content, bytes):
            content = self._encode(content).encode()
        headers = {**own, **reply.headers}
        if reply.status not in (204, 304):
            headers.setdefault('Content-Length', str(len(content)))
            headers['Content-Type'] = reply.content_type
        else:
            headers['Content-Length'] = '0'
        start_response(f'{reply.status} {errors.phrase(reply.status)}', list(headers.items()))
        return [] if environ['REQUEST_METHOD'] == 'HEAD' else [content]


class Closed(Exception):
    """The connection ends without an answer."""


def body(environ: dict[str, Any]) -> bytes:
    length = environ.get('CONTENT_LENGTH')
    if length:
        return bytes(environ['wsgi.input'].read(int(length))) if length != '0' else b''
    if environ.get('HTTP_TRANSFER_ENCODING', '').lower() == 'chunked':
        return bytes(environ['wsgi.input'].read())
    return b''


def identify(call: Call, handler: Any) -> None:
    """Who asks. Raises Problem (401) unless the function is open to everybody."""
    identity = call.cloud.services['identity']
    token = call.header('X-Auth-Token')
    call.identity = identity.of_token(token)        # type: ignore[attr-defined]
    if call.identity is None:
        if handler is None or not getattr(handler, 'is_open', False):
            raise Problem(401, 'The request you have made requires authentication.', 'Unauthorized',
                          {'WWW-Authenticate': f'Keystone uri="{call.cloud.url}/identity"'})
        return
    call.project_id = call.identity.project_id


def as_reply(answer: Any) -> Reply:
    """Functions give a Reply, or a status and JSON, or a status."""
    match answer:
        case Reply():
            return answer
        case (int(status), content):
            return Reply(status, content)
        case int():
            return Reply(answer)
    raise TypeError(f'no answer: {answer!r}')


def failure(service: Service, problem: Problem) -> Reply:
    content = errors.FORMS[service.description.errors](problem)
    kind = 'text/html; charset=UTF-8' if isinstance(content, bytes) else 'application/json'
    return Reply(problem.status, content, dict(problem.headers), kind)


def forget(call: Call) -> None:
    """Takes away what the last id in the path names, as if somebody else had deleted it."""
    for part in reversed(call.path.split('/')):
        for collection in call.service.collections():
            thing = collection.table.get(part)
            if thing is not None:
                with suppress(Problem):     # that it is in use keeps nobody
                    collection.leaving(call, thing)
                collection.drop(thing)
                return


def hang_up(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    """Closes the client's connection under the server's feet."""
    if 'eventlet.input' in environ:
        with suppress(OSError):
            environ['eventlet.input'].get_socket().shutdown(socket.SHUT_RDWR)
    start_response('500 Closed', [('Content-Length', '0'), ('Connection', 'close')])
    return [b'']
