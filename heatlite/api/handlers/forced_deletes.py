"""Forced deletes and releases over HTTP, and the list of what they have left in the cloud."""

from __future__ import annotations

from heatlite.api import finding, links, views
from heatlite.api.wsgi import Request
from heatlite.db import forced_deletes, stacks
from heatlite.rpc import messages

View = dict[str, object]


def begin(req: Request, stack_name: str, stack_id: str) -> View:
    """Begin to delete a stack in any case."""
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
    req.call(messages.ForceDeleteStack(stack.id))
    return _begun(req, stack)


def release(req: Request, stack_name: str, stack_id: str) -> View:
    """Begin to delete a stack, and keep its objects in the cloud."""
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
    req.call(messages.ReleaseStack(stack.id))
    return _begun(req, stack)


def _begun(req: Request, stack: stacks.Identity) -> View:
    url = links.stack_url(req.base, stack.project_id, stack.name, stack.id)
    return {'stack': {'id': stack.id, 'links': [links.link(url), links.link(f'{url}/left', 'left')]}}


def show(req: Request, stack_name: str, stack_id: str) -> View:
    """Return what is left; also of a stack that is deleted. Null if there was neither."""
    with req.db.reader() as tx:
        stack = finding.stack(req, tx, stack_name, stack_id)
        found = forced_deletes.show(tx, stack.id)
    return {'left': None if found is None else {
        'state': 'IN_PROGRESS' if stack.deleted_at is None else 'COMPLETE', 'due_at': views.when(found.due_at),
        'resources': [
            {'path': list(each.path), 'type': each.type, 'physical_resource_id': each.physical_resource_id,
             'reason': each.reason} for each in found.left_behind or ()]}}
