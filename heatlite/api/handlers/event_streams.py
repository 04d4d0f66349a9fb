"""Events as they happen, as server-sent events: of a project, or of a stack and the stacks nested in it."""

from __future__ import annotations

import json
import re
from functools import partial

import webob

from heatlite.api import finding, links, views
from heatlite.api.event_hub import Render, StreamScope
from heatlite.api.middleware.identity import token_seconds_left
from heatlite.api.wsgi import CellDirectory, HandlerServices, Request
from heatlite.common import exception, health
from heatlite.common.i18n import _
from heatlite.db.event_stream import Streamed

KIND = 'text/event-stream'
_POSITION = re.compile(r'[0-9]{1,18}\Z')


def of_project(req: Request) -> webob.Response:
    project_id = req.route_match.values['tenant_id']    # an admin may name another project than the own one
    return _stream(req, StreamScope(owner=req.context.project_id or project_id, project_id=project_id), project_id)


def of_stack(req: Request, stack_name: str, stack_id: str) -> webob.Response:
    with req.db.reader() as tx:
        stack = finding.stack(req, tx, stack_name, stack_id)
    return _stream(req, StreamScope(owner=req.context.project_id or stack.project_id, stack_id=stack.id),
                   stack.project_id)


def _stream(req: Request, scope: StreamScope, project_id: str) -> webob.Response:
    """Return the answer without end. Raises HTTPNotAcceptable unless the client asks for this type: others would hang.

    It ends when the project is moved to another cell: the client then comes back.
    """
    if KIND not in req.environ.get('HTTP_ACCEPT', ''):
        raise exception.HTTPNotAcceptable(_('This URL answers with %s only; send it in Accept.') % KIND)
    hub = req.services.hub
    assert hub is not None
    services, position, is_left = req.services, _position(req), None
    cells = services.cells
    if cells is not None:
        position = cells.position(services, project_id, position)
        is_left = partial(_is_left, cells, services, project_id)
    listener = hub.listen(scope, _render(req), position, token_seconds_left(req.context.auth_token_info),
                          req.environ.get(health.STOPPING), is_left)
    req.environ['eventlet.minimum_write_chunk_size'] = 1        # the built-in server: send each chunk at once
    answer = webob.Response(app_iter=listener, content_type=KIND, charset='utf-8')
    answer.headers.update({'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no'})     # the latter: nginx
    return answer


def _is_left(cells: CellDirectory, services: HandlerServices, project_id: str) -> bool:
    """Whether the project is in another cell by now; False while that is not known."""
    try:
        return not cells.is_here(services, project_id, is_change=False)
    except exception.DatabaseUnavailable:
        return False


def _position(req: Request) -> int | None:
    """Last-Event-ID: the number after which the stream begins."""
    text = req.environ.get('HTTP_LAST_EVENT_ID', '').strip()
    if not text:
        return None
    if not _POSITION.match(text):
        raise exception.HTTPBadRequest(_('The header Last-Event-ID must be the id of an event of this stream.'))
    return int(text)


_RENDERS: dict[str, Render] = {}
_MOST_BASES = 64                                        # of clients that come by different names of this host


def _render(req: Request) -> Render:
    """Return the function that renders events with links of this client: one object for all clients with the same
    base."""
    base = req.base
    made = _RENDERS.get(base)
    if made is None:
        if len(_RENDERS) >= _MOST_BASES:
            _RENDERS.clear()
        made = _RENDERS[base] = lambda found: text_of(base, found)
    return made


def text_of(base: str, streamed: Streamed) -> bytes:
    """One event without its id, which depends on the listener. `event` is resource, or stack for one of the stack
    itself."""
    of_stack_itself = streamed.event.resource_id is None
    return b'event: %s\ndata: %s\n\n' % (
        b'stack' if of_stack_itself else b'resource', json.dumps(view(base, streamed)).encode('ascii'))


def view(base: str, streamed: Streamed) -> dict[str, object]:
    """Return an event as in lists, with the stack that it belongs to."""
    url = links.stack_url(base, streamed.project_id, streamed.stack_name, streamed.event.stack_id)
    return {**views.event(url, streamed.event), 'resource_type': streamed.event.resource_type,
            'stack_id': streamed.event.stack_id, 'stack_name': streamed.stack_name, 'root_stack_id': streamed.root_id}
