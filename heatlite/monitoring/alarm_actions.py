"""The actions of alarms as texts: which URLs are those of signals, and what of a URL may be shown."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit, urlunsplit

# In the path of a URL, on any host; an ARN comes after the first.
SIGNAL: Final = re.compile(r'/(?:signal|waitcondition)/(?=arn(?::|%3a)openstack)', re.IGNORECASE)
REST_SIGNAL: Final = re.compile(
    r'/v1/[^/]+/stacks/(?P<name>[^/]+)/(?P<id>[^/]+)/resources/(?P<resource>[^/]+)/signal/?$')


def shown(action: str) -> str:
    """Return an action for the history, and for callers who may not see what gives access to something.

    The URL of a signal is without its signature, in the query; of any other URL, whose path may be the secret by which
    its host accepts a request, only scheme and host are left. Names and ARNs of resources are as they are.
    """
    try:
        parts = urlsplit(action)
    except ValueError:
        return ''
    if not parts.netloc:
        return action
    path = parts.path if SIGNAL.search(parts.path) or REST_SIGNAL.search(parts.path) else ''
    return urlunsplit((parts.scheme, parts.netloc.rpartition('@')[2], path, '', ''))
