"""Answers /healthcheck and /readiness: whether this process lives, and whether it can serve.

Both need no authentication, so the answers name checks in general terms only, and the checks run at most once a second.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)

LIVE, READY = '/healthcheck', '/readiness'
STOPPING = 'heatlite.stopping'          # in the environ: whether the server is about to stop; answers without end end
CACHE_SECONDS = 1.0                     # seconds that a result is cached

_ALIVE = json.dumps({'detailed': False, 'reasons': []}).encode('ascii')         # the same body as Heat's
_DISABLED = json.dumps({'detailed': False, 'reasons': ['DISABLED BY FILE']}).encode('ascii')
_TYPE = 'application/json'

OK, FAILED = 'ok', 'failed'


def live(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answers 200: this process is alive. Does not check its dependencies."""
    start_response('200 OK', [('Content-Type', _TYPE), ('Content-Length', str(len(_ALIVE)))])
    return [b'' if environ.get('REQUEST_METHOD') == 'HEAD' else _ALIVE]


class DisabledByFile:
    """Answers 503 in place of `inner` while a file exists, so that a balancer sends no further requests here.

    The option is that of oslo.middleware, [healthcheck] disable_by_file_path; so is the reason.
    """

    def __init__(self, inner: WSGIApplication, path: str) -> None:
        self._inner = inner
        self._path = path

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not os.path.exists(self._path):
            return self._inner(environ, start_response)
        start_response('503 Service Unavailable', [('Content-Type', _TYPE), ('Content-Length', str(len(_DISABLED)))])
        return [b'' if environ.get('REQUEST_METHOD') == 'HEAD' else _DISABLED]


class Readiness:
    """Answers 200 when every check passes, else 503; the body has each check with `ok` or `failed`.

    `checks`: name -> function that raises or returns False when it fails. While one caller runs them, other callers get
    the previous result.
    """

    def __init__(self, checks: Mapping[str, Callable[[], object]], now: Callable[[], float] = time.monotonic) -> None:
        self._checks = checks
        self._now = now
        self._found = dict.fromkeys(checks, FAILED)
        self._failing: set[str] = set()         # checks whose failure was logged
        self._looked: float | None = None
        self._is_looking = False

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        found = self.look()
        is_ready = all(result == OK for result in found.values())
        body = json.dumps({'ready': is_ready, 'checks': found}).encode('ascii')
        start_response('200 OK' if is_ready else '503 Service Unavailable',
                       [('Content-Type', _TYPE), ('Content-Length', str(len(body))), ('Cache-Control', 'no-store')])
        return [b'' if environ.get('REQUEST_METHOD') == 'HEAD' else body]

    def look(self) -> dict[str, str]:
        """Run the checks unless a result is fresh; return {name: result}."""
        is_fresh = self._looked is not None and self._now() - self._looked < CACHE_SECONDS
        if not is_fresh and not self._is_looking:
            self._is_looking = True
            try:
                self._found = {name: self._result(name, check) for name, check in self._checks.items()}
            finally:
                self._looked = self._now()
                self._is_looking = False
        return self._found

    def _result(self, name: str, check: Callable[[], object]) -> str:
        try:
            is_good = check() is not False
            why: object = 'the answer is no'
        except Exception as error:              # whatever a driver raises
            is_good, why = False, error
        if is_good:
            self._failing.discard(name)
        elif name not in self._failing:         # once for each failure, not each time
            self._failing.add(name)
            LOG.warning('The readiness check "%s" fails: %s', name, why)
        return OK if is_good else FAILED
