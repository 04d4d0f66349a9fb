"""What follows from states of alarms: entries of the history, signals and requests, in the caller's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from heatlite.common import exception, limits
from heatlite.common.i18n import _
from heatlite.db import alarms, current_rows, signals, stacks
from heatlite.db.alarms import Alarm, HistoryEntry, Webhook
from heatlite.engine.alarms import actions
from heatlite.engine.alarms.actions import OUTSIDE, ToResource, ToURL
from heatlite.planning.states import Action, ResourceState

SUCCEEDED, FAILED, QUEUED = 'Succeeded', 'Failed', 'Queued'
COUNTED: Final = 30.0                       # seconds for which the number of waiting requests is remembered


@dataclass(frozen=True)
class Transition:
    """An alarm before and after. With equal states only the actions are repeated."""

    before: Alarm
    after: Alarm


@dataclass
class Followed:
    """What was stored. `stacks`: their owners have to be woken up after the commit; `webhooks`: there are new ones."""

    stacks: set[str] = field(default_factory=set)
    webhooks: bool = False


class WaitingRequests:
    """How many requests of alarms wait to be sent, by project, as far as one process knows.

    To count them reads all that wait in a shard, whichever projects they are of, so that is done once in COUNTED
    seconds. In between what this process stores is added; what others store and what was sent is not known, and what
    was not committed counts as stored.
    """

    def __init__(self) -> None:
        self._counted: dict[int, tuple[float, Counter[str]]] = {}       # shard -> when, by project

    def of_shard(self, tx: Connection, shard: int, now: float) -> Counter[str]:
        """Requests by project; the caller adds those that it stores. `now`: the database's time."""
        at, found = self._counted.get(shard, (float('-inf'), Counter[str]()))
        if not at <= now < at + COUNTED:
            found = Counter(alarms.requests_by_project(tx, shard))
            self._counted[shard] = now, found
        return found


def store(tx: Connection, transitions: Iterable[Transition], now: float, at: datetime,
          requests: WaitingRequests) -> Followed:
    """Store the history of these changes, and the actions of alarms whose actions are enabled.

    `now`, `at`: the database's time; `requests`: the caller's, of all its transactions. The alarms themselves are
    written by the caller. Locks leases of stacks, in the order of their ids.
    """
    entries, targets, found = [], [], Followed()
    for each in transitions:
        if each.before.state != each.after.state:
            entries.append(state_entry(each, at))
        if each.after.actions_enabled:
            targets += [(each, action) for action in each.after.rule.actions(each.after.state)]
    queued = []
    by_stack: dict[str, list[tuple[Transition, ToResource]]] = {}
    for each, action in targets:
        try:
            target = actions.parse(action, each.after.project_id, each.after.stack_id)
        except exception.HTTPBadRequest as error:
            entries.append(action_entry(each.after, FAILED, str(error), at))
            continue
        if isinstance(target, ToURL):
            project_id = each.after.project_id
            waiting = requests.of_shard(tx, each.after.shard, now)
            if waiting[project_id] >= limits.MOST_REQUESTS:
                entries.append(action_entry(each.after, FAILED, _(
                    'No request was sent to %(target)s: %(count)d of the project wait already.') % {
                        'target': target.shown, 'count': limits.MOST_REQUESTS}, at))
                continue
            waiting[project_id] += 1
            queued.append(Webhook(0, each.after.id, project_id, each.after.name, target.url,
                                  actions.body(each.before, each.after), 0))
            entries.append(action_entry(each.after, QUEUED, _('A request to %s waits to be sent.') % target.shown, at))
        else:
            by_stack.setdefault(target.stack_id, []).append((each, target))
    for stack_id in sorted(by_stack):
        row = stacks.get(tx, stack_id)
        for each, target in by_stack[stack_id]:
            why_not = _signal(tx, row, each, target, at)
            if why_not is None:
                found.stacks.add(stack_id)
                entries.append(action_entry(each.after, SUCCEEDED, _('A signal was sent to %s.') % target.shown, at))
            else:
                entries.append(action_entry(each.after, FAILED, why_not, at))
    if queued:
        alarms.queue(tx, queued, now, at)
        found.webhooks = True
    alarms.remember(tx, entries)
    return found


def _signal(tx: Connection, row: stacks.StoredStack | None, each: Transition, target: ToResource,
            at: datetime) -> str | None:
    """Store a signal to a resource of that stack. Returns why it was not stored, or None.

    Whether the resource takes it now is decided when it is handled: an alarm must not be lost because its stack is
    being updated.
    """
    alarm = each.after
    if row is None or row.project_id != alarm.project_id or row.action == Action.DELETE:
        return _('No signal was sent: stack %s is not there, or is being deleted.') % target.stack_id
    resource = _resource(tx, row, target)
    if resource is None:
        return _('No signal was sent: there is no resource %s.') % target.shown
    count, size = signals.waiting(tx, row.id)
    if size + count * limits.SIGNAL > limits.MOST_SIGNALS:
        return _('No signal was sent to %(target)s: %(count)d of its stack wait already.') % {
            'target': target.shown, 'count': count}
    signals.insert(tx, row.id, resource.name, actions.details(each.before, alarm, resource.type), at)
    return None


def _resource(tx: Connection, row: stacks.StoredStack, target: ToResource) -> ResourceState | None:
    """The resource that is meant, if there is one."""
    found = current_rows.named(tx, row, target.name)
    if found is None and target.is_reference:
        found = current_rows.with_physical_id(tx, row, target.name)
    return found


def state_entry(each: Transition, at: datetime) -> HistoryEntry:
    before, after = each.before, each.after
    return HistoryEntry(
        after.id, after.project_id, after.name, alarms.STATE,
        _('Alarm updated from %(before)s to %(after)s') % {'before': shown(before), 'after': shown(after)}, {
            'version': '1.0',
            'oldState': {'stateValue': OUTSIDE.get(before.state), 'stateReason': before.reason},
            'newState': {'stateValue': OUTSIDE.get(after.state), 'stateReason': after.reason,
                         'stateReasonData': after.reason_data}, 'evaluated': after.evaluated}, at)


def shown(alarm: Alarm) -> str:
    """The state as users of CloudWatch know it; SUSPENDED has no such word."""
    return OUTSIDE.get(alarm.state, alarm.state)


def action_entry(alarm: Alarm | Webhook, outcome: str, summary: str, at: datetime) -> HistoryEntry:
    state = {'stateValue': OUTSIDE.get(alarm.state), 'evaluated': alarm.evaluated} if isinstance(alarm, Alarm) else {}
    identity = alarm.id if isinstance(alarm, Alarm) else alarm.alarm_id
    return HistoryEntry(identity, alarm.project_id, alarm.name, alarms.ACTION, summary,
                        {'actionState': outcome, **state}, at)
