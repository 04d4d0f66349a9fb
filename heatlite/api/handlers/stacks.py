"""Handlers for stacks: one function for each method of each URL.

Reads come from heatlite.db; each change is one message.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from heatlite.api import bodies, finding, links, masking, preconditions, schemas, views
from heatlite.api.query import Query
from heatlite.api.rendering import yield_control
from heatlite.api.results import Created, Redirect, StreamedList, TaggedAnswer
from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.identifier import HeatIdentifier
from heatlite.common.limits import Limits
from heatlite.db import stack_lists, stacks, templates
from heatlite.planning import definition_tags
from heatlite.rpc import messages

View = dict[str, object]


# --- lists and lookup ------------------------------------------------------------------------------------

def index(req: Request) -> StreamedList:
    wanted = schemas.ListStacks.parse(Query(req.query))
    found, count = _page(req, wanted)
    rest: View = {}
    if wanted.with_count:
        rest['count'] = count
    if wanted.limit and len(found) == wanted.limit:
        rest['links'] = [links.next_page(req.path_url, req.query, found[-1].id)]
    return _list(req, found, rest, bool(req.context.is_admin) or wanted.global_tenant)


def detail(req: Request) -> StreamedList:
    """As `index`, without paging links and `count`; `global_tenant` is ignored here, as in Heat."""
    found, _count = _page(req, schemas.ListStacks.parse(Query(req.query), within_project=True))
    return _list(req, found, {}, bool(req.context.is_admin))


def _page(req: Request, query: schemas.ListStacks) -> tuple[list[stack_lists.Summary], int | None]:
    """Stacks of the caller's project; of all projects for an admin, or if the policy allows the caller's request for
    it."""
    project_id = finding.listed_project(req, query.global_tenant, 'stacks:global_index')
    hidden = () if query.show_hidden else tuple(req.conf.hidden_stack_tags)
    with req.db.reader() as tx:
        found = stack_lists.page(tx, project_id, query, hidden, yield_control)
        count = stack_lists.count(tx, project_id, query, hidden) if query.with_count else None
    return found, count


def _list(req: Request, summaries: list[stack_lists.Summary], rest: View, with_project: bool) -> StreamedList:
    shown = (views.listed_stack(req.base, stack, with_project) for stack in summaries)
    return StreamedList('stacks', shown, len(summaries), rest)


def lookup(req: Request, stack_name: str, path: str = '') -> Redirect:
    """Redirect (302) to the stack's URL, with the query unchanged. A valid ARN is not looked up."""
    if stack_name[:4].lower() == 'arn:':
        try:
            identifier = HeatIdentifier.from_arn(stack_name)
        except ValueError:
            raise finding.unknown(stack_name) from None
        location = f'{req.base}/{identifier.url_path()}'
    else:
        with req.db.reader() as tx:
            found = finding.stack_by_name_or_id(req, tx, stack_name)
        location = finding.url(req, found)
    if path:
        location = f'{location}/{path}'
    if req.query:
        location += '?' + urlencode([(key, value) for key, values in req.query.items() for value in values])
    return Redirect(location)


# --- one stack -------------------------------------------------------------------------------------------

def show(req: Request, stack_name: str, stack_id: str) -> TaggedAnswer:
    """One stack, with the tag of its definition unless it is deleted. One SELECT; an engine is called only for outputs
    that must be read again."""
    with_outputs = Query(req.query).boolean('resolve_outputs', default=True)
    with req.db.reader() as tx:
        stack = finding.visible(req, stacks.show(tx, stack_id), stack_name)
    outputs = None
    if with_outputs and stack.deleted_at is None:
        outputs = finding.fresh_outputs(req, stack)
    tag = definition_tags.of(stack) if stack.deleted_at is None else None
    return TaggedAnswer({'stack': views.stack_detail(req.base, stack, outputs)}, tag)


def template(req: Request, stack_name: str, stack_id: str) -> Mapping[str, object]:
    return masking.template(*_stored(req, stack_name, stack_id))


def environment(req: Request, stack_name: str, stack_id: str) -> View:
    _stack, stored = _stored(req, stack_name, stack_id)
    return masking.environment(stored.environment, stored.document, stored.is_sealed)


def files(req: Request, stack_name: str, stack_id: str) -> Mapping[str, str]:
    with req.db.reader() as tx:
        stack = finding.stack(req, tx, stack_name, stack_id)
        return templates.files(tx, stack.template_id)


def _stored(req: Request, stack_name: str, stack_id: str) -> tuple[stacks.Identity, templates.StoredTemplate]:
    """Return the stack and its template with the environment."""
    with req.db.reader() as tx:
        stack = finding.stack(req, tx, stack_name, stack_id)
        return stack, templates.show(tx, stack.template_id)


# --- changes ---------------------------------------------------------------------------------------------

def create(req: Request) -> TaggedAnswer:
    made = req.call(_adoptable(req, bodies.create_stack(req.require_json(), Limits.of(req.conf))))
    url = links.stack_url(req.base, made['tenant'], made['stack_name'], made['stack_id'])
    return TaggedAnswer(Created(url, {'stack': {'id': made['stack_id'], 'links': [links.link(url)]}}),
                        made.get(messages.DEFINITION_TAG))


def _adoptable(req: Request, message: messages.CreateStack) -> messages.CreateStack:
    if message.adopt is not None and not req.conf.enable_stack_adopt:
        raise exception.NotSupported(feature='Stack Adopt')
    return message


def preview(req: Request) -> View:
    """Previews a new stack. Nothing is stored, so the id is the text None; clients show it."""
    made = req.call(_adoptable(req, bodies.preview_stack(req.require_json(), Limits.of(req.conf))))
    url = links.stack_url(req.base, req.context.project_id or '', made['stack_name'], str(made.get('id')))
    shown = {key: value for key, value in made.items() if key != 'stack_identity'}
    return {'stack': {**shown, 'id': str(made.get('id')), 'links': [links.link(url)]}}


def update(req: Request, stack_name: str, stack_id: str) -> TaggedAnswer:
    return _update(req, stack_name, stack_id, existing=False)


def patch(req: Request, stack_name: str, stack_id: str) -> TaggedAnswer:
    return _update(req, stack_name, stack_id, existing=True)


def patch_policy(req: Request) -> str:
    """Return the policy rule of a PATCH: one that changes nothing has its own."""
    return 'stacks:update_no_change' if bodies.changes_nothing(req.require_json()) else 'stacks:update_patch'


def _update(req: Request, stack_name: str, stack_id: str, existing: bool) -> TaggedAnswer:
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
    updated = req.call(bodies.update_stack(req.require_json(), stack.id, Limits.of(req.conf), existing,
                                           preconditions.wanted_tags(req)))
    return TaggedAnswer(None, updated.get(messages.DEFINITION_TAG))


def preview_update(req: Request, stack_name: str, stack_id: str) -> View:
    return _preview_update(req, stack_name, stack_id, existing=False)


def preview_patch(req: Request, stack_name: str, stack_id: str) -> View:
    return _preview_update(req, stack_name, stack_id, existing=True)


def _preview_update(req: Request, stack_name: str, stack_id: str, existing: bool) -> View:
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
    body = req.require_json()
    nested = Query(req.query).boolean('show_nested') or body.get('show_nested') is True
    message = bodies.preview_update_stack(body, stack.id, Limits.of(req.conf), existing, nested)
    return {'resource_changes': req.call(message)}


def delete(req: Request, stack_name: str, stack_id: str) -> None:
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
    req.call(messages.DeleteStack(stack.id, preconditions.wanted_tags(req)))


def abandon(req: Request, stack_name: str, stack_id: str) -> View:
    """Abandon a stack. The export is complete for every caller who may do so: it is the only copy for a later
    adoption."""
    return masking.complete(req.call(messages.AbandonStack(_exportable(req, stack_name, stack_id))))


def export(req: Request, stack_name: str, stack_id: str) -> View:
    found = req.call(messages.ExportStack(_exportable(req, stack_name, stack_id)))
    return masking.complete(found) if req.context.is_admin else masking.export(found)


def _exportable(req: Request, stack_name: str, stack_id: str) -> str:
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
    if not req.conf.enable_stack_abandon:
        raise exception.NotSupported(feature='Stack Abandon')
    return stack.id
