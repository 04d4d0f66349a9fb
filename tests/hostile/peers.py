"""The bombs that are connections and requests: silent, slow, endless, malformed, too many.

Each attack is a function of the port; it returns the statuses of the answers it got, 0 for a connection that was
closed without one.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.hostile import floods, metrics, refactors, stack_sets
from tests.hostile.stages import settled
from tests.hostile.tenants import Tenant

HOST = '127.0.0.1'
REST, CFN, CLOUDWATCH = 'rest', 'cfn', 'cloudwatch'
CLOSED, SILENT = 0, -1
LISTEN = 5.0            # seconds to wait for an answer
DEADLINE = 10.0         # seconds the API gives a peer for its headers, by default
SIGNALS = 80
MARKS = 60
NESTED = 100
MANY = 1030             # connections of one peer


@dataclass(frozen=True)
class Peer:
    """`attack(tenant, port)`: the statuses. `allowed`: what they may be. `api`: the one it goes to. `within`: seconds
    until each answer, or until the connection is closed."""

    name: str
    attack: Callable[[Tenant, int], list[int]]
    allowed: frozenset[int]
    api: str = REST
    quick: bool = True
    within: float = 10.0


@contextlib.contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with contextlib.closing(socket.create_connection((HOST, port), timeout=LISTEN)) as found:
        yield found


def status(connection: socket.socket) -> int:
    """Of the answer that comes; CLOSED or SILENT without one."""
    try:
        head = connection.recv(65536)
    except TimeoutError:
        return SILENT
    except OSError:
        return CLOSED
    words = head.split(b' ', 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else CLOSED


def sent(port: int, *pieces: bytes) -> int:
    """The status after all pieces; a peer that stops reading has closed."""
    with connected(port) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
        except OSError:
            pass                                    # it answers, or has closed, before it has read everything
        return status(connection)


def head(tenant: Tenant, *lines: str, method: str = 'POST', path: str = '/stacks/preview') -> bytes:
    prefix = tenant.url.split('/', 3)[3]
    given = [f'{name}: {value}' for name, value in tenant.headers.items()]
    return '\r\n'.join([f'{method} /{prefix}{path} HTTP/1.1', f'Host: {HOST}', *given, *lines, '', '']).encode()


def large_body(tenant: Tenant, port: int) -> list[int]:
    size = 50 * 2 ** 20
    return [sent(port, head(tenant, f'Content-Length: {size}', 'Content-Type: application/json'),
                 *[b'x' * 2 ** 20] * 50)]


def endless_chunks(tenant: Tenant, port: int) -> list[int]:
    chunk = b'100000\r\n' + b'x' * 2 ** 20 + b'\r\n'
    return [sent(port, head(tenant, 'Transfer-Encoding: chunked', 'Content-Type: application/json'), *[chunk] * 50)]


def form(tenant: Tenant, port: int) -> list[int]:
    body = b'&'.join(b'a%d=' % number for number in range(120_000))[:2 ** 20]
    return [sent(port, b'POST /v1/?AWSAccessKeyId=x&Signature=y HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n'
                 b'Content-Type: application/x-www-form-urlencoded\r\n\r\n' % len(body), body)]


def large_form(tenant: Tenant, port: int) -> list[int]:
    return [sent(port, b'POST /v1/?AWSAccessKeyId=x&Signature=y HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n'
                 b'Content-Type: application/x-www-form-urlencoded\r\n\r\n' % (100 * 2 ** 20), *[b'a' * 2 ** 20] * 100)]


def parts(tenant: Tenant, port: int) -> list[int]:
    body = b''.join(b'--b\r\nContent-Disposition: form-data; name="a%d"\r\n\r\n\r\n' % number
                    for number in range(15_000))
    return [sent(port, b'POST /v1/?AWSAccessKeyId=x&Signature=y HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n'
                 b'Content-Type: multipart/form-data; boundary=b\r\n\r\n' % len(body), body)]


def malformed(tenant: Tenant, port: int) -> list[int]:
    kind = 'Content-Type: application/json'
    chunked = 'Transfer-Encoding: chunked'
    return [
        sent(port, head(tenant, kind, chunked), b'zz\r\nxx\r\n'),
        sent(port, head(tenant, kind, chunked), b'-5\r\nxx\r\n'),
        sent(port, head(tenant, kind, chunked), b'f' * 4000 + b'\r\n'),
        sent(port, head(tenant, kind, 'Content-Length: -1'), b'{}'),
        sent(port, head(tenant, kind, 'Content-Length: 1e3'), b'{}'),
        sent(port, head(tenant, kind, 'Content-Length: ' + '9' * 30), b'{}'),
        sent(port, b'GET\r\n\r\n'), sent(port, b'\x00\xff\xfe\r\n\r\n'),
        sent(port, b'GET /v1/p/stacks HTTP/9.9\r\nHost: x\r\n\r\n')]


def bodies(tenant: Tenant, port: int) -> list[int]:
    texts = ['{' * 100_000, '[' * 500_000, '{"a":' * 50_000 + '1' + '}' * 50_000, '{"stack_name": NaN}',
             '{"stack_name": ' + '9' * 5000 + '}', '{"stack_name": "\\ud800"}', '\ufeff{}', '"', 'null', '1e400',
             '{"stack_name": "a", "template": {"heat_template_version": "2018-08-31"}, "tags": "\\ud800"}',
             json.dumps({'stack_name': 'a\r\nX: y', 'template': {}}),
             json.dumps({'stack_name': 'a', 'tags': ','.join('t' * 70 for _tag in range(12_000))})]
    return [sent(port, head(tenant, 'Content-Type: application/json', f'Content-Length: {len(text.encode())}'),
                 text.encode()) for text in texts]


def addresses(tenant: Tenant, port: int) -> list[int]:
    paths = ['/stacks?' + '&'.join(f'k{number}=v' for number in range(1500)), '/stacks?marker=' + 'x' * 15_000,
             '/stacks/' + 'x' * 15_000, '/stacks?sort_keys=' + ','.join(['name'] * 3000), '/stacks?limit=' + '9' * 5000,
             '/stacks?tags=' + ','.join(f't{number}' for number in range(2500)), '/stacks?%ff=%fe', '/stacks/%00',
             '/stacks?' + 'a' * 60_000, '/../../etc/passwd', '/stacks?' + '&'.join(['name=x'] * 2000)]
    return [sent(port, head(tenant, method='GET', path=path)) for path in paths]


def headers(tenant: Tenant, port: int) -> list[int]:
    return [sent(port, head(tenant, *[f'X-A{number}: v' for number in range(2000)], method='GET', path='/stacks')),
            sent(port, head(tenant, 'X-A: ' + 'v' * 70_000, method='GET', path='/stacks')),
            sent(port, head(tenant, *['X-A: v'] * 2000, method='GET', path='/stacks')),
            sent(port, head(tenant, 'Accept: ' + ','.join(['text/html;q=0.1'] * 800), method='GET', path='/stacks'))]


def traces(tenant: Tenant, port: int) -> list[int]:
    """Contexts of traces that are too long, too many, or none."""
    parent = f"00-{'a' * 32}-{'b' * 16}-01"
    state = 'tracestate: ' + ','.join(f'k{number}=v' for number in range(1500))
    given = [[f'traceparent: {parent}'] * 500, [f'traceparent: {parent}', state],
             [f'traceparent: {parent}', *[state] * 3],
             [f'traceparent: ff-{"0" * 32}-{"0" * 16}-zz'], ['traceparent: cc-' + '-' * 15_000],
             [f'traceparent: {parent}-{"x" * 15_000}'], [f'traceparent: {parent}', 'tracestate: ' + '=,' * 7500],
             ['traceparent: \xff\xfe'], [f'traceparent: {parent}', 'baggage: ' + 'k=v,' * 3500],
             ['X-Trace-Info: ' + 'e30=' * 3000, 'X-Trace-HMAC: ' + 'f' * 64]]
    return [sent(port, head(tenant, *lines, method='GET', path='/stacks')) for lines in given]


def silent(tenant: Tenant, port: int) -> list[int]:
    """More connections than the API serves, none of which ever ends its request."""
    found: list[socket.socket] = []
    try:
        for _number in range(MANY):
            try:
                found.append(socket.create_connection((HOST, port), timeout=1.0))
                found[-1].sendall(b'GET / HTTP/1.1\r\nX-A: ')
            except OSError:
                break
        answer = tenant.ask('GET', '/stacks', patience=10.0)
        return [answer.status or SILENT]
    finally:
        for each in found:
            each.close()


def drip(tenant: Tenant, port: int) -> list[int]:
    """A header that never ends, a byte at a time: the connection must be closed all the same."""
    with connected(port) as connection:
        deadline = time.monotonic() + 30.0
        connection.sendall(b'GET /v1/p/stacks HTTP/1.1\r\nX-A: ')
        connection.settimeout(0.5)
        while time.monotonic() < deadline:
            try:
                connection.sendall(b'x')
                if not connection.recv(65536):
                    return [CLOSED]
                return [status(connection) or 408]
            except TimeoutError:
                continue
            except OSError:
                return [CLOSED]
        return [SILENT]


def signals(tenant: Tenant, port: int) -> list[int]:
    """As many signals as fit to one wait handle, each as large as a request may be and kept beside the others."""
    handle = {'heat_template_version': '2018-08-31', 'resources': {
        'h': {'type': 'OS::Heat::WaitConditionHandle', 'properties': {'signal_transport': 'NO_SIGNAL'}},
        'w': {'type': 'OS::Heat::WaitCondition',
              'properties': {'handle': {'get_resource': 'h'}, 'count': 1000, 'timeout': 3600}}}}
    made = tenant.ask('POST', '/stacks', {'stack_name': 'signalled', 'template': handle})
    path = f"/stacks/signalled/{made.body['stack']['id']}"
    deadline = time.monotonic() + LISTEN
    while (time.monotonic() < deadline
           and tenant.ask('GET', f'{path}/resources/h').body['resource']['resource_status'] != 'CREATE_COMPLETE'):
        time.sleep(0.1)
    found = [tenant.ask('POST', f'{path}/resources/h/signal', {
        'id': str(number), 'status': 'SUCCESS', 'data': 'z' * 900_000}).status for number in range(SIGNALS)]
    found.append(tenant.ask('GET', f'{path}/resources/h').status)
    found.append(tenant.ask('DELETE', path).status)
    settled(tenant, path)
    return found


def marks(tenant: Tenant, port: int) -> list[int]:
    """Resources marked as unhealthy with reasons as large as a request may be, of which lists and engines read all."""
    names = [f'r{number}' for number in range(MARKS)]
    made = tenant.ask('POST', '/stacks', {'stack_name': 'marked', 'template': {
        'heat_template_version': '2018-08-31', 'resources': {name: {'type': 'OS::Heat::None'} for name in names}}})
    path = f"/stacks/marked/{made.body['stack']['id']}"
    settled(tenant, path)
    found = [tenant.ask('PATCH', f'{path}/resources/{name}', {
        'mark_unhealthy': True, 'resource_status_reason': 'z' * 900_000}).status for name in names]
    found += [tenant.ask('GET', f'{path}/{what}').status for what in ('resources', 'events')]
    found.append(tenant.ask('DELETE', path).status)
    settled(tenant, path)
    return found


def descriptions(tenant: Tenant, port: int) -> list[int]:
    """Nested stacks whose template has a description as large as a template may be."""
    inner = {'heat_template_version': '2018-08-31', 'description': 'z' * 500_000,
             'resources': {'a': {'type': 'OS::Heat::None'}}}
    made = tenant.ask('POST', '/stacks', {
        'stack_name': 'described', 'files': {'inner.yaml': json.dumps(inner)},
        'template': {'heat_template_version': '2018-08-31', 'resources': {'g': {
            'type': 'OS::Heat::ResourceGroup',
            'properties': {'count': NESTED, 'resource_def': {'type': 'inner.yaml'}}}}}})
    if made.status != 201:
        return [made.status]
    path = f"/stacks/described/{made.body['stack']['id']}"
    settled(tenant, path)
    found = [tenant.ask('GET', '/stacks?show_nested=true').status, tenant.ask('DELETE', path).status]
    settled(tenant, path)
    return [*found, tenant.ask('GET', '/stacks?show_nested=true&show_deleted=true').status]


REFUSED = frozenset({400, 403, 404, 408, 411, 413, 414, 415, 431, 501, 503, CLOSED})
PEERS = (
    Peer('50 MB of JSON', large_body, frozenset({400, 413, CLOSED})),
    Peer('endless chunks', endless_chunks, frozenset({400, 413, CLOSED})),
    Peer('malformed requests', malformed, REFUSED | {505}),
    Peer('JSON bodies', bodies, frozenset({400, 403, 413})),
    Peer('addresses', addresses, frozenset({200, 400, 403, 404, 414, 431})),
    Peer('headers', headers, frozenset({200, 400, 431})),
    Peer('contexts of traces', traces, frozenset({200, 400, 431})),
    Peer('refactors', refactors.refactors, frozenset({200, 400, 403, 409, 413})),
    Peer('stack sets', stack_sets.stack_sets, frozenset({200, 201, 204, 400, 403, 413})),
    Peer('silent connections', silent, frozenset({200})),
    Peer('a header that drips', drip, frozenset({CLOSED, 400, 408}), quick=False, within=DEADLINE + 2.0),
    Peer('80 large signals', signals, frozenset({200, 204, 400})),
    Peer('60 marks with long reasons', marks, frozenset({200, 204})),
    Peer('100 nested stacks with long descriptions', descriptions, frozenset({200, 204})),
    Peer('32 callers without a pause', floods.flood, frozenset({201, 204, 400, 429, 503}), quick=False),
    Peer('120 000 form fields', form, REFUSED, api=CFN),
    Peer('100 MB of form', large_form, REFUSED, api=CFN),
    Peer('15 000 parts', parts, REFUSED, api=CFN),
    Peer('metrics unpacked', metrics.unpacked, frozenset({400, 413}), api=CLOUDWATCH),
    Peer('metrics in documents', metrics.documents, frozenset({400, 413}), api=CLOUDWATCH),
    Peer('many metrics', metrics.data, frozenset({200, 400}), api=CLOUDWATCH),
    Peer('queries of metrics', metrics.queries, frozenset({200, 400}), api=CLOUDWATCH),
    Peer('many alarms', metrics.alarms, frozenset({200, 400}), api=CLOUDWATCH),
)
