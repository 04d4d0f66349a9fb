"""Fetches the templates that requests name by URL, some at once for each project.

A host that says nothing holds the thread of its request until the time-out, and servers with threads of the system have
few.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from oslo_context import context

from heatlite.common import exception, runtime, urlfetch
from heatlite.common.i18n import _

MOST_AT_ONCE = 4                # templates of a project, in a process whose server has threads of the system: 8 or so
MOST_AT_ONCE_GREEN = 20         # with green threads, of which there are hundreds


class Shares:
    """For threads of all kinds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: Counter[str] = Counter()       # by project; projects with none are removed

    def under_way(self, project: str) -> int:
        return self._under_way[project]

    @contextmanager
    def one(self, project: str, most: int) -> Iterator[None]:
        """Raises HTTPServiceUnavailable if `most` are under way for the project."""
        with self._lock:
            if self._under_way[project] >= most:
                raise exception.HTTPServiceUnavailable(_('Too many templates are being fetched for this project.'))
            self._under_way[project] += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way[project] -= 1
                if not self._under_way[project]:
                    del self._under_way[project]


SHARES = Shares()


def template(url: str) -> str:
    """The text at a URL. Raises URLFetchError, HTTPServiceUnavailable."""
    caller = context.get_current()
    most = MOST_AT_ONCE_GREEN if runtime.is_cooperative() else MOST_AT_ONCE
    with SHARES.one(getattr(caller, 'project_id', None) or '', most):
        return urlfetch.get_template(url)
