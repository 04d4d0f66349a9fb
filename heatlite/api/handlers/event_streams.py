"""Events as they happen, as server-sent events: of a project, or of a stack and the stacks nested in it."""

from __future__ import annotations

import json
import re
from functools import partial

import webob

from heatlite.api import finding, links, views
from heatlite.api.event_hub import StreamScope
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
    listener = hub.listen(scope, parts_of, position, token_seconds_left(req.context.auth_token_info),
                          req.environ.get(health.STOPPING), is_left, json.dumps(req.base)[1:-1].encode('ascii'))
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


_HREF = '"href": "'                                     # in JSON text, before the base of a link


def parts_of(streamed: Streamed) -> tuple[bytes, ...]:
    """Return the parts of one event, see `event_hub.Render`: all listeners share them, by whatever name of this host
    they have come. `event` is resource, or stack for one of the stack itself."""
    shown = view('', streamed)
    kind = 'stack' if streamed.event.resource_id is None else 'resource'
    first, *others = json.dumps(shown.pop('links')).split(_HREF)        # paths are quoted, so they do not have it
    whole = [f'event: {kind}\ndata: {{"links": {first}', *others]
    return (*(f'{part}{_HREF}'.encode('ascii') for part in whole[:-1]),
            f'{whole[-1]}, {json.dumps(shown)[1:]}\n\n'.encode('ascii'))


def view(base: str, streamed: Streamed) -> dict[str, object]:
    """Return an event as in lists, with the stack that it belongs to."""
    url = links.stack_url(base, streamed.project_id, streamed.stack_name, streamed.event.stack_id)
    return {**views.event(url, streamed.event), 'resource_type': streamed.event.resource_type,
            'stack_id': streamed.event.stack_id, 'stack_name': streamed.stack_name, 'root_stack_id': streamed.root_id}
