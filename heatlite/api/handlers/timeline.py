"""Tells when each resource was worked on in the last action of a stack, beside what the same took the time before.

Reads a bounded number of the stack's own events; nested stacks have timelines of their own.
"""

from __future__ import annotations

from sqlalchemy import Connection

from heatlite.api import finding, views
from heatlite.api.wsgi import Request
from heatlite.db import events, stacks
from heatlite.db.connection import moment
from heatlite.planning import timeline
from heatlite.planning.explanation import Happened
from heatlite.planning.states import Status

View = dict[str, object]
MOST_ACTIONS = 500                      # actions on resources, the longest ones
MOST_EVENTS = 4000                      # since the action began, the first ones
MOST_EARLIER = 4000                     # before it began, the last ones


def show(req: Request, stack_name: str, stack_id: str) -> View:
    """Tell when each resource of a stack was worked on."""
    with req.db.reader() as tx:
        row = finding.visible(req, stacks.show(tx, stack_id), stack_name)
        return {'timeline': seen(tx, row)}


def seen(tx: Connection, row: stacks.StoredStack) -> View:
    """Return the timeline of the last action of a stack; a rollback belongs to the action before."""
    began = events.beginning(tx, row.id)
    since = row.started_at or row.created_at if began is None else began.created_at
    found: list[timeline.Bar] = []
    before, now = None, since
    if began is not None:
        happened = _happened(events.of_resources(tx, row.id, MOST_EVENTS, after=began.id))
        now = moment(tx) if row.status == Status.IN_PROGRESS else max((each.at for each in happened), default=since)
        found = timeline.bars(happened, _happened(events.of_resources(tx, row.id, MOST_EARLIER, before=began.id)), now)
        before = events.last_duration(tx, row.id, began.action, began.id)
    shown = timeline.longest(found, MOST_ACTIONS)
    return {
        'stack_id': row.id, 'stack_name': row.name, 'action': row.action if began is None else began.action,
        'since': views.when(since), 'seconds': _seconds((now - since).total_seconds()),
        'seconds_before': None if before is None else _seconds(before.total_seconds()),
        'left_off': len(found) - len(shown),
        'runs': [{'path': list(bar.path), 'type': bar.type, 'action': bar.action, 'status': bar.status,
                  'since': views.when(bar.began), 'after': _seconds((bar.began - since).total_seconds()),
                  'seconds': _seconds(bar.seconds),
                  'seconds_before': None if bar.seconds_before is None else _seconds(bar.seconds_before)}
                 for bar in shown]}


def _happened(history: list[events.ShownEvent]) -> list[Happened]:
    return [Happened((each.resource_name,), each.resource_type, each.action, each.status, each.reason,
                     each.physical_id, each.created_at) for each in history]


def _seconds(seconds: float) -> float:
    return max(round(seconds, 1), 0.0)
