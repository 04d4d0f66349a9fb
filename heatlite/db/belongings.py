"""The rows of one project in all tables: how they are found, read in portions, and removed.

`TABLES` is the list; a test compares it with all tables there are. Not in it are tables of a cell, such as engines and
leases: leases are made anew where the project arrives (db.presence).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from heatlite.db.bulk import chunks
from heatlite.db.credentials import replaced_ids
from heatlite.db.tables import (
    alarm,
    alarm_history,
    alarm_webhook,
    credentials,
    drift,
    event,
    files,
    forced_delete,
    guard,
    metric,
    metric_period,
    plan,
    plan_permission,
    resource,
    resource_data,
    revision,
    signal,
    signal_error,
    snapshot,
    software_config,
    software_deployment,
    stack,
    stack_tag,
    template,
)

PROJECT, STACK, PLAN, METRIC, TEMPLATE, FILES, CREDENTIALS = (
    'project', 'stack', 'plan', 'metric', 'template', 'files', 'credentials')
OWNERS_AT_ONCE = 100                        # whose rows one statement looks for
MANY, FEW = 500, 20                         # rows in one portion; of tables with documents


@dataclass(frozen=True)
class Belonging:
    """A table, the column that names whom a row belongs to, and what that is.

    `is_numbered`: the database gives the numbers of its rows.
    """

    table: sa.Table
    column: sa.Column[object]
    owner: str
    portion: int = MANY
    is_numbered: bool = False


# In the order in which rows are copied. They are removed in the opposite one, so that a removal which was interrupted
# finds the rest: what refers to other rows goes after them.
TABLES = (
    Belonging(stack, stack.c.project_id, PROJECT),
    Belonging(stack_tag, stack_tag.c.stack_id, STACK),
    Belonging(resource, resource.c.stack_id, STACK),
    Belonging(resource_data, resource_data.c.stack_id, STACK),
    Belonging(event, event.c.stack_id, STACK, is_numbered=True),
    Belonging(signal, signal.c.stack_id, STACK, is_numbered=True),
    Belonging(signal_error, signal_error.c.stack_id, STACK),
    Belonging(snapshot, snapshot.c.stack_id, STACK, FEW),
    Belonging(revision, revision.c.stack_id, STACK),
    Belonging(guard, guard.c.stack_id, STACK),
    Belonging(drift, drift.c.stack_id, STACK),
    Belonging(forced_delete, forced_delete.c.stack_id, STACK),
    Belonging(credentials, credentials.c.id, CREDENTIALS),
    Belonging(template, template.c.id, TEMPLATE, FEW),
    Belonging(files, files.c.id, FILES, FEW),
    Belonging(plan, plan.c.project_id, PROJECT, FEW),
    Belonging(plan_permission, plan_permission.c.plan_id, PLAN),
    Belonging(software_config, software_config.c.project_id, PROJECT, FEW),
    Belonging(software_deployment, software_deployment.c.project_id, PROJECT, FEW),
    Belonging(metric, metric.c.project_id, PROJECT, is_numbered=True),
    Belonging(metric_period, metric_period.c.metric_id, METRIC),
    Belonging(alarm, alarm.c.project_id, PROJECT),
    Belonging(alarm_history, alarm_history.c.project_id, PROJECT, is_numbered=True),
    Belonging(alarm_webhook, alarm_webhook.c.project_id, PROJECT, is_numbered=True),
)

Row = Mapping[str, object]


class Belongings:
    """The rows of a project in one database, while nothing changes them. The ids of what owns rows are read once."""

    def __init__(self, tx: sa.Connection, project_id: str) -> None:
        self.project_id = project_id
        self._owners: dict[str, list[object]] = {PROJECT: [project_id]}
        own = stack.c.project_id == project_id
        self._read(tx, STACK, sa.select(stack.c.id).where(own))
        self._read(tx, PLAN, sa.select(plan.c.id).where(plan.c.project_id == project_id))
        self._read(tx, METRIC, sa.select(metric.c.id).where(metric.c.project_id == project_id))
        self._read(tx, CREDENTIALS, sa.select(stack.c.credentials_id).where(own, stack.c.credentials_id.is_not(None)))
        self._owners[CREDENTIALS] += [
            each for present in self._owners[CREDENTIALS] for each in replaced_ids(str(present))]
        self._read_templates(tx)

    def _read(self, tx: sa.Connection, owner: str, query: sa.Select[tuple[object]]) -> None:
        self._owners[owner] = sorted(set(tx.execute(query).scalars()), key=str)

    def _read_templates(self, tx: sa.Connection) -> None:
        """Read which templates are the project's: one has its stack's id, but for old ones; then a row of the stack
        refers to it."""
        found: set[str] = set()
        for column in (stack.c.template_id, stack.c.previous_template_id):
            found.update(tx.execute(sa.select(column).where(
                stack.c.project_id == self.project_id, column.is_not(None))).scalars())
        for column, key in ((revision.c.template_id, revision.c.stack_id), (template.c.id, template.c.stack_id),
                            (resource.c.template_id, resource.c.stack_id)):
            for chunk in chunks(self._owners[STACK]):
                found.update(tx.execute(sa.select(column).where(
                    key.in_(chunk), column.is_not(None)).distinct()).scalars())
        self._owners[TEMPLATE] = [*sorted(found)]
        texts: set[str] = set()
        for chunk in chunks(self._owners[TEMPLATE]):
            texts.update(tx.execute(sa.select(template.c.files_id).where(
                template.c.id.in_(chunk), template.c.files_id.is_not(None))).scalars())
        self._owners[FILES] = [*sorted(texts)]

    def owners(self, owner: str) -> Sequence[object]:
        return self._owners[owner]

    def groups(self, belonging: Belonging) -> Iterator[sa.ColumnElement[bool]]:
        """Conditions that together find all rows of a table, each those of some owners."""
        owners = self._owners[belonging.owner]
        for start in range(0, len(owners), OWNERS_AT_ONCE):
            yield belonging.column.in_(owners[start:start + OWNERS_AT_ONCE])

    def event_numbers(self, tx: sa.Connection) -> list[int]:
        """Return the numbers of all events, ascending. Index: (stack_id, id)."""
        found: list[int] = []
        for chunk in chunks(self._owners[STACK]):
            found += tx.execute(sa.select(event.c.id).where(event.c.stack_id.in_(chunk))).scalars()
        return sorted(found)


def page(tx: sa.Connection, belonging: Belonging, group: sa.ColumnElement[bool],
         after: Sequence[object] | None) -> list[Row]:
    """Return the next rows of a group by primary key, at most a portion; `after`: the key of the last one before."""
    keys = list(belonging.table.primary_key.columns)
    query = sa.select(belonging.table).where(group)
    if after is not None:
        query = query.where(_beyond(keys, after))
    return [dict(row) for row in tx.execute(query.order_by(*keys).limit(belonging.portion)).mappings()]


def key_of(belonging: Belonging, row: Row) -> list[object]:
    return [row[column.name] for column in belonging.table.primary_key.columns]


def _beyond(keys: Sequence[sa.Column[object]], after: Sequence[object]) -> sa.ColumnElement[bool]:
    """Whether a key is greater: first columns are equal, the next one is greater."""
    return sa.or_(*(sa.and_(*(key == value for key, value in zip(keys[:count], after[:count], strict=True)),
                            keys[count] > after[count]) for count in range(len(keys))))


def remove(tx: sa.Connection, belonging: Belonging, group: sa.ColumnElement[bool]) -> int:
    """Delete a portion of a group; return how many. 0: no more."""
    keys = list(belonging.table.primary_key.columns)
    found = [tuple(row) for row in tx.execute(sa.select(*keys).where(group).order_by(*keys).limit(belonging.portion))]
    if not found:
        return 0
    wanted: sa.ColumnElement[bool] = keys[0].in_(sorted({row[0] for row in found}))
    if len(keys) > 1:
        wanted = sa.and_(wanted, sa.tuple_(*keys).in_(found))
    return int(tx.execute(belonging.table.delete().where(wanted)).rowcount)
