"""The tables `alarm`, `alarm_history` and `alarm_webhook`: rules with their states, what happened, requests to be sent.

A transaction that changes an alarm calls `lock` first: it then waits for an evaluation that is being written, and the
next one reads the change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from heatlite.db import bulk, codec, presence, shards, texts
from heatlite.db.listing import after
from heatlite.db.tables import alarm, alarm_history, alarm_webhook, metric, stack
from heatlite.monitoring.alarms import SUSPENDED, AlarmRule, Metric

CONFIGURATION, STATE, ACTION = KINDS = ('ConfigurationUpdate', 'StateUpdate', 'Action')
NEVER: Final = 1e15                         # `due_at` of an alarm that is not evaluated


@dataclass(frozen=True)
class Alarm:
    """An alarm, and its state after the last evaluation. Times without a unit are UTC."""

    id: str
    project_id: str
    name: str
    stack_id: str | None                    # the stack that has it as a resource
    resource_name: str | None
    rule: AlarmRule
    actions_enabled: bool
    state: str                              # monitoring.alarms.STATES
    reason: str
    reason_data: Mapping[str, object] | None
    state_at: datetime
    updated_at: datetime                    # of the rule
    version: int                            # grows with each change that is no evaluation
    evaluated: int                          # end of the last evaluated period, seconds since 1970
    due_at: float                           # of the next evaluation, seconds since 1970

    @property
    def shard(self) -> int:
        return shards.of_project(self.project_id)


@dataclass(frozen=True)
class HistoryEntry:
    """One entry of the history. `kind`: one of KINDS; `id` None: not stored yet."""

    alarm_id: str
    project_id: str
    name: str
    kind: str
    summary: str
    data: Mapping[str, object] | None
    created_at: datetime
    id: int | None = None


@dataclass(frozen=True)
class Webhook:
    """A request to be sent. `attempts`: how many have failed. `url` and `body` are Unreadable where they cannot be
    decoded."""

    id: int
    alarm_id: str
    project_id: str
    name: str
    url: str | codec.Unreadable
    body: Mapping[str, object] | codec.Unreadable
    attempts: int


@dataclass(frozen=True)
class Ahead:
    """An alarm that waits for a time far ahead. `period`: seconds; the other fields as those of Alarm."""

    id: str
    evaluated: int
    period: int


COLUMNS = codec.columns(alarm, Alarm)
_EVALUATED = [column if column.name != 'reason_data' else sa.null().label('reason_data') for column in COLUMNS]
_ENTRY = ('alarm_id', 'project_id', 'name', 'kind', 'summary', 'data', 'created_at')
_WEBHOOK = ('alarm_id', 'project_id', 'shard', 'name', 'url', 'body', 'attempts', 'due_at', 'created_at')
_entry = codec.reader(HistoryEntry, 'data', decode=codec.document_or_none)
_webhook = codec.reader(Webhook, 'url', 'body', decode=codec.decode_each)


def _alarm(row: Sequence[Any]) -> Alarm:
    values = list(row[:len(COLUMNS)])
    values[5] = AlarmRule.stored(codec.decode(values[5]))
    values[6] = bool(values[6])
    values[9] = codec.decode(values[9])
    return Alarm(*values)


def project_of(tx: sa.Connection, project_id: str) -> str:
    """Return the project whose metrics and alarms a caller of that project uses: users inside stacks have projects of
    their own, and use those of their stack. Index: (user_project_id)."""
    found = tx.execute(sa.select(stack.c.project_id).where(
        stack.c.user_project_id == project_id, stack.c.deleted_at.is_(None)).limit(1)).scalar()
    return project_id if found is None else str(found)


# --- changes -----------------------------------------------------------------------------------------------

def lock(tx: sa.Connection, project_id: str) -> None:
    """Until the end of `tx`, no alarm of the project is evaluated; later a sweep will find that there is work.

    Raises ProjectMoves for a project that has left this cell.
    """
    presence.enter(tx, project_id)
    shards.want(tx, shards.lease_id(shards.of_project(project_id)))


def put(tx: sa.Connection, new: Alarm) -> None:
    """Insert an alarm, or overwrite the one with its id."""
    values = {column.name: getattr(new, column.name) for column in COLUMNS}
    encode = codec.encoder(tx)
    values.update(
        shard=new.shard, digest=new.rule.metric.digest, period=new.rule.period, rule=encode(new.rule.to_json()),
        reason=codec.stored_text('reason', new.reason), reason_data=codec.encode_or_null(new.reason_data, encode))
    known = tx.execute(alarm.update().where(alarm.c.id == new.id).values(**values))
    if not known.rowcount:
        tx.execute(alarm.insert().values(**values))


def remove(tx: sa.Connection, alarms: Iterable[Alarm]) -> None:
    """Remove alarms and the requests of theirs that were not sent. Their history remains.

    Of the requests, those of the shard are read. Indexes: primary key, (shard, due_at).
    """
    by_shard: dict[int, list[str]] = {}
    for each in alarms:
        by_shard.setdefault(shards.of_project(each.project_id), []).append(each.id)
    for shard, numbers in by_shard.items():
        for chunk in bulk.chunks(numbers):
            tx.execute(alarm.delete().where(alarm.c.id.in_(chunk)))
            tx.execute(alarm_webhook.delete().where(
                alarm_webhook.c.shard == shard, alarm_webhook.c.alarm_id.in_(chunk)))


def remember(tx: sa.Connection, entries: Iterable[HistoryEntry]) -> None:
    """Add entries to the history, in the order given."""
    encode, time = codec.encoder(tx), bulk.Times()
    bulk.texts(tx.dialect.name).insert(tx, 'alarm_history', _ENTRY, [
        (each.alarm_id, each.project_id, each.name, each.kind, codec.stored_text('summary', each.summary),
         codec.encode_or_null(each.data, encode), time(each.created_at)) for each in entries])


# --- reading -----------------------------------------------------------------------------------------------

def get(tx: sa.Connection, project_id: str, name: str) -> Alarm | None:
    """Index: (project_id, name)."""
    return next(iter(named(tx, project_id, [name])), None)


def named(tx: sa.Connection, project_id: str, names: Iterable[str]) -> list[Alarm]:
    """Those of these alarms that there are, in the order of their names. Index: (project_id, name)."""
    wanted = frozenset(names)
    found = [_alarm(row) for chunk in bulk.chunks(wanted) for row in tx.execute(sa.select(*COLUMNS).where(
        alarm.c.project_id == project_id, alarm.c.name.in_(chunk)))]
    return sorted((each for each in found if each.name in wanted), key=lambda each: each.name)


def page(tx: sa.Connection, project_id: str, prefix: str | None = None, state: str | None = None,
         marker: str | None = None, limit: int = 100) -> list[Alarm]:
    """At most `limit` alarms of a project in the order of their names, after the name `marker`.

    Index: (project_id, name).
    """
    query = sa.select(*COLUMNS).where(alarm.c.project_id == project_id)
    if prefix:
        # The second condition because LIKE makes no difference between upper and lower case on SQLite.
        query = query.where(alarm.c.name.startswith(prefix, autoescape=True),
                            sa.func.substr(alarm.c.name, 1, len(prefix)) == prefix)
    if state is not None:
        query = query.where(alarm.c.state == state)
    if marker is not None:
        query = query.where(alarm.c.name > marker)
    return [_alarm(row) for row in tx.execute(query.order_by(alarm.c.name).limit(limit))]


def for_metric(tx: sa.Connection, project_id: str, wanted: Metric, statistic: str | None = None,
               period: int | None = None, unit: str | None = None) -> list[Alarm]:
    """Return the alarms of a metric, in the order of their names. Index: (project_id, digest)."""
    found = [_alarm(row) for row in tx.execute(sa.select(*COLUMNS).where(
        alarm.c.project_id == project_id, alarm.c.digest == wanted.digest))]
    return sorted((each for each in found if statistic in (None, each.rule.statistic)
                   and period in (None, each.rule.period) and unit in (None, each.rule.unit)),
                  key=lambda each: each.name)


def metrics_of_stacks(tx: sa.Connection, project_id: str) -> list[Metric]:
    """Return the metrics of all alarms that are resources of stacks. Index: (project_id, name)."""
    found: dict[str, str] = {}
    for digest, rule in tx.execute(sa.select(alarm.c.digest, alarm.c.rule).where(
            alarm.c.project_id == project_id, alarm.c.stack_id.is_not(None))):
        found.setdefault(digest, rule)
    return [AlarmRule.stored(codec.decode(rule)).metric for rule in found.values()]


def watched(tx: sa.Connection, shard: int, namespace: str) -> dict[str, list[Metric]]:
    """Return the metrics of a namespace that have alarms in the shard, by project. Indexes: (shard, due_at) of alarms,
    (project_id, digest) of metrics."""
    found: dict[str, list[Metric]] = {}
    for project_id, name, dimensions in tx.execute(
            sa.select(metric.c.project_id, metric.c.name, metric.c.dimensions).distinct().join_from(
                alarm, metric, sa.and_(metric.c.project_id == alarm.c.project_id, metric.c.digest == alarm.c.digest))
            .where(alarm.c.shard == shard, metric.c.namespace == namespace)):
        found.setdefault(project_id, []).append(Metric(namespace, name, tuple([
            (each, value) for each, value in codec.decode(dimensions)])))
    return found


def count(tx: sa.Connection, project_id: str) -> int:
    """Index: (project_id, name)."""
    return int(tx.execute(sa.select(sa.func.count()).select_from(alarm)
                          .where(alarm.c.project_id == project_id)).scalar_one())


def history(tx: sa.Connection, project_id: str, name: str | None = None, kind: str | None = None,
            begin: datetime | None = None, end: datetime | None = None, ascending: bool = False,
            marker: int | None = None, limit: int = 100) -> list[HistoryEntry]:
    """At most `limit` entries within [begin, end], the newest first unless `ascending`, after the entry `marker`.

    Index: (project_id, name, id), or (project_id, id) without a name.
    """
    table = alarm_history.c
    columns = (table[each] for each in HistoryEntry.__dataclass_fields__)
    query = sa.select(*columns).where(table.project_id == project_id)
    for column, value in ((table.name, name), (table.kind, kind)):
        if value is not None:
            query = query.where(texts.is_exactly(column, value))
    if begin is not None:
        query = query.where(table.created_at >= begin)
    if end is not None:
        query = query.where(table.created_at <= end)
    if marker is not None:
        query = query.where(after((table.id,), (marker,), ascending))
    rows = tx.execute(query.order_by(table.id.asc() if ascending else table.id.desc()).limit(limit))
    return [_entry(row) for row in rows]


# --- evaluation --------------------------------------------------------------------------------------------

def due(tx: sa.Connection, shard: int, now: float, limit: int) -> list[tuple[Alarm, int | None]]:
    """At most `limit` alarms to be evaluated, without `reason_data`, each with the id of its metric, or None.

    Index: (shard, due_at).
    """
    query = sa.select(*_EVALUATED, metric.c.id).outerjoin_from(
        alarm, metric, sa.and_(metric.c.project_id == alarm.c.project_id, metric.c.digest == alarm.c.digest)).where(
        alarm.c.shard == shard, alarm.c.due_at <= now).order_by(alarm.c.due_at).limit(limit)
    return [(_alarm(row), row[-1]) for row in tx.execute(query)]


def ahead(tx: sa.Connection, shard: int, now: float, beyond: float, limit: int) -> list[Ahead]:
    """At most `limit` alarms that are due more than their period and `beyond` seconds after `now`: the clock was set
    back. Reads no rule. Index: (shard, due_at)."""
    query = sa.select(*codec.columns(alarm, Ahead)).where(
        alarm.c.shard == shard, alarm.c.due_at > now + beyond, alarm.c.due_at > now + beyond + alarm.c.period,
        alarm.c.state != SUSPENDED).limit(limit)
    return [Ahead(*row) for row in tx.execute(query)]


def put_off_first(tx: sa.Connection, shard: int, due_at: float) -> None:
    """Set when the alarm that is due first is due next. Reads no rule. Index: (shard, due_at)."""
    first = tx.execute(sa.select(alarm.c.id).where(alarm.c.shard == shard).order_by(alarm.c.due_at).limit(1)).scalar()
    tx.execute(alarm.update().where(alarm.c.id == first).values(due_at=due_at))


def advance(tx: sa.Connection, evaluated: Sequence[Alarm | Ahead], end: int, due_at: float) -> int:
    """Store that these alarms, whose `evaluated` is equal, were evaluated until `end`; return how many there were.

    An alarm that was changed or evaluated meanwhile is left as it is.
    """
    total = 0
    for chunk in bulk.chunks(each.id for each in evaluated):
        total += tx.execute(alarm.update().where(
            alarm.c.id.in_(chunk), alarm.c.evaluated == evaluated[0].evaluated)
            .values(evaluated=end, due_at=due_at)).rowcount
    return total


def change_state(tx: sa.Connection, new: Alarm, before: Alarm) -> bool:
    """Store the state of `new` and when it is due. False if the alarm is no longer as `before`."""
    done = tx.execute(alarm.update().where(
        alarm.c.id == before.id, alarm.c.version == before.version, alarm.c.evaluated == before.evaluated).values(
        state=new.state, reason=codec.stored_text('reason', new.reason), state_at=new.state_at, version=new.version,
        reason_data=codec.encode_or_null(new.reason_data, codec.encoder(tx)), evaluated=new.evaluated,
        due_at=new.due_at))
    return bool(done.rowcount)


def first_alarm(shard: int) -> sa.ScalarSelect[object]:
    """Return a part of a statement: when the next alarm of the shard is due, or null. Index: (shard, due_at)."""
    return sa.select(sa.func.min(alarm.c.due_at)).where(alarm.c.shard == shard).scalar_subquery()


def first_request(shard: int) -> sa.ScalarSelect[object]:
    """Return a part of a statement: when the next request of the shard is due, or null. Index: (shard, due_at)."""
    return sa.select(sa.func.min(alarm_webhook.c.due_at)).where(alarm_webhook.c.shard == shard).scalar_subquery()


def next_due(tx: sa.Connection, shard: int) -> float | None:
    """When the next alarm or request of the shard is due; None: there is neither. One statement."""
    found = tx.execute(sa.select(first_alarm(shard), first_request(shard))).one()
    return min((each for each in found if each is not None), default=None)


# --- requests to be sent -----------------------------------------------------------------------------------

def queue(tx: sa.Connection, new: Iterable[Webhook], due_at: float, at: datetime) -> None:
    """Store requests to be sent; their ids are not used."""
    encode, time = codec.encoder(tx), bulk.Times()
    bulk.texts(tx.dialect.name).insert(tx, 'alarm_webhook', _WEBHOOK, [
        (each.alarm_id, each.project_id, shards.of_project(each.project_id), each.name, encode(each.url),
         encode(each.body), each.attempts, due_at, time(at)) for each in new])


def waiting(tx: sa.Connection, shard: int, now: float, limit: int, but: Collection[str] = ()) -> list[Webhook]:
    """At most `limit` requests that are due, none of the projects `but`. Index: (shard, due_at)."""
    columns = codec.columns(alarm_webhook, Webhook)
    query = sa.select(*columns).where(alarm_webhook.c.shard == shard, alarm_webhook.c.due_at <= now)
    if but:
        query = query.where(alarm_webhook.c.project_id.not_in(but))
    return [_webhook(row) for row in tx.execute(query.order_by(alarm_webhook.c.due_at).limit(limit))]


def requests_by_project(tx: sa.Connection, shard: int) -> dict[str, int]:
    """How many requests of each project of the shard wait. Reads all of them. Index: (shard, due_at)."""
    return dict(tx.execute(sa.select(alarm_webhook.c.project_id, sa.func.count()).where(
        alarm_webhook.c.shard == shard).group_by(alarm_webhook.c.project_id)).tuples().all())


def postpone(tx: sa.Connection, sent: Webhook, due_at: float) -> bool:
    """Count a failed attempt. False if the request is gone."""
    return bool(tx.execute(alarm_webhook.update().where(alarm_webhook.c.id == sent.id).values(
        attempts=sent.attempts + 1, due_at=due_at)).rowcount)


def sent(tx: sa.Connection, done: Webhook) -> bool:
    """Remove a request that was answered, or has failed too often. False if it is gone."""
    return bool(tx.execute(alarm_webhook.delete().where(alarm_webhook.c.id == done.id)).rowcount)


def has_history(tx: sa.Connection) -> bool:
    """Whether there is any entry."""
    return tx.execute(sa.select(alarm_history.c.id).limit(1)).first() is not None


def purge_history(tx: sa.Connection, before: datetime, limit: int) -> int:
    """Remove at most `limit` entries that are older; return how many. Index: (created_at)."""
    old = list(tx.execute(sa.select(alarm_history.c.id).where(alarm_history.c.created_at < before)
                          .order_by(alarm_history.c.created_at).limit(limit)).scalars())
    for chunk in bulk.chunks(old):
        tx.execute(alarm_history.delete().where(alarm_history.c.id.in_(chunk)))
    return len(old)


def trim_history(tx: sa.Connection, project_id: str, name: str, most: int, limit: int) -> int:
    """Remove the oldest entries of an alarm beyond `most`, at most `limit`; return how many. One SELECT if there are
    no more than `most`. Index: (project_id, name, id)."""
    table = alarm_history.c
    of_alarm = sa.select(table.id).where(table.project_id == project_id, texts.is_exactly(table.name, name))
    newest = tx.execute(of_alarm.order_by(table.id.desc()).offset(most).limit(1)).scalar()
    if newest is None:
        return 0
    old = list(tx.execute(of_alarm.where(table.id <= newest).order_by(table.id).limit(limit)).scalars())
    tx.execute(alarm_history.delete().where(table.id.in_(old)))
    return len(old)


def with_state(found: Alarm, state: str, reason: str, reason_data: Mapping[str, object] | None, at: datetime) -> Alarm:
    """Return the alarm in another state."""
    return replace(found, state=state, reason=reason, reason_data=reason_data, state_at=at)
