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
    """Gives trees whose root is deleted a new root with credentials, in threads of requests."""

    def __init__(self, runtime: Runtime, database: Database, authority: Authority, stored_stacks: StoredStacks) -> None:
        self._runtime = runtime
        self._database = database
        self._authority = authority
        self._stored_stacks = stored_stacks

    @contextmanager
    def made_roots(self, context: RequestContext,
                   stack_id: str) -> Iterator[Callable[[Connection, stacks.StoredStack], stacks.Requested]]:
        """Yield a function that makes the outermost stack that stayed a root, whose tree acts for the caller: the
        credentials of the former tree were deleted with its root. The stack of the request is that stack or is in it.
        The function returns the columns of it that follow, none for any other stack.

        Raises what `Authority.record` raises, before the block, and Forbidden for an administrator of another project,
        whose credentials reach the objects of that project only. A trust that is not stored is deleted.
        """
        with self._database.reader() as tx:
            row = visible(tx, stack_id, context)
            outermost = _outermost_orphan(tx, row)
            template = templates.get(tx, outermost.template_id) if outermost is not None else None
        if outermost is None or template is None:
            yield lambda tx, row: {}
            return
        if context.project_id != row.project_id:
            raise exception.Forbidden(_(
                'this nested stack: its root is deleted, and its delete acts for the user who asks for it. Delete it '
                'as a user of its project %s') % row.project_id)
        definition = self._stored_stacks.definition(outermost, template)
        acts_by_token = self._authority.needs_token(definition)
        made = self._authority.record(context, definition, self._runtime.now(), acts_by_token, needs_service=True)
        is_stored = False

        def store(tx: Connection, current: stacks.StoredStack) -> stacks.Requested:
            nonlocal is_stored
            root = _outermost_orphan(tx, current)
            is_stored = root is not None
            if root is None:                        # another request was faster
                return {}
            if made is not None:
                credentials.insert(tx, made)
            credentials_id = made.id if made is not None else None
            inner = stack_trees.descendants(tx, root.root_id, root.id)
            depths = {root.id: 0, **{each.id: each.depth - root.depth for each in inner}}
            refactoring.move_in_trees(tx, depths, root.id, credentials_id)
            refactoring.make_root(tx, root.id, acts_by_token)
            return {'credentials_id': credentials_id,
                    'acts_by_token': acts_by_token if root.id == current.id else current.acts_by_token}

        with self._authority.unless_refused(context, [made]):
            yield store
        if not is_stored:
            self._authority.delete_unstored(context, [made])


def _outermost_orphan(tx: Connection, row: stacks.StoredStack) -> stacks.StoredStack | None:
    """Return the stack, or the outermost one that it is nested in, if the root of their tree is deleted; else None. A
    SELECT by primary key for the root, and one for each level if that is deleted."""
    if row.owner_id is None or stacks.get(tx, row.root_id) is not None:
        return None
    outermost, above = row, stacks.get(tx, row.owner_id)
    while above is not None and above.owner_id is not None:
        outermost, above = above, stacks.get(tx, above.owner_id)
    return outermost
