"""Events of a stack, of one of its resources, and of the stacks nested in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from heatlite.api import finding, masking, schemas, views
from heatlite.api.query import Query
from heatlite.api.rendering import yield_control
from heatlite.api.results import StreamedList
from heatlite.api.wsgi import Request
from heatlite.common import exception, limits
from heatlite.common.i18n import _
from heatlite.db import events, stacks

View = dict[str, object]

BLOCK = 1000                    # events that are in memory at once while a list is sent, fewer where reasons are long


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
    """One page of events, without a largest one, as in Heat: a block of them is read when another is sent. Two SELECTs
    for the first block, one for each other; more for those of the stacks below a nested one."""
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
        first = events.page(tx, list(urls), _block(query, 0), yield_control, most=limits.MOST_PAGE)
    shown = (views.listed_event(urls[each.stack_id], each, root_url)
             for found in _blocks(req, list(urls), query, first) for each in found)
    return StreamedList('events', shown, len(first))


def _blocks(req: Request, stack_ids: Sequence[str], query: schemas.ListEvents,
            found: list[events.ShownEvent]) -> Iterator[list[events.ShownEvent]]:
    """Yield the blocks of a list, the first, `found`, before others."""
    database = req.db

    def following(last: events.ShownEvent, sent: int) -> list[events.ShownEvent]:
        with database.reader() as tx:
            return events.page(tx, stack_ids, _block(query, sent), yield_control, last, limits.MOST_PAGE)

    sent = 0
    while found:
        yield found
        sent += len(found)
        goes_on = len(found) == BLOCK or events.is_cut(found, limits.MOST_PAGE)
        found = req.handled(partial(following, found[-1], sent)) if goes_on else []


def _block(query: schemas.ListEvents, sent: int) -> schemas.ListEvents:
    """Return the next block of a list of which `sent` events were read."""
    return replace(query, limit=BLOCK if query.limit is None else min(BLOCK, query.limit - sent))
