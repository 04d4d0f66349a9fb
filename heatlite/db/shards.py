"""Leases of work that belongs to no stack: the alarms of a share of the projects, and the upkeep of metrics.

They are rows of `lease` like those of stacks, with the same owners, epochs and deadlines. A row exists once there was
work; without work it is not `wanted`, and no engine reads it.
"""

from __future__ import annotations

from zlib import crc32

import sqlalchemy as sa

from heatlite.db import bulk
from heatlite.db.connection import certifies
from heatlite.db.leases import COLUMNS, Lease
from heatlite.db.tables import lease

PREFIX = 'alarms-'
COUNT = 16                                  # of shards
METRICS = 'alarms-metrics'                  # the lease of the upkeep of metrics and of the history


def of_project(project_id: str) -> int:
    """Return the shard with the alarms of a project."""
    return crc32(project_id.encode()) % COUNT


def lease_id(shard: int) -> str:
    return f'{PREFIX}{shard:02d}'


def number(lease_id: str) -> int | None:
    """Return the shard of a lease; None for the lease METRICS."""
    return None if lease_id == METRICS else int(lease_id[len(PREFIX):])


def is_shard(lease_id: str) -> bool:
    """Whether a lease belongs to no stack. Ids of stacks are UUIDs."""
    return lease_id.startswith(PREFIX)


def want(tx: sa.Connection, lease_id: str) -> None:
    """Mark that there is work: a sweep of some engine will find it. Locks the lease until the end of `tx`."""
    bulk.texts(tx.dialect.name).upsert(tx, 'lease', COLUMNS, ('stack_id',), [(lease_id, None, 1, True)],
                                       ('engine_id', 'epoch'), 'writes')


def lock_exclusive(tx: sa.Connection, known: Lease) -> bool:
    """Lock the lease until the end of `tx`, which no other transaction may at the same time. False if it has another
    owner or epoch by now: nothing may be written."""
    row = tx.execute(sa.select(lease.c.engine_id, lease.c.epoch).where(
        lease.c.stack_id == known.stack_id).with_for_update()).first()
    if row is None or (row.engine_id, row.epoch) != (known.engine_id, known.epoch):
        return False
    if certifies(tx):
        tx.execute(lease.update().where(lease.c.stack_id == known.stack_id).values(writes=lease.c.writes + 1))
    return True
