"""Limits the history of stacks: when an action ends, and where events are added outside of actions, by signals, marks
and looks for drift.

A finished stack may get signals for years, so every EACH-th event on average removes those beyond the limit: the others
cost no statement, and a history has about EACH events more than the limit. Chance decides, not a count: one that all
stacks share could be led past one of them, and one for each stack would be lost when another engine drives it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.runtime import Runtime
from heatlite.db import events, leases
from heatlite.db.connection import Database

LOG = logging.getLogger(__name__)

EACH = 50
EVENTS_OF_RESOURCE = 5                  # about as many events are stored for each resource by one action


class EventHistory:
    def __init__(self, runtime: Runtime, database: Database, most: int) -> None:
        """`most`: events of one stack; 0: no limit."""
        self._runtime = runtime
        self._database = database
        self._most = most

    def may_be_over(self, resources: int) -> bool:
        """Whether a stack with so many resources may have more events than allowed after an action."""
        return 0 < self._most < EVENTS_OF_RESOURCE * (resources + 1)

    def limit_after_action(self, tx: Connection, stack_id: str) -> int | None:
        """Remove old events, as many as a short transaction can. `tx` has locked the lease. Return what `remove_rest`
        needs if more are left, else None."""
        edge = events.prepare_purge(tx, stack_id, self._most)
        if edge is None or events.purge(tx, stack_id, edge) < events.PURGED_AT_ONCE:
            return None
        return edge

    def remove_rest(self, stack_id: str, edge: int) -> None:
        """Remove the events up to `edge` in a thread of its own, part by part: a request for the stack waits for one of
        them only. What an engine that ends has left is removed with the events of a later action."""
        def remove() -> None:
            while self._in_transaction(stack_id, lambda tx: events.purge(tx, stack_id, edge)) == events.PURGED_AT_ONCE:
                LOG.debug('More old events of stack %s are removed', stack_id)

        self._runtime.spawn(remove)

    def limit(self, tx: Connection, stack_id: str, added: int = 1) -> None:
        """Call it after some events were inserted in `tx`. Where `tx` has not locked the stack's lease, another removal
        at the same time is a conflict, after which one of the two is tried again."""
        if self._is_due(added):
            events.purge_over(tx, stack_id, self._most)

    def limit_after(self, stack_id: str) -> None:
        """Call it after an event was committed."""
        if self._is_due():
            self._in_transaction(stack_id, lambda tx: events.purge_over(tx, stack_id, self._most))

    def _in_transaction(self, stack_id: str, remove: Callable[[Connection], int]) -> int:
        """Return `remove(tx)`; 0 if the database is away."""
        def locked(tx: Connection) -> int:
            leases.lock(tx, stack_id)               # as all who remove events of a stack
            return remove(tx)

        try:
            return self._database.retry(locked)
        except exception.DatabaseUnavailable as error:
            LOG.info('Old events of stack %s were not removed: %s', stack_id, error)
            return 0

    def _is_due(self, added: int = 1) -> bool:
        return self._most > 0 and self._runtime.random() * EACH < added
