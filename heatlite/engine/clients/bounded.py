"""Reads the answers of other services, no further than a number of bytes and seconds.

The libraries read an answer of any length into memory, and wait as long as each byte arrives in time: of the status, of
interim answers, of the headers and of the body. The time is that of the connection, so that it bounds all of these; the
size is that of the body, and `http_answers` bounds what surrounds it.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import requests
from oslo_config import cfg
from requests.adapters import HTTPAdapter
from urllib3 import exceptions as transport
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from heatlite.common import http_answers, turns
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from urllib3 import PoolManager

PIECE = 65536                               # bytes that are read at once


class AnswerRefused(requests.exceptions.ConnectionError):
    """The answer of a service is too long or takes too long: for callers, a connection that has failed."""


class _Answer(http_answers.BoundedAnswer):
    """An answer that must have arrived within `[clients] max_answer_time` after its request was sent."""

    source: _Source

    def __init__(self, sock: socket.socket, debuglevel: int = 0, method: str | None = None,
                 url: str | None = None) -> None:
        super().__init__(sock, debuglevel, method, url, opened=_Source)

    def lift(self) -> None:
        """End the bound: the caller reads the body at its own pace."""
        self.source.lift()


class _Source(http_answers.AnswerSource):
    """The bytes of a socket for so many seconds. A read waits no longer than the socket's own timeout, too."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self._seconds, self._patience = cfg.CONF.clients.max_answer_time, sock.gettimeout()
        self._due: float | None = time.monotonic() + self._seconds

    def lift(self) -> None:
        self._due = None
        self._socket.settimeout(self._patience)

    def receive(self, buffer: WriteableBuffer) -> int | None:
        if self._due is None:
            return super().receive(buffer)
        left = self._due - time.monotonic()
        if left <= 0:
            raise self._lateness()
        if self._patience is not None and self._patience <= left:
            self._socket.settimeout(self._patience)
            return super().receive(buffer)
        self._socket.settimeout(left)
        try:
            return super().receive(buffer)
        except TimeoutError:
            raise self._lateness() from None

    def _lateness(self) -> AnswerRefused:
        return AnswerRefused(_('The answer takes longer than %d seconds (option [clients] max_answer_time).')
                             % self._seconds)

    def refusal(self) -> AnswerRefused:
        return AnswerRefused(_('The answer has too many bytes around its content.'))


class Plain(HTTPConnection):
    response_class = _Answer


class Encrypted(HTTPSConnection):
    response_class = _Answer


class Adapter(HTTPAdapter):
    """Sends requests whose answers are bounded in time. `plain`, `encrypted`: classes of its connections."""

    plain: type[Plain] = Plain
    encrypted: type[Encrypted] = Encrypted

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool_kwargs: object) -> None:
        super().init_poolmanager(connections, maxsize, block=block, **pool_kwargs)
        self._set(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **proxy_kwargs: object) -> PoolManager:
        found: PoolManager = super().proxy_manager_for(proxy, **proxy_kwargs)
        self._set(found)
        return found

    def _set(self, manager: PoolManager) -> None:
        manager.pool_classes_by_scheme = {
            'http': type('PlainPool', (HTTPConnectionPool,), {'ConnectionCls': self.plain}),
            'https': type('EncryptedPool', (HTTPSConnectionPool,), {'ConnectionCls': self.encrypted})}


def read(response: requests.Response, *, stream: bool = False, **_of_the_request: object) -> None:
    """Read the body, as a response hook of requests, unless the caller wants to read it in pieces.

    Raises AnswerRefused beyond `[clients] max_answer_size` (what it expands to) or the time of the answer, and
    otherwise what requests raises. The connection is closed then.
    """
    if stream:
        response.raw._original_response.lift()
        return
    limit, found = cfg.CONF.clients.max_answer_size, bytearray()
    try:
        with _translated(), response.raw._original_response.content_of(limit):
            while piece := response.raw.read(PIECE, decode_content=True):
                turns.spend(turns.EVERY)
                found += piece
                if len(found) > limit:
                    raise AnswerRefused(_('The answer is longer than %d bytes (option [clients] max_answer_size).')
                                        % limit)
    except requests.exceptions.RequestException:
        response.raw.close()
        raise
    response._content, response._content_consumed = bytes(found), True      # as its own reading does


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of the connection as those of requests, which its own reading raises."""
    try:
        yield
    except transport.ProtocolError as error:
        if isinstance(error.args[-1], AnswerRefused):
            raise error.args[-1] from None
        raise requests.exceptions.ChunkedEncodingError(error) from None
    except transport.DecodeError as error:
        raise requests.exceptions.ContentDecodingError(error) from None
    except transport.SSLError as error:
        raise requests.exceptions.SSLError(error) from None
    except transport.HTTPError as error:
        raise requests.exceptions.ConnectionError(error) from None
