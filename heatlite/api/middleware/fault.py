"""Turns errors of the layers below into fault documents."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.api import faults


class FaultMiddleware:
    def __init__(self, app: WSGIApplication, debug: bool = False) -> None:
        self._app = app
        self._debug = debug

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return self._app(environ, start_response)
        except Exception as error:
            answer: WSGIApplication = faults.response(error, self._debug)
            return answer(environ, start_response)
