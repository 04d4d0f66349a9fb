"""Flavour `noauth`: every client of the port is the operator. For the loopback interface only, and not for web pages.

The roles are those that the default policy needs; `admin` alone would be refused in every call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_utils import netutils

from heatlite.api.middleware import identity

ROLES = ('admin', 'member', 'reader')
NAME = 'admin'
REFUSED = (b'This service needs no login: it answers programs on this machine, and its own web pages, only (option '
           b'[noauth] hosts has other names of it).\n')


class OnlyFromHere:
    """Refuses requests that a web page of another site in a browser of this machine might send.

    Without a login, the port must not be open to every site its user visits. Such requests have an Origin other than
    that of the service, or another name for this host: no site can have an address, or a name without a dot, rebound to
    it. `hosts`: other names of the service; `origins`: other sites whose pages may send requests; `*` is none."""

    def __init__(self, app: WSGIApplication, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = {each.lower() for each in hosts}
        self._origins = frozenset(origins)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        host = environ.get('HTTP_HOST', 'localhost')
        own = f'{environ.get("wsgi.url_scheme", "http")}://{host}'
        origin = environ.get('HTTP_ORIGIN', own)
        if self._is_own(_name_of(host)) and (origin == own or origin in self._origins):
            return self._app(environ, start_response)
        start_response('403 Forbidden', [('Content-Type', 'text/plain')])
        return [REFUSED]

    def _is_own(self, name: str) -> bool:
        return name in self._hosts or '.' not in name or netutils.is_valid_ip(name.strip('[]'))


def _name_of(host: str) -> str:
    """Return what a header Host names, without the port."""
    name, _colon, port = host.rpartition(':')
    return (name if name and port.isdigit() else host).lower()


class NoAuth:
    """`token_response`: path of a JSON file that is used as the token's body; empty for none."""

    def __init__(self, app: WSGIApplication, token_response: str = '') -> None:
        self._app = app
        self._token_info = None
        if token_response:
            with open(token_response, encoding='utf-8') as file:
                self._token_info = json.load(file)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        user = environ.get('HTTP_X_AUTH_USER') or NAME
        project = environ.get('HTTP_X_AUTH_PROJECT') or identity.first_segment(environ) or NAME
        identity.replace(environ, ROLES, user_id=user, user_name=user, project_id=project, project_name=project)
        environ['HTTP_X_AUTH_USER'] = user
        # It was not verified, and clients without a login send a dummy: the engine must not use it.
        for name in ('HTTP_X_AUTH_TOKEN', 'HTTP_X_STORAGE_TOKEN'):
            environ.pop(name, None)
        if self._token_info is not None:
            environ[identity.TOKEN_INFO] = self._token_info
        return self._app(environ, start_response)
