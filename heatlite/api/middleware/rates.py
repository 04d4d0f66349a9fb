"""Refuses requests of a project that sends too many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from heatlite.api.middleware import context
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.rate_limit import Rate


class TooManyRequests(exception.HeatException):
    """A project sends more requests than an option allows; `retry_after`: seconds until one is permitted."""

    http_code = 429
    cfn_code = 'Throttling'
    msg_fmt = _('The project sends more than %(limit)s %(option)s in a minute (option [rate_limits] %(option)s). '
                'The next one is permitted in %(seconds)s seconds.')

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.retry_after = kwargs['seconds']


class RateLimits:
    """Raises TooManyRequests. `requests`, `changes`: of one project; None: no limit. `is_change(environ)`: whether the
    request counts as a change, too. Callers without a project are counted by user."""

    def __init__(self, app: WSGIApplication, requests: Rate | None, changes: Rate | None,
                 is_change: Callable[[WSGIEnvironment], bool]) -> None:
        self._app = app
        self._requests = requests
        self._changes = changes
        self._is_change = is_change

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        caller = environ[context.KEY]
        key = caller.project_id or caller.user_id
        if self._changes is not None and self._is_change(environ):
            _take(self._changes, key, 'changes')
        if self._requests is not None:
            _take(self._requests, key, 'requests')
        return self._app(environ, start_response)


def _take(rate: Rate, key: str | None, option: str) -> None:
    wait = rate.take(key)
    if wait:
        raise TooManyRequests(option=option, limit=rate.most, seconds=math.ceil(wait))
