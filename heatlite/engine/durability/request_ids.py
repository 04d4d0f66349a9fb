"""Which request the action of a stack belongs to.

The ids are stored with the stack's row, in what its last request asked for, so that log lines and calls to clouds carry
them in nested stacks, in other engines and after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_context import context as contexts

from heatlite.common.context import RequestContext
from heatlite.db.stacks import Stack

NAMES = ('request_id', 'global_request_id')


def stored(context: RequestContext, request: Mapping[str, Any] | None) -> dict[str, Any]:
    """Column `request` of a stack: what `request` says, accepted from `context`."""
    ids = {'request_id': context.request_id, 'global_request_id': context.global_request_id}
    rest = {name: value for name, value in (request or {}).items() if name not in NAMES}
    return {**rest, **{name: value for name, value in ids.items() if value is not None}}


def asking(context: RequestContext) -> RequestContext:
    """The request that this thread works for - a signal to the stack, say - else that of `context`."""
    bound = contexts.get_current()
    return bound if isinstance(bound, RequestContext) else context


def of_signal(context: RequestContext, ids: Mapping[str, Any] | None) -> RequestContext:
    """For log lines about a signal: the stack's context with the ids of the signal's request."""
    return context.of_request(ids['request_id'], ids.get('global_request_id')) if ids else context


def of(row: Stack) -> dict[str, Any]:
    """Keywords for the context of a stack: the ids of its last request. An older release stored none."""
    return {name: row.request[name] for name in NAMES if name in row.request} if row.request else {}


def following(context: RequestContext, row: Stack) -> RequestContext:
    """The stack's context once it follows the request in its row."""
    ids = of(row)
    return context.of_request(ids['request_id'], ids.get('global_request_id')) if ids else context
