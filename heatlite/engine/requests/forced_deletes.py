"""Deletes that always end, and releases. What is not deleted in time, or cannot be, stays in the cloud and is listed.

A forced delete begins as any delete. If that fails, or is not over in time, the stack is deleted without its objects.
The decision is stored with the list of what stays, so the engine that makes it may die at any moment. A type whose
call never returns holds up even that; GRACE seconds later the rows of the stacks are marked as deleted, and their
owners lose the leases.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import forced_deletes, leases, resources, stack_trees, stacks, templates
from heatlite.db.connection import Database
from heatlite.db.forced_deletes import Left
from heatlite.engine.durability.periodic import Periodic
from heatlite.engine.reconcile import exports
from heatlite.engine.requests.stack_actions import StackActions
from heatlite.language import masking
from heatlite.planning.states import Action, ResourceState, Status
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)

PAUSE: Final = 5.0                  # seconds between two searches
GRACE: Final = 30.0                 # seconds
REMOVED: Final = 'Removed by a forced delete, while a call had not returned'


class ForcedDeletes:
    """Begins forced deletes and releases in threads of requests, and ends those that are due in one of its own."""

    def __init__(self, runtime: Runtime, database: Database, actions: StackActions, timeout: float) -> None:
        """`timeout`: seconds after which what is not deleted is left."""
        self._runtime = runtime
        self._database = database
        self._actions = actions
        self._timeout = timeout
        self._periodic = Periodic(runtime, 'forced deletes', self.step, PAUSE)

    def start(self) -> None:
        self._periodic.start()

    def stop(self) -> None:
        self._periodic.stop()

    def begin(self, context: RequestContext, message: messages.ForceDeleteStack) -> None:
        """Begin a forced delete. Raises what a delete raises, also for protections and locks, and HTTPBadRequest for a
        nested stack, unless its owner is deleted."""
        due_at = self._runtime.now() + timedelta(seconds=self._timeout)

        def store(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
            if row.owner_id is not None and stacks.get(tx, row.owner_id) is not None:
                _check_root(row)
            forced_deletes.begin(tx, row.id, due_at)
            return {}

        self._actions.begin_delete(context, message.stack_id, store)

    def release(self, context: RequestContext, message: messages.ReleaseStack) -> None:
        """Delete a stack and keep all its objects in the cloud. Raises as `begin`, and ActionInProgress while a delete
        is in progress: its requests may have been sent."""
        due_at = self._runtime.now() + timedelta(seconds=self._timeout)

        def store(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
            _check_root(row)
            if (row.action, row.status) == (Action.DELETE, Status.IN_PROGRESS):
                raise exception.ActionInProgress(stack_name=row.name, action=row.action)
            forced_deletes.begin(tx, row.id, due_at)
            forced_deletes.leave(tx, row.id, [replace(each, reason=_('It was released.')) for each in _left(tx, row)])
            return {'request': exports.ABANDONING}

        self._actions.begin(context, message.stack_id, Action.DELETE, store)

    def step(self) -> int:
        """End the deletes that have failed or are late; return their number. Raises DatabaseUnavailable."""
        with self._database.reader() as tx:
            found = forced_deletes.to_end(tx, self._runtime.now())
        for stack_id in found:
            self._leave(stack_id)
        self._database.retry(self._remove_late)
        self._database.retry(forced_deletes.over)
        return 0                        # what was begun now takes a while; a delete that fails again is tried later

    def _remove_late(self, tx: Connection) -> None:
        now = self._runtime.now()
        for stack_id in forced_deletes.late(tx, now - timedelta(seconds=GRACE)):
            leases.lock(tx, stack_id)               # before the stack, as everywhere
            row = stacks.get(tx, stack_id, for_update=True)
            if row is not None and row.action == Action.DELETE:
                below = stack_trees.descendants(tx, row.root_id, row.id)
                forced_deletes.remove(tx, [row.id, *(each.id for each in below)], REMOVED, now)
                LOG.warning('Stack %s [%s] was removed by a forced delete; a call for it has not returned. Its '
                            'credentials and the users inside it are left in Keystone.', row.name, row.id)

    def _leave(self, stack_id: str) -> None:
        """Delete a stack without its objects."""
        def store(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
            known = forced_deletes.show(tx, row.id)
            if known is None or row.action != Action.DELETE:
                raise exception.EntityNotFound(entity='Forced delete', name=row.id)
            if known.left_behind is None:
                forced_deletes.leave(tx, row.id, _left(tx, row))
            return {'request': exports.ABANDONING}

        try:
            self._actions.begin_by_engine(stack_id, Action.DELETE, store)
        except exception.EntityNotFound:
            return                      # it has ended by itself


def _check_root(row: stacks.StoredStack) -> None:
    if row.owner_id is not None:
        raise exception.HTTPBadRequest(_('Only a root stack can be deleted by force or released: %s.') % row.root_id)


def _left(tx: Connection, root: stacks.StoredStack) -> Iterator[Left]:
    """Yield the objects of a tree that are not deleted. A statement for each stack of the tree, three with objects."""
    paths = stack_trees.paths(root.id, stack_trees.descendants(tx, root.root_id, root.id))
    for stack_id, path in paths.items():
        rows = [row for row in resources.light(tx, stack_id)
                if row.exists and row.physical_id is not None and row.physical_id not in paths]
        if rows:
            found = stacks.get(tx, stack_id)
            assert found is not None
            stored = templates.show(tx, found.template_id)
            mask = masking.of_documents(stored.document, stored.environment)
            yield from (Left((*path, row.name), row.type, str(row.physical_id), mask.text(_why(row))) for row in rows)


def _why(row: ResourceState) -> str:
    if row.action is Action.DELETE and row.failed:
        return str(row.reason)
    return _('Its delete was not over in time.') if row.action is Action.DELETE else _('Its delete did not begin.')
