"""Makes a span of each request, the first one of the service in its trace."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.api.middleware import access, answers, context, request_id
from heatlite.common import tracing
from heatlite.common.tracing import Span, SpanKind

HEADERS = ((tracing.PARENT, 'HTTP_TRACEPARENT'), (tracing.STATE, 'HTTP_TRACESTATE'))


class Traces:
    """The span has ids, the route and the status, but neither the path nor the query: they may hold secrets.

    While traces are off, requests pass at the cost of one look.
    """

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        tracer = tracing.tracer
        if tracer is None:
            return self._app(environ, start_response)
        sent = {name: environ[key] for name, key in HEADERS if key in environ}
        parent = tracing.parsed(sent) if sent and tracer.continues_callers else None
        method = environ.get('REQUEST_METHOD', '')
        method = method if method in access.METHODS else '-'
        with tracer.span(method, SpanKind.SERVER, parent) as span:
            def look(status: str, _headers: answers.Headers) -> None:
                span.note(http__response__status_code=int(status) if status.isdigit() else None)
                if status >= '500':
                    span.error = f'HTTP {status}'

            try:
                return self._app(environ, answers.seen_by(look, start_response))
            finally:
                _describe(span, method, environ)


def _describe(span: Span, method: str, environ: WSGIEnvironment) -> None:
    """Note what the layers inside have found out."""
    route = environ.get(access.ROUTE)
    caller = environ.get(context.KEY)
    if route is not None:
        span.name = f'{method} {route}'
    span.note(http__request__method=method, http__route=route, openstack__request_id=environ.get(request_id.KEY),
              openstack__global_request_id=environ.get(request_id.GLOBAL_KEY),
              openstack__project_id=None if caller is None else caller.project_id,
              openstack__user_id=None if caller is None else caller.user_id)
