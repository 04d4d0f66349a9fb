"""Gives each request an id: for the logs of all services it passes through, and in a header of its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_context.context import generate_request_id

from heatlite.common.context import RequestContext

if TYPE_CHECKING:
    from heatlite.api.middleware.answers import ExcInfo, Headers, Write

KEY, GLOBAL_KEY = 'openstack.request_id', 'openstack.global_request_id'         # where the library reads them
HEADER = 'x-openstack-request-id'
_GIVEN = re.compile(r'req-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}\Z')


class RequestId:
    """The id that the caller sends becomes the request's global id and is not sent back."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[KEY] = made = generate_request_id()
        given = environ.get('HTTP_X_OPENSTACK_REQUEST_ID', '')
        if _GIVEN.match(given):
            environ[GLOBAL_KEY] = given
        RequestContext(request_id=made, global_request_id=environ.get(GLOBAL_KEY))      # until its user is known

        def named(status: str, headers: Headers, exc_info: ExcInfo | None = None) -> Write:
            headers = [*headers, (HEADER, made)]
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        return self._app(environ, named)
