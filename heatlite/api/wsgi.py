"""Serves matched routes: project rule, policy, body rules, handler.

Must not contain anything about one noun. Results are rendered by `rendering`; errors are raised, and `middleware.fault`
renders them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Protocol, TypeVar
from wsgiref.types import WSGIEnvironment

import webob
from oslo_config import cfg
from webob.request import BaseRequest

from heatlite.api import audit_calls, faults, json_text, rendering
from heatlite.api.event_hub import Hub
from heatlite.api.middleware import body
from heatlite.common import exception, outages, retries, runtime
from heatlite.common.context import RequestContext, note
from heatlite.common.i18n import _
from heatlite.common.policy import Policy
from heatlite.db.connection import Database
from heatlite.db.errors import Busy
from heatlite.db.project_cells import HOME
from heatlite.rpc.client import EngineClient
from heatlite.rpc.messages import Message

T = TypeVar('T')

BASE = ('wsgi.url_scheme', 'HTTP_HOST', 'SERVER_NAME', 'SERVER_PORT', 'SCRIPT_NAME')     # keys of the environment
LONG_OUTAGE = 2.0               # seconds
LONGEST_TRIES = 10.0            # seconds of a request until it is not tried again: a try may take half a minute


class Body(enum.Enum):
    """The body that a route expects."""

    NONE = 'none'                   # a JSON object is refused
    OPTIONAL = 'optional'           # a JSON object is read, anything else ignored
    REQUIRED = 'required'


@dataclass(frozen=True)
class HandlerServices:
    """What handlers use, made once per process. `hub`: of event streams, which only the REST API has.

    `name`: of the cell; `cells`: where there are several.
    """

    conf: cfg.ConfigOpts
    database: Database
    engine: EngineClient
    policy: Policy
    hub: Hub | None = None
    name: str = HOME
    cells: CellDirectory | None = None


class CellDirectory(Protocol):
    """What requests need to know of cells: heatlite.api.cells."""

    @property
    def all(self) -> list[HandlerServices]: ...

    def chosen(self, request: Request) -> HandlerServices | None: ...

    def answered(self, request: Request, project_id: str | None, handler: Callable[[], T]) -> T: ...

    def is_here(self, services: HandlerServices, project_id: str, is_change: bool) -> bool: ...

    def position(self, services: HandlerServices, project_id: str, position: int | None) -> int | None: ...


@dataclass(frozen=True)
class Route:
    """One line of the route table. `policy`: a rule, or a function that chooses one for the request."""

    method: str
    path: str
    handler: Callable[..., object]
    policy: str | Callable[[Request], str]
    body: Body = Body.NONE
    status: int = 200
    own_project: bool = False       # admins, too, must use their own project: new objects belong to it


@dataclass(frozen=True)
class RouteMatch:
    """A route and the values of its path parameters."""

    route: Route
    values: Mapping[str, str] = field(default_factory=dict)


class Request(BaseRequest):     # type: ignore[misc] # webob has no type hints
    """The request that a handler gets."""

    services: HandlerServices
    context: RequestContext
    route_match: RouteMatch
    environ: WSGIEnvironment
    has_called: bool = False            # an engine may have got a message of the request
    waited_in_vain: bool = False        # engines were not available (503) for what may be left unanswered
    is_change: bool = False

    @property
    def conf(self) -> cfg.ConfigOpts:
        return self.services.conf

    @property
    def db(self) -> Database:
        return self.services.database

    def call(self, message: Message) -> Any:
        """Send a message to an engine and wait until it is accepted; raise the engine's own error."""
        self.has_called = True
        answer = self.services.engine.call(self.context, message)
        if isinstance(answer, Mapping) and answer.get('stack_id') and answer.get('stack_name'):
            note(stack_id=answer['stack_id'], stack_name=answer['stack_name'])      # of a new stack
        return answer

    def handled(self, handler: Callable[[], T]) -> T:
        """Return `handler()`, called again when the database was away for a moment, as while another node takes over.

        A handler only reads until it sends a message to an engine; after that nothing is repeated. In a long outage no
        request waits. Raises what the handler raises.
        """
        here = runtime.current()
        began = here.monotonic()
        return retries.call(handler, retries.REQUEST, exception.DatabaseUnavailable, gives_up=lambda error: (
            self.has_called or isinstance(error, Busy) or here.monotonic() - began > LONGEST_TRIES
            or outages.seconds(outages.DATABASE) > LONG_OUTAGE))

    def answered(self, project_id: str | None, is_change: bool, handler: Callable[[], T]) -> T:
        """Return `handled(handler)` in the cell of the project that the request is about."""
        self.is_change = is_change
        cells = self.services.cells
        return self.handled(handler) if cells is None else cells.answered(self, project_id, handler)

    def is_here(self, project_id: str) -> bool:
        """Whether a project is in the cell that answers. Raises ProjectMoves for a change while it is being moved."""
        cells = self.services.cells
        return cells is None or cells.is_here(self.services, project_id, self.is_change)

    def enforce(self, rule: str) -> None:
        self.services.policy.enforce(self.context, rule)

    @cached_property
    def base(self) -> str:
        """Scheme, host and prefix as the client used them, version included: the prefix of links."""
        return _base(*map(self.environ.get, BASE))

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
        """The body, at most `max_json_body_size` bytes. Raises RequestLimitExceeded."""
        return body.read(self.environ)

    @cached_property
    def json(self) -> dict[str, object] | None:
        """The JSON object in the body; None for any other body, or none.

        Raises HTTPBadRequest with the parser's message if it begins like an object and cannot be parsed.
        """
        if not self._announces_json():
            return None
        text = self.raw_body.lstrip(b' \t\r\n')
        if not text.startswith(b'{'):
            return None
        read = json_text.read(text)
        if not isinstance(read, dict):
            return None
        found = json_text.Sent(read)
        found.text = text
        return found

    def _announces_json(self) -> bool:
        kind = (self.environ.get('CONTENT_TYPE') or '').split(';')[0].strip().lower()
        return kind in ('', 'application/json') or kind.startswith('text/plain')

    def require_json(self) -> dict[str, Any]:
        """Return the JSON object in the body. Raises HTTPBadRequest, with what was sent instead."""
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


@lru_cache(maxsize=256)
def _base(*values: str | None) -> str:
    """Return the URL that the values of BASE make. Few clients use different ones, and it takes a hundredth of a
    request."""
    url: str = BaseRequest({name: value for name, value in zip(BASE, values, strict=True)
                            if value is not None}).application_url
    return url


def serve(request: Request) -> webob.Response:
    """Run the handler of a matched route. Raises what the handler raises."""
    route = request.route_match.route
    values = dict(request.route_match.values)
    project_id = values.pop('tenant_id', None)
    check_project(request, project_id)
    rule = route.policy if isinstance(route.policy, str) else route.policy(request)
    request.enforce(rule)
    if route.body is Body.REQUIRED:
        request.require_json()
    elif route.body is Body.NONE and request.json is not None:
        raise exception.HTTPBadRequest(f'{faults.MALFORMED} ' + _('This request takes no body.'))
    is_change = audit_calls.of(route.method, route.path) is not None
    result = request.answered(project_id, is_change, lambda: route.handler(request, **values))
    return rendering.render(result, route.status)


def check_project(request: Request, project_id: str | None) -> None:
    """Check that the project of the URL is the caller's own; for admins only where objects are created.

    (An admin's create once landed in the admin's project although the URL named another.)
    """
    context = request.context
    bound = request.route_match.route.own_project or not context.is_admin
    if bound and (not project_id or project_id != context.project_id):
        raise exception.HTTPForbidden(faults.FORBIDDEN)
