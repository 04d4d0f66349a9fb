"""The `credentials` table: the authority under which a stack acts. Secrets are encrypted by the caller."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime

import sqlalchemy as sa

from heatlite.db import bulk, codec
from heatlite.db.tables import credentials, stack
from heatlite.planning.states import Status


@dataclass(frozen=True, repr=False)
class Credentials:
    """`trust_id`, `password` and `token` are encrypted with `method`."""

    id: str
    project_id: str | None
    project_name: str | None
    user_id: str | None
    username: str | None
    auth_url: str | None
    region_name: str | None
    trust_id: str | None
    trustor_user_id: str | None
    password: str | None
    token: str | None
    method: str | None
    created_at: datetime

    def __repr__(self) -> str:
        return f'Credentials({self.id!r}, user_id={self.user_id!r})'


NAMES = tuple(field.name for field in fields(Credentials))      # the last one is the time
COLUMNS = codec.columns(credentials, Credentials)


def insert(tx: sa.Connection, new: Credentials) -> None:
    values = [getattr(new, name) for name in NAMES]
    values[-1] = bulk.Times()(new.created_at)
    bulk.texts(tx.dialect.name).insert(tx, 'credentials', NAMES, [tuple(values)])


def get(tx: sa.Connection, credentials_id: str) -> Credentials | None:
    row = tx.execute(sa.select(*COLUMNS).where(credentials.c.id == credentials_id)).first()
    return None if row is None else Credentials(*row)


def update(tx: sa.Connection, credentials_id: str, **changed: object) -> bool:
    """Updates any of the fields but the id. False when the row is gone."""
    return bool(tx.execute(credentials.update().where(credentials.c.id == credentials_id)
                           .values(**changed)).rowcount)


def keep(tx: sa.Connection, new: Credentials) -> None:
    """Inserts credentials, or replaces those with their id, which nested stacks may use, too."""
    changed = {name: getattr(new, name) for name in NAMES if name != 'id'}
    if not update(tx, new.id, **changed):
        insert(tx, new)


def forget_token(tx: sa.Connection, credentials_id: str, stack_id: str) -> None:
    """Removes the token of a request, unless a newer action of the stack needs its own. The caller has locked it."""
    is_busy = sa.exists().where(stack.c.id == stack_id, stack.c.status == Status.IN_PROGRESS)
    tx.execute(credentials.update().where(
        credentials.c.id == credentials_id, credentials.c.token.is_not(None), ~is_busy).values(token=None))


def is_shared(tx: sa.Connection, credentials_id: str, stack_id: str) -> bool:
    """Whether another live stack uses these credentials too."""
    return tx.execute(sa.select(stack.c.id).where(
        stack.c.credentials_id == credentials_id, stack.c.id != stack_id, stack.c.live == 1).limit(1)
    ).first() is not None


def delete(tx: sa.Connection, credentials_id: str) -> bool:
    return bool(tx.execute(credentials.delete().where(credentials.c.id == credentials_id)).rowcount)
