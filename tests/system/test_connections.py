"""Peers that open connections and keep them: silent, slow, many. Others are served meanwhile."""

import contextlib
import datetime
import json
import resource
import socket
import ssl
import subprocess
import sys
import threading
import time

import psutil
import pytest

from tests.system import wire
from tests.system.processes import ROOT, Program, eventually, free_port

SILENT = b'GET /v1/admin/stacks HTTP/1.1\r\nX-A: '
LIST = wire.request('GET', '/v1/admin/stacks')
WAIT = 20.0                             # seconds until something that must end counts as not ending


@pytest.fixture
def service(tmp_path):
    """`service('option=value', ...)`: a heatlite-all without a login; (program, port)."""
    started = []

    def start(*settings):
        program = Program(tmp_path / f'log{len(started)}', '--state-dir', tmp_path / f'state{len(started)}',
                          '--port', '0', *(word for each in settings for word in ('--set', each)),
                          module='heatlite.cmd.all_in_one')
        started.append(program)
        return program, int(program.process.stdout.readline().rsplit(':', 1)[1])

    yield start
    for program in started:
        program.kill()
        assert 'Traceback' not in program.log.read_text()


@contextlib.contextmanager
def crowd(port, count, data=SILENT, source='127.0.0.1'):
    """`count` connections that have sent `data` and say nothing more."""
    with contextlib.ExitStack() as stack:
        peers = []
        for number in range(count):
            peer = stack.enter_context(contextlib.closing(
                socket.create_connection(('127.0.0.1', port), 20, (source, 0))))
            peer.sendall(data)
            peers.append(peer)
            if number % 100 == 99:
                time.sleep(0.05)            # the machine's own queue of new connections is short
        yield peers


def is_closed(peer):
    """Reads until the end of the connection; what came before."""
    peer.settimeout(WAIT)
    received = b''
    try:
        while chunk := peer.recv(65536):
            received += chunk
    except ConnectionResetError:
        pass
    return received


def test_silent_connections_do_not_close_the_door(service):
    _, port = service('heat_api.header_timeout=300')        # much longer than `wire.send` waits
    with crowd(port, 1030):
        for _ in range(20):
            status, _, body = wire.send(port, LIST)
            assert (status, json.loads(body)) == (200, {'stacks': []})


def test_connections_that_send_nothing_at_all(service):
    _, port = service('heat_api.max_connections=20', 'heat_api.max_connections_per_peer=20')
    with crowd(port, 60, b''):
        assert wire.send(port, LIST)[0] == 200


def test_one_address_cannot_use_up_the_places_of_others(service):
    _, port = service('heat_api.max_connections=20', 'heat_api.max_connections_per_peer=8')
    with crowd(port, 40, source='127.0.0.2') as silent, crowd(port, 40, source='127.0.0.3'), closing_peer(port) as kept:
        kept.sendall(LIST)
        assert wire.answer(kept)[0] == 200
        for peer in silent[:32]:
            assert is_closed(peer) == b''
        kept.sendall(LIST)              # an idle connection outlives those that never said what they want
        assert wire.answer(kept)[0] == 200


def test_a_request_line_that_is_too_long_is_answered_with_a_document(service):
    _, port = service()
    for length in (8192, 100_000):
        status, headers, body = wire.send(port, wire.request('GET', '/v1/' + 'a' * length))
        assert (status, headers['content-type'], headers['connection']) == (414, 'application/json', 'close')
        assert 'The request line must be shorter than' in json.loads(body)['error']['message']


def closing_peer(port):
    return contextlib.closing(wire.connect(port))


@pytest.mark.parametrize('begin, byte', [
    (b'GET /v1/admin/stacks HTTP/1.1\r\nX-A: ', b'a'),
    (b'G', b'E'),
    (b'', b'\r\n'),
    (wire.request('POST', '/v1/admin/stacks', Content_Length='1000', Content_Type='application/json') + b'{', b' '),
    (wire.request('POST', '/v1/admin/stacks', Content_Length=None, Transfer_Encoding='chunked') + b'3', b'0'),
    (wire.request('POST', '/v1/admin/stacks', Content_Length=None, Transfer_Encoding='chunked'), b'1\r\n \r\n')])
def test_a_byte_now_and_then_extends_nothing(service, begin, byte):
    _, port = service('heat_api.header_timeout=1', 'heat_api.body_timeout=1')
    with closing_peer(port) as peer:
        until = time.monotonic() + WAIT
        try:
            peer.sendall(begin)
            while time.monotonic() < until:
                peer.sendall(byte)
                time.sleep(0.2)
        except (BrokenPipeError, ConnectionResetError):
            return
    raise AssertionError('the connection stayed')


def test_a_head_that_is_cut_off_is_not_executed(service):
    _, port = service()
    whole = wire.request('GET', '/v1/admin/stacks', Connection='close')
    assert b' 200 ' in cut_off(port, whole)
    answered = [size for size in range(len(whole)) if cut_off(port, whole[:size])]
    assert answered == []


def cut_off(port, data):
    """What comes after `data` and the end of the connection."""
    with closing_peer(port) as peer:
        peer.sendall(data)
        peer.shutdown(socket.SHUT_WR)
        return is_closed(peer)


HIDDEN = wire.request('GET', '/')
CHUNKED = {'Content_Type': 'application/json', 'Content_Length': None, 'Transfer_Encoding': 'chunked'}


@pytest.mark.parametrize('headers', [
    {'Content_Length': None, 'X-A: b\r\nno colon\r\nContent-Length': f'{len(HIDDEN)}'},
    {'Content_Length': None, 'Content-Length ': f'{len(HIDDEN)}'},
    {'Content_Length': None, 'X-A: b\r\n Content-Length': f'{len(HIDDEN)}'},
    {'Content_Length': None, 'X-A: b\rContent-Length': f'{len(HIDDEN)}'},
    {'Content_Length': None, 'X-A: b\nTransfer-Encoding ': 'chunked'}], ids=range(5))
def test_a_head_that_hides_its_body_is_refused_and_nothing_after_it_is_executed(service, headers):
    _, port = service()
    received = cut_off(port, wire.request('GET', '/', **headers) + HIDDEN)
    assert received.startswith(b'HTTP/1.1 400 '), received
    assert received.count(b'HTTP/1.1 ') == 1


@pytest.mark.parametrize('chunks', [b'2;a\n{}\r\n0\r\n\r\n', b'2;a\rb\r\n{}\r\n0\r\n\r\n', b'2\n{}\r\n0\r\n\r\n',
                                    b'2\r\n{}\n0\r\n\r\n', b'2\r\r\n{}\r\n0\r\n\r\n', b'2\r\n{}\r\n0\r\n\n',
                                    b'2\r\n{}\r\n0\r\nno colon\r\n\r\n', b'0x2\r\n{}\r\n0\r\n\r\n'])
def test_malformed_chunks_are_refused_and_nothing_after_them_is_executed(service, chunks):
    _, port = service()
    received = cut_off(port, wire.request('POST', '/v1/admin/validate', **CHUNKED) + chunks + HIDDEN)
    assert received.startswith(b'HTTP/1.1 400 ') and b'could not be read' in received, received
    assert received.count(b'HTTP/1.1 ') == 1


def test_chunks_with_extensions_and_trailers(service):
    _, port = service()
    template = json.dumps({'template': {'heat_template_version': '2018-08-31'}}).encode()
    received = cut_off(port, wire.request('POST', '/v1/admin/validate', **CHUNKED)
                       + b'%x;a=b;c="d"\r\n%s\r\n0 ;e\r\nX-A: b\r\n\r\n' % (len(template), template) + HIDDEN)
    assert received.startswith(b'HTTP/1.1 200 ') and received.count(b'HTTP/1.1 ') == 2, received


def test_an_empty_line_before_a_request_is_ignored(service):
    _, port = service()
    received = cut_off(port, LIST + b'\r\n' + LIST)
    assert received.count(b'HTTP/1.1 200 ') == received.count(b'HTTP/1.1 ') == 2
    assert cut_off(port, b'\r\n' * 3 + LIST).startswith(b'HTTP/1.1 400 ')


def test_a_slow_body_is_answered(service):
    _, port = service('heat_api.body_timeout=1')
    with closing_peer(port) as peer:
        peer.sendall(wire.request('POST', '/v1/admin/stacks', Content_Length='1000', Content_Type='application/json'))
        received = is_closed(peer)
        assert received.startswith(b'HTTP/1.1 400 '), received
        assert b'"HTTPBadRequest"' in received


def test_idle_connections_are_closed(service):
    _, port = service('heat_api.client_socket_timeout=1')
    with closing_peer(port) as peer:
        for _ in range(3):
            peer.sendall(LIST)
            assert wire.answer(peer)[0] == 200
        assert is_closed(peer) == b''


def test_who_does_not_read_the_answer_is_cut_off(service):
    program, port = service('heat_api.body_timeout=1')
    with closing_peer(port) as peer:
        with contextlib.suppress(TimeoutError):
            peer.settimeout(2)
            peer.sendall(wire.request('GET', '/v1/openapi.json') * 2000)
        eventually('the end of the connection', lambda: not established(program, port))


def test_who_reads_slowly_but_steadily_gets_it_all(service):
    _, port = service('heat_api.body_timeout=2')
    with contextlib.closing(socket.socket()) as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect(('127.0.0.1', port))
        peer.sendall(wire.request('GET', '/v1/openapi.json', Connection='close'))
        peer.settimeout(WAIT)
        received = b''
        while chunk := peer.recv(8192):
            received += chunk
            time.sleep(0.005)
        _, _, body = received.partition(b'\r\n\r\n')
        assert json.loads(body)['openapi']


def established(program, port):
    return [each for each in psutil.Process(program.process.pid).net_connections()
            if each.laddr.port == port and each.status == psutil.CONN_ESTABLISHED]


@pytest.fixture
def hanging():
    """URL of a server that takes connections and says nothing."""
    with contextlib.closing(socket.create_server(('127.0.0.1', 0))) as listening:
        yield f'http://127.0.0.1:{listening.getsockname()[1]}/template'


def test_when_all_are_being_served_the_next_is_told_so(service, hanging):
    program, port = service('heat_api.max_connections_per_peer=2', 'template_fetch_timeout=10',
                            'template_fetch_allow=127.0.0.1')
    ask = wire.request('POST', '/v1/admin/validate', json.dumps({'template_url': hanging}).encode(),
                       Content_Type='application/json')
    with crowd(port, 2, ask) as served:
        eventually('both requests', lambda: len(established(program, port)) == 2)
        time.sleep(0.5)
        status, headers, body = wire.send(port, b'')
        assert (status, headers['retry-after']) == (503, '1')
        assert json.loads(body)['error']['type'] == 'HTTPServiceUnavailable'
        assert wire.send(port, b'')[0] == 503
        for peer in served:
            assert wire.answer(peer)[0] == 400


def test_a_process_without_descriptors_goes_on(service):
    program, port = service()
    assert wire.send(port, LIST)[0] == 200
    process = psutil.Process(program.process.pid)
    process.rlimit(resource.RLIMIT_NOFILE, (process.num_fds() + 20, process.num_fds() + 20))
    with crowd(port, 100):
        for _ in range(3):
            assert wire.send(port, LIST)[0] == 200
    assert wire.send(port, LIST)[0] == 200


def test_many_requests_at_once_on_one_connection_take_turns(service):
    _, port = service()
    with closing_peer(port) as peer:
        answered = []
        reader = threading.Thread(target=lambda: answered.append(is_closed(peer).count(b'HTTP/1.1 ')), daemon=True)
        reader.start()
        threading.Thread(target=lambda: peer.sendall(wire.request('GET', '/') * 5000), daemon=True).start()
        assert wire.send(port, LIST)[0] == 200
        peer.shutdown(socket.SHUT_RDWR)
        reader.join()
        assert answered[0] < 5000           # the other one was answered in between


# --- TLS ---------------------------------------------------------------------------------------------------

@pytest.fixture
def secured(tmp_path):
    """A heatlite-api with a certificate of its own: its port."""
    certificate = tmp_path / 'certificate.pem'
    certificate.write_bytes(self_signed())
    port = free_port()
    file = tmp_path / 'heatlite.conf'
    file.write_text(f"""[DEFAULT]
transport_url = fake://
auth_encryption_key = 0123456789abcdef0123456789abcdef
[database]
connection = sqlite:///{tmp_path}/heatlite.sqlite
[paste_deploy]
flavor = noauth
[heat_api]
bind_port = {port}
cert_file = {certificate}
key_file = {certificate}
header_timeout = 1
body_timeout = 1
max_connections_per_peer = 20
""")
    subprocess.run([sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file', str(file),
                    'db_sync'], cwd=ROOT, check=True, capture_output=True)
    program = Program(tmp_path / 'log', '--config-file', file, module='heatlite.cmd.api')
    program.said('Listening on')
    yield port
    program.kill()
    assert 'Traceback' not in program.log.read_text()


def self_signed():
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, 'localhost')])
    now = datetime.datetime.now(datetime.UTC)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
            .sign(key, hashes.SHA256()))
    return made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


@contextlib.contextmanager
def encrypted(port):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with contextlib.closing(context.wrap_socket(wire.connect(port))) as peer:
        yield peer


def test_handshakes_that_do_not_come_hold_nobody_up(secured):
    with crowd(secured, 40, b'') as silent, crowd(secured, 1, b'\x16\x03\x01') as begun:
        for _ in range(3):
            with encrypted(secured) as peer:
                peer.sendall(LIST)
                assert wire.answer(peer)[0] == 200
        for peer in [*silent[-5:], *begun]:
            assert is_closed(peer) == b''


def test_plain_text_on_an_encrypted_port(secured):
    status, _, body = wire.send(secured, LIST)
    assert (status, body) == (0, b'')
    with encrypted(secured) as peer:
        peer.sendall(LIST)
        assert wire.answer(peer)[0] == 200


def test_deadlines_hold_with_encryption_too(secured):
    with encrypted(secured) as slow, encrypted(secured) as begun, encrypted(secured) as silent:
        slow.sendall(wire.request('POST', '/v1/admin/stacks', Content_Length='9', Content_Type='application/json'))
        begun.sendall(SILENT)
        status, _, body = wire.answer(slow)
        assert (status, json.loads(body)['error']['type']) == (400, 'HTTPBadRequest')
        for peer in (begun, silent):
            with contextlib.suppress(ssl.SSLError):         # an end without the word of farewell
                assert is_closed(peer) == b''
