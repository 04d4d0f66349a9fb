"""The `signal` table: a signal waits here until the owner of its stack has handled it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from heatlite.db import codec
from heatlite.db.tables import lease, signal


@dataclass(frozen=True)
class Signal:
    id: int
    stack_id: str
    resource_name: str
    details: Any                        # JSON value; None: there were none
    created_at: datetime
    request: Mapping[str, Any] | None = None    # ids of the request it came with

    @property
    def mark(self) -> str:
        """Tells it from all others; a number alone may be given again once its row is gone."""
        return f'{self.id} {self.created_at.isoformat()}'


COLUMNS = codec.columns(signal, Signal)
_signal = codec.reader(Signal, 'details', 'request')


def insert(tx: sa.Connection, stack_id: str, resource_name: str, details: Any, now: datetime,
           request: Mapping[str, Any] | None = None) -> int:
    """Its number. The stack is wanted from now on: if nobody drives it, a sweep will find it.

    Takes the lease's row first, so that an owner who is just giving it back sees the signal, or we see it given back.
    """
    tx.execute(lease.update().where(lease.c.stack_id == stack_id).values(wanted=True))
    done = tx.execute(signal.insert().values(
        stack_id=stack_id, resource_name=resource_name, created_at=now, request=codec.encode_or_null(request),
        details=codec.encode_or_null(details, codec.encoder(tx))))
    key = done.inserted_primary_key
    assert key is not None
    return int(key[0])


def pending(tx: sa.Connection, stack_id: str) -> list[Signal]:
    """All of a stack, in the order they came. Index: (stack_id, id)."""
    query = sa.select(*COLUMNS).where(signal.c.stack_id == stack_id).order_by(signal.c.id)
    return [_signal(row) for row in tx.execute(query)]


def stacks(tx: sa.Connection, limit: int = 1000) -> list[str]:
    """Some of those for which signals wait. The table is small: what was handled is gone. Index: (stack_id, id)."""
    return list(tx.execute(sa.select(signal.c.stack_id).distinct().limit(limit)).scalars())


def exists(tx: sa.Connection, number: int) -> bool:
    """Not handled yet. Primary key."""
    return tx.execute(sa.select(signal.c.id).where(signal.c.id == number)).first() is not None


def remove(tx: sa.Connection, numbers: Iterable[int]) -> int:
    """Those that were handled; how many there were."""
    return int(tx.execute(signal.delete().where(signal.c.id.in_(list(numbers)))).rowcount)
