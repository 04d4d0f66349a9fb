"""Determines the API version of a request, before authentication."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob

from heatlite.api import faults
from heatlite.common import exception
from heatlite.common.i18n import _

SERVED = (1, 0)
_NUMBER = r'([0-9]{1,3})(?:\.([0-9]{1,3})(?![0-9])|(?!\.?[0-9]))'       # without a minor one, none may follow
_SEGMENT = re.compile(f'^v{_NUMBER}')
_SLASHES = re.compile('//+')
_ACCEPT = re.compile(rf'application/vnd\.openstack\.orchestration-v{_NUMBER}')


class VersionNegotiation:
    """Moves the version segment from the path into the prefix, so that links have the form that the client used."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if '//' in environ.get('PATH_INFO', ''):        # sent by a client whose endpoint ends with a slash
            environ['PATH_INFO'] = _SLASHES.sub('/', environ['PATH_INFO'])
        try:
            path = environ.get('PATH_INFO', '').encode('latin-1').decode('utf-8')
        except UnicodeError:
            raise exception.HTTPBadRequest(_('The path of the request is not valid UTF-8.')) from None
        first = path.lstrip('/').split('/', 1)[0]
        if first in ('', 'versions'):
            return versions(environ)(environ, start_response)
        if named := _SEGMENT.match(first):
            if _number(named) != SERVED:
                return versions(environ)(environ, start_response)
            webob.Request(environ).path_info_pop()
            return self._app(environ, start_response)
        if wanted := _ACCEPT.match(environ.get('HTTP_ACCEPT', '')):
            if _number(wanted) != SERVED:
                return versions(environ)(environ, start_response)
            return self._app(environ, start_response)
        raise exception.HTTPNotFound(faults.EXPLANATIONS[404])


def _number(match: re.Match[str]) -> tuple[int, int]:
    return int(match[1]), int(match[2] or 0)


def versions(environ: WSGIEnvironment) -> WSGIApplication:
    """Return the versions document, status 300."""
    href = webob.Request(environ).application_url.rstrip('/') + '/v1/'
    known = [{'id': 'v1.0', 'status': 'CURRENT', 'links': [{'rel': 'self', 'href': href}]}]
    answer: WSGIApplication = webob.Response(status=300, content_type='application/json', charset=None,
                                             body=json.dumps({'versions': known}).encode('ascii'))
    return answer
