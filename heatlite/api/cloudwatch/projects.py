"""Whose metrics and alarms an action is about."""

from __future__ import annotations

from sqlalchemy import Connection

from heatlite.api import finding, wsgi
from heatlite.db import alarms


def of_caller(req: wsgi.Request, tx: Connection) -> str:
    """Return the caller's project; for a user inside a stack, that of the stack, for which the request counts from here
    on. Administrators, too, see only their own."""
    found = req.context.stack_project_id = alarms.project_of(tx, finding.own_project(req))
    return found
