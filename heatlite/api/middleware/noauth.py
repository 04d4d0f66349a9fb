"""Flavour `noauth`: every client of the port is the operator. For the loopback interface only.

The roles are those that the default policy needs; `admin` alone would be refused in every call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.api.middleware import identity

ROLES = ('admin', 'member', 'reader')
NAME = 'admin'


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
