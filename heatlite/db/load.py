"""How much work there is, of all engines and projects: counts and ages only, no name or id of a stack.

Read for administrators while they look; no engine needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from heatlite.common.service_answers import ServiceAnswer
from heatlite.db.connection import clock
from heatlite.db.resource_lists import stored_wait
from heatlite.db.shards import PREFIX
from heatlite.db.tables import engine, lease, resource, signal, stack
from heatlite.planning.states import Status

MOST_WAITS = 5000                       # resources whose waits are read


@dataclass(frozen=True)
class RunningActions:
    """Root stacks with work, of one action. `since`: when the first of them began."""

    action: str
    stacks: int
    since: datetime


@dataclass(frozen=True)
class Waits:
    """Resources in progress for long, that a service was asked for last. `failing`: with an error of the service."""

    service: str
    resources: int
    failing: int
    since: datetime


@dataclass(frozen=True)
class Load:
    """`driven`: stacks with work by the engine that has their lease, alive or not; nested stacks are counted, too.
    `free`: stacks with work and without an engine. `silent`: of engines that have stopped to report: others will take
    them over. `struck`: stacks with work that engines have ended with. `signals`: stored and not handled yet."""

    driven: Mapping[str, int]
    free: int
    silent: int
    struck: int
    signals: int
    oldest_signal: datetime | None
    running: list[RunningActions]
    waits: list[Waits]


def driven(tx: sa.Connection) -> dict[str, int]:
    """Return the stacks with work by the engine that has their lease. One statement; index lease (wanted,
    engine_id)."""
    rows = tx.execute(sa.select(lease.c.engine_id, sa.func.count()).where(
        _wanted(), lease.c.engine_id.is_not(None)).group_by(lease.c.engine_id))
    return {str(owner): int(count) for owner, count in rows}


def _wanted() -> sa.ColumnElement[bool]:
    return sa.and_(lease.c.wanted == sa.true(), lease.c.stack_id.not_like(f'{PREFIX}%'))


def read(tx: sa.Connection) -> Load:
    """Five statements. Indexes: lease (wanted, engine_id), stack and resource by primary key; `signal` is read whole.
    """
    wanted = _wanted()
    owners = {owner: (count, struck) for owner, count, struck in tx.execute(sa.select(
        lease.c.engine_id, sa.func.count(), sa.func.sum(sa.case((lease.c.strikes > 0, 1), else_=0))).where(
            wanted).group_by(lease.c.engine_id))}
    alive = set(tx.execute(sa.select(engine.c.id).where(
        engine.c.deleted_at.is_(None), engine.c.expires_at >= clock(tx))).scalars())
    driven = {owner: count for owner, (count, _struck) in owners.items() if owner is not None}
    signals, oldest = tx.execute(sa.select(sa.func.count(), sa.func.min(signal.c.created_at))).one()
    return Load(
        driven, owners.get(None, (0, 0))[0], sum(count for owner, count in driven.items() if owner not in alive),
        sum(int(struck) for _count, struck in owners.values()), signals, oldest, _running(tx, wanted),
        _waits(tx, wanted))


def _running(tx: sa.Connection, wanted: sa.ColumnElement[bool]) -> list[RunningActions]:
    began = sa.func.coalesce(stack.c.started_at, stack.c.created_at)
    query = sa.select(stack.c.action, sa.func.count(), sa.func.min(began)).select_from(
        lease.join(stack, stack.c.id == lease.c.stack_id)).where(
            wanted, stack.c.owner_id.is_(None), stack.c.status == Status.IN_PROGRESS.value).group_by(stack.c.action)
    return [RunningActions(*row) for row in tx.execute(query.order_by(stack.c.action))]


def _waits(tx: sa.Connection, wanted: sa.ColumnElement[bool]) -> list[Waits]:
    query = sa.select(resource.c.waits, resource.c.updated_at, resource.c.created_at).select_from(
        lease.join(resource, resource.c.stack_id == lease.c.stack_id)).where(
            wanted, resource.c.waits.is_not(None), resource.c.status == Status.IN_PROGRESS.value).limit(MOST_WAITS)
    found: dict[str, list[tuple[datetime, bool]]] = {}
    for stored, updated_at, created_at in tx.execute(query):
        wait, since = stored_wait(stored), updated_at or created_at
        # Else of an earlier action, or no service was asked.
        if wait is not None and wait.row_at == since and wait.answer is not None:
            found.setdefault(wait.answer['service'], []).append((since, _is_failure(wait.answer)))
    return [Waits(service, len(of), sum(failing for _since, failing in of), min(since for since, _failing in of))
            for service, of in sorted(found.items())]


def _is_failure(answer: ServiceAnswer) -> bool:
    """Whether the service has answered with an error of its own, or not at all."""
    return answer['status'] is None or int(answer['status']) >= 500
