"""Spares the requests that follow one another the work of Keystone's middleware, which is a fifth of a small request.

It makes the same headers from the same token again for each of them. For most tokens they depend on the headers of the
request alone: then what it has made is used for a second for requests with the same ones. After that it decides again,
by the rules of its own cache; a token is never used after its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.api.middleware.identity import SYSTEM_SCOPE, TOKEN_INFO, token_seconds_left
from heatlite.common.expiring_cache import ExpiringCache

SECONDS: Final = 1.0
MOST_OUTCOMES: Final = 200                  # outcomes, each with a token of some ten kilobytes
LARGEST: Final = 8192                       # characters of the headers of one; others are decided anew each time
SENT: Final = 'heatlite.known_callers.sent'
MADE: Final = (TOKEN_INFO, 'keystone.token_auth')
# Beginnings of the names of those that proxies and clients set, most to other values in each request.
UNREAD: Final = ('HTTP_X_OPENSTACK_REQUEST_ID', 'HTTP_X_REQUEST_ID', 'HTTP_X_FORWARDED_', 'HTTP_X_REAL_', 'HTTP_X_B3_')
# What makes the outcome depend on more than headers: rules for methods and paths, and what the web server has found.
RULES: Final = 'access_rules'
BOUND: Final = ('bind', 'oauth2_credential')
SERVICE: Final = 'HTTP_X_SERVICE_TOKEN'     # has an end of its own

Headers = tuple[tuple[str, str], ...]


class KnownCallers:
    """The layer `identity` around `app`, without it for callers that it has let pass a moment ago."""

    def __init__(self, app: WSGIApplication, identity: Callable[[WSGIApplication], WSGIApplication]) -> None:
        self._app = app
        self._known: ExpiringCache[Mapping[str, object]] = ExpiringCache(MOST_OUTCOMES, SECONDS)
        self._identity = identity(self._passed)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        sent = _headers(environ)
        made = self._known.get(sent)
        if made is None:
            environ[SENT] = sent
            return self._identity(environ, start_response)
        for name, _value in sent:
            del environ[name]
        environ.update(made)
        return self._app(environ, start_response)

    def _passed(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        sent: Headers = environ.pop(SENT)
        if sum(len(value) for _name, value in sent) <= LARGEST and _lasts(environ):
            self._known.put(sent, {**dict(_headers(environ)), **{name: environ[name] for name in MADE}})
        return self._app(environ, start_response)


def _headers(environ: WSGIEnvironment) -> Headers:
    """Those that the middleware may read or set."""
    return tuple((name, value) for name, value in environ.items()
                 if (name.startswith('HTTP_X_') and not name.startswith(UNREAD)) or name == SYSTEM_SCOPE)


def _lasts(environ: WSGIEnvironment) -> bool:
    """Whether the outcome is that of the headers alone, and the token is valid for longer than it is used."""
    info = environ.get(TOKEN_INFO)
    token = info.get('token') if isinstance(info, Mapping) else None
    if not isinstance(token, Mapping) or SERVICE in environ or any(token.get(name) for name in BOUND):
        return False
    if RULES in (token.get('application_credential') or {}):
        return False
    return (token_seconds_left(info) or 0.0) > SECONDS
