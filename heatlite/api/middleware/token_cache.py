"""Validated tokens in the memory of an API process, for Keystone's middleware.

Without a memcached the middleware has a store of its own, which has no bound and warns about itself at each start.
"""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.common.expiring_cache import ExpiringCache

NAME = 'heatlite.token_cache'           # in the environment of a request
MOST_TOKENS = 2_000                     # tokens; one takes some kilobytes, with its catalogue
NEVER = 0.0


class TokenCache:
    """What the middleware uses of a client of memcached."""

    def __init__(self, seconds: float, most: int = MOST_TOKENS) -> None:
        """`seconds`: how long a validated token is used; 0 or less: not at all."""
        self._tokens: ExpiringCache[object] = ExpiringCache(most, max(seconds, NEVER))

    def get(self, key: str) -> object:
        return self._tokens.get(key)

    def set(self, key: str, value: object, time: float = NEVER) -> None:
        """`time`: the same for all, and known before."""
        self._tokens.put(key, value)


def provided(app: WSGIApplication, cache: TokenCache) -> WSGIApplication:
    """`app` with the cache in the environment of each request."""
    def layer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[NAME] = cache
        return app(environ, start_response)
    return layer
