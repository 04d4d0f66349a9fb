"""Stores and restores the ids of the request to which an action of a stack belongs.

The ids are in the column `request` of the stack's row, so that log lines and calls to clouds have them in nested
stacks, in other engines and after a crash; so is the span that asked for the action, if there are traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict

from oslo_context import context as contexts

from heatlite.common import tracing
from heatlite.common.context import RequestContext, Subject, bind
from heatlite.common.tracing import SpanContext
from heatlite.db.stacks import StoredStack

NAMES: Final = ('request_id', 'global_request_id')
PLAN = 'plan'                           # key of the applied plan, see `engine.reconcile.plan_references`
USER = 'user_id'                        # key of the user who made the request
CALL = 'call'                           # key of the id of the call that made it, see `engine.requests.repeated_calls`
TRACE = 'trace'                         # key of the span that asked for the action: headers of W3C Trace Context


class Ids(TypedDict, total=False):
    """The ids of a request, and the span of the action that it began, as a context takes them."""

    request_id: str
    global_request_id: str | None
    trace: SpanContext | None


def stored(context: RequestContext, request: Mapping[str, object] | None,
           plan: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return the column `request` of a stack: `request` with the ids of `context`, its user, and the applied plan.

    The plan of a former request does not hold for this one.
    """
    ids = {'request_id': context.request_id, 'global_request_id': context.global_request_id,
           USER: context.user_id, PLAN: plan, TRACE: tracing.headers() or None,
           CALL: None if context.call is None else context.call.id}
    rest = {name: value for name, value in (request or {}).items() if name not in ids}
    return {**rest, **{name: value for name, value in ids.items() if value is not None}}


def asking(context: RequestContext) -> RequestContext:
    """Return the context bound to this thread, such as that of a signal to the stack, else `context`."""
    bound = contexts.get_current()
    return bound if isinstance(bound, RequestContext) else context


def of_signal(context: RequestContext, ids: Mapping[str, object] | None) -> RequestContext:
    """Return the stack's context with the ids of the signal's request, for log lines and traces."""
    if not ids:
        return context
    headers, of_whole = ids.get(TRACE), ids.get('global_request_id')
    trace = tracing.parsed(headers if isinstance(headers, Mapping) else None) if tracing.tracer is not None else None
    return context.of_request(str(ids['request_id']), None if of_whole is None else str(of_whole), trace)


def of(row: StoredStack) -> Ids:
    """Return the ids of the stack's last request, as keywords for its context; {} if an older release stored none."""
    found: Ids = {}
    for name in NAMES:
        if row.request and name in row.request:
            found[name] = row.request[name]
    return found


def user_of(row: StoredStack) -> str | None:
    """Return the id of the user who made the stack's last request; None if an older release stored none."""
    found = (row.request or {}).get(USER)
    return None if found is None else str(found)


def call_of(row: StoredStack) -> str | None:
    """Return the id of the call that made the stack's last request; None if it made none that is repeated."""
    found = (row.request or {}).get(CALL)
    return None if found is None else str(found)


def of_action(row: StoredStack) -> Ids:
    """Return the ids of the stack's last request and the span of its action, as keywords for its context."""
    return of(row) if tracing.tracer is None else {**of(row), 'trace': span_of(row)}


def subject(row: StoredStack, resource: str | None = None, path: str | None = None) -> Subject:
    """Return what log lines say that they are about: the stack, the plan of its last request, and a resource; `path`:
    the way from the root to a nested stack."""
    plan: Mapping[str, object] | None = row.request.get(PLAN) if row.request else None
    return Subject(row.id, row.name, None if plan is None else str(plan['id']), resource, path)


def bind_to(row: StoredStack) -> None:
    """Make log lines of this thread carry the ids of the stack and of its last request, until its context is known."""
    bind(RequestContext(project_id=row.project_id, overwrite=False, **of_action(row)), subject(row))


def asked_by(row: StoredStack) -> SpanContext | None:
    """Return the span that asked for the stack's last action, as it is stored."""
    return tracing.parsed((row.request or {}).get(TRACE))


def span_of(row: StoredStack) -> SpanContext | None:
    """Return the span of the stack's last action: the same in each engine. None while traces are off."""
    return tracing.derived(asked_by(row), row.id, row.generation)


def following(context: RequestContext, row: StoredStack) -> RequestContext:
    """Return the stack's context with the ids of the request in its row."""
    ids = of_action(row)
    return context.of_request(**ids) if 'request_id' in ids else context
