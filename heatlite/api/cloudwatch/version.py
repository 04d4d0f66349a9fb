"""Reads the version in the path. Clients of AWS that know only the host and port of the API send none."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.api.cloudwatch.protocols import choice
from heatlite.api.middleware.version import VersionNegotiation


class OptionalVersion:
    def __init__(self, app: WSGIApplication) -> None:
        self._app = app
        self._versioned = VersionNegotiation(app)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        inner = self._app if choice.is_action(environ) else self._versioned
        return inner(environ, start_response)
