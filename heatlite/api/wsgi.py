"""From a matched route to an answer: project rule, policy, body rules, handler, JSON.

May not come in: anything about one noun. Errors are raised; `middleware.fault` turns them into documents.
"""

from __future__ import annotations

import enum
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import webob
from webob import exc
from webob.request import BaseRequest

from heatlite.api import faults, json_text
from heatlite.api.middleware import body
from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.policy import Policy

PIECE = 200                     # items of a list that leave at once: ten milliseconds' work


class Body(enum.Enum):
    """What a route expects after the headers (REST specification 1.4)."""

    NONE = 'none'                   # a JSON object is refused
    OPTIONAL = 'optional'           # a JSON object is read, anything else ignored
    REQUIRED = 'required'


@dataclass(frozen=True)
class Services:
    """What handlers work with, made once per process."""

    conf: Any                       # oslo.config options
    database: Any                   # heatlite.db.Database
    engine: Any                     # heatlite.rpc.client.EngineClient
    policy: Policy


@dataclass(frozen=True)
class Route:
    """One line of the route table. `policy`: a rule, or how to tell which one from the request."""

    method: str
    path: str
    handler: Callable[..., Any]
    policy: str | Callable[[Request], str]
    body: Body = Body.NONE
    status: int = 200
    own_project: bool = False       # admins, too, must name their own project: what is made belongs to it


@dataclass(frozen=True)
class Created:
    """An answer of a handler: the body and where the new thing lives."""

    location: str
    body: Any


@dataclass(frozen=True)
class Redirect:
    """An answer of a handler: 302 to `location`."""

    location: str


@dataclass(frozen=True)
class Listed:
    """An answer of a handler: `{key: [...], **rest}`. A long list leaves in pieces, and others get their turn between.

    `items` must not fail and may be made while they leave; `count`: how many there are.
    """

    key: str
    items: Iterable[Any]
    count: int
    rest: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Found:
    """A route and the values of its path."""

    route: Route
    values: Mapping[str, str] = field(default_factory=dict)


class Request(BaseRequest):
    """A request on its way through a handler."""

    services: Services
    context: RequestContext
    found: Found

    @property
    def conf(self) -> Any:
        return self.services.conf

    @property
    def db(self) -> Any:
        return self.services.database

    def call(self, message: Any) -> Any:
        """Sends a message to an engine and waits until it is accepted; raises the engine's own error."""
        return self.services.engine.call(self.context, message)

    def enforce(self, rule: str) -> None:
        self.services.policy.enforce(self.context, rule)

    @cached_property
    def base(self) -> str:
        """Scheme, host and prefix as the client used them, version included: links begin with it."""
        return self.application_url

    @cached_property
    def query(self) -> Mapping[str, list[str]]:
        """Query keys in order, each with its values."""
        values: dict[str, list[str]] = {}
        try:
            for key, value in self.GET.items():
                values.setdefault(key, []).append(value)
        except UnicodeDecodeError:
            raise exception.HTTPBadRequest(_('The query string is not valid UTF-8.')) from None
        return values

    @property
    def raw_body(self) -> bytes:
        """What was sent, at most `max_json_body_size` bytes; raises RequestLimitExceeded."""
        return body.read(self.environ)

    @cached_property
    def json(self) -> dict[str, Any] | None:
        """The JSON object that was sent; None when something else, or nothing, came.

        Raises HTTPBadRequest with the parser's words when it begins like an object and cannot be read as one.
        """
        if not self._announces_json():
            return None
        text = self.raw_body.lstrip(b' \t\r\n')
        if not text.startswith(b'{'):
            return None
        read = json_text.read(text)
        return read if isinstance(read, dict) else None

    def _announces_json(self) -> bool:
        kind = (self.environ.get('CONTENT_TYPE') or '').split(';')[0].strip().lower()
        return kind in ('', 'application/json') or kind.startswith('text/plain')

    def require_json(self) -> dict[str, Any]:
        """The JSON object that was sent; raises HTTPBadRequest, saying what came instead."""
        read = self.json
        if read is not None:
            return read
        if not self.raw_body:
            why = _('The body of the request is missing; a JSON object is required.')
        elif not self._announces_json():
            why = (_('The Content-Type "%s" cannot be read; send a JSON object as application/json.')
                   % self.environ.get('CONTENT_TYPE'))
        else:
            why = _('The body of the request is not a JSON object.')
        raise exception.HTTPBadRequest(f'{faults.MALFORMED} {why}')


def serve(request: Request) -> webob.Response:
    """Runs the handler of a matched route. Raises what the handler raises."""
    route = request.found.route
    values = dict(request.found.values)
    check_project(request, values.pop('tenant_id', None))
    rule = route.policy if isinstance(route.policy, str) else route.policy(request)
    request.enforce(rule)
    if route.body is Body.REQUIRED:
        request.require_json()
    elif route.body is Body.NONE and request.json is not None:
        raise exception.HTTPBadRequest(f'{faults.MALFORMED} ' + _('This request takes no body.'))
    return render(route.handler(request, **values), route.status)


def check_project(request: Request, project_id: str | None) -> None:
    """The project of the URL must be the caller's own; for admins it is not looked at (2.3) but where things are made.

    (An admin's create once landed in the admin's project although the URL named another.)
    """
    context = request.context
    bound = request.found.route.own_project or not context.is_admin
    if bound and (not project_id or project_id != context.project_id):
        raise exception.HTTPForbidden(faults.FORBIDDEN)


def render(answer: Any, status: int) -> webob.Response:
    """The response for what a handler returned."""
    match answer:
        case webob.Response():
            return answer
        case Redirect(location):
            return exc.HTTPFound(location=location)
        case Created(location, body):
            return json_response(body, status, location=location)
        case Listed(key, items, count, rest) if count <= PIECE:
            return json_response({key: list(items), **rest}, status)
        case Listed():
            return webob.Response(app_iter=_pieces(answer), status=status, content_type='application/json',
                                  charset=None)
    if status == 204:
        return webob.Response(status=204, content_type=None)
    if status == 202:
        return exc.HTTPAccepted()
    return json_response(answer, status)


def _pieces(answer: Listed) -> Iterator[bytes]:
    """The JSON of a long list. (One of ten thousand resources once held everybody else for half a second.)"""
    head, waiting = f'{{{json.dumps(answer.key)}: [', iter(answer.items)
    while piece := list(islice(waiting, PIECE)):
        yield (head + json.dumps(piece)[1:-1]).encode('ascii')
        head = ', '
        yield_control()
    rest = ''.join(f', {json.dumps(key)}: {json.dumps(value)}' for key, value in answer.rest.items())
    yield f']{rest}}}'.encode('ascii')


def yield_control() -> None:
    """Lets other requests go on, be they served by cooperative threads or by real ones."""
    time.sleep(0)


def json_response(body: Any, status: int = 200, **headers: str) -> webob.Response:
    return webob.Response(body=json.dumps(body).encode('ascii'), status=status,
                          content_type='application/json', charset=None, **headers)
