"""Fetches the templates that requests name by URL, some at once for each project.

A host that says nothing holds the thread of its request until the time-out, and servers with threads of the system have
few.
"""

from __future__ import annotations

from oslo_context import context

from heatlite.common import exception, runtime, urlfetch
from heatlite.common.i18n import _
from heatlite.common.keyed_count import LimitedCount

MOST_AT_ONCE = 4                # templates of a project, in a process whose server has threads of the system: 8 or so
MOST_AT_ONCE_GREEN = 20         # with green threads, of which there are hundreds
UNDER_WAY: LimitedCount[str] = LimitedCount()           # by project


def template(url: str) -> str:
    """Return the text at a URL. Raises URLFetchError, HTTPServiceUnavailable."""
    caller = context.get_current()
    most = MOST_AT_ONCE_GREEN if runtime.is_cooperative() else MOST_AT_ONCE
    with UNDER_WAY.held(getattr(caller, 'project_id', None) or '', most, exception.HTTPServiceUnavailable(
            _('Too many templates are being fetched for this project.'))):
        return urlfetch.get_template(url)
