"""Reads what a proxy says of the client's request: address, scheme, host and prefix. Other peers are not believed.

A client may send the same headers. Those of a peer that is no trusted proxy are removed, and of the addresses in
X-Forwarded-For, to which each proxy adds its peer, the last one counts that is no trusted proxy. `Forwarded` is not
read: proxies pass on what clients send of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.common import addresses

LOOPBACK = ('127.0.0.0/8', '::1')
FOR, PROTO, HOST, PREFIX = (
    'HTTP_X_FORWARDED_FOR', 'HTTP_X_FORWARDED_PROTO', 'HTTP_X_FORWARDED_HOST', 'HTTP_X_FORWARDED_PREFIX')
HEADERS = (FOR, PROTO, HOST, PREFIX, 'HTTP_FORWARDED')
SCHEMES = frozenset({'http', 'https'})
MOST_ADDRESSES = 32                     # of a header that are looked at, the last ones


class ProxyHeaders:
    """`trusted`: addresses and networks of proxies, beside this host."""

    def __init__(self, app: WSGIApplication, trusted: Iterable[str] = ()) -> None:
        self._app = app
        self._trusted = addresses.Networks((*LOOPBACK, *trusted))

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if self._is_trusted(environ.get('REMOTE_ADDR', '')):
            self._read(environ)
        else:
            for name in HEADERS:
                environ.pop(name, None)
        return self._app(environ, start_response)

    def _is_trusted(self, peer: str) -> bool:
        """Whether a peer is a proxy. One without an address is connected by a socket of this host."""
        return not peer or self._trusted.include(peer)

    def _read(self, environ: WSGIEnvironment) -> None:
        client = self._client(environ.get(FOR, ''))
        if client is not None:
            environ['REMOTE_ADDR'] = client
        scheme = environ.get(PROTO, '').strip().lower()
        if scheme in SCHEMES:
            environ['wsgi.url_scheme'] = scheme
        if environ.get(HOST):
            environ['HTTP_HOST'] = environ[HOST]
        if environ.get(PREFIX):
            environ['SCRIPT_NAME'] = environ[PREFIX] + environ.get('SCRIPT_NAME', '')

    def _client(self, text: str) -> str | None:
        """Return the address of the client; None if the header has none that a proxy has written."""
        found = None
        for each in reversed([part.strip() for part in text.split(',')][-MOST_ADDRESSES:]):
            try:
                addresses.parsed(each)
            except ValueError:
                return found
            found = each
            if not self._trusted.include(each):
                return found
        return found
