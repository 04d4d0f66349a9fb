"""Custom constraints: the values that they accept. An engine answers, since only engines ask services."""

from __future__ import annotations

from heatlite.api.query import Query
from heatlite.api.wsgi import Request
from heatlite.common.limits import MOST_VALUES
from heatlite.rpc import messages


def values(req: Request, constraint: str) -> dict[str, object]:
    """Return the objects that the service of the constraint lists for the caller, by name."""
    limit = Query(req.query).limit()
    found: dict[str, object] = req.call(messages.ListConstraintValues(
        constraint, MOST_VALUES if limit is None else min(limit, MOST_VALUES)))
    return found
