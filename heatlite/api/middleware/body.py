"""Request bodies of all APIs: refused before reading when too long, read once, readable by every layer.

No layer reads `wsgi.input` itself: it calls `read`, which caches the body. A body is read only when a layer needs it,
so an unauthenticated caller of the REST API never makes the process store one.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.common import exception, limits
from heatlite.common.i18n import _

_BODY, _LIMIT = 'heatlite.body', 'heatlite.body_limit'
_DECOMPRESSED, _FIELDS = 'heatlite.decompressed_body', 'heatlite.form_fields'
_GZIP = 16 + zlib.MAX_WBITS                      # the format of zlib's parameter `wbits`
_CHUNK = 65536                                  # bytes read from the server at once
_LENGTH = re.compile('[0-9]{1,18}')


class BodyLimit:
    """Checks what can be checked before reading. `limit`: bytes of a body, option max_json_body_size; `fields`: most
    fields of a form.

    Raises RequestLimitExceeded or HTTPBadRequest: place it inside the layer that renders errors.
    """

    def __init__(self, app: WSGIApplication, limit: int, fields: int = limits.FORM_FIELDS) -> None:
        self._app = app
        self._limit = limit
        self._fields = fields

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[_LIMIT], environ[_FIELDS] = self._limit, self._fields
        _length(environ, self._limit)
        if environ.get('QUERY_STRING', '').count('&') >= limits.QUERY_FIELDS:
            raise exception.HTTPBadRequest(
                _('The query string has more than %s fields.') % limits.QUERY_FIELDS)
        return self._app(environ, start_response)


def restrict(environ: WSGIEnvironment, most: int) -> None:
    """Let `read` refuse a body of more than `most` bytes, where the layers below read no other one."""
    environ[_LIMIT] = min(environ.get(_LIMIT, most), most)


def read(environ: WSGIEnvironment) -> bytes:
    """Read the whole body; every call returns the same bytes, or raise the same error.

    `wsgi.input` is a copy afterwards. Raises RequestLimitExceeded, and HTTPBadRequest when the body is incomplete or
    its chunks are malformed.
    """
    found: bytes | exception.HeatException | None = environ.get(_BODY)
    if found is None:
        try:
            found = _received(environ, environ.get(_LIMIT, limits.BODY_BYTES))
        except exception.HeatException as error:
            found = error
        except (OSError, ValueError):           # raised by servers for broken chunks and lost connections
            found = exception.HTTPBadRequest(_('The body of the request could not be read.'))
        environ[_BODY] = found
        environ.pop('HTTP_TRANSFER_ENCODING', None)
        content = found if isinstance(found, bytes) else b''
        environ['CONTENT_LENGTH'], environ['wsgi.input'] = str(len(content)), io.BytesIO(content)
    if isinstance(found, exception.HeatException):
        raise found
    return found


def decompressed(environ: WSGIEnvironment) -> bytes:
    """Return the body without `Content-Encoding: gzip`; the same limit holds for what it expands to.

    A signature is one of the body as `read` gives it. Raises what `read` raises, and HTTPBadRequest for other encodings
    and for content that is not gzip.
    """
    encoding = environ.get('HTTP_CONTENT_ENCODING', '').strip().lower()
    if encoding in ('', 'identity'):
        return read(environ)
    found: bytes | None = environ.get(_DECOMPRESSED)
    if found is None:
        if encoding != 'gzip':
            raise exception.HTTPBadRequest(_('Bodies with the Content-Encoding %s are not read.') % encoding[:40])
        found = environ[_DECOMPRESSED] = _expanded(read(environ), environ.get(_LIMIT, limits.BODY_BYTES))
    return found


def _expanded(content: bytes, limit: int) -> bytes:
    """Expand one member of gzip's format, no further than the limit."""
    reader = zlib.decompressobj(_GZIP)
    try:
        found = reader.decompress(content, limit + 1)
    except zlib.error:
        found = b''
    if len(found) > limit:
        raise too_long(len(found), limit)
    if not reader.eof or reader.unused_data:
        raise exception.HTTPBadRequest(_('The body of the request is not valid gzip.'))
    return found


def most_fields(environ: WSGIEnvironment) -> int:
    """How many fields a form of this request may have."""
    return int(environ.get(_FIELDS, limits.FORM_FIELDS))


def _length(environ: WSGIEnvironment, limit: int) -> int | None:
    """Return the value of Content-Length; None without one."""
    announced = environ.get('CONTENT_LENGTH')
    if not announced:
        return None
    if not _LENGTH.fullmatch(announced):
        raise exception.HTTPBadRequest(_('The Content-Length of the request is not a number of bytes.'))
    if int(announced) > limit:
        raise too_long(int(announced), limit)
    return int(announced)


def _received(environ: WSGIEnvironment, limit: int) -> bytes:
    source = environ['wsgi.input']
    length = _length(environ, limit)
    if length is not None:
        content: bytes = source.read(length) if length else b''
        if len(content) < length:
            raise OSError('the body is shorter than its Content-Length')
        return content
    if 'chunked' not in environ.get('HTTP_TRANSFER_ENCODING', '').lower():
        return b''
    read = bytearray()
    while chunk := source.read(_CHUNK):
        read += chunk
        if len(read) > limit:
            raise too_long(len(read), limit)
    return bytes(read)


def too_long(size: int, limit: int) -> exception.RequestLimitExceeded:
    """Return the error for a body that is too long. Clients parse this text."""
    return exception.RequestLimitExceeded(
        _('JSON body size (%(size)s bytes) exceeds maximum allowed size (%(limit)s bytes).')
        % {'size': size, 'limit': limit})
