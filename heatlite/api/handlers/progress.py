"""Tells how far the action of a stack has come. Costs a count of its resources: it is asked for again and again."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import timedelta

from sqlalchemy import Connection

from heatlite.api import finding, views
from heatlite.api.handlers import explain
from heatlite.api.wsgi import Request
from heatlite.db import events, resource_lists, stack_trees, stacks
from heatlite.db.connection import moment
from heatlite.planning import progress
from heatlite.planning.states import Status

View = dict[str, object]
MOST_SHOWN = 5                          # resources that are waited for
MOST_READ = 500                         # resources in progress among which those are looked for


def show(req: Request, stack_name: str, stack_id: str) -> View:
    """Tell how far a stack has come."""
    with req.db.reader() as tx:
        row = finding.visible(req, stacks.show(tx, stack_id), stack_name)
        return {'progress': seen(tx, row, req.conf.stack_action_timeout)}


def seen(tx: Connection, row: stacks.StoredStack, timeout: int) -> View:
    """Return the progress of a stack. `timeout`: seconds that its action may take, if the stack has none of its own."""
    paths = stack_trees.paths(row.id, stack_trees.descendants(tx, row.root_id, row.id))
    levels = progress.levels(replace(count, depth=count.depth - row.depth)
                             for count in resource_lists.counts_by_level(tx, list(paths)))
    begun, is_running = row.started_at or row.created_at, row.status == Status.IN_PROGRESS
    now, before = moment(tx), events.last_duration(tx, row.id, row.action) if is_running else None
    rest = progress.remaining(levels, now - begun, before) if is_running else None
    return {
        'stack_id': row.id, 'stack_name': row.name, 'action': row.action, 'status': row.status,
        'status_reason': row.reason, 'since': views.when(begun), 'seconds': _seconds(now - begun),
        'seconds_before': None if before is None else _seconds(before),
        'seconds_left': None if rest is None else _seconds(rest),
        'gives_up_at': explain.gives_up_at(row, timeout) if is_running else None,
        'levels': [{**asdict(level), 'total': level.total} for level in levels],
        'waiting_for': explain.waited_for([
            explain.row_at(paths[each.stack_id], each)
            for each in resource_lists.in_progress(tx, list(paths), MOST_READ)], now, MOST_SHOWN)}


def _seconds(time: timedelta) -> int:
    return max(round(time.total_seconds()), 0)
