"""Writes one log line for each request, and updates the metrics.

The ids of the request, its user and its project are at the beginning of the line, as in every line about it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from urllib.parse import quote
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.api.middleware import answers
from heatlite.common import context

LOG = logging.getLogger(__name__)

_SAFE = "/:@!$&'()*+,;=~"
METHODS = frozenset({'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'})

ROUTE = 'heatlite.route'                # path pattern of the matched route; set by the router
VALUES = 'heatlite.route_values'        # name -> value of its parameters, for the audit trail
CALL = 'heatlite.call'                  # which of several calls of one route it is: suspend


class AccessLog:
    """`observe(method, route, status, seconds)` is called for each request, for example to update a histogram.

    `failed(error)`: the WSGI answer if the layer that renders errors, or one outside of it, fails. The server's own
    answer would be an empty 500.
    """

    def __init__(self, app: WSGIApplication, observe: Callable[[str, str, str, float], None] | None = None,
                 failed: Callable[[Exception], WSGIApplication] | None = None) -> None:
        self._app = app
        self._observe = observe
        self._failed = failed

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started = time.perf_counter()
        context.bind(None)                      # this thread may have served another request of the connection
        status = ['000']

        def look(code: str, _headers: answers.Headers) -> None:
            status[0] = code

        note = answers.seen_by(look, start_response)
        method = environ.get('REQUEST_METHOD', '')
        # Quoted again: a decoded path may contain line ends, by which a client could forge log lines.
        path = quote(environ.get('SCRIPT_NAME', '') + environ.get('PATH_INFO', ''), _SAFE, encoding='latin-1')
        try:
            return self._app(environ, note)
        except Exception as error:
            if self._failed is None:
                raise
            return self._failed(error)(environ, note)
        finally:
            seconds = time.perf_counter() - started
            LOG.info('%s %s %s %.1f ms', method, path, status[0], seconds * 1000)
            if self._observe is not None:
                self._observe(method if method in METHODS else '-', environ.get(ROUTE, '-'), status[0], seconds)
