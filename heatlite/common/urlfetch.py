"""Fetches documents by URL, and posts to URLs: of bounded size, in bounded time, only from where the operator allows.

A host name is looked up, its addresses are checked, and the connection goes to a checked one: a later change of the
name's addresses has no effect (DNS rebinding). Proxies of the environment are not used: they would look it up again.
Errors name the URL without credentials and query, and never quote what was fetched.
"""

from __future__ import annotations

import base64
import errno
import gzip
import http.client
import os
import socket
import ssl
import stat
import time
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from functools import cache, partial
from urllib.parse import SplitResult, unquote, urljoin, urlsplit, urlunsplit

from oslo_config import cfg
from oslo_context import context
from oslo_log import log

from heatlite.common import (
    addresses,
    allowance,
    exception,
    host_lookups,
    options,
    runtime,
    template_format,
    turns,
)
from heatlite.common.http_answers import BoundedAnswer, TimedSource
from heatlite.common.i18n import _
from heatlite.common.os_threads import ThreadPool

LOG = log.getLogger(__name__)
DEFAULT_SIZE = 524288                       # bytes
DEFAULT_TIMEOUT = 60                        # seconds
REDIRECTS = 5
REMOTE = ('http', 'https')                 # schemes of URLs that anyone may write
FILE = 'file'                               # the scheme that only the operator may use
LOCAL_TOO = (*REMOTE, FILE)
NEXT_ADDRESS = 5.0                          # seconds without a reply until the next address of a host is tried
_PIECE = 65536
_MOVED = (301, 302, 303, 307, 308)
_BUNDLES = ('REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE')         # as other Python programs of the cloud use them


_refusal: ContextVar[Callable[[], None] | None] = ContextVar('refusal', default=None)


class URLFetchError(exception.Error, OSError):
    pass


class _Broken(Exception):
    """The reason why fetching failed, for the log."""


@contextmanager
def refused(note: Callable[[], None]) -> Iterator[None]:
    """Within the block, `get` reads files only, and calls `note()` for any other URL before it raises URLFetchError."""
    token = _refusal.set(note)
    try:
        yield
    finally:
        _refusal.reset(token)


def get(url: str, allowed_schemes: Collection[str] = REMOTE, *, is_counted: bool = True) -> str:
    """Fetch the text at `url`, at most `max_template_size` bytes. Raises URLFetchError.

    `allowed_schemes`: of `http`, `https` and `file`, which reads a file of this host. Plug-ins hand them in by
    position. Within a request to an engine, see `allowance`: not beyond its deadline, and at most so many URLs that
    are counted; raises RequestLimitExceeded, TooLate.
    """
    scheme = _split(url).scheme
    if scheme not in allowed_schemes or scheme not in LOCAL_TOO:
        raise URLFetchError((_('Invalid URL scheme %s') % scheme).rstrip())
    refusal = _refusal.get()
    if refusal is not None and scheme != FILE:
        refusal()
        raise URLFetchError(_('Not fetched: %s') % shown(url))
    read = _read_file if scheme == FILE else _read_http
    longest = cfg.CONF.get('template_fetch_timeout', DEFAULT_TIMEOUT)
    request = allowance.current()
    if request is None:
        return _text(read, url, longest)
    return request.fetched(url, lambda seconds: _text(read, url, seconds), longest, counts=is_counted)


def _text(read: Callable[[str, int, float], bytes], url: str, seconds: float) -> str:
    limit = cfg.CONF.get('max_template_size', DEFAULT_SIZE)
    content = read(url, limit, seconds)
    if len(content) > limit:
        raise URLFetchError(_('Template exceeds maximum allowed size (%s bytes)') % limit)
    return content.decode('utf-8', 'replace')


def post(url: str, body: bytes, timeout: float, content_type: str = 'application/json') -> int:
    """Send `body` to an HTTP URL within `timeout` seconds, and return the status of the answer.

    The addresses are those from which templates may be fetched. Redirects are not followed, and the answer's content is
    not read. Raises URLFetchError.
    """
    with _posted(url, body, timeout, content_type) as answer:
        return answer.status


def ask(url: str, body: bytes, timeout: float, limit: int) -> bytes:
    """Post JSON to an HTTP URL and return the content of the answer, at most `limit` bytes, within `timeout` seconds.

    For URLs of the operator only: all addresses are permitted. Redirects are not followed. Raises URLFetchError, also
    for any other status than 200.
    """
    with _posted(url, body, timeout, 'application/json', is_trusted=True) as answer:
        if answer.status != 200:
            raise _Broken(f'the answer is {answer.status}')
        found = _content(answer, limit)
        if len(found) > limit:
            raise _Broken(f'the answer has more than {limit} bytes')
        return found


@contextmanager
def _posted(url: str, body: bytes, timeout: float, content_type: str,
            is_trusted: bool = False) -> Iterator[BoundedAnswer]:
    """Yield the answer to `body`. Errors of the block, too, become URLFetchError."""
    deadline = time.monotonic() + timeout
    try:
        parts = urlsplit(url)
        if parts.scheme not in REMOTE or not parts.hostname:
            raise _Broken('the address is not one of HTTP')
        with _reach(parts, deadline, is_trusted) as connection:
            connection.request('POST', _target(parts), body, {
                'Content-Type': content_type, 'Connection': 'close', **_credentials(parts)})
            with _answered(connection, deadline) as answer:
                yield answer
    except (_Broken, OSError, ValueError, EOFError, zlib.error, http.client.HTTPException) as error:
        why = str(error) if isinstance(error, _Broken) else type(error).__name__
        raise URLFetchError(_('%(url)s was not reached: %(why)s') % {'url': shown(url), 'why': why}) from None


def get_template(url: str, by_operator: bool = False) -> str:
    """Fetch as `get`, but accept only templates. `by_operator`: the URL is in an environment of the operator, so it may
    name a file of this host, and is not counted.

    Other documents are refused here: parsers quote what they refuse, and the caller may not be allowed to read it.
    """
    text = get(url, LOCAL_TOO if by_operator else REMOTE, is_counted=not by_operator)
    if not any(key in text for key in template_format.VERSION_KEYS):
        raise URLFetchError(_('There is no template at %s') % shown(url))
    return text


def shown(url: str) -> str:
    """Return the URL for messages and logs: without user, password, query and fragment, which may be secrets."""
    parts = _split(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition('@')[2], parts.path, '', ''))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise URLFetchError(_('The URL cannot be read')) from None


def _read_file(url: str, limit: int, seconds: float) -> bytes:
    """Return the content of the regular file that the path of the URL names, at most one byte longer than `limit`.

    Reads in a thread of the system: a file on a server that does not answer must not block the others.
    """
    parts = _split(url)
    if any(sign in url for sign in '%?#') or parts.netloc not in ('', 'localhost') or not parts.path.startswith('/'):
        raise URLFetchError(_('Failed to retrieve template: a URL of a file is file:// and the absolute path, without '
                              'the signs % ? and #'))
    try:
        return _files().call(seconds, _content_of_file, parts.path, limit)
    except (OSError, ValueError) as error:
        raise URLFetchError(_('Failed to retrieve template: %s') % error) from None


@cache
def _files() -> ThreadPool[bytes]:
    """Threads for files of operators; what users write uses others."""
    return ThreadPool(8, 8)


def _content_of_file(path: str, limit: int) -> bytes:
    """Never waits for the other end of a pipe, nor for a device."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), 'rb') as source:
        if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
            raise OSError(errno.EINVAL, _('not a regular file'), path)
        return source.read(limit + 1)


def _read_http(url: str, limit: int, seconds: float) -> bytes:
    deadline = time.monotonic() + seconds
    here = url
    try:
        for _number in range(REDIRECTS + 1):
            parts = urlsplit(here)
            if parts.scheme not in REMOTE or not parts.hostname:
                raise _Broken('the address is not one of HTTP')
            found = _ask(parts, limit, deadline)
            if isinstance(found, bytes):
                return found
            here = urljoin(here, found)
        raise _Broken('there are too many redirects')
    except (_Broken, OSError, ValueError, EOFError, zlib.error, http.client.HTTPException) as error:
        # The library's message may quote the answer; ours does not.
        why = str(error) if isinstance(error, _Broken) else type(error).__name__
        LOG.info('Failed to retrieve template from %s: %s', shown(url), why)
        raise URLFetchError(_('Failed to retrieve template from %s') % shown(url)) from None


def _ask(parts: SplitResult, limit: int, deadline: float) -> bytes | str:
    """Return the document, at most one byte longer than `limit`, or the URL of a redirect."""
    with _reach(parts, deadline) as connection:
        connection.request('GET', _target(parts), headers={
            'Accept': '*/*', 'Accept-Encoding': 'identity', 'Connection': 'close', **_credentials(parts)})
        with _answered(connection, deadline) as answer:
            if answer.status in _MOVED and answer.headers['Location']:
                return str(answer.headers['Location'])
            if answer.status != 200:
                raise _Broken(f'the answer is {answer.status}')
            return _content(answer, limit)


@contextmanager
def _reach(parts: SplitResult, deadline: float, is_trusted: bool = False) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection to an address that was checked, unless it `is_trusted`."""
    assert parts.hostname is not None
    secure = parts.scheme == 'https'
    port = parts.port or (443 if secure else 80)
    connection = http.client.HTTPConnection(parts.hostname, port)
    with runtime.limited(_left(deadline)):
        wrapped = _connect(parts.hostname, port, deadline, is_trusted)
        try:
            wrapped.settimeout(_left(deadline))
            if secure:
                wrapped = _context().wrap_socket(wrapped, server_hostname=parts.hostname)
                wrapped.settimeout(_left(deadline))
            connection.sock = wrapped
            yield connection
        finally:
            wrapped.close()


@contextmanager
def _answered(connection: http.client.HTTPConnection, deadline: float) -> Iterator[BoundedAnswer]:
    """Yield the answer to the request that was sent, after its headers."""
    with closing(BoundedAnswer(connection.sock, opened=partial(TimedSource, until=deadline))) as answer:
        answer.begin()
        yield answer


def _target(parts: SplitResult) -> str:
    return urlunsplit(('', '', parts.path or '/', parts.query, ''))


def _credentials(parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    pair = f'{unquote(parts.username)}:{unquote(parts.password or "")}'
    return {'Authorization': 'Basic ' + base64.b64encode(pair.encode()).decode('ascii')}


def _content(answer: BoundedAnswer, limit: int) -> bytes:
    """Return the unpacked content: a small answer may be a very long document."""
    coding = (answer.headers['Content-Encoding'] or 'identity').strip().lower()
    source: BoundedAnswer | gzip.GzipFile = answer
    if coding in ('gzip', 'x-gzip'):
        source = gzip.GzipFile(fileobj=answer)
    elif coding != 'identity':
        raise _Broken('the answer is packed in an unknown way')
    found = bytearray()
    with answer.content_of(limit):
        while len(found) <= limit and (piece := source.read(min(_PIECE, limit + 1 - len(found)))):
            turns.spend(turns.EVERY)
            found += piece
    if len(found) <= limit and answer.length:
        raise _Broken('the document ends early')
    return bytes(found)


# --- permitted addresses -----------------------------------------------------------------------------------

def connected(host: str, port: int, seconds: float) -> socket.socket:
    """Return a connection to a permitted address of the host. Raises OSError; TimeoutError after so many seconds.

    The error for an address that is not permitted does not say so, as for a name that has none: names of the network of
    the service are not to be learnt. The log has the reason.
    """
    try:
        return _connect(host, port, time.monotonic() + seconds, is_trusted=False)
    except (_Broken, socket.gaierror, UnicodeError) as error:       # the last: no such name can exist
        LOG.info('No connection to %s: %s', host, error)
        raise OSError('the host cannot be reached') from None


def _connect(host: str, port: int, deadline: float, is_trusted: bool) -> socket.socket:
    is_permitted = (lambda address: True) if is_trusted else _permission(host)
    lookups = host_lookups.of_services() if is_trusted else host_lookups.of_users()
    found = lookups.addresses(host, port, kind=socket.SOCK_STREAM, seconds=_left(deadline), owner=_owner())
    permitted = [each for each in found if is_permitted(str(each[4][0]))]
    broken: Exception = _Broken('its address is in template_fetch_deny' if found else 'the name has no address')
    for number, (family, kind, protocol, _name, address) in enumerate(permitted, 1):
        left = _left(deadline)
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(left if number == len(permitted) else min(left / 2, NEXT_ADDRESS))
            made.connect(address)
            made.settimeout(_left(deadline))
            return made
        except OSError as error:
            made.close()
            broken = error
    raise broken


def _owner() -> str:
    """Whose look-up it is: the project of the request, or that for which this thread works."""
    return getattr(context.get_current(), 'project_id', None) or next(iter(turns.owners()), '')


def _permission(host: str) -> Callable[[str], bool]:
    """Return a function: address -> whether templates may be fetched from there."""
    denied = addresses.Networks(cfg.CONF.get('template_fetch_deny', options.FETCH_DENY))
    allowed = addresses.Networks(cfg.CONF.get('template_fetch_allow', []))
    return lambda address: (allowed.name(host) or allowed.include(address)
                            or not (denied.name(host) or denied.include(address)))


def _context() -> ssl.SSLContext:
    from requests.utils import DEFAULT_CA_BUNDLE_PATH
    bundle = next((os.environ[name] for name in _BUNDLES if os.environ.get(name)), str(DEFAULT_CA_BUNDLE_PATH))
    if os.path.isdir(bundle):
        return ssl.create_default_context(capath=bundle)
    return ssl.create_default_context(cafile=bundle)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError('the time is over')
    return left
