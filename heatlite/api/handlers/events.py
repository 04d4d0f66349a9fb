"""Events of a stack, of one of its resources, and of the stacks nested in it."""

from __future__ import annotations

from dataclasses import replace

from heatlite.api import finding, masking, schemas, views
from heatlite.api.query import Query
from heatlite.api.rendering import yield_control
from heatlite.api.results import StreamedList
from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db import events, stacks

View = dict[str, object]


def index(req: Request, stack_name: str, stack_id: str) -> StreamedList:
    wanted = schemas.ListEvents.parse(Query(req.query), req.conf.max_nested_stack_depth)
    return _page(req, stack_name, stack_id, wanted)


def index_of_resource(req: Request, stack_name: str, stack_id: str, resource_name: str) -> StreamedList:
    wanted = schemas.ListEvents.parse(Query(req.query), req.conf.max_nested_stack_depth)
    named = replace(wanted, filters={**wanted.filters, 'resource_name': (resource_name,)})
    found = _page(req, stack_name, stack_id, named)
    if not found.count:
        raise exception.HTTPNotFound(_('No events found for resource %s') % resource_name)
    return found


def show(req: Request, stack_name: str, stack_id: str, resource_name: str, event_id: str) -> View:
    with req.db.reader() as tx:
        stack = finding.stack(req, tx, stack_name, stack_id)
        found = events.show(tx, stack.id, event_id)
        if found is not None and found.properties:
            mask = masking.of_parameters(tx, stack) | masking.of_resource(tx, stack)
            found = replace(found, properties=mask(found.properties))
    if found is None or found.resource_name != resource_name:
        raise exception.HTTPNotFound(_('No event %s found') % event_id)
    return {'event': views.event_detail(finding.url(req, stack), found)}


def _page(req: Request, stack_name: str, stack_id: str, query: schemas.ListEvents) -> StreamedList:
    """One page of events. Two SELECTs; more for those of the stacks below a nested one."""
    with req.db.reader() as tx:
        root_url = None
        if not query.nested_depth:
            stack = finding.stack(req, tx, stack_name, stack_id)
            urls = {stack.id: finding.url(req, stack)}
        else:
            stack, below = finding.tree(req, tx, stack_name, stack_id, query.nested_depth)
            urls = {each.id: finding.url(req, each) for each in (stack, *below)}
            root = stack if stack.root_id == stack.id else stacks.identity(tx, stack.root_id)
            root_url = finding.url(req, root or stack)
        found = events.page(tx, list(urls), query, yield_control)
    shown = (views.listed_event(urls[each.stack_id], each, root_url) for each in found)
    return StreamedList('events', shown, len(found))
