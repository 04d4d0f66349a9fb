"""Finds the route of a request; answers OPTIONS, 404 and 405 itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from types import MappingProxyType
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import routes as routing
import webob

from heatlite.api import faults, finding, wsgi
from heatlite.api.middleware import access, context
from heatlite.common import exception
from heatlite.common.i18n import _

OPEN = re.compile(r'\.[*+]}')               # in a path of the table: a part that matches any number of names
KNOWN, LONGEST = 1024, 512                  # paths whose routes are kept, characters of each
OTHER = ''                                  # stands for the last names of paths that no path of the table has


class MethodNotAllowed(exception.HTTPMethodNotAllowed):
    """Error 405, with the methods that are allowed."""

    wire_name = 'HTTPMethodNotAllowed'

    def __init__(self, allowed: Iterable[str]) -> None:
        self.allowed_methods = tuple(allowed)
        super().__init__(_('The server could not comply with the request since it is either malformed or '
                           'otherwise incorrect.'))


class Router:
    """The innermost layer: matches requests against the route table, which is compiled once."""

    def __init__(self, table: Iterable[wsgi.Route], services: wsgi.HandlerServices) -> None:
        self._services = services
        self._paths: dict[str, dict[str, wsgi.Route]] = {}
        for route in table:
            self._paths.setdefault(route.path, {})[route.method] = route
        # A mapper tries one path after the other. So there is one for each length and last name that paths of the table
        # end with, one for each length with all other last names, and the same for all that are longer. Each is made
        # when it is needed: all of them at the start would take a tenth of a second.
        self._longest = 1 + max(map(_length, self._paths))
        self._last_names = {name for name in map(_last_name, self._paths) if '{' not in name}
        self._mappers: dict[tuple[int, str], routing.Mapper] = {}
        self._known = lru_cache(KNOWN)(self._matched)           # clients that wait ask for the same path again

    def _mapper(self, length: int, last_name: str) -> routing.Mapper:
        """Return the mapper of the paths of the table that may match one with this length and last name."""
        made = routing.Mapper(explicit=True)
        made.minimization = False
        for path, methods in self._paths.items():
            is_of_length = _length(path) == length or (_length(path) < length and OPEN.search(path))
            if is_of_length and ('{' in _last_name(path) or _last_name(path) == last_name):
                made.connect(None, path, conditions={'method': list(methods)})
        made.create_regs()
        return made

    def _mapper_of(self, path: str) -> routing.Mapper:
        last_name = _last_name(path)
        key = min(_length(path), self._longest), last_name if last_name in self._last_names else OTHER
        found = self._mappers.get(key)
        if found is None:
            found = self._mappers[key] = self._mapper(*key)
        return found

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = wsgi.Request(environ)
        request.services = self._services
        request.context = environ[context.KEY]
        path = request.path_info
        found = self.match(environ['REQUEST_METHOD'], path)
        if found is None:
            answer: WSGIApplication = self._unmatched(path, environ['REQUEST_METHOD'])
            return answer(environ, start_response)
        environ[access.ROUTE], environ[access.VALUES] = found.route.path, found.values
        request.route_match = found
        answer = wsgi.serve(request)
        return answer(environ, start_response)

    def match(self, method: str, path: str) -> wsgi.RouteMatch | None:
        """Return the route of a request, and the values of its path, which may not be changed."""
        return self._known(method, path) if len(path) <= LONGEST else self._matched(method, path)

    def _matched(self, method: str, path: str) -> wsgi.RouteMatch | None:
        found = self._mapper_of(path).routematch(path, {'REQUEST_METHOD': method})
        if found is None:
            return None
        values, line = found
        if 'stack_id' in values:
            values['stack_id'] = finding.stored_id(values['stack_id'])
        return wsgi.RouteMatch(self._paths[line.routepath][method], MappingProxyType(values))

    def _unmatched(self, path: str, method: str) -> webob.Response:
        """Return the answer if no route has this method: 204 to OPTIONS, 405 to others, 404 for an unknown path."""
        allowed: dict[str, None] = {}
        for line in self._mapper_of(path).matchlist:
            if line.match(path):
                allowed.update(dict.fromkeys(self._paths[line.routepath]))
        if not allowed:
            raise exception.HTTPNotFound(faults.EXPLANATIONS[404])
        if method == 'OPTIONS':
            return webob.Response(status=204, content_type=None, headerlist=[('Allow', ','.join(allowed))])
        raise MethodNotAllowed(allowed)


def _length(path: str) -> int:
    """Return the number of names in a path. A slash at its end counts for nothing."""
    return path.removesuffix('/').count('/')


def _last_name(path: str) -> str:
    return path.removesuffix('/').rpartition('/')[2]
