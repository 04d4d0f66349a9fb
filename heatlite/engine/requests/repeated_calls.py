"""Recognizes a change that was accepted already: the API sends it to another engine when the first one may have ended.

The id of the call is in the column `request` of the stack, until its next request.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.api_call import ENDED_SECONDS
from heatlite.common.context import RequestContext
from heatlite.common.runtime import Runtime
from heatlite.db import engines, stacks
from heatlite.db.connection import Database
from heatlite.engine.durability import request_ids
from heatlite.rpc import messages

CLOCKS_APART = timedelta(seconds=1)         # the clocks of the hosts differ by less
OF_LATE = 2 * ENDED_SECONDS                 # seconds: longer ago than what an API takes into account


class AcceptedBefore(Exception):
    """This very call was accepted. `row`: of its stack."""

    def __init__(self, row: stacks.StoredStack) -> None:
        super().__init__(row.id)
        self.row = row


def check(tx: Connection, context: RequestContext, row: stacks.StoredStack, now: datetime) -> None:
    """Raise AcceptedBefore if the last request of a stack is this call; OutcomeUnknown if it may be one of the requests
    before, because another one was accepted since it was sent. Call it in the transaction that accepts a request. One
    statement, where another request was accepted since and this one took long."""
    call = context.call
    if call is None:
        return
    if request_ids.call_of(row) == call.id:
        raise AcceptedBefore(row)
    if (row.started_at or row.created_at) < call.sent_at - CLOCKS_APART:
        return
    if call.is_elsewhere(now, lambda: engines.any_ended(tx, now - timedelta(seconds=OF_LATE), OF_LATE)):
        raise exception.OutcomeUnknown(stack_name=row.name)


class RepeatedCalls:
    """Looks for the stack of a call, in the threads of requests."""

    def __init__(self, runtime: Runtime, database: Database) -> None:
        self._runtime = runtime
        self._database = database

    @contextmanager
    def recognized(self, context: RequestContext, message: messages.Message) -> Iterator[None]:
        """Execute the block, which accepts the call, unless that was done. Raises what `check` raises."""
        call = context.call if type(message) in messages.ACCEPTED_ONCE else None
        if call is not None and call.is_repeated:
            self._look(context, message)
        try:
            yield
        except exception.StackExists:
            if call is not None:
                self._look(context, message)
            raise

    def _look(self, context: RequestContext, message: messages.Message) -> None:
        with self._database.reader() as tx:
            if isinstance(message, messages.CreateStack):
                found = stacks.by_name(tx, context.project_id, message.stack_name)
                row = None if found is None else stacks.get(tx, found.id)
            else:
                row = stacks.get(tx, getattr(message, 'stack_id', ''), deleted=True)
            if row is not None:
                check(tx, context, row, self._runtime.now())
