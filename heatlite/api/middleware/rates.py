"""Refuses requests of a project that sends too many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication

from heatlite.api.middleware import context
from heatlite.common import exception
from heatlite.common.rates import Rate


class RateLimits:
    """Raises TooManyRequests. `requests`, `changes`: of one project; None: no limit. `is_change(environ)`: whether the
    request counts as a change, too. Callers without a project are counted by user."""

    def __init__(self, app: WSGIApplication, requests: Rate | None, changes: Rate | None,
                 is_change: Callable[[dict[str, Any]], bool]) -> None:
        self._app = app
        self._requests = requests
        self._changes = changes
        self._is_change = is_change

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
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
        raise exception.TooManyRequests(option=option, limit=rate.most, seconds=math.ceil(wait))
