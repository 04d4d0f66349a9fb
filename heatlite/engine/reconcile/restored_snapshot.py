"""The snapshot from which a stack is being restored, as the steps of the restore see it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.common.shared_computations import SharedComputations
from heatlite.db import snapshots
from heatlite.db.connection import Database
from heatlite.db.stacks import StoredStack
from heatlite.engine.reconcile import request_keys
from heatlite.engine.reconcile.leased_stack import LeasedStack

Entries = Mapping[str, Mapping[str, object]]
"""Resource -> its entry in the snapshot's document."""


class RestoredSnapshot:
    """Reads the snapshot once for each restore: its document is that of the whole tree, and each step asks for it."""

    def __init__(self, runtime: Runtime, database: Database, leased: LeasedStack) -> None:
        self._database = database
        self._leased = leased
        self._generation = -1                       # of the stack, when the snapshot was read
        self._entries: Entries | None = None        # None: the snapshot is gone
        self._reads: SharedComputations[Entries | None] = SharedComputations(runtime)     # by generation

    def entry(self, name: str) -> Mapping[str, object]:
        """Return the entry of a resource; {} if it has none. Raises EntityNotFound if the snapshot is gone: without it
        the resource would keep its present content, and the restore would seem complete.

        May be called by several threads at once."""
        row = self._leased.row
        entries = self._entries if self._generation == row.generation else self._reads.get(
            row.generation, partial(self._read, row))
        if entries is None:
            raise exception.EntityNotFound(entity=_('Snapshot'), name=_id_of(row))
        return entries.get(name) or {}

    def _read(self, row: StoredStack) -> Entries | None:
        found = self._database.retry_until_available(lambda tx: snapshots.show(tx, _id_of(row)), reading=True)
        self._entries = None if found is None or found.data is None else found.data.get('resources') or {}
        self._generation = row.generation
        return self._entries


def _id_of(row: StoredStack) -> str:
    return str((row.request or {}).get(request_keys.RESTORE, ''))
