"""Chooses the protocol of a request."""

from __future__ import annotations

from wsgiref.types import WSGIEnvironment

from heatlite.api.cloudwatch.protocols import cbor_rpc, json_rpc
from heatlite.api.cloudwatch.protocols.cbor_rpc import CborRpc
from heatlite.api.cloudwatch.protocols.json_rpc import JsonRpc
from heatlite.api.cloudwatch.protocols.protocol import Protocol
from heatlite.api.cloudwatch.protocols.query import ACTION, QueryFields

_CBOR, _JSON, _QUERY = CborRpc(), JsonRpc(), QueryFields()


def of(environ: WSGIEnvironment) -> Protocol:
    """Return the protocol by the headers of the request. Never raises: errors are rendered in it."""
    if environ.get(cbor_rpc.HEADER) == cbor_rpc.NAME:
        return _CBOR
    return _JSON if json_rpc.HEADER in environ else _QUERY


def is_action(environ: WSGIEnvironment) -> bool:
    """Whether the request, whose path has no version, is one for an action."""
    path = environ.get('PATH_INFO', '')
    if of(environ) is _CBOR:
        return cbor_rpc.PATH.fullmatch(path) is not None
    if path not in ('', '/'):
        return False
    return (of(environ) is _JSON or environ.get('REQUEST_METHOD') == 'POST'
            or f'{ACTION}=' in environ.get('QUERY_STRING', ''))


def has_path(environ: WSGIEnvironment) -> bool:
    """Whether the path behind the version is that of an action in the request's protocol."""
    path = environ.get('PATH_INFO', '')
    if of(environ) is _CBOR:
        return environ.get('REQUEST_METHOD') == 'POST' and cbor_rpc.PATH.fullmatch(path) is not None
    return path in ('', '/') and environ.get('REQUEST_METHOD') in ('GET', 'POST')
