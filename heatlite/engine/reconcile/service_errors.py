"""Classifies errors of services: whether a retry can help. Uses tables only, no resource and no stack.

Must not import resource types or client plug-ins.
"""

from __future__ import annotations

import re

from keystoneauth1 import exceptions

from heatlite.common import exception
from heatlite.engine.clients import logins
from heatlite.engine.clients.os import http

AWAY = frozenset({502, 503, 504})           # a proxy cannot reach the service, or the service is unavailable
FINAL_CONFLICTS = (                         # 409s that a retry of the same create cannot pass
    re.compile(r'quota', re.IGNORECASE),            # Neutron: Quota exceeded for resources: ['port'].
    re.compile(r'OverLimit|Maximum number of .{0,255} exceeded', re.IGNORECASE),
    re.compile(r'Multiple possible networks found', re.IGNORECASE),         # Nova: name a network
    re.compile(r'The Stack \(.{0,255}\) already exists'),     # Heat: of another user, or it would have been found
)


def is_away(error: BaseException) -> bool:
    """Whether the service cannot be reached, or cannot work at the moment, so that a retry may help.

    An output of a nested stack that was computed just now fails for the reason of its cause."""
    if isinstance(error, exception.TemplateOutputError) and error.__cause__ is not None:
        return is_away(error.__cause__)
    if isinstance(error, exception.HeatException):
        return False
    if isinstance(error, logins.LoginUnanswered):
        return True
    if isinstance(error, exceptions.ConnectionError) and not isinstance(error, exceptions.SSLError):
        return True
    return http.status_of(error) in AWAY


def is_final(error: BaseException) -> bool:
    """Whether a conflict is permanent: the same request fails again until something else is changed."""
    text = str(error)[:exception.LONGEST_TEXT]
    return any(pattern.search(text) for pattern in FINAL_CONFLICTS)
