"""POST .../actions: suspend, resume, check, cancel. Answers before the action is complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heatlite.api import finding
from heatlite.api.middleware import access
from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.rpc import messages

ACTIONS: Mapping[str, Callable[[str], messages.Message]] = {
    'suspend': lambda stack_id: messages.StackAction(stack_id, 'suspend'),
    'resume': lambda stack_id: messages.StackAction(stack_id, 'resume'),
    'check': lambda stack_id: messages.StackAction(stack_id, 'check'),
    'cancel_update': lambda stack_id: messages.CancelStack(stack_id, rollback=True),
    'cancel_without_rollback': lambda stack_id: messages.CancelStack(stack_id, rollback=False),
}


def policy(req: Request) -> str:
    """Return the policy rule of the action in the body."""
    name = req.environ[access.CALL] = _action(req)
    return f'actions:{name}'


def action(req: Request, stack_name: str, stack_id: str) -> None:
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
    req.call(ACTIONS[_action(req)](stack.id))


def _action(req: Request) -> str:
    """Return the only key of the body; its value is ignored."""
    body = req.json or {}
    if not body:
        raise exception.HTTPBadRequest(_('No action specified'))
    if len(body) > 1:
        raise exception.HTTPBadRequest(_('Multiple actions specified'))
    name = next(iter(body))
    if name not in ACTIONS:
        raise exception.HTTPBadRequest(_('Invalid action %s specified') % name)
    return name
