"""Mounts small applications beside the API, at fixed paths."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob

from heatlite.api import faults
from heatlite.common import exception
from heatlite.common import metrics as figures


class Mount:
    """`beside`: path -> application; all other requests are passed to `app`."""

    def __init__(self, app: WSGIApplication, beside: Mapping[str, WSGIApplication]) -> None:
        self._app = app
        self._beside = beside

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return self._beside.get(environ.get('PATH_INFO', ''), self._app)(environ, start_response)


# Set by proxies; behind one on this host all clients would look local.
_FORWARDED = ('HTTP_FORWARDED', 'HTTP_X_FORWARDED_FOR', 'HTTP_X_FORWARDED_HOST')


def metrics(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Return the metrics of this process, for a collector on the same host; others get a 404."""
    if not _is_loopback(environ.get('REMOTE_ADDR', '')) or any(key in environ for key in _FORWARDED):
        raise exception.HTTPNotFound(faults.EXPLANATIONS[404])
    answer = webob.Response(body=figures.text())
    answer.headers['Content-Type'] = figures.CONTENT_TYPE
    application: WSGIApplication = answer
    return application(environ, start_response)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
