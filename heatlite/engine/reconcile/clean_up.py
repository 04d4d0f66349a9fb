"""Deletes what stacks leave behind: with a deleted stack what belongs to it, after any action what has become old."""

from __future__ import annotations

import logging
from collections.abc import Callable

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.db import credentials, leases, snapshots, stacks, templates
from heatlite.db.connection import Database
from heatlite.engine.durability.event_history import EventHistory
from heatlite.engine.reconcile import exports
from heatlite.engine.reconcile.authority import Authority
from heatlite.engine.reconcile.former_owners import FormerOwners
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.revisions import RevisionRecorder
from heatlite.engine.reconcile.use_cases import Provider
from heatlite.planning import text

LOG = logging.getLogger(__name__)


class CleanUp:
    """Cleans up after the stacks of an engine, in the thread of the runner whose action ends."""

    def __init__(self, database: Database, authority: Authority, former_owners: FormerOwners,
                 recorder: RevisionRecorder, use_cases: Provider, history: EventHistory) -> None:
        self._database = database
        self._authority = authority
        self._former_owners = former_owners
        self._recorder = recorder
        self._use_cases = use_cases
        self._history = history

    def before_removal(self, leased: LeasedStack, check: Callable[[], None]) -> str | None:
        """Delete snapshots, trust and project of a stack before its row is marked as deleted. Returns why it may not be
        marked: copies of a snapshot are left, of which nothing but the snapshot knows. A stack that is abandoned, or
        deleted by force, leaves them. `check`: raises if this engine is not to go on with the deletion of copies."""
        is_root = leased.row.owner_id is None
        present_id = leased.row.credentials_id if is_root else None
        # The project is read anew: a nested stack, perhaps of another engine, may have made it since the row was read.
        kept, project_id, authorities = self._database.retry_until_available(lambda tx: (
            snapshots.page(tx, leased.id), stacks.user_project(tx, leased.id) if is_root else None,
            credentials.all_of_tree(tx, leased.id, present_id) if present_id is not None else []), reading=True)
        left = self._use_cases().snapshots.remove(leased.row, kept, check) if kept else None
        if left is not None:
            if not exports.is_abandoned(leased.row):
                return text.snapshot_left(left)
            self._database.retry_until_available(lambda tx: snapshots.delete_all(tx, leased.id))
        if project_id is not None:
            self._authority.delete_project(project_id, leased.context)
        for authority in authorities:               # last: the deletions above may have used it
            self._authority.delete_trust(authority, leased.context if authority.id == present_id else None)
        if authorities:                             # after their trusts: an engine that ends here leaves none behind
            self._database.retry_until_available(lambda tx: credentials.delete_retired(tx, authorities))
        return None

    def after_action(self, leased: LeasedStack) -> None:
        """Delete what nothing refers to any longer, templates and trusts of former owners, and the old end of the
        history."""
        if not self._leaves_something(leased):
            return

        def tidy(tx: Connection) -> tuple[list[credentials.Credentials], int | None]:
            leases.lock(tx, leased.id)               # locked, so that no request is accepted in between
            self._recorder.remove_old(tx, leased.row)
            templates.prune(tx, leased.id)
            if self._may_have_token(leased):
                credentials.forget_token(tx, str(leased.row.credentials_id), leased.id)
            edge = self._history.limit_after_action(tx, leased.id)
            return self._former_owners.find(tx, leased.row), edge

        try:
            former, edge = self._database.retry(tidy)
            if edge is not None:
                self._history.remove_rest(leased.id, edge)
            self._former_owners.delete_trusts(former)
        except exception.DatabaseUnavailable as error:
            LOG.info('What stack %s no longer needs was not deleted: %s', leased.id, error)

    @staticmethod
    def _may_have_token(leased: LeasedStack) -> bool:
        """Whether the token of the request may be stored."""
        row = leased.row
        return row.owner_id is None and row.credentials_id is not None and row.acts_by_token is not False

    def _leaves_something(self, leased: LeasedStack) -> bool:
        """Whether there may be a former template, a token, or more events than allowed."""
        return (leased.row.generation > 1 or self._may_have_token(leased)
                or self._history.may_be_over(len(leased.rows)))
