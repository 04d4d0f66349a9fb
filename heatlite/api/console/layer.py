"""The layer that answers everything below /console and passes other requests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob

from heatlite.api import faults
from heatlite.api.console import files
from heatlite.api.console.identity import IdentityService
from heatlite.common import exception

PREFIX = '/console'
OPTIONS, IDENTITY = 'options.json', 'identity/'

T = TypeVar('T')
Answer = Callable[[webob.Request], webob.Response]


class ConsoleLayer:
    """`project`: of all users, where there is no login; None: users log in at Keystone by `identity`."""

    def __init__(self, app: WSGIApplication, project: str | None, identity: IdentityService | None) -> None:
        self._app = app
        self._files = files.built()
        self._options = {'auth': 'keystone' if project is None else 'none', 'project': project}
        self._calls: Mapping[str, Mapping[str, Answer]] = {} if identity is None else {
            'token': {'POST': identity.token, 'DELETE': identity.revoke}, 'projects': {'GET': identity.projects}}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get('PATH_INFO', '')
        if path != PREFIX and not path.startswith(PREFIX + '/'):
            return self._app(environ, start_response)
        answer: WSGIApplication = self._answer(webob.Request(environ), path[len(PREFIX):])
        return answer(environ, start_response)

    def _answer(self, request: webob.Request, path: str) -> webob.Response:
        """`path`: below the prefix. Raises HTTPNotFound, HTTPMethodNotAllowed, and what Identity raises."""
        name = path[1:]
        if name.startswith(IDENTITY):
            calls = self._calls.get(name[len(IDENTITY):])
            if calls is None:
                raise exception.HTTPNotFound(faults.EXPLANATIONS[404])
            return self._allowed(calls, request)(request)
        file = self._files.get(name or files.INDEX)
        if file is None and name != OPTIONS:
            raise exception.HTTPNotFound(faults.EXPLANATIONS[404])
        self._allowed({'GET': None, 'HEAD': None}, request)
        if not path:                        # relative links of the page need the slash
            return webob.Response(status=301, headers={**files.HEADERS, 'Location': request.path_url + '/'})
        return files.document(self._options) if file is None else files.answer(request, file)

    @staticmethod
    def _allowed(methods: Mapping[str, T], request: webob.Request) -> T:
        if request.method not in methods:
            raise exception.HTTPMethodNotAllowed(faults.EXPLANATIONS[405])
        return methods[request.method]
