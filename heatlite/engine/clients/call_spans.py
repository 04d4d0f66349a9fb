"""The spans of requests to other services: which service, which path, what it answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import urlsplit

from heatlite.common import tracing
from heatlite.common.tracing import SpanKind, Tracer

T = TypeVar('T')
IDENTITY = 'identity'
OBJECTS = 'object-store'        # its paths are names that users choose
_ID = re.compile(r'[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}', re.IGNORECASE)
_VERSION = re.compile(r'v\d+(\.\d+)?')
_WORD = re.compile(r'[a-z][a-z_-]{1,40}')
_HIDDEN = '{}'



def service_of(kwargs: Mapping[str, object]) -> str:
    """Return the type of the service that a request of a session is for, from the arguments of the request."""
    endpoint = kwargs.get('endpoint_filter')
    return str((endpoint.get('service_type') if isinstance(endpoint, Mapping) else None) or IDENTITY)


def sent(tracer: Tracer, url: str, method: str, kwargs: Mapping[str, object],
         send: Callable[[dict[str, str]], T]) -> T:
    """Return `send(headers)`, the answer to a request, within a span of its own. Raises what `send` raises.

    `kwargs`: those of a session's request. `headers`: those that continue the trace in the service.
    """
    parent = tracing.current()
    if parent is None:                                  # of no request: such as a look of the service itself
        return send({})
    service = service_of(kwargs)
    path = shown_path(service, url, tracing.mask())
    with tracer.span(f'{method} {service}', SpanKind.CLIENT, parent) as span:
        span.note(http__request__method=method, openstack__service=service, url__path=path,
                  url__template=_ID.sub('{id}', path))
        try:
            answer = send(span.context.headers())
        except Exception as error:
            span.error = type(error).__name__
            span.note(error__type=type(error).__name__)
            _note_answer(span, getattr(error, 'response', None))
            raise
        _note_answer(span, answer)
        return answer


def _note_answer(span: tracing.Span, answer: object) -> None:
    """Note what an answer says of itself; None: there is no answer."""
    if answer is None:
        return
    status = getattr(answer, 'status_code', None)
    span.note(http__response__status_code=status,
              openstack__request_id=(getattr(answer, 'headers', None) or {}).get('x-openstack-request-id'))
    if isinstance(status, int) and status >= 400 and span.error is None:
        span.error = f'HTTP {status}'


def shown_path(service: str, url: str, mask: Callable[[str], str] | None) -> str:
    """Return the path of a URL as traces show it: without the query, and without hidden values.

    `mask`: hides the values of the stack that is worked for. Without one, as for a preview, names in a path may be
    hidden values: only the version, the first word behind it and ids are shown.
    """
    path = urlsplit(url).path
    if mask is not None:
        return mask(path)
    shown, is_word_shown = [], service == OBJECTS
    for part in path.split('/'):
        if not part or _VERSION.fullmatch(part) or _ID.fullmatch(part):
            shown.append(part)
        elif not is_word_shown and _WORD.fullmatch(part):
            is_word_shown = True
            shown.append(part)
        else:
            shown.append(_HIDDEN)
    return '/'.join(shown)
