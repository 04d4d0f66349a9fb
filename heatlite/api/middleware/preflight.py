"""OPTIONS where no pages of other sites are known."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob


class Preflight:
    """Answers OPTIONS with success whatever the request lacks, as the layer for such pages does (`origin`): browsers
    ask before they send what identifies the user."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get('REQUEST_METHOD') != 'OPTIONS':
            return self._app(environ, start_response)
        answer: webob.Response = webob.Request(environ).get_response(self._app)
        if not 200 <= answer.status_code < 300:
            answer = webob.Response(status=200, content_type=None)
        answered: Iterable[bytes] = answer(environ, start_response)
        return answered
