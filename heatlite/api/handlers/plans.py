"""Plans: what an action on a stack would do, to be looked at, approved and applied.

A plan belongs to the project of its author and is visible in this project only, even for admins: an admin's plan for a
stack of another project is not shown to the stack's owners.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from heatlite.api import bodies, finding, links, views
from heatlite.api.query import Query, text
from heatlite.api.results import Created
from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.context import note
from heatlite.common.i18n import _
from heatlite.common.limits import Limits
from heatlite.db import plans
from heatlite.db.plans import StoredPlan
from heatlite.planning import findings
from heatlite.planning.plan import as_text
from heatlite.rpc import messages

View = dict[str, object]
DIGEST = 64                                 # characters
FORMATS = ('json', 'text')
UNCHECKED: View = {'findings': [], 'totals': {}, 'cost': None, 'refreshed_at': None}    # of plans of former releases


def create(req: Request) -> Created:
    """Plans a new stack; the body is that of its create."""
    return _made(req, bodies.plan_create(req.require_json(), Limits.of(req.conf)))


def create_of_stack(req: Request, stack_name: str, stack_id: str) -> Created:
    """Plans an update or a delete; `action` in the body says which, the rest is the body of the update."""
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
    return _made(req, bodies.plan_change(req.require_json(), stack.id, Limits.of(req.conf)))


def _made(req: Request, message: messages.CreatePlan) -> Created:
    made = req.call(message)
    with req.db.reader() as tx:
        stored = _plan(req, tx, made['id'])
    return Created(f'{req.base}/{stored.project_id}/plans/{stored.id}', {'plan': _detail(req, stored)})


def index(req: Request) -> View:
    """Plans of the project, newest first; of one stack with `stack_id`."""
    query = Query(req.query)
    with req.db.reader() as tx:
        found = plans.page(tx, finding.own_project(req), query.text('stack_id'), query.limit(), query.text('marker'))
    return {'plans': [_summary(req, each) for each in found]}


def show(req: Request, plan_id: str) -> View:
    """One plan; with `format=text` also as text that people read."""
    wanted = Query(req.query).text('format') or FORMATS[0]
    if wanted not in FORMATS:
        raise exception.HTTPBadRequest(_('Invalid value for "format": expected %(expected)s, found "%(found)s".')
                                       % {'expected': ' or '.join(FORMATS), 'found': wanted[:DIGEST]})
    with req.db.reader() as tx:
        shown = _detail(req, _plan(req, tx, plan_id))
    if wanted == 'text':
        shown['text'] = '\n'.join([*as_text(shown), *findings.as_text(shown)])
    return {'plan': shown}


def approve(req: Request, plan_id: str) -> None:
    req.call(messages.ApprovePlan(_known(req, plan_id)))


def apply(req: Request, plan_id: str) -> Created:
    """Carry out a plan. `digest` in the body: that of the plan that the caller has seen."""
    digest = text(req.json or {}, 'digest', DIGEST)
    made = req.call(messages.ApplyPlan(_known(req, plan_id), digest))
    url = links.stack_url(req.base, made['tenant'], made['stack_name'], made['stack_id'])
    return Created(url, {'stack': {'id': made['stack_id'], 'links': [links.link(url)]}})


def delete(req: Request, plan_id: str) -> None:
    req.call(messages.DeletePlan(_known(req, plan_id)))


def _known(req: Request, plan_id: str) -> str:
    with req.db.reader() as tx:
        return _plan(req, tx, plan_id, plans.listed).id


def _plan(req: Request, tx: Connection, plan_id: str,
          read: Callable[[Connection, str, str], StoredPlan | None] = plans.show) -> StoredPlan:
    found = read(tx, plan_id, finding.own_project(req))
    if found is None:
        raise exception.EntityNotFound(entity='Plan', name=plan_id)
    note(plan_id=found.id, stack_id=found.stack_id, stack_name=found.stack_name)
    return found


def _summary(req: Request, stored: StoredPlan) -> View:
    return {
        'id': stored.id, 'stack_id': stored.stack_id, 'stack_name': stored.stack_name, 'action': stored.action,
        'state': stored.state, 'digest': stored.digest, 'generation': stored.generation, 'author': stored.author,
        'approver': stored.approver, 'summary': stored.summary, 'creation_time': views.when(stored.created_at),
        'expiry_time': views.when(stored.expires_at), 'approval_time': views.when(stored.approved_at),
        'application_time': views.when(stored.applied_at),
        'links': [links.link(f'{req.base}/{stored.project_id}/plans/{stored.id}')]}


def _detail(req: Request, stored: StoredPlan) -> View:
    return {**UNCHECKED, **stored.document, **_summary(req, stored)}
