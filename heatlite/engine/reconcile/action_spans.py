"""The spans of actions of stacks. The engine that stores the end of an action sends its span.

Everything in a span is in the stack's row, so the engines that drove the stack before need not have lived.
"""

from __future__ import annotations

from datetime import datetime

from heatlite.common import tracing
from heatlite.common.tracing import SpanKind
from heatlite.db.stacks import StoredStack
from heatlite.engine.durability import request_ids
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.planning.states import Status

SUPERSEDED = 'SUPERSEDED'               # a newer request was accepted


def begin_of(row: StoredStack) -> datetime:
    """When the last action of a stack began."""
    found: datetime = row.started_at or row.updated_at or row.created_at
    return found


def ended(leased: LeasedStack, outcome: str, reason: str = '') -> None:
    """Send the span of a stack's action, unless that was done before. `reason`: without hidden values."""
    if tracing.tracer is not None and leased.end_trace():
        send(leased.row, outcome, reason, taken_over=leased.lease.former is not None)


def send(row: StoredStack, outcome: str, reason: str, taken_over: bool = False) -> None:
    """Send the span of the action in the row of a stack. `taken_over`: another engine drove the stack before."""
    tracer = tracing.tracer
    if tracer is None:
        return
    span = tracer.begin(f'{row.action} stack', SpanKind.INTERNAL, request_ids.asked_by(row), request_ids.span_of(row))
    span.began = tracing.nanoseconds(begin_of(row))
    if outcome == Status.FAILED:
        span.error = reason[:tracing.LONGEST] or outcome
    ids = request_ids.of(row)
    span.note(heatlite__stack__id=row.id, heatlite__stack__name=row.name, heatlite__stack__action=str(row.action),
              heatlite__outcome=str(outcome), heatlite__stack__generation=row.generation,
              heatlite__taken_over=taken_over or None, openstack__request_id=ids.get('request_id'),
              openstack__global_request_id=ids.get('global_request_id'), openstack__project_id=row.project_id)
    tracer.end(span)
