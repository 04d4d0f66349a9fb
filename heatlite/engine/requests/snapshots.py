"""Snapshots: made by a SNAPSHOT action of the stack, restored by an update to the saved state.

Source: docs/spec/engine.rst, "Snapshots".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from heatlite.common import defects, exception, limits, turns
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.template_files import Files
from heatlite.common.timeutils import isotime
from heatlite.common.wording import first_few
from heatlite.db import codec, leases, resource_lists, snapshots, stacks, templates
from heatlite.engine.durability import fence
from heatlite.engine.reconcile import exports, request_keys
from heatlite.engine.requests import guard_checks, ownership, validation
from heatlite.engine.requests.request_parts import RequestParts
from heatlite.engine.requests.snapshot_copies import CopyDeletion, SnapshotCopies
from heatlite.engine.requests.stack_actions import StackActions
from heatlite.engine.requests.stored_stacks import check_idle, check_not_deleting, check_not_suspended, visible
from heatlite.planning import text
from heatlite.planning.states import Action, Status
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)
MOST_NAMED = 20                         # resources that a refusal names
WAIT_SECONDS = 20.0                     # that a request waits for the deletion of copies
INTERVAL = 1.0                          # seconds between two checks whether copies are deleted

Deletion = tuple[snapshots.Snapshot, CopyDeletion]       # the snapshot without what it holds


class Snapshots:
    """Serves users in threads of requests, and runners, in theirs, when an action of a snapshot or a stack ends."""

    def __init__(self, parts: RequestParts, actions: StackActions, copies: SnapshotCopies, limit: int) -> None:
        """`limit`: for each stack."""
        self._runtime = parts.core.runtime
        self._database = parts.core.database
        self._registry = parts.core.registry
        self._stored_stacks = parts.stored_stacks
        self._owners = parts.owners
        self._actions = actions
        self._copies = copies
        self._limit = limit

    def create(self, context: RequestContext, message: messages.SnapshotStack) -> dict[str, object]:
        """Begin a snapshot. Returns it at once; it is complete when the stack's action is. Raises RequestLimitExceeded
        if its export would be too large already."""
        with self._database.reader() as tx:
            exports.check_size(tx, visible(tx, message.stack_id, context).id)
        snapshot_id = self._runtime.uuid()
        made: list[snapshots.Snapshot] = []

        def store(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
            check_idle(row)
            _check_ended(tx, row)
            if not context.is_admin and not limits.has_room(self._limit, lambda: snapshots.count(tx, row.id)):
                raise exception.RequestLimitExceeded(
                    _('You have reached the maximum snapshots per stack, %d. Please delete some snapshots.')
                    % self._limit)
            data = exports.without_resources(tx, row)
            made.append(snapshots.Snapshot(snapshot_id, row.id, row.project_id, message.name, Action.CREATE,
                                           Status.IN_PROGRESS, text.started(Action.SNAPSHOT), data,
                                           self._runtime.now()))
            snapshots.insert(tx, made[-1])
            return {'request': {request_keys.SNAPSHOT: snapshot_id}}

        self._actions.begin(context, message.stack_id, Action.SNAPSHOT, store)
        return shown(made[-1])

    def restore(self, context: RequestContext, message: messages.RestoreSnapshot) -> None:
        """Begin a restore: an update to the definition of the snapshot, after which the tree acts for the caller."""
        with self._database.reader() as tx:
            row = visible(tx, message.stack_id, context)
            guard_checks.check_lock(tx, row)
            snapshot = _checked(row, message.snapshot_id, snapshots.show(tx, message.snapshot_id))
            template = _restorable(tx, context, row, snapshot)
        self._actions.check_request(context, row.id, Action.RESTORE)
        definition = self._stored_stacks.definition(row, template)
        validation.check_types(definition, self._registry, context)
        template = replace(template, document=self._copies.restored(
            row.id, definition, (snapshot.data or {}).get('resources') or {}))
        self._actions.check_target(context, message.stack_id, lambda _tx, _row: template)
        owner = self._owners.of_former(context, row, definition)

        def store(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
            _restorable(tx, context, row, snapshot)
            now = self._runtime.now()
            owned = owner.store(tx, row, now)
            template_id = templates.insert(tx, self._runtime.uuid(), template.document, template.environment,
                                           template.files, now, stack_id=row.id, is_nested=row.owner_id is not None)
            shown = self._actions.as_shown(templates.get(tx, template_id), row)
            return {**owned, 'template_id': template_id, 'request': {request_keys.RESTORE: message.snapshot_id},
                    'parameters': shown['parameters'], 'description': shown['description']}

        with self._owners.unless_refused(owner):
            self._actions.begin(context, message.stack_id, Action.RESTORE, store)

    def delete(self, context: RequestContext, message: messages.DeleteSnapshot) -> None:
        """Delete a snapshot and the copies that types made for it. If some are left after WAIT_SECONDS, it becomes
        FAILED, and another deletion goes on."""
        def begin(tx: Connection) -> tuple[stacks.StoredStack, snapshots.Snapshot]:
            leases.lock(tx, message.stack_id)       # before the stack, as everywhere
            row = visible(tx, message.stack_id, context, for_update=True)
            guard_checks.check_lock(tx, row)
            snapshot = _checked(row, message.snapshot_id, snapshots.listed(tx, message.snapshot_id))
            if snapshot.status == Status.IN_PROGRESS and snapshot.action != Action.DELETE:
                raise exception.NotSupported(feature=_('Deleting in-progress snapshot'))
            if _is_restoring(row, snapshot.id):
                raise exception.NotSupported(feature=_('Deleting a snapshot that is being restored'))
            snapshots.set_state(tx, snapshot.id, action=Action.DELETE, status=Status.IN_PROGRESS, reason=None)
            _forget_mark(tx, row)
            return row, snapshot

        row, snapshot = self._database.retry(begin)
        self._delete(row, [snapshot], WAIT_SECONDS)

    def remove(self, row: stacks.StoredStack, found: Sequence[snapshots.Snapshot], check: Callable[[], None],
               ) -> str | None:
        """Delete the snapshots of a stack that is being deleted, and their copies, in the timeout of the stack; without
        a wait if it is abandoned. Returns why copies are left, and their snapshots with them; None if all are gone.

        `check`: called at least once a second while it waits; what it raises ends the wait."""
        return self._delete(row, found, 0.0 if exports.is_abandoned(row) else None, check)

    def _delete(self, row: stacks.StoredStack, found: Sequence[snapshots.Snapshot], seconds: float | None,
                check: Callable[[], None] = lambda: None) -> str | None:
        """Delete snapshots as `remove`, which are found without what they hold. `seconds`: in which all copies have to
        be deleted; None: in the timeout of the stack."""
        begun_at = self._runtime.monotonic()
        deletions, waiting = list[CopyDeletion](), list[Deletion]()
        for each in found:                          # one after the other: what each of them holds may be large
            turns.spend(turns.EVERY)
            deletion, has_ended = self._begin(row, each, check)
            deletions.append(deletion)
            waiting += [] if has_ended else [(each, deletion)]
        limit = max((each.timeout for each in deletions), default=0) if seconds is None else seconds
        while waiting and self._runtime.monotonic() < begun_at + limit:
            self._runtime.sleep(INTERVAL)
            waiting = [each for each in waiting if not self._has_ended(each, check)]
        for snapshot, deletion in waiting:
            deletion.give_up(_('Timed out'))
            self._set_state(snapshot, deletion, Status.FAILED)
        return next((each.reason for each in deletions if each.reason), None)

    def _begin(self, row: stacks.StoredStack, snapshot: snapshots.Snapshot, check: Callable[[], None],
               ) -> tuple[CopyDeletion, bool]:
        """Begin the deletion of a snapshot; return it, and whether it has ended."""
        stored = self._stored(snapshot)
        if stored is None:                          # another deletion has ended
            return CopyDeletion(), True
        deletion = self._deletion(row, replace(snapshot, data=stored.data))
        return deletion, self._has_ended((snapshot, deletion), check, stored.data or {})

    def _stored(self, snapshot: snapshots.Snapshot) -> snapshots.Snapshot | None:
        """Return a snapshot with what it holds; None if it is gone."""
        return self._database.retry_until_available(lambda tx: snapshots.show(tx, snapshot.id), reading=True)

    def _has_ended(self, each: Deletion, check: Callable[[], None], data: Mapping[str, object] | None = None) -> bool:
        """Call the types once, store what has become of a deletion, and return whether it has ended. `data`: what the
        snapshot of a deletion that begins holds; that is stored in any case, so that no other deletion begins again."""
        snapshot, deletion = each
        has_ended = deletion.go_on()
        if has_ended and deletion.reason is None:
            fence.pass_through()                    # also writes need the lease, in the thread of a runner
            self._database.retry_until_available(lambda tx: snapshots.delete(tx, snapshot.id))
        elif has_ended or data is not None:
            self._set_state(snapshot, deletion, Status.FAILED if has_ended else Status.IN_PROGRESS, data)
        check()
        return has_ended

    def _set_state(self, snapshot: snapshots.Snapshot, deletion: CopyDeletion, status: Status,
                   data: Mapping[str, object] | None = None) -> None:
        """Store the state of a deletion, with what has begun: another deletion goes on with that. `data`: what the
        snapshot holds; None: it is read again."""
        if data is None:
            stored = self._stored(snapshot)
            data = (stored.data if stored is not None else None) or {}
        fence.pass_through()
        written = {**data, snapshots.BEGUN: deletion.begun}
        self._database.retry_until_available(lambda tx: snapshots.set_state(
            tx, snapshot.id, action=Action.DELETE, status=status, reason=deletion.reason, data=written))

    def _deletion(self, row: stacks.StoredStack, snapshot: snapshots.Snapshot) -> CopyDeletion:
        """Return the deletion of the copies. It has none if the snapshot has none, or none that could ever be deleted:
        each stack can be deleted."""
        if snapshot.data is None and snapshot.status == Status.COMPLETE:
            LOG.warning('Snapshot %s of stack %s cannot be read; objects that types have saved for it are left',
                        snapshot.id, row.id)
        data = snapshot.data or {}
        if not data.get('resources'):
            return CopyDeletion()
        try:
            definition = self._stored_stacks.definition(row, _template(snapshot))
            return self._copies.deletion(row.id, definition, data['resources'], data.get(snapshots.BEGUN) or {})
        except exception.DatabaseUnavailable:
            raise                                   # the snapshot is deleted later, with what belongs to it
        except Exception as error:
            LOG.warning('Snapshot %s of stack %s is deleted, and objects that types have saved for it are left: %s',
                        snapshot.id, row.id, defects.text(error))
            return CopyDeletion()

    def finished(self, row: stacks.StoredStack, status: Status, reason: str) -> None:
        """End a snapshot: store the state of the resources with it. Does nothing if the row has no snapshot, or if that
        has ended: its end may be reported again."""
        snapshot_id = (row.request or {}).get(request_keys.SNAPSHOT)
        if snapshot_id is None:
            return

        if not self._database.retry_until_available(
                lambda tx: snapshots.is_being_made(tx, snapshot_id, for_update=False), reading=True):
            return
        data = None
        try:
            data = self._exported(row, status)
        except exception.RequestLimitExceeded as error:     # it has grown since the request
            status, reason = Status.FAILED, defects.text(error)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            if status is Status.COMPLETE:
                raise
            defects.log(LOG, error, 'The failed snapshot %s of stack %s has no data', snapshot_id, row.id)

        def store(tx: Connection) -> None:
            if snapshots.is_being_made(tx, snapshot_id):
                snapshots.set_state(tx, snapshot_id, status=status, reason=reason, data=data)

        self._database.retry_until_available(store)

    def _exported(self, row: stacks.StoredStack, status: Status) -> codec.Encoded:
        """Return the export that a snapshot stores. It is made outside of the transactions that read and write it."""
        found = self._database.retry_until_available(lambda tx: exports.Export(tx, row.id), reading=True)
        return exports.encoded({**found.document(), 'action': row.action, 'status': str(status)})


def _checked(row: stacks.StoredStack, snapshot_id: str, found: snapshots.Snapshot | None) -> snapshots.Snapshot:
    """Return what was found by the id of a snapshot. Raises NotFound, SnapshotNotFound if it is of another stack."""
    if found is None:
        raise exception.NotFound(_('Snapshot with id %(id)s not found'), id=snapshot_id)
    if found.stack_id != row.id:
        raise exception.SnapshotNotFound(snapshot=snapshot_id, stack=row.name)
    return found


def _check_ended(tx: Connection, row: stacks.StoredStack) -> None:
    """Raise ActionInProgress while another snapshot of the stack is being made. Its action has ended, but its work in
    flight may not have, or its engine has not seen it yet: only the row says which snapshot that has to end."""
    former = (row.request or {}).get(request_keys.SNAPSHOT)
    if former is not None and snapshots.is_being_made(tx, str(former)):
        raise exception.ActionInProgress(stack_name=row.name, action=Action.SNAPSHOT)


def _restorable(tx: Connection, context: RequestContext, row: stacks.StoredStack, snapshot: snapshots.Snapshot,
                ) -> templates.StoredTemplate:
    """Return the template of a snapshot. Raises if the caller may not restore the stack from it."""
    if snapshot.data is None or not snapshots.is_complete(tx, snapshot.id):
        raise exception.NotSupported(feature=_('Restoring incomplete snapshot'))
    check_not_deleting(row, Action.RESTORE)
    check_not_suspended(row)
    ownership.check_former(tx, row, context)
    _check_places(tx, row, snapshot.data)
    return _template(snapshot)


def _template(snapshot: snapshots.Snapshot) -> templates.StoredTemplate:
    data = snapshot.data or {}
    return templates.StoredTemplate('', data['template'], data['environment'], Files.of(data.get('files') or {}))


def _is_restoring(row: stacks.StoredStack, snapshot_id: str) -> bool:
    """Whether steps of the stack may still be using the copies of the snapshot."""
    return ((row.action, row.status) == (Action.RESTORE, Status.IN_PROGRESS)
            and (row.request or {}).get(request_keys.RESTORE) == snapshot_id)


def _check_places(tx: Connection, row: stacks.StoredStack, data: Mapping[str, object]) -> None:
    """Raise Conflict if a refactor has renamed or moved resources since the snapshot: a restore would delete them."""
    moved = [f'{name} -> {holder.stack_name}/{holder.name}' for name, holder in _moved(tx, row, data).items()]
    if moved:
        raise exception.Conflict(_('The snapshot is from before a refactor that moved: %s.')
                                 % first_few(moved, MOST_NAMED))


def _moved(tx: Connection, row: stacks.StoredStack, data: Mapping[str, object]) -> dict[str, resource_lists.Holder]:
    """Return the resources of an export whose objects are those of other resources now: name -> which."""
    saved = list(_saved(row.id, data))
    now = resource_lists.placed(tx, row.project_id, {physical_id for _stack, _name, _kind, physical_id in saved})
    found = {}
    for stack_id, name, kind, physical_id in saved:
        holders = [each for each in now.get(physical_id, ()) if each.type == kind]
        if holders and not any((each.stack_id, each.name) == (stack_id, name) for each in holders):
            found[name] = holders[0]
    return found


def _saved(stack_id: str, data: Mapping[str, object]) -> Iterator[tuple[str, str, str, str]]:
    """Yield (stack, name, type, physical id) of the resources in an export, also of nested stacks."""
    saved = data.get('resources')
    for name, entry in (saved.items() if isinstance(saved, Mapping) else ()):
        if 'resources' in entry:
            yield from _saved(str(entry.get('id')), entry)
        elif entry.get('resource_id'):
            yield stack_id, name, entry['type'], entry['resource_id']


def shown(snapshot: snapshots.Snapshot) -> dict[str, object]:
    return {'id': snapshot.id, 'name': snapshot.name, 'action': snapshot.action, 'status': snapshot.status,
            'status_reason': snapshot.reason, 'data': snapshot.data, 'creation_time': isotime(snapshot.created_at)}


def _forget_mark(tx: Connection, row: stacks.StoredStack) -> None:
    """Note that a tree which was taken over is not as in its Heat any more: no engine works on it for a snapshot."""
    root = row if row.owner_id is None else stacks.get(tx, row.root_id, for_update=True)
    if root is not None and request_keys.TAKEN_OVER in (root.request or {}):
        stacks.set_request(tx, root.id, {
            key: value for key, value in (root.request or {}).items() if key != request_keys.TAKEN_OVER})
