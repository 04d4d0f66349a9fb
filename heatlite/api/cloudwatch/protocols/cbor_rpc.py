"""The protocol rpc-v2-cbor of Smithy: the action in the path, a CBOR map (RFC 8949) in the body."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Final, NoReturn
from wsgiref.types import WSGIEnvironment

import cbor2
import webob

from heatlite.api.aws.errors import AwsError
from heatlite.api.cloudwatch.errors import CloudWatchError
from heatlite.api.cloudwatch.protocols.protocol import TARGET, Protocol, Result, present, typed_error
from heatlite.api.middleware import body
from heatlite.common.i18n import _

HEADER, NAME = 'HTTP_SMITHY_PROTOCOL', 'rpc-v2-cbor'
PATH: Final = re.compile(r'/service/([A-Za-z0-9_.]{1,255})/operation/([A-Za-z0-9_]{1,255})/?')
_KIND = 'application/cbor'
_DEEPEST = 16                       # maps and lists within each other
_TIME = 1                           # the tag of seconds since 1970
# Tags that the library would turn into objects of Python. Requests have none of them; some are costly.
_OTHER_TAGS = (0, 2, 3, 4, 5, 25, 28, 29, 30, 35, 36, 37, 100, 256, 258, 260, 261, 1004, 43000, 55799)


class CborRpc(Protocol):
    def action(self, environ: WSGIEnvironment) -> str | None:
        found = PATH.fullmatch(environ.get('PATH_INFO', ''))
        return found[2] if found is not None and found[1].rpartition('.')[2] == TARGET else None

    def parameters(self, environ: WSGIEnvironment) -> object:
        content = body.decompressed(environ)
        if not content:
            return {}
        try:
            return cbor2.loads(content, max_depth=_DEEPEST, strict_hashable_types=True, semantic_decoders=_DECODERS)
        except (cbor2.CBORError, UnicodeError, ValueError, RecursionError):
            raise CloudWatchError('SerializationException', _('The body of the request is not valid CBOR.')) from None

    def answer(self, environ: WSGIEnvironment, action: str, result: Result | None) -> webob.Response:
        return _response(present(result or {}), 200, {})

    def error(self, environ: WSGIEnvironment, error: AwsError) -> webob.Response:
        document, headers = typed_error(error)
        return _response(document, error.status, headers)


def _response(document: object, status: int, headers: dict[str, str]) -> webob.Response:
    content = cbor2.dumps(document, datetime_as_timestamp=True, timezone=UTC)
    made = webob.Response(body=content, status=status, content_type=_KIND, charset=None)
    made.headers.update({'smithy-protocol': NAME, **headers})
    return made


def _time(found: object, _immutable: bool) -> float:
    """Return the number itself: a shape checks whether it is a date."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ValueError(_('A time is a number of seconds.'))
    return found


def _refuse(_found: object, _immutable: bool) -> NoReturn:
    raise ValueError(_('This tag is not read.'))


_DECODERS: Mapping[int, Callable[[object, bool], float]] = {_TIME: _time, **dict.fromkeys(_OTHER_TAGS, _refuse)}
