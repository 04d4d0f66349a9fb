"""Limits the history of stacks where events are added outside of actions: by signals, marks and looks for drift.

The end of an action removes old events itself (`reconcile.clean_up`). A finished stack may get signals for years, so
here every EACH-th event on average removes those beyond the limit: the others cost no statement, and a history has
about EACH events more than the limit. Chance decides, not a count: a count that all stacks share could be led past one
of them, and one for each stack would be lost when another engine drives it.
"""

from __future__ import annotations

import logging

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.runtime import Runtime
from heatlite.db import events, leases
from heatlite.db.connection import Database

LOG = logging.getLogger(__name__)

EACH = 50


class EventHistory:
    def __init__(self, runtime: Runtime, database: Database, most: int) -> None:
        """`most`: events of one stack; 0: no limit."""
        self._runtime = runtime
        self._database = database
        self._most = most

    def limit(self, tx: Connection, stack_id: str, added: int = 1) -> None:
        """Call it after some events were inserted in `tx`. Where `tx` has not locked the stack's lease, another removal
        at the same time is a conflict, after which one of the two is tried again."""
        if self._is_due(added):
            events.purge_over(tx, stack_id, self._most)

    def limit_after(self, stack_id: str) -> None:
        """Call it after an event was committed."""
        if not self._is_due():
            return

        def purge(tx: Connection) -> None:
            leases.lock(tx, stack_id)               # as all who remove events of a stack
            events.purge_over(tx, stack_id, self._most)

        try:
            self._database.retry(purge)
        except exception.DatabaseUnavailable as error:
            LOG.info('Old events of stack %s were not removed: %s', stack_id, error)

    def _is_due(self, added: int = 1) -> bool:
        return self._most > 0 and self._runtime.random() * EACH < added
