"""AWS's JSON protocol, version 1.0: the action in the header X-Amz-Target, a JSON object in the body."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Final
from wsgiref.types import WSGIEnvironment

import webob

from heatlite.api import json_text
from heatlite.api.aws.errors import AwsError
from heatlite.api.cloudwatch.errors import CloudWatchError
from heatlite.api.cloudwatch.protocols.protocol import TARGET, Protocol, Result, present, typed_error
from heatlite.api.middleware import body
from heatlite.common import exception

HEADER: Final = 'HTTP_X_AMZ_TARGET'
_TYPES = ('application/x-amz-json-1.0', 'application/x-amz-json-1.1', 'application/json')


class JsonRpc(Protocol):
    def action(self, environ: WSGIEnvironment) -> str | None:
        service, _dot, action = str(environ.get(HEADER, '')).partition('.')
        return action if service == TARGET else None

    def parameters(self, environ: WSGIEnvironment) -> object:
        content = body.decompressed(environ)
        try:
            return json_text.read(content) if content.strip() else {}
        except exception.HTTPBadRequest as error:
            raise CloudWatchError('SerializationException', str(error)) from None

    def answer(self, environ: WSGIEnvironment, action: str, result: Result | None) -> webob.Response:
        return _response(environ, present(result or {}), 200, {})

    def error(self, environ: WSGIEnvironment, error: AwsError) -> webob.Response:
        document, headers = typed_error(error)
        return _response(environ, document, error.status, headers)


def _response(environ: WSGIEnvironment, document: object, status: int, headers: dict[str, str]) -> webob.Response:
    kind = str(environ.get('CONTENT_TYPE') or '').split(';')[0].strip().lower()
    made = webob.Response(body=json.dumps(document, default=_seconds).encode('ascii'), status=status, charset=None,
                          content_type=kind if kind in _TYPES else _TYPES[0])
    made.headers.update(headers)
    return made


def _seconds(value: object) -> float:
    """Return a time as seconds since 1970."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
    raise TypeError(f'{type(value).__name__} is not written as JSON')
