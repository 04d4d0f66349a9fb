"""Guards of a stack over HTTP: what must not be done to it or its resources, and the lock."""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.api import finding
from heatlite.api.query import LONGEST_NAME, text
from heatlite.api.wsgi import Request
from heatlite.common import exception, limits
from heatlite.common.i18n import _
from heatlite.db import guards
from heatlite.db.guards import TreeGuards
from heatlite.db.stacks import Identity
from heatlite.planning.protection import Denial, ProtectionDocument
from heatlite.rpc import messages

View = dict[str, object]
UNPROTECT = 'stacks:unprotect'          # the rule of those who may remove protections
UNLOCK_ANY = 'stacks:unlock_any'        # the rule of those who may remove the lock of another user


def protections(req: Request, stack_name: str, stack_id: str) -> View:
    """Return the protections of a stack; for a nested stack, of its root."""
    _stack, found = _found(req, stack_name, stack_id)
    return {'protections': [each.to_json() for each in found.protections]}


def set_protections(req: Request, stack_name: str, stack_id: str) -> View:
    """Replace all protections of a stack."""
    stack, _former = _found(req, stack_name, stack_id)
    wanted = _protections(req.require_json())
    req.call(messages.SetProtections(stack.id, wanted))
    return {'protections': list(wanted)}


def change_protections(req: Request, stack_name: str, stack_id: str) -> View:
    """Set the protections of the given paths and remove those of the paths in `remove`, which also needs the rule
    of removing all; the others stay."""
    stack, _former = _found(req, stack_name, stack_id)
    body = req.require_json()
    removed = _removed(body)
    if removed:
        req.services.policy.enforce(req.context, UNPROTECT)
    wanted = _protections({'protections': [], **body})
    return {'protections': req.call(messages.ChangeProtections(stack.id, wanted, removed))}


def delete_protections(req: Request, stack_name: str, stack_id: str) -> None:
    stack, _former = _found(req, stack_name, stack_id)
    req.call(messages.SetProtections(stack.id))


def lock(req: Request, stack_name: str, stack_id: str) -> View:
    """Return the lock of a stack, or null; for a nested stack, of its root."""
    _stack, found = _found(req, stack_name, stack_id)
    return _lock(found)


def set_lock(req: Request, stack_name: str, stack_id: str) -> View:
    """Lock a stack. `reason` in the body: shown to those whose changes are refused."""
    stack, _former = _found(req, stack_name, stack_id)
    reason = text(req.require_json(), 'reason', LONGEST_NAME)
    if not reason:
        raise exception.InvalidField('reason', _('a text'), reason)
    req.call(messages.LockStack(stack.id, reason))
    return _lock(_found(req, stack_name, stack_id)[1])


def delete_lock(req: Request, stack_name: str, stack_id: str) -> None:
    """Remove the lock of the caller; with the policy rule `stacks:unlock_any` that of anybody."""
    stack, _former = _found(req, stack_name, stack_id)
    req.call(messages.UnlockStack(stack.id, req.services.policy.allows(req.context, UNLOCK_ANY)))


def _found(req: Request, stack_name: str, stack_id: str) -> tuple[Identity, TreeGuards]:
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
        return stack, guards.of(tx, stack.root_id)


def _lock(found: TreeGuards) -> View:
    kept = found.lock
    return {'lock': None if kept is None else {
        'reason': kept.reason, 'owner': kept.owner, 'creation_time': kept.locked_at}}


def _protections(body: Mapping[str, object]) -> tuple[ProtectionDocument, ...]:
    """Parse the body. Raises HTTPBadRequest, naming the field."""
    given = body.get('protections')
    if not isinstance(given, list):
        raise exception.InvalidField('protections', _('a list'), type(given).__name__)
    if len(given) > limits.MOST_PROTECTIONS:
        raise exception.InvalidField('protections', _('at most %d') % limits.MOST_PROTECTIONS, len(given))
    found: dict[str, ProtectionDocument] = {}
    for number, each in enumerate(given):
        at = f'protections.{number}'
        protection = _protection(at, each)
        if protection['path'] in found:
            raise exception.InvalidField(f'{at}.path', _('a path that is given once'), protection['path'])
        found[protection['path']] = protection
    return tuple(found.values())


def _removed(body: Mapping[str, object]) -> tuple[str, ...]:
    given = body.get('remove', [])
    if not isinstance(given, list) or len(given) > limits.MOST_PROTECTIONS:
        raise exception.InvalidField('remove', _('a list of at most %d paths') % limits.MOST_PROTECTIONS,
                                     type(given).__name__)
    return tuple(_path(f'remove.{number}', each) for number, each in enumerate(given))


def _protection(at: str, value: object) -> ProtectionDocument:
    if not isinstance(value, Mapping) or not value.keys() <= {'path', 'deny', 'reason'}:
        raise exception.InvalidField(at, _('an object with path, deny and reason'), str(value)[:LONGEST_NAME])
    path = _path(f'{at}.path', value.get('path'))
    deny = value.get('deny')
    if not isinstance(deny, list) or not deny or not all(isinstance(each, str) and each in set(Denial)
                                                         for each in deny):
        raise exception.InvalidField(f'{at}.deny', _('a list of %s') % ', '.join(Denial), str(deny)[:LONGEST_NAME])
    reason = _text(f'{at}.reason', value.get('reason'), LONGEST_NAME)
    return {'path': path, 'deny': sorted(set(deny)), 'reason': reason or ''}


def _path(at: str, value: object) -> str:
    path = _text(at, value, limits.PROTECTION_PATH)
    if path is None or (path and not all(path.split('/'))):
        raise exception.InvalidField(at, _('names of resources, separated by slashes, or an empty text'), path)
    return path


def _text(at: str, value: object, most: int) -> str | None:
    if value is not None and (not isinstance(value, str) or len(value) > most):
        raise exception.InvalidField(at, _('a text of at most %d characters') % most, str(value)[:LONGEST_NAME])
    return value
