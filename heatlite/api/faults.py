"""Renders errors as fault documents.

Codes and messages come only from the class of the error (`common.exception`).
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import TypedDict

import webob

from heatlite.common import defects, exception, log_throttle, outages
from heatlite.common.i18n import _

LOG = logging.getLogger(__name__)

RETRY_AFTER = 2             # seconds: as long as a short outage lasts, such as an election of nodes
RETRIED = (429, 503)        # statuses after which a client may send the same again

MALFORMED = _('The server could not comply with the request since it is either malformed or otherwise incorrect.')
FORBIDDEN = _('Access was denied to this resource.')

EXPLANATIONS = {
    400: MALFORMED,
    401: _('This server could not verify that you are authorized to access the document you requested.'),
    403: FORBIDDEN,
    404: _('The resource could not be found.'),
    405: MALFORMED,
    409: _('There was a conflict when trying to complete your request.'),
    412: _('A condition of the request is not met.'),
    413: MALFORMED,
    429: _('There were too many requests.'),
    500: _('The server has either erred or is incapable of performing the requested operation.'),
    503: _('The server is currently unavailable. Please try again at a later time.'),
}


class FaultDocument(TypedDict):
    """The body of the answer to an error. `error`: {type, traceback, message}, without a message that is not public."""

    code: int
    title: str
    explanation: str
    error: Mapping[str, object]


def document(error: BaseException, debug: bool = False) -> FaultDocument:
    """Return the fault document of an error. The message of a foreign error is omitted."""
    own = isinstance(error, exception.HeatException)
    code = error.http_code if isinstance(error, exception.HeatException) else 500
    inner: dict[str, object] = {'type': wire_name(error), 'traceback': None}
    if own and getattr(error, 'safe', False):
        inner['message'] = getattr(error, 'public', None) or getattr(error, 'wire_message', None) or str(error)
    if debug:
        inner['traceback'] = ''.join(traceback.format_exception(error))
    return {'code': code, 'title': HTTPStatus(code).phrase, 'explanation': EXPLANATIONS.get(code, MALFORMED),
            'error': inner}


def wire_name(error: BaseException) -> str:
    """Return the class name; a class may have another one on the wire (`wire_name`)."""
    return getattr(error, 'wire_name', None) or type(error).__name__


def response(error: BaseException, debug: bool = False) -> webob.Response:
    """Render an error. Logs internal errors here, once, with their traceback; unavailable services in one line."""
    found = document(error, debug)
    if found['code'] == 500:
        LOG.error('Unexpected %s while answering a request: %s', type(error).__name__, error,
                  exc_info=error if defects.is_news(error) else None)
    elif found['code'] > 500:
        log_unserved(error)
    answer = webob.Response(status=found['code'], content_type='application/json', charset=None,
                            body=json.dumps(found).encode('ascii'))
    answer.headers.update(headers(error, found['code']))
    return answer


def headers(error: BaseException, status: int) -> dict[str, str]:
    """Return the headers of the answer to an error."""
    found = {}
    allowed = getattr(error, 'allowed_methods', None)
    if allowed:
        found['Allow'] = ','.join(allowed)
    if status in RETRIED:
        found['Retry-After'] = str(getattr(error, 'retry_after', RETRY_AFTER))
    return found


def log_unserved(error: BaseException) -> None:
    """Log that a service which a request needs is away: seldom, since all requests fail then."""
    if isinstance(error, exception.DatabaseUnavailable):
        outages.away(outages.DATABASE, error)
    else:
        log_throttle.log(LOG, logging.INFO, type(error).__name__, 'A request could not be served: %s', error)


def refusal(status: int, text: str) -> tuple[str, bytes]:
    """Content type and document for errors of the HTTP server itself: a malformed request, or too many of them."""
    error = (exception.HTTPServiceUnavailable if status == 503 else exception.HTTPBadRequest)(text)
    found = {**document(error), 'code': status, 'title': HTTPStatus(status).phrase}
    return 'application/json', json.dumps(found).encode('ascii')
