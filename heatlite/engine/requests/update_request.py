"""An update as it was requested: what its transaction checks again, and the columns that it changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from heatlite.common.context import RequestContext
from heatlite.db import stacks
from heatlite.engine.durability import request_ids
from heatlite.engine.reconcile import request_keys
from heatlite.engine.reconcile.revisions import Content
from heatlite.engine.requests import guard_checks, repeated_calls
from heatlite.engine.requests.acceptance import Applying
from heatlite.engine.requests.ownership import Ownership
from heatlite.engine.requests.stored_stacks import check_generation, check_tag, check_updatable
from heatlite.language.definition import StackDefinition
from heatlite.planning.states import Action
from heatlite.rpc import messages


def timeout_mins(message: messages.UpdateStack, current: stacks.StoredStack) -> int | None:
    """Return the time-out that a stack has after an update: in minutes; None: the default."""
    return current.timeout_mins if message.timeout_mins is None else message.timeout_mins or None


@dataclass(frozen=True)
class UpdateRequest:
    """One update. `row`: of the stack, as it was read for the request; `owner`: for whom it acts then;
    `generation`: the one which the stack must still have; None: any."""

    context: RequestContext
    message: messages.UpdateStack
    plan: Applying | None
    row: stacks.StoredStack
    definition: StackDefinition
    content: Content
    owner: Ownership
    generation: int | None

    def without_token(self) -> UpdateRequest:
        """Return the request for a stack in which no action follows from it."""
        return replace(self, owner=self.owner.without_token())

    def store(self, tx: Connection, current: stacks.StoredStack, now: datetime) -> stacks.Requested:
        """Check the request again, store what belongs to it, and return the columns that it changes. `current`: the
        row of the stack, locked by `tx`. May be called again, after a conflict of transactions."""
        message, plan = self.message, self.plan
        self.context.check_in_time(now)
        repeated_calls.check(tx, self.context, current, now)
        guard_checks.check_lock(tx, current)
        check_updatable(current)
        check_tag(current, message.if_match)
        check_generation(current, self.generation)
        if plan is not None:
            plan.accept(tx, current.id, current.generation)
        owned = self.owner.store(tx, current, now)
        lasting = request_keys.lasting(current, Action.UPDATE, self.definition.resources)
        return {
            **owned,
            'description': str(self.definition.description), 'parameters': self.definition.parameters.shown(),
            'request': request_ids.stored(self.context, lasting, plan.reference if plan is not None else None),
            'timeout_mins': timeout_mins(message, current),
            'disable_rollback': (current.disable_rollback if message.disable_rollback is None
                                 else message.disable_rollback),
            'converge': bool(message.converge),
            'tags': current.tags if message.existing and message.tags is None else list(message.tags or ()) or None}
