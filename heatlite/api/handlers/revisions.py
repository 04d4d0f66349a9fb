"""Revisions: the definitions that were accepted for a stack, what became of them, and how they differ."""

from __future__ import annotations

from sqlalchemy import Connection

from heatlite.api import finding, links, masking, views
from heatlite.api.query import Query, natural
from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.db import revisions
from heatlite.db.revisions import StoredRevision
from heatlite.db.stacks import Identity
from heatlite.db.templates import StoredTemplate
from heatlite.planning import comparison
from heatlite.planning.comparison import ComparedDefinition

View = dict[str, object]


def index(req: Request, stack_name: str, stack_id: str) -> View:
    """Revisions of a stack, newest first; `marker`: the number of the revision before the first. A nested stack has
    none."""
    query = Query(req.query)
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
        found = revisions.page(tx, stack.id, query.limit(), query.natural('marker'))
    return {'revisions': [_summary(req, stack, each) for each in found]}


def show(req: Request, stack_name: str, stack_id: str, number: str) -> View:
    """One revision with its definition; hidden values are masked, files are listed by name."""
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
        found, stored = _definition(tx, stack, natural('revision', number))
    mask = masking.of_stored(stored)
    return {'revision': {
        **_summary(req, stack, found), 'template': mask(stored.document),
        'environment': masking.environment(stored.environment, stored.document, stored.is_sealed, mask),
        'files': sorted(stored.files), 'parameters': found.parameters or {}}}


def diff(req: Request, stack_name: str, stack_id: str, number: str) -> View:
    """How a revision differs from the one before it, or from that of `with`; the first one, from nothing."""
    wanted = natural('revision', number)
    other = Query(req.query).natural('with')
    if other is None and wanted > 1:
        other = wanted - 1
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
        after = _source(tx, stack, wanted)
        before = ComparedDefinition() if other is None else _source(tx, stack, other)
    return {'diff': {'with': other, 'revision': wanted, **comparison.compare(before, after)}}


def _definition(tx: Connection, stack: Identity, number: int) -> tuple[StoredRevision, StoredTemplate]:
    found = revisions.definition(tx, stack.id, number)
    if found is None:
        raise exception.EntityNotFound(entity='Revision', name=str(number))
    return found


def _source(tx: Connection, stack: Identity, number: int) -> ComparedDefinition:
    found, stored = _definition(tx, stack, number)
    return ComparedDefinition(stored.document, stored.environment, stored.files, found.parameters or {})


def _summary(req: Request, stack: Identity, revision: StoredRevision) -> View:
    return {'number': revision.number, 'action': revision.action, 'outcome': revision.outcome,
            'author': revision.author, 'author_id': revision.author_id, 'plan_id': revision.plan_id,
            'digest': revision.digest, 'creation_time': views.when(revision.created_at),
            'links': [links.link(f'{finding.url(req, stack)}/revisions/{revision.number}')]}
