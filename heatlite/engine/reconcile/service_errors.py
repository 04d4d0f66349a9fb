"""What an error of a service means for another try. Tables; no resource and no stack is asked.

May not come in: types, client plug-ins.
"""

from __future__ import annotations

import re

from keystoneauth1 import exceptions

from heatlite.common import exception
from heatlite.engine.clients.os import http

AWAY = frozenset({502, 503, 504})           # a proxy without a service behind it, or a service that says so
FINAL_CONFLICTS = (                         # 409s that no other try of the same create can pass
    re.compile(r'quota', re.IGNORECASE),            # Neutron: Quota exceeded for resources: ['port'].
    re.compile(r'OverLimit|Maximum number of .* exceeded', re.IGNORECASE),
    re.compile(r'Multiple possible networks found', re.IGNORECASE),         # Nova: name a network
)


def is_away(error: BaseException) -> bool:
    """The service cannot be reached, or cannot work at the moment: it will be there again."""
    if isinstance(error, exception.HeatException):
        return False
    if isinstance(error, exceptions.ConnectionError) and not isinstance(error, exceptions.SSLError):
        return True
    return http.status_of(error) in AWAY


def is_final(error: BaseException) -> bool:
    """A conflict that stays: the same request gets the same answer until somebody changes something else."""
    text = str(error)
    return any(pattern.search(text) for pattern in FINAL_CONFLICTS)
