"""Servers that a user chose, and which never end their answer: no client reads on for ever, and other threads run while
one reads. Counted, not timed: how many bytes a client takes, and how many turns it spends on them."""

import contextlib
import gzip
import socket
import subprocess
import sys
import threading

import pytest
from oslo_config import cfg

from heatlite.common import config, http_answers, turns, urlfetch
from heatlite.engine.clients import bounded, guarded, sessions

LINE = b'X: 1\r\n'
OK = b'HTTP/1.1 200 OK\r\n'
CHUNKED = OK + b'Transfer-Encoding: chunked\r\n\r\n'
SMALL = 1000                    # bytes that a body may have, in the tests of chunks
BUFFERS = 16 << 20              # bytes that the system takes from a server, though nothing reads them


class Peer:
    """A server that answers with `begin`, and then `piece` for as long as the client reads; or `times`, and `end`."""

    def __init__(self, begin, piece, times=None, end=b''):
        self.answer = begin, piece, times, end
        self.sent = 0
        self._listening = socket.create_server(('127.0.0.1', 0))
        self.url = f'http://127.0.0.1:{self._listening.getsockname()[1]}/'
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _address = self._listening.accept()
                with contextlib.suppress(OSError), connection:
                    self._answer(connection)

    def _answer(self, connection):
        connection.recv(65536)
        begin, piece, times, end = self.answer
        self._send(connection, begin)
        if times is None:
            many = piece * (65536 // len(piece) + 1)
            while True:
                self._send(connection, many)
        self._send(connection, piece * times + end)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass

    def _send(self, connection, data):
        connection.sendall(data)
        self.sent += len(data)

    def close(self):
        self._listening.close()


@pytest.fixture
def peer():
    with contextlib.ExitStack() as peers:
        def make(*answer):
            found = Peer(*answer)
            peers.callback(found.close)
            return found

        yield make


@pytest.fixture(autouse=True)
def allowed():
    config.register(cfg.CONF)
    cfg.CONF.set_override('template_fetch_allow', ['127.0.0.1'])
    yield
    cfg.CONF.clear_override('template_fetch_allow')


@pytest.fixture
def spent():
    """The turns that were spent: one entry for each."""
    found = []
    turns.use(lambda *_owners: found.append(1))
    yield found
    turns.use(None)


def fetched(url):
    return urlfetch.get(url).encode()


def posted(url):
    urlfetch.post(url, b'{}', 60.0)


def asked(url):
    return urlfetch.ask(url, b'{}', 60.0, cfg.CONF.max_template_size)


def of_another_cloud(url):
    return sessions.transport(guarded.GuardedAdapter()).get(url, timeout=60).content


def of_this_cloud(url):
    return sessions.transport(sessions.KeepAliveAdapter()).get(url, timeout=60).content


READERS = [fetched, asked, of_another_cloud, of_this_cloud]        # of bodies
CLIENTS = [*READERS, posted]
# All raise errors that their callers handle as those of a connection.
REFUSALS = (urlfetch.URLFetchError, bounded.requests.exceptions.ConnectionError)


@pytest.mark.parametrize('ask', CLIENTS)
@pytest.mark.parametrize('begin, piece', [
    (b'', b'HTTP/1.1 100 \r\n\r\n'), (b'', b'HTTP/1.1 100 Continue\r\n' + LINE + b'\r\n'),
    (b'HTTP/1.1 100 \r\n', LINE), (OK, b'X: ' + b'x' * 60_000 + b'\r\n'), (OK, b'x'), (b'', b'x')])
def test_a_head_that_never_ends(peer, ask, begin, piece):
    server = peer(begin, piece)
    with pytest.raises(REFUSALS):
        ask(server.url)
    assert server.sent < BUFFERS


@pytest.mark.parametrize('ask', READERS)
@pytest.mark.parametrize('begin', [CHUNKED + b'0\r\n', CHUNKED + b'1\r\nx\r\n0\r\n'])
def test_trailers_that_never_end(peer, ask, begin):
    server = peer(begin, LINE)
    with pytest.raises(REFUSALS):
        ask(server.url)
    assert server.sent < BUFFERS


@pytest.mark.parametrize('ask', READERS)
@pytest.mark.parametrize('piece', [b'1;' + b'x' * 60_000 + b'\r\nx\r\n', b'1\r\nx\r\n'])
def test_more_frames_than_content(peer, ask, piece):
    cfg.CONF.set_override('max_answer_size', SMALL, 'clients')
    cfg.CONF.set_override('max_template_size', SMALL)
    try:
        server = peer(CHUNKED, piece)
        with pytest.raises(REFUSALS):
            ask(server.url)
        assert server.sent < BUFFERS
    finally:
        cfg.CONF.clear_override('max_answer_size', 'clients')
        cfg.CONF.clear_override('max_template_size')


@pytest.mark.parametrize('ask', READERS)
def test_others_run_while_chunks_of_one_byte_are_read(peer, ask, spent):
    server = peer(CHUNKED, b'1\r\nx\r\n', 100_000, b'0\r\n\r\n')
    assert ask(server.url) == b'x' * 100_000
    assert len(spent) > server.sent // 8192


@pytest.mark.parametrize('ask', READERS)
def test_others_run_while_empty_members_are_unpacked(peer, ask, spent):
    packed = gzip.compress(b'')
    head = OK + b'Content-Encoding: gzip\r\nConnection: close\r\n\r\n'
    server = peer(head, packed, 50_000, gzip.compress(b'x'))
    assert ask(server.url) == b'x'
    assert len(spent) >= server.sent // bounded.PIECE


@pytest.mark.parametrize('ask', CLIENTS)
def test_others_run_while_interim_answers_are_skipped(peer, ask, spent):
    interim = b'HTTP/1.1 100 \r\n\r\n'
    many = http_answers.MOST_AROUND // len(interim) - 10
    server = peer(b'', interim, many, OK + b'Content-Length: 1\r\n\r\nx')
    assert ask(server.url) in (b'x', None)
    assert len(spent) >= server.sent // 8192


@pytest.mark.parametrize('ask', READERS)
def test_what_an_honest_server_sends_around_a_body(peer, ask):
    """Interim answers, large headers, chunks, trailers."""
    interim = b'HTTP/1.1 100 Continue\r\n\r\n' * 20
    headers = b''.join(b'X-%d: %s\r\n' % (number, b'x' * 1000) for number in range(40))
    server = peer(interim + OK + headers + b'Transfer-Encoding: chunked\r\n\r\n', b'4\r\n1234\r\n', 20_000,
                  b'0\r\n' + LINE * 20 + b'\r\n')
    assert ask(server.url) == b'1234' * 20_000


def test_lines_of_any_length_are_read_in_parts():
    """urllib3 reads the lines of chunks itself where the caller reads in pieces."""
    left, right = socket.socketpair()
    with left, right:
        threading.Thread(target=right.sendall, args=(b'x' * (http_answers.MOST_AROUND + 5) + b'\n',)).start()
        answer = http_answers.BoundedAnswer(left)
        assert len(answer.fp.readline()) == http_answers.MOST_AROUND
        assert answer.fp.readline() == b'xxxxx\n'


# Each byte begins a new wait of a green socket, whose time-out is that of one wait.
SLOW = '''
import sys
from heatlite.common import runtime
runtime.patch()
from eventlet import patcher
from oslo_config import cfg
from heatlite.common import config, urlfetch
from heatlite.engine.clients import guarded, sessions
sockets, sleep = patcher.original('socket'), patcher.original('time').sleep
TURNS = 2000
listening = sockets.socket()
listening.bind(('127.0.0.1', 0))
listening.listen()
done = []

def handshake(connection):
    connection.send(b'\\x16\\x03\\x03\\x40\\x00\\x02\\x00\\x3f\\xfc')
    for _ in range(TURNS):
        connection.send(b'x')
        done.append(1)
        sleep(0.01)

def body(connection):
    while len(done) < TURNS and connection.recv(16384):
        done.append(1)
        sleep(0.01)

def serve():
    try:
        globals()[sys.argv[1]](listening.accept()[0])
    except OSError:
        pass

patcher.original('threading').Thread(target=serve, daemon=True).start()
config.register(cfg.CONF)
cfg.CONF.set_override('template_fetch_allow', ['127.0.0.1'])
cfg.CONF.set_override('max_answer_time', 1, 'clients')
scheme = 'https' if sys.argv[1] == 'handshake' else 'http'
url = f'{scheme}://127.0.0.1:{listening.getsockname()[1]}/'
large = b'x' * (64 << 20)
try:
    if sys.argv[2] == 'posted':
        urlfetch.post(url, large, 1.0)
    else:
        sessions.transport(guarded.GuardedAdapter()).post(url, data=large, timeout=1.0)
except OSError:
    print(len(done) < TURNS)
'''


@pytest.mark.parametrize('kind', ['handshake', 'body'])
@pytest.mark.parametrize('client', ['posted', 'of_another_cloud'])
def test_a_server_that_takes_or_gives_byte_by_byte_is_left_in_time(kind, client):
    done = subprocess.run([sys.executable, '-c', SLOW, kind, client], capture_output=True, text=True, check=False,
                          timeout=100)
    assert done.stdout == 'True\n', done.stderr
