"""Resources of a stack and of the stacks nested in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from sqlalchemy import Connection

from heatlite.api import access, deployment_logins, finding, json_text, masking, schemas, stack_users, views
from heatlite.api.query import Query, boolean, text
from heatlite.api.rendering import yield_control
from heatlite.api.results import StreamedList
from heatlite.api.wsgi import Request
from heatlite.common import exception, policy, turns
from heatlite.common.context import note
from heatlite.common.document_parts import mapping
from heatlite.common.i18n import _
from heatlite.db import resource_lists, stacks
from heatlite.db.bulk import AT_ONCE
from heatlite.planning import graph
from heatlite.planning.steps import avoided_template, highest
from heatlite.rpc import messages

View = dict[str, object]

SHOWN = ('definition', 'attributes')            # of the details of a resource
UNHEALTHY = 'mark_unhealthy'
REASON = 'resource_status_reason'


def index(req: Request, stack_name: str, stack_id: str) -> StreamedList:
    """Resources of the outer level first, each level in the order of creation. One SELECT for a small stack, two for
    others, and for any depth below a root; below a nested stack two more, and one for each level. With details those of
    `masking.of_stacks`, too."""
    wanted = schemas.ListResources.parse(Query(req.query), req.conf.max_nested_stack_depth)
    may_see = wanted.with_detail and access.may_see(req)
    with req.db.reader() as tx:
        depth = wanted.nested_depth + 1     # more than is listed: the deepest level shows which resources own a stack
        few = None
        if wanted.with_detail:
            top, below = finding.tree(req, tx, stack_name, stack_id, depth)
        else:
            top, below, few = finding.tree_with_few(req, tx, stack_name, stack_id, depth)
        listed = [top, *(each for each in below if each.depth - top.depth <= wanted.nested_depth)]
        unread = [each.id for each in listed if few is None or each is not top]
        names = [str(name) for name in wanted.filters.get('name', ())]
        names = names if len(names) <= AT_ONCE else []          # more are as many as most stacks have
        details = SHOWN if wanted.with_detail else ()
        if names:
            read, needed_in = resource_lists.named(tx, unread, names, details, yield_control)
        else:
            read, needed_in = resource_lists.page(tx, unread, details, yield_control), {}
        found = [*(few or ()), *read]
        masks = masking.of_stacks(tx, listed) if wanted.with_detail else {}
    nested = {(each.owner_id, each.parent_resource): each for each in below}
    by_stack: dict[str, list[resource_lists.ShownResource]] = {}
    for each in found:
        by_stack.setdefault(each.stack_id, []).append(each)

    def shown() -> Iterator[View | json_text.JsonText]:
        matches = _matching(wanted)
        for stack in listed:
            rows = by_stack.get(stack.id, [])
            needed_by = needed_in.get(stack.id, {}) if names and stack.id in unread else required_by(rows)
            url = finding.url(req, stack)
            for row in turns.paced(current(rows, stack)):
                if not matches(row):
                    continue
                shape = (url, row, needed_by.get(row.name, ()), stack.parent_resource,
                         _url(req, nested.get((stack.id, row.name))))
                if wanted.with_detail:
                    view = _detailed(*shape)
                    yield {**view, 'attributes': masks[stack.id](_visible(mapping(view['attributes']), may_see))}
                else:
                    yield views.listed_resource(*shape)

    return StreamedList('resources', shown(), len(found))


def show(req: Request, stack_name: str, stack_id: str, resource_name: str) -> View:
    """One resource with its attributes, which an engine reads from the services.

    They include signed URLs, generated passwords and keys, since clients of members get them here. Five SELECTs: the
    resource and its stack, the resources that require it, whether an engine is up, and two for what is hidden; one more
    for callers who may not see secrets.
    """
    names = Query(req.query).texts('with_attr')
    may_see = access.may_see(req)
    with req.db.reader() as tx:
        stack, row, nested = _in_place(req, tx, stack_name, stack_id, resource_name)
        needed_by = tuple(resource_lists.required_by(tx, stack.id, resource_name))
        hidden = masking.of_parameters(tx, stack)
        if not may_see:
            hidden |= masking.of_resource(tx, stack, row)
    view = _detailed(finding.url(req, stack), row, needed_by, stack.parent_resource, _url(req, nested))
    found = _attributes(req, stack, row, names, may_see)
    view['attributes'] = {name: hidden(value) for name, value in found.items()}
    return {'resource': view}


def metadata(req: Request, stack_name: str, stack_id: str, resource_name: str) -> View:
    """Return the metadata of a resource. Agents in servers poll it, unmasked, so it never calls an engine.

    One SELECT, another one for agents, up to three more for other callers.
    """
    with req.db.reader() as tx:
        stack, row, _nested = _in_place(req, tx, stack_name, stack_id, resource_name)
        stack_users.check_access(req.context, tx, stack, resource_name, req.conf.heat_stack_user_role)
        return {'metadata': visible_metadata(req, tx, stack, row)}


def visible_metadata(req: Request, tx: Connection, stack: stacks.Identity,
                     row: resource_lists.ShownResource) -> Mapping[str, object]:
    if not row.metadata or stack_users.is_stack_user(req.context, stack, req.conf.heat_stack_user_role):
        return row.metadata or {}
    mask = masking.of_parameters(tx, stack) | masking.of_resource(tx, stack, row)
    metadata = row.metadata if access.may_see(req) else deployment_logins.metadata_without_logins(row.metadata)
    shown: Mapping[str, object] = mask(metadata)
    return shown


def signal(req: Request, stack_name: str, stack_id: str, resource_name: str) -> None:
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
        stack_users.check_access(req.context, tx, stack, resource_name, req.conf.heat_stack_user_role)
    req.call(messages.SignalResource(stack.id, resource_name, req.json))
    note(resource=resource_name)


def mark_unhealthy(req: Request, stack_name: str, stack_id: str, resource_name: str) -> None:
    body = req.require_json()
    unknown = set(body) - {UNHEALTHY, REASON}
    if unknown:
        raise exception.HTTPBadRequest(_('Invalid keys in resource mark unhealthy %s') % unknown)
    if UNHEALTHY not in body:
        raise exception.HTTPBadRequest(
            _('Missing mandatory (%s) key from mark unhealthy request') % UNHEALTHY)
    reason = text(body, REASON)
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
    req.call(messages.MarkUnhealthy(stack.id, resource_name, boolean(UNHEALTHY, body[UNHEALTHY]), reason))
    note(resource=resource_name)


# --- current rows, and views --------------------------------------------------------------------------

def current(rows: Iterable[resource_lists.ShownResource], stack: stacks.Identity) -> list[resource_lists.ShownResource]:
    """One row of the stack for each name, in the order of row numbers: several exist during a replacement."""
    avoided = avoided_template(stack.action, stack.previous_template_id)
    return list(highest(rows, stack.template_id, avoided).values())


def required_by(rows: Iterable[resource_lists.ShownResource]) -> dict[str, tuple[str, ...]]:
    """Name -> names of the resources that require it, each once."""
    found = graph.dependents((row.name, row.requires or ()) for row in rows)
    return {name: tuple(dict.fromkeys(needing)) for name, needing in found.items()}


def _matching(query: schemas.ListResources) -> Callable[[resource_lists.ShownResource], bool]:
    """Return the test whether a row is wanted. There may be a thousand values to look for: each type is compared with
    them once."""
    filters = [(column, frozenset(values)) for column, values in query.filters.items()]
    is_wanted: dict[str, bool] = {}

    def matches(row: resource_lists.ShownResource) -> bool:
        if query.type_contains:
            known = is_wanted.get(row.type)
            if known is None:
                known = is_wanted[row.type] = any(part in row.type for part in query.type_contains)
            if not known:
                return False
        return all(getattr(row, column) in values for column, values in filters)

    return matches


def _in_place(req: Request, tx: Connection, stack_name: str, stack_id: str,
              resource_name: str) -> tuple[stacks.Identity, resource_lists.ShownResource, stacks.Identity | None]:
    """Return the stack, the row of the resource, and the nested stack of this resource."""
    found = resource_lists.in_place(tx, stack_id, resource_name)
    stack = finding.visible(req, found and found[0], stack_name)
    if stack.deleted_at is not None:
        raise finding.unknown(stack_name)
    rows, nested = found[1:] if found else ([], None)
    shown = current(rows, stack)
    if not shown:
        raise exception.ResourceNotFound(resource_name=resource_name, stack_name=stack.name)
    note(resource=resource_name)
    return stack, shown[0], nested


def _url(req: Request, nested: stacks.Identity | None) -> str | None:
    """Return the URL of the stack that a resource owns, if it owns one."""
    return None if nested is None else finding.url(req, nested)


def _detailed(stack_url: str, row: resource_lists.ShownResource, needed_by: tuple[str, ...], parent: str | None,
              nested_url: str | None) -> View:
    """Return a resource with its description and stored attributes; arguments as of `views.resource`."""
    return {**views.resource(stack_url, row, needed_by, parent, nested_url),
            'description': (row.definition or {}).get('description') or '', 'attributes': _stored_attributes(row)}


def _stored_attributes(row: resource_lists.ShownResource) -> Mapping[str, object]:
    """Return the stored attributes without internal ones: the result of get_resource (the empty name), values of
    paths."""
    return {name: value for name, value in (row.attributes or {}).items() if name and not name.startswith('[')}


def _visible(attributes: Mapping[str, object], may_see_access: bool) -> Mapping[str, object]:
    """Return the attributes; for callers who may not see access null in place of those that give some."""
    return attributes if may_see_access else {
        name: None if policy.gives_access(name) else value for name, value in attributes.items()}


def _attributes(req: Request, stack: stacks.Identity, row: resource_lists.ShownResource,
                names: tuple[str, ...], may_see_access: bool) -> Mapping[str, object]:
    """Return the attributes read from the services. Without an engine, and of what is to be deleted, the stored ones,
    and null for other names."""
    live = finding.live_attributes(req, stack, row.name, names, not may_see_access)
    return _visible({**dict.fromkeys(names), **_stored_attributes(row)} if live is None else live, may_see_access)
