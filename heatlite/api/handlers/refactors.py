"""Refactors: resources get other names or go to other stacks, stacks get other names; the cloud does not change."""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.api import bodies, finding, links
from heatlite.api.query import LONGEST_NAME, boolean
from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_MOVES, MOST_REFACTORED, Limits
from heatlite.rpc import messages

View = dict[str, object]
DEFINITION = frozenset({'stack', 'template', 'template_url', 'environment', 'environment_files', 'files', 'parameters'})
OF_EXISTING = DEFINITION | {'new', 'new_name', 'existing', 'clear_parameters'}
OF_NEW = DEFINITION | {'new', 'timeout_mins', 'disable_rollback', 'tags'}
ENDS = ('from', 'to')


def refactor(req: Request) -> View:
    return _answered(req, messages.Refactor(*_parsed(req)))


def preview(req: Request) -> View:
    return _answered(req, messages.PreviewRefactor(*_parsed(req)))


def _answered(req: Request, message: messages.Refactor) -> View:
    found = req.call(message)
    for each in found['stacks']:
        url = None if each['id'] is None else links.stack_url(
            req.base, finding.own_project(req), each['stack_name'], each['id'])
        each['links'] = [] if url is None else [links.link(url)]
    return {'refactor': found}


def _parsed(req: Request) -> tuple[tuple[Mapping[str, object], ...], tuple[Mapping[str, Mapping[str, str]], ...]]:
    """Return the stacks and the moves of the body, with ids for the names of stacks that exist. Raises HTTPBadRequest,
    EntityNotFound."""
    body = req.require_json()
    stacks = _listed(body, 'stacks', MOST_REFACTORED)
    moves = _listed(body, 'moves', MOST_MOVES) if body.get('moves') is not None else []
    if not stacks:
        raise exception.InvalidField('stacks', _('at least one stack'), stacks)
    known: dict[str, str] = {}
    parsed = tuple(_stack(req, each, known) for each in stacks)
    return parsed, tuple({end: _place(move, end, known) for end in ENDS} for move in moves)


def _stack(req: Request, fields: Mapping[str, object], known: dict[str, str]) -> Mapping[str, object]:
    """Return the message of one stack, as arguments. Adds to `known` how moves may name it: name or id -> what the
    engine knows it by."""
    name, limits = _text(fields, 'stack'), Limits.of(req.conf)
    is_new = 'new' in fields and boolean('new', fields['new'])
    refused = sorted(fields.keys() - (OF_NEW if is_new else OF_EXISTING))
    if refused:
        raise exception.HTTPBadRequest(_('The definition of stack %(name)s in a refactor must not have: %(keys)s') % {
            'name': name, 'keys': ', '.join(refused)[:LONGEST_NAME]})
    if is_new:
        known[name] = name
        return bodies.create_stack({**fields, 'stack_name': name}, limits).arguments()
    with req.db.reader() as tx:
        found = finding.stack_by_name_or_id(req, tx, name)
    if found.deleted_at is not None:
        raise finding.unknown(name)
    known |= {name: found.id, found.name: found.id, found.id: found.id}
    existing = fields.get('existing') is not None and boolean('existing', fields['existing'])
    message = bodies.update_stack(fields, found.id, limits, existing)
    return {**message.arguments(), 'rename': _text(fields, 'new_name') if fields.get('new_name') is not None else None}


def _place(move: Mapping[str, object], end: str, known: Mapping[str, str]) -> Mapping[str, str]:
    given = move.get(end)
    if not isinstance(given, Mapping):
        raise exception.InvalidField(end, _('a map with a stack and a resource'), given)
    stack = _text(given, 'stack')
    return {'stack': known.get(stack, stack), 'resource': _text(given, 'resource')}


def _listed(body: Mapping[str, object], key: str, most: int) -> list[Mapping[str, object]]:
    given = body.get(key)
    if not isinstance(given, list) or len(given) > most or not all(isinstance(each, Mapping) for each in given):
        raise exception.InvalidField(key, _('a list of at most %d maps') % most, type(given).__name__)
    return given


def _text(fields: Mapping[str, object], key: str) -> str:
    found = fields.get(key)
    if not isinstance(found, str) or not 0 < len(found) <= LONGEST_NAME:
        raise exception.InvalidField(key, _('a name of at most %d characters') % LONGEST_NAME, found)
    return found
