"""The way to one service: a keystoneauth1 Adapter that never waits for ever, nor repeats what must not be repeated.

A request that creates something is sent again only when it surely never arrived. `reply_was_lost` tells the other
case, where the thing may exist although no answer says so.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import threading
from collections.abc import Iterator, Mapping

from keystoneauth1 import adapter, exceptions
from oslo_config import cfg
from requests import Response
from requests import exceptions as transport

from heatlite.common import exception, retries
from heatlite.engine.clients import answers, batched_reads, library_errors, logins
from heatlite.engine.clients.answers import Answer
from heatlite.engine.durability import fence

AS_BYTES = 'latin-1'                        # how the library for HTTP writes and reads the texts of headers
RETRIES = 4                                 # further tries of a busy service, with pauses of 0.5, 1, 2, 4 seconds
TIMEOUTS = 2                                # so often [clients] timeout passes; one time-out may be a lost connection
NOT_FOUND = 404
REQUEST_IDS = ('x-openstack-request-id', 'x-compute-request-id', 'x-trans-id')
BUSY = [429, 503]                           # the service has not even begun
BROKEN_ON_THE_WAY = [502, 504]              # it may have done it
ONCE = ('/add_router_interface',)           # a PUT, and yet the second one is refused
REPEATABLE = frozenset({'GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'})
LONGEST_PAGE = 16384                        # bytes of a page that are searched for the message of an error
TAG = re.compile('<[^<>]*>')

_limits: dict[str, threading.BoundedSemaphore] = {}


def limit(service: str) -> threading.BoundedSemaphore:
    """Let [clients] max_requests requests to a service run at once in this process, without those by users' logins."""
    if service not in _limits:
        _limits[service] = threading.BoundedSemaphore(cfg.CONF.clients.max_requests)
    return _limits[service]


def sent_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers whose values are sent as UTF-8, which services for metadata take and nothing else."""
    return {name: value.encode().decode(AS_BYTES) for name, value in headers.items()}


def received_header(value: str) -> str:
    """Return the text of a header that a service sends as UTF-8."""
    return value.encode(AS_BYTES, 'replace').decode(errors='replace')


class ServiceAdapter(adapter.Adapter):
    """Errors are keystoneauth1's, by status code, and the client library's, if a plug-in has imported it. The client
    plug-in finds out what they mean. `takes_pages`: an answer 404 with a page is the service's own, not of a proxy."""

    takes_pages = False

    def request(self, url: str, method: str, **kwargs: object) -> Response:
        reads = batched_reads.current()
        if reads is None or method.upper() != 'GET':
            return self._answered(url, method, kwargs)
        return reads.get(self, url, kwargs, lambda at, params: self._answered(at, method, {**kwargs, 'params': params}))

    def _answered(self, url: str, method: str, kwargs: dict[str, object]) -> Response:
        repeatable = _is_repeatable(url, method, kwargs)
        kwargs.setdefault('status_code_retries', RETRIES)
        kwargs.setdefault('retriable_status_codes', BUSY + BROKEN_ON_THE_WAY if method.upper() == 'GET' else BUSY)
        kwargs.setdefault('rate_semaphore', getattr(self.session, 'permits', None) or limit(str(self.service_type)))
        may_repeat = kwargs.pop('connect_retries', RETRIES) != 0
        timeouts = itertools.count(1)

        def gives_up(error: BaseException) -> bool:
            if isinstance(error, logins.LoginUnanswered):       # nothing was sent
                return False
            if isinstance(error, exceptions.ConnectTimeout) and next(timeouts) >= TIMEOUTS:
                return True
            return not ((may_repeat and repeatable) or never_arrived(error))

        return retries.call(lambda: self._sent(url, method, kwargs), retries.CONNECTION,
                            (exceptions.RetriableConnectionFailure, logins.LoginUnanswered), gives_up=gives_up)

    @functools.cached_property
    def _endpoint(self) -> str | None:
        """Found once: the catalog is long. Doubled percent signs: keystoneauth1 fills in what is behind single ones."""
        found = self.get_endpoint()
        return found.replace('%', '%%') if found else None

    def _of_service(self, url: str, method: str, kwargs: Mapping[str, object]) -> Response:
        """Send a request. Raises ServiceUnavailable for the page of a proxy, which is no answer of the service."""
        try:
            response = super().request(url, method, **{'endpoint_override': self._endpoint, **kwargs})
        except exceptions.NotFound as error:
            self._refuse_page(error.response)
            raise
        self._refuse_page(response)
        return response

    def _refuse_page(self, response: Response | None) -> None:
        if not self.takes_pages:
            refuse_page(response)

    def _sent(self, url: str, method: str, kwargs: Mapping[str, object]) -> Response:
        fence.pass_through()
        reads = batched_reads.current()
        if reads is not None:
            reads.before(str(self.service_type))
        def note(response: Response | None, error: str = '') -> None:
            answers.note(Answer(str(self.service_type), method, url, response, error))

        try:
            response = self._of_service(url, method, kwargs)
        except exceptions.HttpError as error:
            say_it_in_the_services_words(error)
            library_errors.with_status(error, self.service_type, error.http_status, reported_name(error.response))
            note(error.response, error.message)
            raise
        except (exceptions.ConnectionError, logins.LoginUnanswered) as error:
            note(None, str(error))
            raise
        note(response)
        return response


def _is_repeatable(url: str, method: str, kwargs: Mapping[str, object]) -> bool:
    """Whether the same request twice does what one does. A PATCH sets what its object names; one with a list is a JSON
    patch, whose operations (`add` to a list) count each time."""
    if method.upper() == 'PATCH':
        return isinstance(kwargs.get('json'), Mapping)
    return method.upper() in REPEATABLE and not url.endswith(ONCE)


def refuse_page(response: Response | None) -> None:
    """Raise ServiceUnavailable for an answer 404 that is no service's: a proxy that has no way to the service, as while
    either is deployed, answers with a page. It does not mean that the object is gone.

    Answers of OpenStack's services are JSON, or name the request; those to HEAD, and some others, are empty."""
    if response is None or response.status_code != NOT_FOUND or not response.content:
        return
    if parsed(response.content) is None and not any(name in response.headers for name in REQUEST_IDS):
        raise exceptions.ServiceUnavailable('The answer 404 is no answer of the service, but a page of a proxy',
                                            response=response, url=response.url)


def say_it_in_the_services_words(error: exceptions.HttpError) -> None:
    """Replace the message by that of the service, shortened: the service may be the user's own.

    Every service puts it elsewhere; keystoneauth1 knows the usual places only. The message stays if the error has
    another status than the response: then it says what is wrong with the response.
    """
    said, response = None, error.response
    if response is not None and response.status_code == error.http_status:
        said = next(messages(response), None)
    if said is None:
        error.message, error.args = exception.shortened(error.message), (exception.shortened(str(error)),)
        return
    error.message = exception.shortened(said)
    text = f'{error.message} (HTTP {error.http_status})'
    error.args = (f'{text} (Request-ID: {error.request_id})' if error.request_id else text,)


def messages(response: Response) -> Iterator[str]:
    """Yield the messages of an error in an answer, the most specific one first: from JSON, else from the lines of a
    page."""
    try:
        body = response.json()
    except ValueError:
        yield from _lines_of_page(response)
        return
    except RecursionError:
        return
    if not isinstance(body, Mapping):
        return
    packed = parsed(body.get('error_message'))          # Ironic's: JSON as a text inside
    errors = body.get('errors')
    for names in (('message', 'faultstring', 'detail', 'error_message', 'description'), ('title',)):
        for entry in (packed, body, *body.values(), *(errors if isinstance(errors, list) else ())):
            if isinstance(entry, Mapping):
                for name in names:
                    if isinstance(entry.get(name), str) and entry[name]:
                        yield entry[name]
    for name in ('error_message', 'error'):
        if isinstance(body.get(name), str):
            yield body[name]


def _lines_of_page(response: Response) -> Iterator[str]:
    """Yield the lines of a text or of the body of an HTML page, without headings such as `409 Conflict`, and without
    the name of the server, which follows a rule (`<hr>`)."""
    page = response.content[:LONGEST_PAGE].decode(errors='replace')
    _head, begins, rest = page.partition('<body')
    for line in TAG.sub('\n', (begins + rest or page).partition('<hr')[0]).splitlines():
        if line.strip() and not line.strip().startswith(str(response.status_code)):
            yield line.strip()


def reported_name(response: object) -> str:
    """Return Neutron's own name of an error, such as `PortNotFound`; '' if there is none."""
    try:
        body = response.json() if isinstance(response, Response) else None
    except (ValueError, RecursionError):
        return ''
    error = body.get('NeutronError') if isinstance(body, Mapping) else None
    name = error.get('type') if isinstance(error, Mapping) else None
    return name if isinstance(name, str) else ''


def parsed(text: object) -> object:
    """Return what it holds; None when that is no JSON."""
    try:
        return json.loads(text) if isinstance(text, str | bytes | bytearray) else None
    except (ValueError, RecursionError):
        return None


def never_arrived(error: BaseException) -> bool:
    """Return whether the connection was not even made."""
    cause = error.__cause__ or error.__context__
    if isinstance(cause, transport.ConnectTimeout):
        return True
    reason = cause.args[0] if isinstance(cause, transport.ConnectionError) and cause.args else None
    return type(getattr(reason, 'reason', reason)).__name__ == 'NewConnectionError'


def reply_was_lost(error: BaseException) -> bool:
    """Return whether it is unknown if the request was carried out."""
    if isinstance(error, exceptions.HttpError):
        return error.http_status in BROKEN_ON_THE_WAY
    return isinstance(error, exceptions.RetriableConnectionFailure) and not never_arrived(error)


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status an error stands for, whichever library it comes from."""
    for name in ('http_status', 'status_code', 'code', 'http_code'):
        value = getattr(error, name, None)
        if isinstance(value, int) and 100 <= value < 600:
            return value
    return None
