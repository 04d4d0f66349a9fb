"""Custom constraints: the values that they accept. An engine answers, since only engines ask services."""

from __future__ import annotations

from typing import Any

from heatlite.api.query import Query
from heatlite.api.wsgi import Request
from heatlite.rpc import messages

MOST = 1000                         # values of one answer


def values(req: Request, constraint: str) -> dict[str, Any]:
    """The objects that the service of the constraint lists for the caller, by name."""
    limit = Query(req.query).limit()
    found: dict[str, Any] = req.call(messages.ListConstraintValues(
        constraint, MOST if limit is None else min(limit, MOST)))
    return found
