"""Drift over HTTP: how the objects of a stack differ from its definition."""

from __future__ import annotations

from heatlite.api import finding
from heatlite.api.wsgi import Request
from heatlite.db import drift_reports
from heatlite.planning import drift
from heatlite.rpc import messages

View = dict[str, object]


def show(req: Request, stack_name: str, stack_id: str) -> View:
    """Return what the last look has found; null if there was none."""
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
        found = drift_reports.report(tx, stack.id)
    return {'drift': None if found is None else drift.to_json(found)}


def look(req: Request, stack_name: str, stack_id: str) -> View:
    """Compare the objects of a stack with its definition now."""
    with req.db.reader() as tx:
        stack = finding.live_stack(req, tx, stack_name, stack_id)
    return {'drift': req.call(messages.LookForDrift(stack.id))}
