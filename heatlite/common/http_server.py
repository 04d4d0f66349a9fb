"""The built-in HTTP server: one green thread per connection, with a deadline for everything a peer does.

A peer has `header_seconds` to send a request's head (the TLS handshake counts), `body_seconds` for its body, the same
for reading the answer, and may leave a connection idle for `idle_seconds`; all in total, so that a byte now and then
extends nothing. Bodies and answers get one more second for each `RATE` bytes. Connections are limited in total and for
each peer: at either limit a new one replaces the oldest connection that has not sent a complete request.

Only this file and `common.runtime` depend on the thread library. Must not import anything that knows what is served.
"""

from __future__ import annotations

import errno
import json
import logging
import re
import socket
import time
from _socket import socket as _RawSocket
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, BinaryIO, NoReturn
from wsgiref.types import WSGIApplication, WSGIEnvironment

import eventlet
from eventlet import event as green_event
from eventlet import greenio, wsgi
from eventlet import timeout as green_timeout

from heatlite.common import addresses, green_workers, health, http_head, metrics
from heatlite.common.limits import RATE, USUAL_PEERS, Connections

if TYPE_CHECKING:
    import ssl

LOG = logging.getLogger(__name__)

POLL_SECONDS = 0.5              # between two searches for connections whose deadline has passed
REQUESTS_BETWEEN_TURNS = 8      # pipelined requests of one connection before it yields to others
LINGER, LINGER_BYTES = 2.0, 1 << 27      # seconds, bytes: lets a peer that still sends read the refusal
SPARE = 8                       # connections that are closed when the process runs out of descriptors
CHUNK_LINE = 1024               # bytes of the line before a chunk
CHUNKS = 100_000                # of one body
TRAILERS = 32                   # lines after the last chunk

# States of a connection. In the first three it can be closed in favour of a new one.
HEAD, BODY, IDLE, BUSY = 'head', 'body', 'idle', 'busy'

_SIZE = re.compile(rb'([0-9a-fA-F]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n')         # with extensions
_FULL = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

Refusal = Callable[[int, str], tuple[str, bytes]]


def plain_refusal(status: int, text: str) -> tuple[str, bytes]:
    """Content type and body of an answer that the server itself gives."""
    return 'application/json', json.dumps({'code': status, 'message': text}).encode('ascii')


class HttpConnection:
    """One accepted connection. `deadline`: when it is closed, by the monotonic clock; None: never."""

    __slots__ = ('deadline', 'has_sent', 'lingers', 'peer', 'sock', 'state', 'thread')

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self.sock = sock
        self.peer = peer
        self.thread: green_workers.Job      # serves it; set before anything else uses the connection
        self.state = HEAD
        self.deadline: float | None = None
        self.has_sent = False               # the head of a request, at least once
        self.lingers = False                # it may still send data, which is discarded

    def expect(self, state: str, seconds: float | None, size: int = 0) -> None:
        """Enter `state`, which may last `seconds`, and the time that `size` bytes take."""
        self.state = state
        self.deadline = None if seconds is None else time.monotonic() + seconds + size / RATE

    def grant(self, size: int) -> None:
        """Extend the deadline for `size` received bytes."""
        if self.deadline is not None:
            self.deadline += size / RATE

    def cut(self) -> None:
        """Wake the thread that reads or writes: it sees the end of the connection.

        Shuts down the raw socket below the TLS wrapper, which would continue in clear text.
        """
        with suppress(OSError):
            _RawSocket.shutdown(getattr(self.sock, 'fd', self.sock), socket.SHUT_RDWR)

    def expire(self) -> None:
        """Handle a passed deadline. A connection whose body arrives too slowly still gets an answer."""
        self.deadline = None
        if self.state == BODY:
            self.thread.kill(TimeoutError('the body did not arrive in time'))
        else:
            self.cut()


class _Writer:
    """The handler's output. Each write has a deadline."""

    closed = False

    def __init__(self, connection: HttpConnection, seconds: float | None) -> None:
        self._connection = connection
        self._seconds = seconds

    def write(self, data: bytes) -> int:
        connection = self._connection
        state, deadline = connection.state, connection.deadline
        connection.expect(BUSY, self._seconds, len(data))
        connection.sock.sendall(data)
        connection.state, connection.deadline = state, deadline
        return len(data)

    def writelines(self, parts: Iterable[bytes]) -> None:
        self.write(b''.join(parts))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class _Input(wsgi.Input):         # type: ignore[misc]
    """The body of a request. Reading it has a deadline; broken chunks are a ValueError and end the connection."""

    def __init__(self, handler: _Protocol, body: wsgi.Input) -> None:
        super().__init__(body.rfile, body.content_length, body._sock, body.wfile, body.wfile_line, body.chunked_input)
        self._handler = handler
        self._deadline: float | None = None
        self._has_begun = False
        self._chunks = self._size = 0           # so far

    def _waiting(self, reader: Callable[..., bytes], *arguments: object) -> bytes:
        connection = self._handler.record
        if self._has_begun:
            connection.state, connection.deadline = BODY, self._deadline
        else:
            self._has_begun = True
            connection.expect(BODY, self._handler.server.bounds.body_seconds, self.content_length or 0)
        try:
            return reader(*arguments)
        finally:
            self._deadline = connection.deadline
            connection.expect(BUSY, None)

    def _do_read(self, reader: Callable[..., bytes], length: int | None = None) -> bytes:
        left = self.content_length - self.position
        if not (left if length is None else min(length, left)):
            return b''
        return self._waiting(super()._do_read, reader, length)

    def _chunked_read(self, rfile: BinaryIO, length: int | None = None, use_readline: bool = False) -> bytes:
        if self.should_send_hundred_continue:
            self.send_hundred_continue_response()
            self.is_hundred_continue_response_sent = True
        most = self._handler.server.bounds.body_bytes
        found = bytearray()
        while self.chunk_length and (length is None or length < 0 or len(found) < length):
            if self.position >= self.chunk_length:
                self._begin_chunk(rfile)
                continue
            wanted = min(65536, self.chunk_length - self.position)
            if length is not None and length >= 0:
                wanted = min(wanted, length - len(found))
            piece = self._waiting(rfile.readline if use_readline else rfile.read, wanted)
            if not piece:
                self._broken('the body ends within a chunk')
            found += piece
            self.position += len(piece)
            self._size += len(piece)
            if self._deadline is not None:
                self._deadline += len(piece) / RATE
            if self._size > most:               # the application refuses it; the rest is not read
                self._end()
            elif self.position == self.chunk_length and self._line(rfile) != b'\r\n':
                self._broken('a chunk is longer than it says')
            if use_readline and piece.endswith(b'\n'):
                break
        return bytes(found)

    def _begin_chunk(self, rfile: BinaryIO) -> None:
        self._chunks += 1
        if self._chunks > CHUNKS:
            self._broken('there are too many chunks')
        if self._chunks % 256 == 0:
            eventlet.sleep(0)                   # tiny chunks that have all arrived already
        size = _SIZE.fullmatch(self._line(rfile))
        if size is None:
            self._broken('the size of a chunk is no number')
        self.chunk_length, self.position = int(size[1], 16), 0
        if self.chunk_length == 0:
            for _number in range(TRAILERS):
                line = self._line(rfile)
                if line == b'\r\n':
                    return
                if http_head.field(line) is None:
                    self._broken('a trailer is malformed')
            self._broken('there are too many trailers')

    def _line(self, rfile: BinaryIO) -> bytes:
        line = self._waiting(rfile.readline, CHUNK_LINE)
        if not line.endswith(b'\n'):
            self._broken('the line before or after a chunk does not end')
        return line

    def _broken(self, why: str) -> NoReturn:
        self._end()
        raise wsgi.ChunkReadError(why)

    def _end(self) -> None:
        """Stop reading; the connection ends with the answer."""
        self.chunk_length = 0
        self._handler.close_connection = True
        self._handler.record.lingers = True


class _Protocol(wsgi.HttpProtocol):         # type: ignore[misc]
    """The protocol of one connection: reads requests, writes answers."""

    wbufsize = 0
    server: _Server
    record: HttpConnection
    _served = 0

    def setup(self) -> None:
        self.record = self.conn_state[3]
        self.connection = self.request
        self.rfile = self.connection.makefile('rb', self.rbufsize)
        self.wfile = _Writer(self.record, self.server.bounds.body_seconds)

    def _read_request_line(self) -> bytes:
        record, bounds = self.record, self.server.bounds
        try:
            if record.has_sent:
                record.expect(IDLE, bounds.idle_seconds)
                self._served += 1
                if self._served % REQUESTS_BETWEEN_TURNS == 0:  # yields to others if it sends many requests at once
                    eventlet.sleep(0)
                if not self.rfile.peek(1):
                    return b''
                record.expect(HEAD, bounds.header_seconds)
            line = bytes(self.rfile.readline(self.server.url_length_limit))
            if len(line) >= self.server.url_length_limit:
                metrics.http_dropped.labels('malformed').inc()
                self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG,
                             f'The request line must be shorter than {self.server.url_length_limit} bytes.')
                return b''
            return line
        except (OSError, ValueError):           # reset, or shut down
            return b''

    def parse_request(self) -> bool:
        self.close_connection = True
        first, next_line = self.raw_requestline, self.rfile.readline
        if first in (b'\r\n', b'\n'):          # some clients send one after a body
            first = next_line()
        try:
            head = http_head.read(first, next_line)
        except http_head.BadHead as error:
            metrics.http_dropped.labels('malformed').inc()
            LOG.debug('A request of %s was refused: %s', self.record.peer, error)
            self._refuse(error.status, str(error))
            return False
        if head is None:
            return False
        self.command, self.path, self.request_version, self.headers = head[:4]
        self.requestline = f'{self.command} {self.path} {self.request_version}'
        self.close_connection = not head.keeps_open
        if head.size is not None and head.size > self.server.bounds.body_bytes:
            self.close_connection = self.record.lingers = True      # the application refuses it without reading it
        return True

    def get_environ(self) -> dict[str, object]:
        self.record.has_sent = True
        self.record.expect(BUSY, None)
        environ: WSGIEnvironment = super().get_environ()
        environ['wsgi.input'] = environ['eventlet.input'] = _Input(self, environ['wsgi.input'])
        environ[health.STOPPING] = self.server.is_stopping
        return environ

    def handle_one_response(self) -> None:
        """Answers a request. Then nothing needs its environment, which refers to itself: unless it is emptied, it and
        all that the application has put into it stays until garbage is collected."""
        try:
            super().handle_one_response()
        finally:
            self.environ.clear()

    def _refuse(self, code: int, text: str) -> None:
        """Answers in the format of the application."""
        kind, body = self.server.refusal(code, text)
        self.close_connection = self.record.lingers = True
        self.wfile.write(b'HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s'
                         % (code, HTTPStatus(code).phrase.encode('ascii'), kind.encode('ascii'), len(body), body))

    def finish(self) -> None:
        if self.record.lingers:
            # Closing while the peer sends would reset the connection and lose the answer.
            self.record.expect(BODY, LINGER)
            with suppress(OSError):
                if not hasattr(self.connection, 'do_handshake'):
                    self.connection.shutdown(socket.SHUT_WR)
                left = LINGER_BYTES
                while left > 0 and (chunk := self.connection.recv(65536)):
                    left -= len(chunk)
                    eventlet.sleep(0)
        super().finish()

    def log_message(self, format: str, *arguments: object) -> None:
        LOG.debug(format, *arguments)


class _Server(wsgi.Server):         # type: ignore[misc]
    """The server object that the protocol needs."""

    bounds: Connections
    refusal: Refusal

    def is_stopping(self) -> bool:
        return not self.keepalive


class HttpServer:
    """Serves a WSGI application on a listening socket."""

    def __init__(self, listening: socket.socket, application: WSGIApplication, bounds: Connections = USUAL_PEERS, *,
                 tls: ssl.SSLContext | None = None, refusal: Refusal = plain_refusal) -> None:
        """`tls`: an ssl.SSLContext.

        `refusal(status, text)`: makes answers to requests that do not reach the application.
        """
        self._listening = listening
        self._tls = tls
        self._bounds = bounds
        self._refusal = refusal
        self._peers: dict[str, dict[int, HttpConnection]] = {}          # by address, oldest first
        self._count = 0
        self._threads: list[eventlet.greenthread.GreenThread] = []
        self._some = green_event.Event()
        self._is_trusted = lru_cache(1024)(addresses.Networks(self._bounds.trusted_peers).include)
        wsgi.MAX_HEADER_LINE = self._bounds.header_line
        self._server = _Server(listening, listening.getsockname(), application, log_output=False, debug=False,
                               environ={'wsgi.url_scheme': 'https', 'HTTPS': 'on'} if tls is not None else None,
                               protocol=_Protocol, capitalize_response_headers=False)
        self._server.bounds, self._server.refusal = self._bounds, refusal

    def start(self) -> None:
        self._threads = [eventlet.spawn(green_workers.or_end, 'The server', self._accept),
                         eventlet.spawn(green_workers.or_end, 'The watch over connections', self._watch)]

    def stop(self, grace_period: float) -> None:
        """Accept no more connections, close idle ones, wait `grace_period` seconds for requests being answered."""
        threads, self._threads = self._threads, []
        if not threads:
            return
        for thread in threads:
            thread.kill()
        self._listening.close()
        self._server.keepalive = False          # running requests are answered with "Connection: close"
        with green_timeout.Timeout(grace_period, False):
            while self._count:
                for connection in self._all():  # an answer whose head promised another request may end meanwhile
                    if connection.state in (HEAD, IDLE):
                        connection.cut()
                eventlet.sleep(0.01)
        for connection in self._all():
            connection.cut()
            connection.thread.kill()

    # --- accepting connections ----------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                sock, address = self._listening.accept()
            except OSError as error:
                if error.errno in _FULL:
                    LOG.warning('No connection can be taken: %s', error)
                    for _number in range(SPARE):        # the application needs descriptors, too
                        self._make_room(self._all_peers())
                    eventlet.sleep(0.1)
                    continue
                if error.errno in (errno.EBADF, errno.EINVAL):
                    return                      # closed
                continue                        # the peer has disconnected already
            try:
                self._take(sock, address)
            except Exception:
                LOG.exception('A connection could not be taken')
                sock.close()
            eventlet.sleep(0)                   # many that arrive at once alternate with those being served

    def _take(self, sock: socket.socket, address: object) -> None:
        peer = str(address[0]) if isinstance(address, tuple) else 'unix'
        known = self._peers.get(peer, {})
        if (len(known) >= self._bounds.connections_per_peer and not self._is_trusted(peer)
                and not self._make_room([known])):
            self._turn_away(sock)
            return
        if self._count >= self._bounds.connections and not self._make_room(self._all_peers()):
            self._turn_away(sock)
            return
        connection = HttpConnection(sock, peer)
        connection.expect(HEAD, self._bounds.header_seconds)
        self._peers.setdefault(peer, {})[id(connection)] = connection
        self._count += 1
        if not self._some.ready():
            self._some.send()
        connection.thread = green_workers.spawn(self._serve, connection, address)

    def _all(self) -> list[HttpConnection]:
        return [each for connections in self._peers.values() for each in connections.values()]

    def _all_peers(self) -> list[dict[int, HttpConnection]]:
        """All peers in the order in which their connections are closed: most connections first, trusted peers last."""
        ordered = sorted(self._peers.items(), key=lambda item: (self._is_trusted(item[0]), -len(item[1])))
        return [connections for _peer, connections in ordered]

    def _make_room(self, peers: Sequence[dict[int, HttpConnection]]) -> bool:
        """Close the oldest connection that has not sent a complete request; without one, the oldest idle one.

        False: all of them are being served.
        """
        for states in ((HEAD, BODY), (IDLE,)):
            for connections in peers:
                for each in connections.values():
                    if each.state in states:
                        metrics.http_dropped.labels('room').inc()
                        each.cut()
                        self._forget(each)
                        return True
        return False

    def _turn_away(self, sock: socket.socket) -> None:
        metrics.http_dropped.labels('refused').inc()
        if self._tls is None:
            kind, body = self._refusal(503, 'There are too many connections.')
            with suppress(OSError):             # without waiting: it would block all others
                sock.settimeout(0)
                sock.send(b'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n'
                          b'Content-Type: %s\r\nContent-Length: %d\r\n\r\n%s' % (kind.encode('ascii'), len(body), body))
        with suppress(OSError):
            greenio.shutdown_safe(sock)
        sock.close()

    def _forget(self, connection: HttpConnection) -> None:
        connections = self._peers.get(connection.peer, {})
        if connections.pop(id(connection), None) is not None:
            self._count -= 1
            if not connections:
                del self._peers[connection.peer]

    # --- serving them -------------------------------------------------------------------------------------

    def _serve(self, connection: HttpConnection, address: object) -> None:
        try:
            if self._tls is not None:
                connection.sock = self._tls.wrap_socket(connection.sock, server_side=True,
                                                        do_handshake_on_connect=False)
                connection.sock.do_handshake()
            self._server.process_request([address, connection.sock, wsgi.STATE_IDLE, connection])
        except (OSError, ValueError) as error:          # the peer has disconnected, was cut off, or does not speak TLS
            LOG.debug('The connection of %s ended: %s', connection.peer, error)
        finally:
            self._forget(connection)
            with suppress(OSError):
                greenio.shutdown_safe(connection.sock)
            connection.sock.close()

    def _watch(self) -> None:
        """Close connections whose deadline has passed."""
        while True:
            if not self._count:
                self._some.wait()
                self._some = green_event.Event()
            eventlet.sleep(POLL_SECONDS)
            now = time.monotonic()
            for connection in self._all():
                if connection.deadline is not None and connection.deadline < now:
                    metrics.http_dropped.labels('deadline').inc()
                    _expire(connection)


def _expire(connection: HttpConnection) -> None:
    try:
        connection.expire()
    except Exception:
        LOG.exception('The connection of %s could not be closed', connection.peer)
