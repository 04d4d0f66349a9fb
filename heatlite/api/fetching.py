"""Fetches the templates that requests name by URL, some at once for each project.

A host that says nothing holds the thread of its request until the time-out, and servers with threads of the system have
few.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from oslo_context import context

from heatlite.common import exception, runtime, urlfetch
from heatlite.common.i18n import _
from heatlite.common.keyed_count import KeyedCount

MOST_AT_ONCE = 4                # templates of a project, in a process whose server has threads of the system: 8 or so
MOST_AT_ONCE_GREEN = 20         # with green threads, of which there are hundreds


class FetchesUnderWay:
    """Those of each project. For threads of all kinds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: KeyedCount[str] = KeyedCount()            # by project

    def count(self, project: str) -> int:
        return self._counts.count(project)

    @contextmanager
    def one(self, project: str, most: int) -> Iterator[None]:
        """Count a text as under way within the block. Raises HTTPServiceUnavailable if `most` are under way for the
        project."""
        with self._lock:
            if self._counts.count(project) >= most:
                raise exception.HTTPServiceUnavailable(_('Too many templates are being fetched for this project.'))
            self._counts.add(project)
        try:
            yield
        finally:
            with self._lock:
                self._counts.remove(project)


UNDER_WAY = FetchesUnderWay()


def template(url: str) -> str:
    """Return the text at a URL. Raises URLFetchError, HTTPServiceUnavailable."""
    caller = context.get_current()
    most = MOST_AT_ONCE_GREEN if runtime.is_cooperative() else MOST_AT_ONCE
    with UNDER_WAY.one(getattr(caller, 'project_id', None) or '', most):
        return urlfetch.get_template(url)
