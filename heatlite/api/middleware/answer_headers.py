"""Headers that keep an answer out of caches, and browsers from taking it for something else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

if TYPE_CHECKING:
    from heatlite.api.middleware.answers import ExcInfo, Headers, Write

HEADERS = (('Cache-Control', 'no-store'), ('X-Content-Type-Options', 'nosniff'))


class AnswerHeaders:
    """Adds `HEADERS` to every answer that does not have them: answers are of one caller, and may contain secrets."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        def protected(status: str, headers: Headers, exc_info: ExcInfo | None = None) -> Write:
            found = {name.lower() for name, _value in headers}
            headers = [*headers, *(each for each in HEADERS if each[0].lower() not in found)]
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        return self._app(environ, protected)
