"""The use case of a form: which values a custom constraint accepts from the caller."""

from __future__ import annotations

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.engine import clients
from heatlite.engine.clients import constraint_values
from heatlite.engine.requests import questions
from heatlite.rpc import messages

SECONDS = 10.0                      # in which the service has to answer


class ConstraintValues:
    """Serves forms, in threads of requests."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def values(self, context: RequestContext, message: messages.ListConstraintValues) -> dict[str, object]:
        """Return {values: [{id, name}], is_whole, unread}. `unread`: why the service's list cannot be read, or None.

        Raises EntityNotFound for a constraint that has no list."""
        name = message.constraint
        if name not in constraint_values.LISTS:
            raise exception.EntityNotFound(entity=_('list of values of the constraint'), name=name)
        question = questions.Question(name, lambda: constraint_values.read(clients.of(context), name))
        questions.ask(self._runtime, context, [question], SECONDS)
        context.check_in_time(self._runtime.now())
        found: list[dict[str, str]] = question.answer([])
        return {'values': found[:message.limit], 'is_whole': len(found) <= message.limit and not question.failure,
                'unread': question.failure or None}
