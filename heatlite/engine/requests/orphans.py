"""Nested stacks that stay when their root is deleted, as `deletion_policy: Retain` of their resource does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import credentials, refactoring, stack_trees, stacks, templates
from heatlite.db.connection import Database
from heatlite.engine.reconcile.authority import Authority
from heatlite.engine.requests.stored_stacks import StoredStacks, visible


class Orphans:
    def __init__(self, runtime: Runtime, database: Database, authority: Authority, stored_stacks: StoredStacks) -> None:
        self._runtime = runtime
        self._database = database
        self._authority = authority
        self._stored_stacks = stored_stacks

    @contextmanager
    def made_roots(self, context: RequestContext,
                   stack_id: str) -> Iterator[Callable[[Connection, stacks.StoredStack], stacks.Requested]]:
        """Yield a function that makes such a stack, with what is nested in it, a tree of its own that acts for the
        caller: the credentials of its former tree were deleted with the root. It returns the columns that follow, none
        for any other stack.

        Raises what `Authority.record` raises, before the block, and Forbidden for an administrator of another project,
        whose credentials reach the objects of that project only. A trust that is not stored is deleted.
        """
        with self._database.reader() as tx:
            row = visible(tx, stack_id, context)
            template = templates.get(tx, row.template_id) if _is_orphan(tx, row) else None
        if template is None:
            yield lambda tx, row: {}
            return
        if context.project_id != row.project_id:
            raise exception.Forbidden(_(
                'this nested stack: its root is deleted, and its delete acts for the user who asks for it. Delete it '
                'as a user of its project %s') % row.project_id)
        definition = self._stored_stacks.definition(row, template)
        acts_by_token = self._authority.needs_token(definition)
        made = self._authority.record(context, definition, self._runtime.now(), acts_by_token, needs_service=True)
        is_stored = False

        def store(tx: Connection, current: stacks.StoredStack) -> stacks.Requested:
            nonlocal is_stored
            is_stored = _is_orphan(tx, current)
            if not is_stored:                       # another request was faster
                return {}
            if made is not None:
                credentials.insert(tx, made)
            credentials_id = made.id if made is not None else None
            inner = stack_trees.descendants(tx, current.root_id, current.id)
            depths = {current.id: 0, **{each.id: each.depth - current.depth for each in inner}}
            refactoring.move_in_trees(tx, depths, current.id, credentials_id)
            refactoring.reparent(tx, current.id, None, None)
            return {'acts_by_token': acts_by_token, 'credentials_id': credentials_id}

        with self._authority.unless_refused(context, [made]):
            yield store
        if not is_stored:
            self._authority.give_up_unstored(context, [made])


def _is_orphan(tx: Connection, row: stacks.StoredStack) -> bool:
    """Whether the stack is nested and its root is deleted. By primary key."""
    return row.owner_id is not None and stacks.get(tx, row.root_id) is None
