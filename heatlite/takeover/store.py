"""Stores a tree that was taken over: each tree in one transaction, over an earlier copy of it if there is one."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

import sqlalchemy as sa

from heatlite.common import crypt, exception
from heatlite.common.i18n import _
from heatlite.db import (
    codec,
    credentials,
    events,
    leases,
    presence,
    resources,
    snapshots,
    software_configs,
    software_deployments,
    stacks,
    take_overs,
    templates,
    upkeep,
)
from heatlite.db.bulk import Times, chunks, texts
from heatlite.db.changes import DATUM
from heatlite.db.credentials import Credentials
from heatlite.db.software_configs import Config
from heatlite.db.software_deployments import Deployment
from heatlite.db.tables import software_config, software_deployment, stack, taken_over
from heatlite.planning.states import Status
from heatlite.takeover.convert import MARK, ConvertedStack, ConvertedTree, NotConvertible

Row = TypeVar('Row', Config, Deployment)


class Present(StrEnum):
    """What heatlite has of a tree."""

    NOTHING = 'nothing'
    EQUAL = 'equal'                         # as it is in Heat
    OLD = 'old'                             # an earlier copy, as it was taken over
    CHANGED = 'changed'                     # heatlite has worked on it since, or it was never taken over
    GONE = 'gone'                           # it was taken over, and heatlite has deleted and purged it since


def present(tx: sa.Connection, marks: Mapping[str, str | None]) -> dict[str, Present]:
    """Return what is there of each of these trees. `marks`: root -> its mark in Heat, None if it is gone there.

    Three statements for each 500: primary keys, and (root_id, depth).
    """
    known: dict[str, str | None] = {}
    driven: set[str] = set()
    for chunk in chunks(marks):
        known.update((row.id, (codec.decode(row.request) or {}).get(MARK)) for row in tx.execute(
            sa.select(stack.c.id, stack.c.request).where(stack.c.id.in_(chunk))))
        driven |= leases.driven_trees(tx, chunk)
    taken = take_overs.sources(tx, marks.keys() - known.keys())
    return {root_id: (Present.GONE if root_id in taken else Present.NOTHING) if root_id not in known
            else Present.CHANGED if known[root_id] is None or root_id in driven
            else Present.EQUAL if known[root_id] == mark else Present.OLD for root_id, mark in marks.items()}


def put(tx: sa.Connection, whole: ConvertedTree, source: str, now: datetime) -> Present:
    """Store the tree, unless heatlite has worked on its copy, has it already, or has deleted it; return what was there.
    `source`: which Heat it comes from.

    Raises StackExists when another stack of the project has the name, and ProjectMoves when the project is in another
    cell.
    """
    root = whole.root.row
    presence.enter(tx, root.project_id)
    is_there = leases.lock(tx, root.id)
    found = present(tx, {root.id: (root.request or {}).get(MARK)})[root.id]
    if found not in (Present.NOTHING, Present.OLD):
        return found
    if is_there:
        upkeep.remove_tree(tx, root.id)
    take_overs.record(tx, root.id, source)
    for authority in whole.credentials:
        credentials.insert(tx, sealed(authority))
    for each in whole.stacks:
        _insert(tx, each, now)
    _insert_events(tx, whole)
    return found


@dataclass(frozen=True)
class Copy:
    """A live root. `is_copy`: it was taken over and not updated since; `source`: from which Heat, None: unknown."""

    id: str
    project_id: str
    is_copy: bool
    source: str | None


def copies(tx: sa.Connection, project_id: str | None, after: str, limit: int) -> list[Copy]:
    """Live roots with ids greater than `after`, by id. `project_id` None: of all projects."""
    query = sa.select(stack.c.id, stack.c.project_id, stack.c.request, taken_over.c.source).outerjoin(
        taken_over, taken_over.c.root_id == stack.c.id).where(
        stack.c.owner_id.is_(None), stack.c.live == 1, stack.c.id > after)
    if project_id is not None:
        query = query.where(stack.c.project_id == project_id)
    return [Copy(row.id, row.project_id, MARK in (codec.decode(row.request) or {}), row.source)
            for row in tx.execute(query.order_by(stack.c.id).limit(limit))]


def remove(tx: sa.Connection, root_id: str) -> bool:
    """Remove the copy of a tree that is gone in Heat, unless heatlite has worked on it."""
    if not leases.lock(tx, root_id) or present(tx, {root_id: None})[root_id] is not Present.OLD:
        return False
    upkeep.remove_tree(tx, root_id)
    take_overs.forget(tx, root_id)
    return True


def _insert(tx: sa.Connection, found: ConvertedStack, now: datetime) -> None:
    row = found.row
    leases.insert(tx, row.id, None, wanted=row.status == Status.IN_PROGRESS and row.deleted_at is None)
    stacks.insert(tx, row)
    for source in found.sources.values():
        templates.insert(tx, source.id, source.document, source.environment, source.files or None, now,
                         stack_id=row.id, is_nested=row.owner_id is not None)
    resources.insert_many(tx, row.id, [member.state for member in found.members],
                          {member.state.id: member.columns for member in found.members})
    seal = tx.get_execution_options().get('seal') or str
    data = []
    for member in found.members:
        for datum in member.data:
            method, value = crypt.encrypt(datum.value) if datum.redact else (None, seal(codec.clean(str(datum.value))))
            data.append((row.id, member.state.id, datum.key, value, method))
    texts(tx.dialect.name).insert(tx, 'resource_data', DATUM, data)
    for snapshot in found.snapshots:
        snapshots.insert(tx, snapshot)


def _insert_events(tx: sa.Connection, whole: ConvertedTree) -> None:
    """In the order in which Heat numbered them, across all stacks of the tree: times have whole seconds there."""
    numbered = sorted(((number, each.row.id, event) for each in whole.stacks for number, event in each.events),
                      key=lambda each: each[0])
    time, encode = Times(), codec.encoder(tx)
    texts(tx.dialect.name).insert(tx, 'event', events.EVENT, [
        events.event_values(stack_id, event, time, encode) for _number, stack_id, event in numbered])


def sealed(authority: Credentials) -> Credentials:
    """Return the credentials with our encryption."""
    method, trust = crypt.encrypt(authority.trust_id)
    other, password = crypt.encrypt(authority.password)
    return replace(authority, trust_id=trust, password=password, method=method or other)


# --- software configs and deployments ----------------------------------------------------------------------

def put_configs(tx: sa.Connection, found: Sequence[Config]) -> tuple[int, list[NotConvertible]]:
    """Store those configs that are not there: configs never change. Returns how many."""
    present_ids = there(tx, software_config, [each.id for each in found])
    new, refused = _entered(tx, 'software_config', [each for each in found if each.id not in present_ids])
    for each in new:
        software_configs.insert(tx, each)
    return len(new), refused


def put_deployments(tx: sa.Connection, found: Sequence[Deployment]) -> tuple[int, list[NotConvertible]]:
    """Store deployments, over older states of them. Returns how many, and those whose configs are missing."""
    wanted, refused = changed_deployments(tx, found, there(tx, software_config, [each.config_id for each in found]))
    wanted, elsewhere = _entered(tx, 'software_deployment', wanted)
    for each in wanted:
        software_deployments.delete(tx, each.id)
        software_deployments.insert(tx, each)
    return len(wanted), [*elsewhere, *refused]


def _entered(tx: sa.Connection, kind: str, found: Sequence[Row]) -> tuple[list[Row], list[NotConvertible]]:
    """Return those whose projects are in this cell, which stay there until the end of `tx`, and the others."""
    outside = set()
    for project_id in sorted({each.project_id for each in found}):
        try:
            presence.enter(tx, project_id)
        except exception.ProjectMoves:
            outside.add(project_id)
    return ([each for each in found if each.project_id not in outside],
            [NotConvertible(f'{kind} {each.id}', elsewhere()) for each in found if each.project_id in outside])


def elsewhere() -> str:
    """Why rows of a project that has left this cell are refused."""
    return _('its project is in another cell, see "heatlite-manage cells list"')


def changed_deployments(tx: sa.Connection, found: Sequence[Deployment],
                        configs: Container[str]) -> tuple[list[Deployment], list[NotConvertible]]:
    """Those that are not there, or in older states, and those whose configs are not in `configs`."""
    present_ids = there(tx, software_deployment, [each.id for each in found])
    wanted, refused = [], []
    for each in found:
        known = software_deployments.show(tx, each.id) if each.id in present_ids else None
        if each.config_id not in configs:
            refused.append(NotConvertible(f'software_deployment {each.id}',
                                          _('its config %s is missing') % each.config_id))
        elif known is None or not (known == each or _changed(known) > _changed(each)):
            wanted.append(each)             # times of Heat have whole seconds: of equal ones, Heat's row is newer
    return wanted, refused


def _changed(found: Deployment) -> datetime:
    return found.updated_at or found.created_at


def there(tx: sa.Connection, table: sa.Table, ids: Sequence[str]) -> set[str]:
    """Those of these ids that the table has. By primary key."""
    return {each for chunk in chunks(ids) for each in tx.execute(
        sa.select(table.c.id).where(table.c.id.in_(chunk))).scalars()}
