"""AWS's query protocol: parameters in the query string or a form, answers in XML, or in JSON for `ContentType=JSON`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from wsgiref.types import WSGIEnvironment

import webob

from heatlite.api.aws import errors, parameters
from heatlite.api.aws.envelope import Envelope
from heatlite.api.aws.errors import AwsError
from heatlite.api.cloudwatch.protocols.protocol import Protocol, Result, present, request
from heatlite.api.cloudwatch.shapes import QueryScalar
from heatlite.common import turns
from heatlite.common.timeutils import isotime

ENVELOPE: Final = Envelope(namespace='http://monitoring.amazonaws.com/doc/2010-08-01/')
ACTION: Final = 'Action'


class QueryFields(Protocol):
    def action(self, environ: WSGIEnvironment) -> str | None:
        return parameters.read(environ).get(ACTION)

    def parameters(self, environ: WSGIEnvironment) -> object:
        return _written(parameters.tree(parameters.read(environ)))

    def answer(self, environ: WSGIEnvironment, action: str, result: Result | None) -> webob.Response:
        as_json = parameters.wants_json(environ)
        content = {} if result is None else {f'{action}Result': _plain(present(result), as_json)}
        return ENVELOPE.response(
            {f'{action}Response': {**content, 'ResponseMetadata': {'RequestId': request(environ)}}}, as_json)

    def error(self, environ: WSGIEnvironment, error: AwsError) -> webob.Response:
        return ENVELOPE.response(
            {'ErrorResponse': {**errors.document(error), 'RequestId': request(environ)}},
            parameters.wants_json(environ), error.status)


def _written(value: parameters.Tree | str) -> object:
    """Return a tree with its lists as lists and its scalars as `QueryScalar`. No structure has a member called
    `member`."""
    if isinstance(value, str):
        return QueryScalar(value)
    turns.spend()
    if parameters.MEMBER in value:
        return [_written(each) for each in parameters.members(value)]
    return {name: _written(each) for name, each in value.items()}


def _plain(value: object, as_json: bool) -> object:
    """Return a value with times as texts, and in XML with everything as texts."""
    if isinstance(value, Mapping):
        return {name: _plain(each, as_json) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, as_json) for each in value]
    if isinstance(value, datetime):
        return isotime(value)
    if as_json:
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)
