"""Use cases of guards: the protections of a stack and its lock."""

from __future__ import annotations

from sqlalchemy import Connection

from heatlite.common import exception, limits
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.common.timeutils import isotime
from heatlite.db import guards, leases, stacks
from heatlite.db.connection import Database
from heatlite.db.guards import Lock
from heatlite.engine.requests import guard_checks
from heatlite.engine.requests.stored_stacks import check_idle, visible
from heatlite.planning.protection import Protection, ProtectionDocument, changed, parsed
from heatlite.rpc import messages


class Guards:
    """Serves protections and locks, in threads of requests."""

    def __init__(self, runtime: Runtime, database: Database) -> None:
        self._runtime = runtime
        self._database = database

    def protect(self, context: RequestContext, message: messages.SetProtections) -> None:
        """Replace the protections of a stack. They hold for every action that begins from now on, also of engines that
        take the stack over. Raises EntityNotFound, HTTPBadRequest for a nested stack."""
        found = [Protection.from_json(each) for each in message.protections]

        def store(tx: Connection) -> None:
            guards.set_protections(tx, self._root(tx, context, message.stack_id).id, found)

        self._database.retry(store)

    def change_protections(self, context: RequestContext,
                           message: messages.ChangeProtections) -> list[ProtectionDocument]:
        """Set and remove single protections of a stack, and return all. Requests that arrive together are done one
        after the other: none undoes another. Raises as `protect`, and HTTPBadRequest for more than MOST_PROTECTIONS."""
        wanted = [Protection.from_json(each) for each in message.protections]
        removed = [parsed(path) for path in message.remove]

        def store(tx: Connection) -> list[Protection]:
            root_id = self._root(tx, context, message.stack_id).id
            found = changed(guards.of(tx, root_id).protections, wanted, removed)
            if len(found) > limits.MOST_PROTECTIONS:
                raise exception.InvalidField('protections', _('at most %d with those that the stack has')
                                             % limits.MOST_PROTECTIONS, len(found))
            guards.set_protections(tx, root_id, found)
            return found

        return [each.to_json() for each in self._database.retry(store)]

    def lock(self, context: RequestContext, message: messages.LockStack) -> None:
        """Lock a stack; its owner may do so again, to change the reason. Raises StackLocked for another one's lock,
        ActionInProgress, EntityNotFound, HTTPBadRequest for a nested stack."""
        new = Lock(message.reason, context.user_id, context.username, isotime(self._runtime.now()))

        def store(tx: Connection) -> None:
            row = self._root(tx, context, message.stack_id)
            if not self._is_owner(context, guards.of(tx, row.id).lock):
                guard_checks.check_lock(tx, row)
            check_idle(row)
            guards.set_lock(tx, row.id, new)

        self._database.retry(store)

    def unlock(self, context: RequestContext, message: messages.UnlockStack) -> None:
        """Remove the lock of a stack. Raises Forbidden for another one's lock unless the caller may remove any,
        EntityNotFound also if there is none."""
        def store(tx: Connection) -> None:
            row = self._root(tx, context, message.stack_id)
            found = guards.of(tx, row.id).lock
            if found is None:
                raise exception.EntityNotFound(entity='Lock of stack', name=row.name)
            if not message.of_anybody and not self._is_owner(context, found):
                raise exception.Forbidden(_("the lock of %s") % (found.owner or _('another user')))
            guards.set_lock(tx, row.id, None)

        self._database.retry(store)

    def _is_owner(self, context: RequestContext, lock: Lock | None) -> bool:
        return lock is None or lock.owner_id == context.user_id

    def _root(self, tx: Connection, context: RequestContext, stack_id: str) -> stacks.StoredStack:
        leases.lock(tx, stack_id)                   # before the stack, as everywhere
        context.check_in_time(self._runtime.now())
        row = visible(tx, stack_id, context, for_update=True)
        if row.owner_id is not None:
            raise exception.HTTPBadRequest(_('Protections and locks belong to the root stack, %s.') % row.root_id)
        return row
