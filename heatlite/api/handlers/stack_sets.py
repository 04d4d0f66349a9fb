"""Stack sets: one template in many regions and projects. A set is a stack; these handlers show it as what it is for.

Reads come from the rows of the stack and of the one inside it, whose resources are the members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sqlalchemy import Connection

from heatlite.api import finding, links, stack_set_bodies, stack_set_views, views
from heatlite.api.query import Query, natural
from heatlite.api.results import Created
from heatlite.api.stack_set_bodies import StackSetSettings
from heatlite.api.stack_set_queries import RegionsAndProjects
from heatlite.api.stack_set_views import Inside
from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_SET_EVENTS, Limits
from heatlite.db import events, resources, revisions, stack_sets, stack_trees, stacks, templates
from heatlite.db.revisions import StoredRevision
from heatlite.db.stacks import StoredStack
from heatlite.language import environment as environments
from heatlite.planning.states import Status
from heatlite.rpc import messages

View = dict[str, object]


# --- reading ---------------------------------------------------------------------------------------------

def index(req: Request) -> View:
    """Return the sets of the caller's project, newest first; `marker`: the id of the set before the first."""
    query = Query(req.query)
    with req.db.reader() as tx:
        found = stack_sets.page(tx, finding.listed_project(req), query.limit(), query.text('marker'))
    return {'stack_sets': [{
        'id': each.id, 'name': each.name, 'status': f'{each.action}_{each.status}', 'status_reason': each.reason,
        'links': [links.link(_url(req, each))]} for each in found]}


def show(req: Request, stack_set: str) -> View:
    with req.db.reader() as tx:
        found = _found(req, tx, stack_set)
        stored = _stored(tx, found)
        inside = _inside(tx, found)
    return {'stack_set': stack_set_views.whole(found, _settings(stored), inside, [
        links.link(_url(req, found)), links.link(finding.url(req, found), 'stack')])}


def members(req: Request, stack_set: str) -> View:
    with req.db.reader() as tx:
        found = _found(req, tx, stack_set)
        stored = _stored(tx, found)
        inside = _inside(tx, found)
    return {'members': stack_set_views.members(_settings(stored), inside)}


def operations(req: Request, stack_set: str) -> View:
    """Return the creates and updates of a set, newest first; `marker`: the number of the one before the first."""
    query = Query(req.query)
    with req.db.reader() as tx:
        found = _found(req, tx, stack_set)
        page = revisions.page(tx, found.id, query.limit(), query.natural('marker'))
    return {'operations': [_operation(each) for each in page]}


def operation(req: Request, stack_set: str, number: str) -> View:
    """One operation with its outcome per member: the last event of each until the next operation. Old events are
    removed as those of all stacks are."""
    wanted = natural('operation', number)
    with req.db.reader() as tx:
        found = _found(req, tx, stack_set)
        shown = revisions.show(tx, found.id, wanted)
        if shown is None:
            raise exception.EntityNotFound(entity='Operation', name=number)
        following = revisions.show(tx, found.id, wanted + 1)
        nested = stack_trees.child(tx, found.id, stack_sets.RESOURCE)
        read = [] if nested is None else events.since(tx, [nested.id], shown.created_at, MOST_SET_EVENTS)
    until = None if following is None else following.created_at
    last = {each.resource_name: each for each in read if until is None or each.created_at < until}
    outcomes = [{'name': name, 'action': each.action, 'status': each.status, 'status_reason': each.reason,
                 'time': views.when(each.created_at)} for name, each in sorted(last.items())]
    return {'operation': {**_operation(shown), 'members': outcomes}}


def _operation(revision: StoredRevision) -> View:
    return {'number': revision.number, 'action': revision.action, 'outcome': revision.outcome,
            'author': revision.author, 'author_id': revision.author_id,
            'creation_time': views.when(revision.created_at)}


# --- changes ---------------------------------------------------------------------------------------------

def create(req: Request) -> Created:
    made = req.call(stack_set_bodies.create(req.require_json(), Limits.of(req.conf), _places(req)))
    url = f"{req.base}/{made['tenant']}/stack_sets/{made['stack_id']}"
    return Created(url, {'stack_set': {'id': made['stack_id'], 'name': made['stack_name'], 'links': [links.link(url)]}})


def update(req: Request, stack_set: str) -> None:
    """Change a set. What the body does not name is kept; members that have failed are tried again."""
    found, stored = _idle(req, stack_set)
    message = stack_set_bodies.update(req.require_json(), found.id, _settings(stored), Limits.of(req.conf),
                                      _places(req))
    _check_removals(_settings(stored), stack_set_bodies.merged(_parameters(stored), message))
    req.call(message)


def delete(req: Request, stack_set: str) -> None:
    """Delete a set with its stacks; with `keep` they stay."""
    keep = Query(req.query).boolean('keep')
    with req.db.reader() as tx:
        found = _found(req, tx, stack_set)
    req.call(messages.ReleaseStack(found.id) if keep else messages.DeleteStack(found.id))


def stop(req: Request, stack_set: str) -> None:
    """Start no further member. What is in progress ends by itself."""
    with req.db.reader() as tx:
        found = _found(req, tx, stack_set)
    req.call(messages.CancelStack(found.id, rollback=False))


# --- questions to the members ------------------------------------------------------------------------------

def preview_new(req: Request) -> View:
    message = stack_set_bodies.create(req.require_json(), Limits.of(req.conf), _places(req))
    req.call(messages.CheckCreate(**vars(message)))
    return _previewed(req, message.stack_name, {}, message, {}, Inside.empty())


def preview(req: Request, stack_set: str) -> View:
    """Return what an update with this body would do in each member."""
    with req.db.reader() as tx:
        found = _found(req, tx, stack_set)
        stored = _stored(tx, found)
        inside = _inside(tx, found)
    before = _settings(stored)
    message = stack_set_bodies.update(req.require_json(), found.id, before, Limits.of(req.conf), _places(req))
    req.call(messages.CheckUpdate(**vars(message)))
    registry = {**(stored.environment.get(environments.REGISTRY) or {}), **message.environment[environments.REGISTRY]}
    return _previewed(req, found.name, _parameters(stored), message, {**stored.files}, inside, before, registry)


def _previewed(req: Request, name: str, stored: Mapping[str, object], message: messages.Source,
               files: Mapping[str, str], inside: Inside, before: StackSetSettings | None = None,
               registry: Mapping[str, object] | None = None) -> View:
    after = stack_set_bodies.merged(stored, message)
    if before is not None:
        _check_removals(before, after)
    asked = stack_set_views.asked(after, inside)
    answers = {each['name']: each for each in req.call(messages.PreviewStackSet(
        name, str(after['template']), tuple(asked), {**files, **message.files},
        message.environment[environments.REGISTRY] if registry is None else registry))}
    return {'preview': stack_set_views.previewed(after, inside, answers)}


def drift(req: Request, stack_set: str) -> View:
    return _drift(req, stack_set, look=False)


def look(req: Request, stack_set: str) -> View:
    return _drift(req, stack_set, look=True)


def _drift(req: Request, stack_set: str, look: bool) -> View:
    with req.db.reader() as tx:
        found = _found(req, tx, stack_set)
        stored = _stored(tx, found)
        inside = _inside(tx, found)
    answers = req.call(messages.StackSetDrift(tuple(stack_set_views.asked(_settings(stored), inside)), look))
    summary = Counter('unknown' if each['is_drifted'] is None else 'drifted' if each['is_drifted'] else 'same'
                      for each in answers)
    return {'drift': {'is_drifted': bool(summary['drifted']), 'summary': dict(summary), 'members': answers}}


# --- helpers -----------------------------------------------------------------------------------------------

def _found(req: Request, tx: Connection, text: str) -> StoredStack:
    """Return the set with this name or id. Raises EntityNotFound, also for stacks that are no sets."""
    try:
        identity = finding.stack_by_name_or_id(req, tx, text)
    except exception.EntityNotFound:
        raise _unknown(text) from None
    found = stack_sets.show(tx, identity.id)
    if found is None:
        raise _unknown(text)
    return found


def _unknown(text: str) -> exception.EntityNotFound:
    return exception.EntityNotFound(entity='Stack set', name=text)


def _stored(tx: Connection, stack: StoredStack) -> templates.StoredTemplate:
    """Return the definition of the set. Raises EntityNotFound if it is that of a stack that is no set."""
    stored = templates.get(tx, stack.template_id)
    try:
        _settings(stored)
    except ValueError:
        raise _unknown(stack.name) from None
    return stored


def _parameters(stored: templates.StoredTemplate) -> Mapping[str, object]:
    return stored.environment.get(environments.PARAMETERS) or {}


def _settings(stored: templates.StoredTemplate) -> StackSetSettings:
    return stack_set_bodies.settings(_parameters(stored))


def _inside(tx: Connection, stack: StoredStack) -> Inside:
    """Return the rows of the members."""
    nested = stack_trees.child(tx, stack.id, stack_sets.RESOURCE)
    if nested is None:
        return Inside.empty()
    rows = resources.light(tx, nested.id)
    return Inside.of(nested, rows, resources.columns(tx, nested.id, None, ('properties',)))


def _idle(req: Request, text: str) -> tuple[StoredStack, templates.StoredTemplate]:
    """Return the set, which no operation may be changing. Raises ActionInProgress."""
    with req.db.reader() as tx:
        found = _found(req, tx, text)
        stored = _stored(tx, found)
    if found.status == Status.IN_PROGRESS:
        raise exception.ActionInProgress(stack_name=found.name, action=found.action)
    return found, stored


def _check_removals(before: StackSetSettings, after: StackSetSettings) -> None:
    """Raise HTTPBadRequest for an update that removes members and says only now what becomes of their stacks."""
    staying = {stack_set_bodies.named(each) for each in after['members']}
    gone = sorted(name for name in map(stack_set_bodies.named, before['members']) if name not in staying)
    if gone and before['on_removal'] != after['on_removal']:
        raise exception.HTTPBadRequest(_(
            'One update cannot change on_removal and remove members (%s): change on_removal first.') % ', '.join(gone))


def _places(req: Request) -> RegionsAndProjects:
    """Return the answers of the cloud to the caller, for a query."""
    return RegionsAndProjects(lambda: req.call(messages.ListRegions()), req.call)


def _url(req: Request, stack: StoredStack | stacks.Identity) -> str:
    return f'{req.base}/{stack.project_id}/stack_sets/{stack.id}'
