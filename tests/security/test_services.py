"""Answers of services of the cloud that are too long, too slow, or no answers: refused in bounded memory and time."""

import contextlib
import functools
import gzip
import itertools
import threading
import tracemalloc
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from keystoneauth1 import exceptions, session
from oslo_config import cfg

from heatlite.common import config
from heatlite.engine.clients import sessions

SIZE = 1_000_000


@functools.cache
def bomb():
    """300 MB in a few kilobytes, made for the test that sends it: not by each process that collects it."""
    return gzip.compress(b'0' * 300_000_000, 9)


class Service(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        with contextlib.suppress(OSError):
            getattr(self, self.path.strip('/'))()

    def whole(self):
        self.head(Content_Length='13')
        self.wfile.write(b'{"a": "b c"}\n')

    def packed(self):
        content = gzip.compress(b'{"a": 1}')
        self.head(Content_Length=str(len(content)), Content_Encoding='gzip')
        self.wfile.write(content)

    def pieces(self):
        self.head(Transfer_Encoding='chunked')
        self.wfile.write(b'4\r\n{"a"\r\n4\r\n: 1}\r\n0\r\n\r\n')

    def empty(self):
        self.send_response(204)
        self.end_headers()

    def until_the_end(self):
        self.head(Connection='close')
        self.wfile.write(b'{"a": 1}')
        self.close_connection = True

    def endless(self):
        self.head(Transfer_Encoding='chunked')
        while True:
            self.wfile.write(b'10000\r\n' + b'0' * 65536 + b'\r\n')

    def announced(self):
        self.head(Content_Length=str(10 ** 12))
        while True:
            self.wfile.write(b'0' * 65536)

    def bomb(self):
        content = bomb()
        self.head(Content_Length=str(len(content)), Content_Encoding='gzip')
        self.wfile.write(content)

    def dripping(self):
        self.head(Content_Length='100000')
        self.drip(b'0')

    def dripping_headers(self):
        self.wfile.write(b'HTTP/1.1 200 OK\r\nX-Slow: ')
        self.drip(b'a')

    def dripping_status(self):
        self.drip(b'H')

    def not_yet(self):
        self.drip(b'HTTP/1.1 100 Continue\r\n\r\n')

    def silent(self):
        self.server.over.wait()

    def drip(self, piece):
        while not self.server.over.wait(0.01):
            self.wfile.write(piece)
            self.wfile.flush()

    def cut_off(self):
        self.head(Content_Length='1000')
        self.wfile.write(b'{"a"')
        self.close_connection = True

    def no_gzip(self):
        self.head(Content_Length='8', Content_Encoding='gzip')
        self.wfile.write(b'{"a": 1}')

    def bad_pieces(self):
        self.head(Transfer_Encoding='chunked')
        self.wfile.write(b'zzzz\r\n{"a"\r\n')
        self.close_connection = True

    def no_http(self):
        self.wfile.write(b'\x00\x01\x02 nonsense\r\n\r\n')
        self.close_connection = True

    def long_line(self):
        self.wfile.write(b'HTTP/1.1 200 OK\r\nX-Long: ' + b'a' * 1_000_000)
        self.close_connection = True

    def many_headers(self):
        self.wfile.write(b'HTTP/1.1 200 OK\r\n' + b'X-Many: a\r\n' * 100_000)
        self.close_connection = True

    def round_and_round(self):
        self.send_response(302)
        self.send_header('Location', f'http://{self.headers["Host"]}{self.path}')
        self.send_header('Content-Length', '0')
        self.end_headers()

    def head(self, **headers):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        self.end_headers()

    def log_message(self, *_what):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_what):
        """Clients that go away are what is tested."""


@pytest.fixture(scope='module')
def url():
    config.register(cfg.CONF)
    bomb()                                          # before memory is measured
    with Server(('127.0.0.1', 0), Service) as server:
        server.over = threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}'
        server.over.set()
        server.shutdown()


@pytest.fixture
def ask(url):
    cfg.CONF.set_override('max_answer_size', SIZE, group='clients')
    cfg.CONF.set_override('timeout', 5, group='clients')
    sessions.forget()
    asking = session.Session(session=sessions._connections(), timeout=5)
    yield lambda path: asking.get(f'{url}/{path}')
    for option in ('max_answer_size', 'max_answer_time', 'timeout'):
        cfg.CONF.clear_override(option, group='clients')
    sessions.forget()


@pytest.mark.parametrize('path, found', [
    ('whole', {'a': 'b c'}), ('packed', {'a': 1}), ('pieces', {'a': 1}), ('until_the_end', {'a': 1})])
def test_answers(ask, path, found):
    for _again in range(3):                         # connections stay usable
        assert ask(path).json() == found


def test_an_answer_without_a_body(ask):
    assert (ask('empty').status_code, ask('empty').content) == (204, b'')


@pytest.mark.parametrize('path', ['endless', 'announced', 'bomb'])
def test_an_answer_that_is_too_long(ask, path):
    tracemalloc.start()
    try:
        with pytest.raises(exceptions.ConnectFailure,
                           match='longer than 1000000 bytes .option .clients. max_answer_size'):
            ask(path)
        assert tracemalloc.get_traced_memory()[1] < 30 * SIZE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize('path', ['dripping', 'dripping_headers', 'dripping_status', 'not_yet', 'silent'])
def test_an_answer_that_takes_too_long(ask, path):
    """Each byte arrives long before `timeout`; the last one never does."""
    cfg.CONF.set_override('max_answer_time', 1, group='clients')
    with pytest.raises(exceptions.ClientException,
                       match='longer than 1 seconds .option .clients. max_answer_time'):
        ask(path)


@pytest.mark.parametrize('path', ['cut_off', 'no_gzip', 'bad_pieces', 'no_http', 'long_line', 'many_headers',
                                  'round_and_round'])
def test_what_is_no_answer(ask, path):
    """An error that names the service as unreachable or wrong; never one of this service."""
    if path == 'round_and_round':
        assert ask(path).status_code == 302
        return
    with pytest.raises(exceptions.ClientException):
        ask(path)


def test_an_answer_that_the_caller_reads_itself(ask, url):
    """Files of objects are read in pieces, with bounds of their own."""
    cfg.CONF.set_override('max_answer_size', 5, group='clients')
    answer = session.Session(session=sessions._connections()).get(f'{url}/whole', stream=True)
    assert b''.join(answer.iter_content(4)) == b'{"a": "b c"}\n'


def test_an_answer_that_the_caller_reads_itself_may_take_longer(ask, url):
    cfg.CONF.set_override('max_answer_time', 1, group='clients')
    answer = session.Session(session=sessions._connections()).get(f'{url}/dripping', stream=True)
    assert len(b''.join(itertools.islice(answer.iter_content(1), 150))) == 150       # each comes 0.01 s after the last
    answer.close()
