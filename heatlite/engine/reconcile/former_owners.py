"""Deletes the trusts of users for whom a tree of stacks has acted before, once nothing of the tree acts for them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from heatlite.db import credentials, stack_trees, stacks
from heatlite.db.connection import Database
from heatlite.engine.reconcile.authority import Authority


class FormerOwners:
    """Finds and deletes these trusts, in threads of runners whose action ends and of requests that refactor."""

    def __init__(self, database: Database, authority: Authority) -> None:
        self._database = database
        self._authority = authority

    @staticmethod
    def find(tx: Connection, row: stacks.StoredStack) -> list[credentials.Credentials]:
        """Return the credentials of a tree that others have replaced, if nothing of it can use them any longer. `row`:
        of the root; there are none for a nested stack. One statement, two more if there are any."""
        if row.owner_id is not None or row.credentials_id is None or row.generation == 1:
            return []
        found = credentials.replaced(tx, row.credentials_id)
        if not found:
            return []
        present = credentials.get(tx, row.credentials_id)
        return [] if present is None or stack_trees.is_busy(tx, row.root_id, present.created_at) else found

    def delete_trusts(self, stored_credentials: Sequence[credentials.Credentials]) -> None:
        """Delete the trusts of credentials that `find` has returned, then the credentials. Those whose trusts cannot be
        deleted now wait for the next time. Raises DatabaseUnavailable."""
        retired = [each for each in stored_credentials if self._authority.delete_trust(each)]
        if retired:
            self._database.retry(lambda tx: credentials.delete_retired(tx, retired))
