"""Use cases of metrics and alarms, for users and types (docs/developers/alarms.rst).

Types get the part that `resource_services.Alarms` describes as `stack.alarms`: the alarms that they make belong to
their stack and are changed by it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from heatlite.common import exception, limits, turns
from heatlite.common.context import RequestContext
from heatlite.common.expiring_cache import ExpiringCache
from heatlite.common.i18n import _
from heatlite.common.metrics import datapoints
from heatlite.common.runtime import Runtime
from heatlite.db import alarms, leases, metrics, resources, shards, stacks
from heatlite.db.alarms import Alarm, HistoryEntry
from heatlite.db.connection import Database
from heatlite.db.metrics import moment
from heatlite.engine.alarms import actions, evaluation, own_metrics, transitions
from heatlite.engine.alarms.matching import Matching
from heatlite.engine.alarms.metric_writer import MetricWriter
from heatlite.engine.alarms.settings import AlarmSettings
from heatlite.engine.alarms.transitions import Followed, Transition, WaitingRequests
from heatlite.monitoring.alarms import (
    MINUTE,
    MOST_NAME,
    MOST_REASON,
    MOST_REASON_DATA,
    NODATA,
    STATES,
    SUSPENDED,
    AlarmRule,
    Datapoint,
)
from heatlite.rpc import messages

MOST_POINTS: Final = 1_000                  # in one request
OLDEST: Final = 14 * 86_400.0               # seconds that a datapoint may be old
NEWEST: Final = 2 * 3_600.0                 # seconds that it may be ahead
MOST_NAMES: Final = 100                     # alarms in one request
TRIMMED: Final = 100                        # entries of a history that a request removes, at most: more than it adds
PROJECTS: Final = 10_000                    # whose real project is remembered
PROJECT_SECONDS: Final = 60.0

AfterCommit = Callable[[], None]                   # to be called after the commit


class Alarms:
    """Serves requests of users in their threads, and types, as `stack.alarms`, in threads of the pool."""

    def __init__(self, runtime: Runtime, database: Database, settings: AlarmSettings, tell: Callable[[Followed], None],
                 wake: Callable[[str, str | None], None]) -> None:
        """`tell(followed)`: wakes up the owners of stacks with new signals; `wake(lease_id, engine_id)`: that of a
        shard with new requests."""
        self._runtime = runtime
        self._database = database
        self._settings = settings
        self._tell = tell
        self._wake = wake
        self._writer = MetricWriter(runtime, database, settings.max_metrics)
        self._projects: ExpiringCache[str] = ExpiringCache(PROJECTS, PROJECT_SECONDS)
        self._matching = Matching(database)
        self._requests = WaitingRequests()

    # --- messages -----------------------------------------------------------------------------------------

    def put_data(self, context: RequestContext, message: messages.PutMetricData) -> None:
        """Store datapoints, all or none. Raises HTTPBadRequest, LimitExceeded, RequestLimitExceeded."""
        if not message.data or len(message.data) > MOST_POINTS:
            raise exception.HTTPBadRequest(_('A request has 1 to %d datapoints.') % MOST_POINTS)
        now = (self._runtime.now() - moment(0.0)).total_seconds()
        points = []
        for values in message.data:
            turns.spend(5)
            point = Datapoint.from_json(message.namespace, values)
            if point.at is not None and not now - OLDEST <= point.at <= now + NEWEST:
                raise exception.HTTPBadRequest(_(
                    'The time of a datapoint must be within the last two weeks and the next two hours.'))
            points.append(point)
        project_id = self._project_of(context)
        points = self._matching.widened(project_id, points)
        self._writer.put(project_id, points, by_stack_user=project_id != context.project_id)
        datapoints.inc(len(points))

    def put_alarm(self, context: RequestContext, message: messages.PutAlarm) -> None:
        """Create an alarm of a user, or change its rule. Raises HTTPBadRequest, LimitExceeded, and
        InvalidRestrictedAction for an alarm of a stack."""
        rule = AlarmRule.from_json(message.rule)
        self._put(context, message.name, rule, None, None, message.actions_enabled)

    def delete_alarms(self, context: RequestContext, message: messages.DeleteAlarms) -> None:
        """Delete alarms of users. Raises EntityNotFound and InvalidRestrictedAction, with nothing deleted."""
        project_id, names = context.owning_project(), _names(message.names)

        def delete(tx: Connection) -> None:
            alarms.lock(tx, project_id)
            found = self._all(tx, project_id, names)
            for each in found:
                self._check_free(tx, each, None)
            self._remove(tx, found)

        self._database.retry(delete)

    def set_state(self, context: RequestContext, message: messages.SetAlarmState) -> None:
        """Set the state until the next evaluation, with the actions of the new one. Raises EntityNotFound."""
        if message.state not in STATES or message.state == SUSPENDED:
            raise exception.HTTPBadRequest(_('Unknown state "%s".') % str(message.state)[:MOST_NAME])
        _check_length('StateReason', message.reason, MOST_REASON)
        if message.reason_data is not None:
            _check_length('StateReasonData', message.reason_data, MOST_REASON_DATA)
        project_id = context.owning_project()

        def change(tx: Connection) -> AfterCommit:
            alarms.lock(tx, project_id)
            [before] = self._all(tx, project_id, [message.name])
            if before.state == SUSPENDED:
                raise exception.InvalidRestrictedAction(message=_(
                    'Alarm %s is suspended with its stack.') % before.name)
            now = evaluation.time(tx)
            at = moment(now)
            data = None if message.reason_data is None else {'given': message.reason_data}
            after = replace(alarms.with_state(before, message.state, message.reason, data, at),
                            version=before.version + 1)
            alarms.put(tx, after)
            if after.state == before.state:
                return lambda: None
            followed = transitions.store(tx, [Transition(before, after)], now, at, self._requests)
            _trim(tx, [after])
            return self._notes(tx, after, followed)

        self._database.retry(change)()

    def enable_actions(self, context: RequestContext, message: messages.EnableAlarmActions) -> None:
        """Enable or disable the actions of alarms; unknown ones are left out, as AWS does."""
        project_id, names = context.owning_project(), _names(message.names)

        def change(tx: Connection) -> None:
            alarms.lock(tx, project_id)
            at = moment(evaluation.time(tx))
            found = [each for each in alarms.named(tx, project_id, names)
                     if each.actions_enabled != message.enabled]
            for each in found:
                alarms.put(tx, replace(each, actions_enabled=message.enabled, version=each.version + 1, updated_at=at))
            text = _('Actions enabled') if message.enabled else _('Actions disabled')
            alarms.remember(tx, [_configured(each, text, 'Update', at) for each in found])
            _trim(tx, found)

        self._database.retry(change)

    # --- types --------------------------------------------------------------------------------------------

    def put(self, context: RequestContext, name: str, rule: AlarmRule, *, stack_id: str, resource_name: str,
            actions_enabled: bool = True) -> None:
        """Store the alarm of a resource. Idempotent. Raises HTTPBadRequest, LimitExceeded, and Conflict if the name
        belongs to another stack or to a user."""
        rule.check()
        self._put(context, name, rule, stack_id, resource_name, actions_enabled)

    def delete(self, context: RequestContext, name: str, stack_id: str) -> None:
        """Delete the alarm of that stack. Does nothing if there is none."""
        project_id = context.owning_project()

        def delete(tx: Connection) -> None:
            alarms.lock(tx, project_id)
            found = alarms.get(tx, project_id, name)
            if found is not None and found.stack_id == stack_id:
                self._remove(tx, [found])

        self._database.retry(delete)

    def show(self, context: RequestContext, name: str) -> Alarm | None:
        """Return the alarm of that name in the caller's project."""
        with self._database.reader() as tx:
            return alarms.get(tx, context.owning_project(), name)

    def suspend(self, context: RequestContext, name: str, stack_id: str) -> None:
        """Stop to evaluate the alarm of that stack. Raises EntityNotFound."""
        self._switch(context, name, stack_id, SUSPENDED)

    def resume(self, context: RequestContext, name: str, stack_id: str) -> None:
        """Begin to evaluate it again, without data at first. Raises EntityNotFound."""
        self._switch(context, name, stack_id, NODATA)

    # --- parts --------------------------------------------------------------------------------------------

    def _project_of(self, context: RequestContext) -> str:
        """The project whose data a caller stores: users inside stacks store them for the project of their stack."""
        given = context.owning_project()
        found: str | None = self._projects.get(given)
        if found is None:
            with self._database.reader() as tx:
                found = alarms.project_of(tx, given)
            self._projects.put(given, found)
        return found

    def _put(self, context: RequestContext, name: str, rule: AlarmRule, stack_id: str | None, resource_name: str | None,
             actions_enabled: bool | None) -> None:
        project_id = context.owning_project()
        _check_name(name)
        targets = [actions.parse(action, project_id, stack_id)
                   for action in (*rule.alarm_actions, *rule.ok_actions, *rule.insufficient_data_actions)]

        def put(tx: Connection) -> None:
            alarms.lock(tx, project_id)
            known = alarms.get(tx, project_id, name)
            if known is not None:
                self._check_free(tx, known, stack_id)
                if known.resource_name != resource_name and known.stack_id is not None:     # a refactor has renamed it
                    raise exception.Conflict(_('There is an alarm "%(name)s" already, that of resource %(resource)s.')
                                             % {'name': known.name, 'resource': known.resource_name})
            for target in targets:
                _check_target(tx, target, project_id, stack_id)
            now = evaluation.time(tx)
            if rule.period < MINUTE:
                metrics.refine(tx, project_id, rule.metric, now, self._settings.max_metrics)
            if rule.metric.namespace == own_metrics.NAMESPACE:          # the shard looks for such metrics
                metrics.identify(tx, project_id, {rule.metric.digest: rule.metric}, now, self._settings.max_metrics)
            new = self._changed(known, rule, actions_enabled, now) if known is not None else self._new(
                tx, project_id, name, rule, stack_id, resource_name, actions_enabled, now)
            if new == known:
                return
            alarms.put(tx, new)
            kind, text = ('Create', _('Alarm "%s" created')) if known is None else (
                'Update', _('Alarm "%s" updated'))
            alarms.remember(tx, [_configured(new, text % name, kind, moment(now))])
            _trim(tx, [new])

        self._database.retry(put)
        self._writer.forget(project_id, rule.metric)
        self._matching.forget(project_id)

    def _new(self, tx: Connection, project_id: str, name: str, rule: AlarmRule, stack_id: str | None,
             resource_name: str | None, actions_enabled: bool | None, now: float) -> Alarm:
        most = self._settings.max_alarms
        if not limits.has_room(most, lambda: alarms.count(tx, project_id)):
            raise exception.LimitExceeded(message=_(
                'The project has as many alarms as it may have, %d.') % most)
        shards.want(tx, shards.METRICS)             # its history has to be removed one day
        evaluated, due_at = evaluation.first_due(rule, now, self._settings.delay)
        at = moment(now)
        return Alarm(
            self._runtime.uuid(), project_id, name, stack_id, resource_name, rule, actions_enabled is not False, NODATA,
            _('The alarm was not evaluated yet.'), None, at, at, 1, evaluated, due_at)

    def _changed(self, known: Alarm, rule: AlarmRule, actions_enabled: bool | None, now: float) -> Alarm:
        """The alarm with another rule: its state remains until the next evaluation. `known` itself if nothing changes.
        """
        enabled = known.actions_enabled if actions_enabled is None else actions_enabled
        if (rule, enabled) == (known.rule, known.actions_enabled):
            return known
        found = replace(known, rule=rule, actions_enabled=enabled, version=known.version + 1, updated_at=moment(now))
        if rule.period != known.rule.period and known.state != SUSPENDED:
            evaluated, due_at = evaluation.first_due(rule, now, self._settings.delay)
            found = replace(found, evaluated=evaluated, due_at=due_at)
        return found

    def _switch(self, context: RequestContext, name: str, stack_id: str, state: str) -> None:
        project_id = context.owning_project()

        def switch(tx: Connection) -> None:
            alarms.lock(tx, project_id)
            [before] = self._all(tx, project_id, [name], stack_id)
            if (before.state == SUSPENDED) == (state == SUSPENDED):
                return
            now = evaluation.time(tx)
            evaluated, due_at = evaluation.first_due(before.rule, now, self._settings.delay)
            at = moment(now)
            reason = _('The stack is suspended.') if state == SUSPENDED else _('The stack was resumed.')
            after = replace(alarms.with_state(before, state, reason, None, at), version=before.version + 1,
                            evaluated=evaluated, due_at=alarms.NEVER if state == SUSPENDED else due_at)
            alarms.put(tx, after)
            alarms.remember(tx, [transitions.state_entry(Transition(before, after), at)])

        self._database.retry(switch)

    @staticmethod
    def _all(tx: Connection, project_id: str, names: Sequence[str], stack_id: str | None = None) -> list[Alarm]:
        """These alarms, of that stack if one is given. Raises EntityNotFound for the first that is not there."""
        found = {each.name: each for each in alarms.named(tx, project_id, names)
                 if stack_id in (None, each.stack_id)}
        for name in names:
            if name not in found:
                raise exception.EntityNotFound(entity='Alarm', name=name)
        return list(found.values())

    @staticmethod
    def _check_free(tx: Connection, known: Alarm, stack_id: str | None) -> None:
        """Raise unless the alarm belongs to `stack_id` (None: to no stack, or to one that is gone)."""
        if known.stack_id == stack_id:
            return
        if stack_id is not None:
            raise exception.Conflict(_('There is an alarm "%s" already, which does not belong to this stack.')
                                     % known.name)
        if stacks.get(tx, str(known.stack_id)) is not None:
            raise exception.InvalidRestrictedAction(message=_(
                'Alarm "%(name)s" belongs to stack %(stack)s: update or delete the stack.') % {
                'name': known.name, 'stack': known.stack_id})

    def _remove(self, tx: Connection, found: Sequence[Alarm]) -> None:
        at = moment(evaluation.time(tx))
        alarms.remove(tx, found)
        alarms.remember(tx, [_configured(each, _('Alarm "%s" deleted') % each.name, 'Delete', at) for each in found])

    def _notes(self, tx: Connection, alarm: Alarm, followed: Followed) -> AfterCommit:
        """What to do after the commit: wake up the owners of stacks with signals, and of the shard with requests."""
        lease_id = shards.lease_id(alarm.shard)
        owner = leases.owner(tx, lease_id) if followed.webhooks else None

        def tell() -> None:
            self._tell(followed)
            if owner is not None:
                self._wake(lease_id, owner)

        return tell


def _trim(tx: Connection, changed: Sequence[Alarm]) -> None:
    """Bound the histories of alarms to which a request has added something. Those that grow by evaluations alone are
    bounded by time."""
    for each in changed:
        alarms.trim_history(tx, each.project_id, each.name, limits.MOST_HISTORY, TRIMMED)


# --- checks ------------------------------------------------------------------------------------------------

def _check_target(tx: Connection, target: object, project_id: str, stack_id: str | None) -> None:
    """Raise HTTPBadRequest for a resource that is not there, or belongs to another project: the answers do not differ.

    The resources of the alarm's own stack may be made after it.
    """
    if not isinstance(target, actions.ToResource) or target.stack_id == stack_id:
        return
    found = stacks.identity(tx, target.stack_id)
    if (found is None or found.project_id != project_id or found.deleted_at is not None
            or not resources.named(tx, target.stack_id, target.name)):
        raise exception.HTTPBadRequest(_('The action names the resource %s, which is not there.') % target.shown)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= MOST_NAME:
        raise exception.HTTPBadRequest(_('The name of an alarm has 1 to %d characters.') % MOST_NAME)
    if not name.isprintable() or name != name.encode('utf-8', 'replace').decode():
        raise exception.HTTPBadRequest(_('The name of an alarm has printable characters only.'))


def _names(names: Sequence[str]) -> list[str]:
    if not names or len(names) > MOST_NAMES:
        raise exception.HTTPBadRequest(_('A request names 1 to %d alarms.') % MOST_NAMES)
    for name in names:
        _check_name(name)
    return list(dict.fromkeys(names))


def _check_length(what: str, text: object, most: int) -> None:
    if not isinstance(text, str) or len(text) > most:
        raise exception.HTTPBadRequest(_('%(what)s is a text of at most %(most)d characters.')
                                       % {'what': what, 'most': most})


def _configured(alarm: Alarm, summary: str, kind: str, at: datetime) -> HistoryEntry:
    """An entry of the history for a change of the rule. `kind`: Create, Update or Delete."""
    rule: Mapping[str, object] = {name: value for name, value in alarm.rule.to_json().items()
                               if not name.endswith('_actions')}
    return HistoryEntry(alarm.id, alarm.project_id, alarm.name, alarms.CONFIGURATION, summary,
                        {'version': '1.0', 'type': kind, 'rule': rule}, at)
