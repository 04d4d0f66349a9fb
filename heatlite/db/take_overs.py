"""The tables `taken_over` and `take_over_switch`: which trees came from which Heat, and which Heats were replaced.

A row of a tree stays when the tree is deleted and purged, so that no later run takes it over again.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from heatlite.db.bulk import Times, chunks, texts
from heatlite.db.tables import take_over_switch, taken_over

ALL_PROJECTS = ''                           # in place of the id of a project


def record(tx: sa.Connection, root_id: str, source: str) -> None:
    """Store from which Heat a tree was taken over. May be repeated, also with another one."""
    texts(tx.dialect.name).upsert(tx, 'taken_over', ('root_id', 'source'), ('root_id',), [(root_id, source)])


def forget(tx: sa.Connection, root_id: str) -> None:
    """Remove the row of a tree whose copy is removed because its Heat has deleted it."""
    tx.execute(taken_over.delete().where(taken_over.c.root_id == root_id))


def sources(tx: sa.Connection, root_ids: Collection[str]) -> dict[str, str]:
    """Return root -> from which Heat it was taken over, of those that were. By primary key."""
    return {row.root_id: row.source for chunk in chunks(root_ids) for row in tx.execute(
        sa.select(taken_over).where(taken_over.c.root_id.in_(chunk)))}


def switch(tx: sa.Connection, source: str, project_id: str | None, now: datetime) -> None:
    """Store that a Heat was replaced, for one project or for all (None). May be repeated."""
    texts(tx.dialect.name).upsert(tx, 'take_over_switch', ('source', 'project_id', 'switched_at'), (
        'source', 'project_id'), [(source, project_id or ALL_PROJECTS, Times()(now))])


def switches(tx: sa.Connection) -> set[tuple[str, str]]:
    """Return (Heat, project) of all that were replaced; the project is ALL_PROJECTS where all were."""
    return {(row.source, row.project_id) for row in tx.execute(sa.select(take_over_switch))}
