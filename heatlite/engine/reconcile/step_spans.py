"""The spans of one stack's steps: one for each attempt at an action of a resource, from its handler to its last check.

Their ids follow from the action, the resource and the number of the attempt: when the engine is killed, the next one
continues the spans under way.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from heatlite.common import tracing
from heatlite.common.tracing import Span, SpanContext, SpanKind, Tracer
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.planning import commands
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Step

FAILED, COMPLETE, ENDED_EARLY = 'FAILED', 'COMPLETE', 'ENDED_EARLY'


class StepSpans:
    """Called by the thread of the runner and by threads of the pool, never by two of them for one step at once."""

    def __init__(self, leased: LeasedStack) -> None:
        self._leased = leased
        self._open: dict[Step, tuple[Span, Action]] = {}
        self._failures: dict[tuple[str, Action], int] = {}      # resource, action -> failed attempts

    def begin(self, tracer: Tracer, step: Step, row: ResourceState, action: Action, recovers: bool = False) -> None:
        """Begin the span of a step, unless the one for this action is open. `recovers`: its action was interrupted."""
        opened = self._open.get(step)
        if opened is not None:
            if opened[1] is action:
                return
            self._end(tracer, step, ENDED_EARLY)
        parent = self._leased.context.trace
        if parent is None:
            return
        attempt = 1 + self._failures.get((row.name, action), 0)
        span = tracer.begin(f'{action} {row.type}', SpanKind.INTERNAL, parent,
                            tracing.derived(parent, row.uuid, action, attempt))
        stack = self._leased.row
        span.note(heatlite__resource__path=f'{stack.name}/{row.name}', heatlite__resource__name=row.name,
                  heatlite__resource__type=row.type, heatlite__resource__action=str(action), heatlite__attempt=attempt,
                  heatlite__recovers=recovers or None, heatlite__stack__id=stack.id,
                  openstack__request_id=self._leased.context.request_id)
        self._open[step] = span, action

    def within(self, step: Step) -> AbstractContextManager[None]:
        """Make the step's span the current one in a block; without one, that of the action."""
        opened = self._open.get(step)
        context: SpanContext | None = opened[0].context if opened is not None else self._leased.context.trace
        return tracing.within(context, self._leased.definition.mask.text)

    def note(self, tracer: Tracer, event: commands.Event) -> None:
        """End the span of a step if `event` says that its action has ended."""
        match event:
            case commands.Failed(step, reason):
                self._end(tracer, step, FAILED, reason)
            case commands.HandlerReturned(step, done=True) | commands.CheckReturned(step, done=True):
                self._end(tracer, step, COMPLETE)
            case commands.Recovered(step, commands.Outcome.UNKNOWN):
                self._end(tracer, step, FAILED, commands.Outcome.UNKNOWN.value)

    def forget(self, tracer: Tracer, step: Step) -> None:
        """End the span of a step that has ended without an event that says so."""
        self._end(tracer, step, ENDED_EARLY)

    def _end(self, tracer: Tracer, step: Step, outcome: str, reason: str | None = None) -> None:
        span, action = self._open.pop(step, (None, None))
        if span is None or action is None:
            return
        if outcome == FAILED:
            key = step.name, action
            self._failures[key] = self._failures.get(key, 0) + 1
            span.error = (reason or FAILED)[:tracing.LONGEST]
        span.note(heatlite__outcome=outcome)
        tracer.end(span)
