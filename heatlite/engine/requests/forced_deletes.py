"""Deletes that always end, and releases. What is not deleted in time, or cannot be, stays in the cloud and is listed.

A forced delete begins as any delete. If that fails, or is not over in time, the stack is deleted without its objects.
The decision is stored with the list of what stays, so the engine that makes it may die at any moment. A type whose
call never returns holds up even that; GRACE seconds later the rows of the stacks are marked as deleted, and their
owners lose the leases.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import forced_deletes, leases, resources, stack_trees, stacks, templates
from heatlite.db.connection import Database
from heatlite.db.forced_deletes import Left
from heatlite.engine.durability.periodic import Periodic, Search, paged
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
        self._periodic = Periodic(
            runtime, PAUSE, Search('forced delete of stack', partial(paged, self._due), self._leave),
            Search('removal of stack', partial(paged, self._late), self._remove),
            Search('end of the forced delete of stack', partial(paged, self._gone), self._end))

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

    # --- what is searched for ---------------------------------------------------------------------------

    def _due(self, after: str) -> list[str]:
        with self._database.reader() as tx:
            return forced_deletes.to_end(tx, self._runtime.now(), after)

    def _late(self, after: str) -> list[str]:
        with self._database.reader() as tx:
            return forced_deletes.late(tx, self._runtime.now() - timedelta(seconds=GRACE), after)

    def _gone(self, after: str) -> list[str]:
        with self._database.reader() as tx:
            return forced_deletes.gone(tx, after)

    # --- what is done with each -------------------------------------------------------------------------

    def _leave(self, stack_id: str) -> None:
        """Delete a stack without its objects. One of which something cannot be read that a delete needs is removed once
        it is late: what it leaves is stored."""
        def store(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
            self._decide(tx, row)
            return {'request': exports.ABANDONING}

        try:
            self._actions.begin_by_engine(stack_id, Action.DELETE, store)
        except exception.EntityNotFound:
            return                      # it has ended by itself
        except exception.DatabaseUnavailable:
            raise
        except Exception:
            self._database.retry(partial(self._decide_alone, stack_id=stack_id))
            raise

    def _decide_alone(self, tx: Connection, stack_id: str) -> None:
        leases.lock(tx, stack_id)       # as each request of the stack does
        row = stacks.identity(tx, stack_id)
        if row is not None and row.deleted_at is None:
            self._decide(tx, row)

    @staticmethod
    def _decide(tx: Connection, row: stacks.StoredStack | stacks.Identity) -> None:
        """Store what a stack leaves, unless that is decided. Raises EntityNotFound if it is not being deleted."""
        is_decided = forced_deletes.is_decided(tx, row.id)
        if is_decided is None or row.action != Action.DELETE:
            raise exception.EntityNotFound(entity='Forced delete', name=row.id)
        if not is_decided:
            forced_deletes.leave(tx, row.id, _left(tx, row))

    def _remove(self, stack_id: str) -> None:
        """Mark the rows of a stack as deleted, whatever an engine does with it."""
        def remove(tx: Connection) -> stacks.Identity | None:
            leases.lock(tx, stack_id)               # before the stack, as everywhere
            row = stacks.identity(tx, stack_id)
            if row is None or row.deleted_at is not None or row.action != Action.DELETE:
                return None
            below = stack_trees.lock(tx, row)       # else a nested stack that is being made would be left
            forced_deletes.remove(tx, [row.id, *(each.id for each in below)], REMOVED, self._runtime.now())
            return row

        removed = self._database.retry(remove)
        if removed is not None:
            LOG.warning('Stack %s [%s] was removed by a forced delete; a call for it has not returned, or it cannot be '
                        'read. Its credentials and the users inside it are left in Keystone.', removed.name, stack_id)

    def _end(self, stack_id: str) -> None:
        self._database.retry(lambda tx: forced_deletes.end(tx, stack_id))


def _check_root(row: stacks.StoredStack) -> None:
    if row.owner_id is not None:
        raise exception.HTTPBadRequest(_('Only a root stack can be deleted by force or released: %s.') % row.root_id)


def _left(tx: Connection, root: stacks.StoredStack | stacks.Identity) -> Iterator[Left]:
    """Yield the objects of a tree that are not deleted. A statement for each stack of the tree, two where a delete has
    failed. Needs nothing that is encoded: that may be unreadable."""
    below = stack_trees.descendants(tx, root.root_id, root.id)
    paths, template_ids = stack_trees.paths(root.id, below), {each.id: each.template_id for each in (root, *below)}
    for stack_id, path in paths.items():
        rows = [row for row in resources.objects(tx, stack_id) if row.physical_id not in paths]
        masked = _masked(tx, template_ids[stack_id]) if any(map(_has_failed, rows)) else _unknown
        yield from (Left((*path, row.name), row.type, str(row.physical_id), _why(row, masked)) for row in rows)


def _masked(tx: Connection, template_id: str) -> Callable[[str], str]:
    """Return a function that masks the hidden values of a stack in a text. Without its template they are not known:
    then the text is left out."""
    try:
        stored = templates.show(tx, template_id)
        return masking.of_documents(stored.document, stored.environment).text
    except exception.DatabaseUnavailable:
        raise
    except Exception as error:
        LOG.info('Template %s cannot be read: %s', template_id, type(error).__name__)
        return _unknown


def _unknown(_reason: str) -> str:
    return _('Its delete has failed.')


def _has_failed(row: ResourceState) -> bool:
    return row.action is Action.DELETE and row.failed


def _why(row: ResourceState, masked: Callable[[str], str]) -> str:
    if _has_failed(row):
        return masked(str(row.reason))
    return _('Its delete was not over in time.') if row.action is Action.DELETE else _('Its delete did not begin.')
