"""Refuses requests of a project that has many under way: a request holds its place in this process while an engine or a
service works for it, and the places are for all projects."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.api.middleware import context
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.keyed_count import LimitedCount


class TooManyAtOnce(exception.HeatException):
    """A project has too many requests under way."""

    http_code = 503
    cfn_code = 'ServiceUnavailable'
    msg_fmt = _('Too many requests of the project are under way.')
    retry_after = 1


class ProjectShares:
    """Raises TooManyAtOnce. `most`: requests of one project under way in this process, and as many of all users inside
    its stacks. An answer that is sent in parts counts until its first part is made."""

    def __init__(self, app: WSGIApplication, most: int) -> None:
        self._app = app
        self._most = most
        self._under_way: LimitedCount[str] = LimitedCount()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        with self._under_way.held(environ[context.KEY].share, self._most, TooManyAtOnce()):
            return self._app(environ, start_response)
