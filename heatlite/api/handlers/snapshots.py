"""Snapshots of a stack. Visible only in the stack's own project, even for admins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from heatlite.api import finding, masking, views
from heatlite.api.json_text import JsonText, write
from heatlite.api.query import LONGEST_NAME, text
from heatlite.api.results import StreamedList
from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db import snapshots
from heatlite.db.stacks import Identity
from heatlite.rpc import messages

View = dict[str, object]


def create(req: Request, stack_name: str, stack_id: str) -> View:
    """Create a snapshot. The answer has no wrapping key."""
    name = text(req.require_json(), 'name', LONGEST_NAME)
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
    return _masked(req.call(messages.SnapshotStack(stack.id, name)))


def index(req: Request, stack_name: str, stack_id: str) -> StreamedList:
    """Snapshots with their exports, which may be large: each is read when it is sent, so that only one is in memory."""
    database = req.db
    with database.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
        found = snapshots.ids(tx, stack.id, finding.own_project(req))

    def read(snapshot_id: str) -> snapshots.Snapshot | None:
        with database.reader() as tx:
            return snapshots.show(tx, snapshot_id)

    def shown() -> Iterator[JsonText]:
        for snapshot_id in found:
            each = req.handled(partial(read, snapshot_id))
            if each is not None:
                yield JsonText(write(_masked(views.snapshot(each))))

    return StreamedList('snapshots', shown(), len(found), is_large=True)


def show(req: Request, stack_name: str, stack_id: str, snapshot_id: str) -> View:
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
        found = _checked(req, stack, snapshot_id, snapshots.show(tx, snapshot_id))
    return {'snapshot': _masked(views.snapshot(found))}


def delete(req: Request, stack_name: str, stack_id: str, snapshot_id: str) -> None:
    req.call(messages.DeleteSnapshot(_stack_of(req, stack_name, stack_id, snapshot_id), snapshot_id))


def restore(req: Request, stack_name: str, stack_id: str, snapshot_id: str) -> None:
    req.call(messages.RestoreSnapshot(_stack_of(req, stack_name, stack_id, snapshot_id), snapshot_id))


def _stack_of(req: Request, stack_name: str, stack_id: str, snapshot_id: str) -> str:
    """Return the stack's id, after the check that the snapshot belongs to it."""
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
        _checked(req, stack, snapshot_id, snapshots.listed(tx, snapshot_id))
    return stack.id


def _checked(req: Request, stack: Identity, snapshot_id: str, found: snapshots.Snapshot | None) -> snapshots.Snapshot:
    """Return what was found by the id of a snapshot. Raises NotFound, SnapshotNotFound if it is of another stack."""
    if found is None or found.project_id != finding.own_project(req):
        raise exception.NotFound(_('Snapshot with id %(id)s not found'), id=snapshot_id)
    if found.stack_id != stack.id:
        raise exception.SnapshotNotFound(snapshot=snapshot_id, stack=stack.name)
    return found


def _masked(view: View) -> View:
    data = view.get('data')
    return {**view, 'data': masking.export(data)} if isinstance(data, Mapping) and data else view
