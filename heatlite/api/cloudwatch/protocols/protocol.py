"""What all protocols have in common."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias
from wsgiref.types import WSGIEnvironment

import webob

from heatlite.api.aws import errors
from heatlite.api.aws.errors import AwsError
from heatlite.api.cloudwatch.errors import SHAPES
from heatlite.api.middleware import request_id

TARGET: Final = 'GraniteServiceVersion20100801'         # the name of the service and version in protocols with targets
QUERY_ERROR: Final = 'x-amzn-query-error'               # the code of the query protocol, in answers of the other ones

# What actions return: members without a value are None and left out.
Value: TypeAlias = 'bool | int | float | str | datetime | Sequence[Value] | Mapping[str, Value] | None'
Result = Mapping[str, Value]


class Protocol(abc.ABC):
    @abc.abstractmethod
    def action(self, environ: WSGIEnvironment) -> str | None:
        """Return the name of the action that is asked for; None: none is named."""

    @abc.abstractmethod
    def parameters(self, environ: WSGIEnvironment) -> object:
        """Return what `shapes.Structure` reads."""

    @abc.abstractmethod
    def answer(self, environ: WSGIEnvironment, action: str, result: Result | None) -> webob.Response:
        """Render a result; None: the action has none."""

    @abc.abstractmethod
    def error(self, environ: WSGIEnvironment, error: AwsError) -> webob.Response:
        """Render an error."""


def request(environ: WSGIEnvironment) -> str:
    """Return the request's id."""
    return str(environ.get(request_id.KEY, ''))


def typed_error(error: AwsError) -> tuple[dict[str, str], dict[str, str]]:
    """(document, headers) of an error in the protocols that name its shape."""
    return ({'__type': SHAPES.get(error.code, error.code), 'message': error.message},
            {QUERY_ERROR: f'{error.code};{errors.fault_of(error.status)}'})


def present(value: Value) -> object:
    """Return the value without members that are None."""
    if isinstance(value, Mapping):
        return {name: present(each) for name, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [present(each) for each in value]
    return value
