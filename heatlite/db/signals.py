"""The `signal` table: a signal is stored here until the owner of its stack has handled it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db import codec, leases
from heatlite.db.tables import signal, signal_error
from heatlite.planning.states import SignalError


@dataclass(frozen=True)
class Signal:
    """A signal to a resource that waits to be handled. `created_at`: UTC. `details` and `request` are Unreadable where
    they cannot be decoded."""

    id: int
    stack_id: str
    resource_name: str
    details: object                     # JSON value; None: there were none
    created_at: datetime
    request: Mapping[str, object] | codec.Unreadable | None = None      # ids of the request that sent it

    @property
    def mark(self) -> str:
        """Identify the signal; its number alone may be reused after the row was deleted."""
        return mark(self.id, self.created_at)


def mark(number: int, created_at: datetime) -> str:
    return f'{number} {created_at.isoformat()}'


# How long the error of a signal is stored for the caller that waits for it, beyond the longest time a request may take.
ERROR_KEPT = timedelta(minutes=10)
COLUMNS = codec.columns(signal, Signal)
_signal = codec.reader(Signal, 'details', 'request', decode=codec.decode_each)


def insert(tx: sa.Connection, stack_id: str, resource_name: str, details: object, now: datetime,
           request: Mapping[str, object] | None = None) -> int:
    """Insert a signal and return its number. Marks the stack as having work: without an owner, a sweep will find it.

    Locks the lease's row first, so that either an owner that is just releasing it sees the signal, or we see it
    released.
    """
    leases.want(tx, stack_id)
    done = tx.execute(signal.insert().values(
        stack_id=stack_id, resource_name=resource_name, created_at=now, request=codec.encode_or_null(request),
        details=codec.encode_or_null(details, codec.encoder(tx))))
    key = done.inserted_primary_key
    assert key is not None
    return int(key[0])


def waiting(tx: sa.Connection, stack_id: str) -> tuple[int, int]:
    """Return the number of pending signals of a stack, and the characters of all their details. Index: (stack_id,
    id)."""
    count, size = tx.execute(sa.select(
        sa.func.count(), sa.func.coalesce(sa.func.sum(sa.func.length(signal.c.details)), 0)).where(
            signal.c.stack_id == stack_id)).one()
    return int(count), int(size)


def numbers(tx: sa.Connection, stack_id: str) -> list[int]:
    """Return the numbers of all pending signals of a stack, in the order of arrival, from the index (stack_id, id)."""
    return list(tx.execute(sa.select(signal.c.id).where(signal.c.stack_id == stack_id).order_by(signal.c.id)).scalars())


def pending(tx: sa.Connection, stack_id: str, known: Collection[int] = ()) -> list[Signal]:
    """Return the pending signals of a stack, in the order of arrival. Index: (stack_id, id).

    `known`: numbers of those that the caller has: they are left out, and their details, of megabytes, are not read."""
    query = sa.select(*COLUMNS).where(signal.c.stack_id == stack_id).order_by(signal.c.id)
    if known:
        new = [number for number in numbers(tx, stack_id) if number not in known]
        if not new:
            return []
        query = query.where(signal.c.id.in_(new))
    return [_signal(row) for row in tx.execute(query)]


def stacks(tx: sa.Connection, limit: int = 1000) -> list[str]:
    """At most `limit` stacks with pending signals.

    The table is small: handled signals are deleted. Index: (stack_id, id).
    """
    return list(tx.execute(sa.select(signal.c.stack_id).distinct().limit(limit)).scalars())


def exists(tx: sa.Connection, number: int) -> bool:
    """Whether the signal is still pending. Primary key."""
    return tx.execute(sa.select(signal.c.id).where(signal.c.id == number)).first() is not None


def clear(tx: sa.Connection, stack_id: str) -> None:
    """Delete all signals of a stack that takes none any more. Index: (stack_id, id)."""
    tx.execute(signal.delete().where(signal.c.stack_id == stack_id))


def keep_error(tx: sa.Connection, stack_id: str, refused: SignalError) -> None:
    """Store an error for `error`. Deletes errors that were not read in time: the table holds those of some minutes."""
    tx.execute(signal_error.delete().where(sa.or_(
        signal_error.c.mark == refused.mark, signal_error.c.created_at < refused.at - ERROR_KEPT)))
    tx.execute(signal_error.insert().values(
        mark=refused.mark, stack_id=stack_id, error=codec.encoder(tx)(refused.error), created_at=refused.at))


def error(tx: sa.Connection, wanted: str) -> exception.WireError | None:
    """Why the signal with this mark was refused; None: it was not. Primary key."""
    found = tx.execute(sa.select(signal_error.c.error).where(signal_error.c.mark == wanted)).scalar()
    return None if found is None else codec.decode(found)


def forget_error(tx: sa.Connection, wanted: str) -> None:
    """Delete the error after it was delivered."""
    tx.execute(signal_error.delete().where(signal_error.c.mark == wanted))
