"""The `resource_data` table: what types store beside a resource. Never opens, commits or retries a transaction."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from heatlite.common import crypt, turns
from heatlite.db import bulk
from heatlite.db.tables import resource, resource_data

HELD = 'True'                                       # value stored under the name of a hook that holds the resource


@dataclass(frozen=True)
class StoredDatum:
    """One datum. `method`: how `value` is encrypted if its author called it secret; others are sealed as columns
    are."""

    key: str
    value: str | None
    method: str | None

    @property
    def redact(self) -> bool:
        return self.method is not None

    def clear(self, keys: crypt.Keyring | None = None) -> str | None:
        """Return the value in clear. `keys`: by default those of the process's options."""
        if self.value is None or (self.method is None and not crypt.is_sealed(self.value)):
            return self.value
        method, text = (self.method, self.value) if self.method else crypt.parts(self.value)
        return crypt.decrypt(method, text) if keys is None else keys.opened(method, text)[0].decode()


def data(tx: sa.Connection, stack_id: str, number: int) -> list[StoredDatum]:
    """All data of one resource as stored, by key. Primary key."""
    query = sa.select(resource_data.c.key, resource_data.c.value, resource_data.c.method).where(
        resource_data.c.stack_id == stack_id, resource_data.c.resource_id == number)
    return [StoredDatum(*row) for row in tx.execute(query.order_by(resource_data.c.key))]


def secrets(tx: sa.Connection, stack_id: str, numbers: Collection[int] | None = None) -> set[str]:
    """Return the data that types have marked as secret, of a stack or of some of its rows. Ranges of the primary
    key. Others run while many are decrypted."""
    query = sa.select(resource_data.c.key, resource_data.c.value, resource_data.c.method).where(
        resource_data.c.stack_id == stack_id, resource_data.c.method.is_not(None))
    if numbers is not None:
        query = query.where(resource_data.c.resource_id.in_(numbers))
    return {value for row in turns.paced(tx.execute(query)) if (value := StoredDatum(*row).clear())}


def secrets_of_stacks(tx: sa.Connection, stack_ids: Collection[str]) -> dict[str, set[str]]:
    """As `secrets` of each of these stacks that has any. One SELECT for each 500."""
    found: dict[str, set[str]] = {}
    for chunk in bulk.chunks(stack_ids):
        for stack_id, *row in tx.execute(sa.select(
                resource_data.c.stack_id, resource_data.c.key, resource_data.c.value, resource_data.c.method).where(
                resource_data.c.stack_id.in_(chunk), resource_data.c.method.is_not(None))):
            if value := StoredDatum(*row).clear():
                found.setdefault(stack_id, set()).add(value)
    return found


def held(tx: sa.Connection, stack_id: str, hooks: Collection[str]) -> dict[int, str]:
    """Return the rows that are held at one of these hooks, and at which hook."""
    query = sa.select(resource_data.c.resource_id, resource_data.c.key, resource_data.c.value,
                      resource_data.c.method).where(
        resource_data.c.stack_id == stack_id, resource_data.c.key.in_(hooks))
    # Compared here: the value may be sealed, and equal texts are not sealed alike.
    return {number: datum[0] for number, *datum in tx.execute(query) if StoredDatum(*datum).clear() == HELD}


def names_with_datum(tx: sa.Connection, stack_id: str, key: str, value: str | None) -> set[str]:
    """Names of the resources of a stack that store `value` under `key`."""
    query = sa.select(resource.c.name, resource_data.c.key, resource_data.c.value, resource_data.c.method).join(
        resource, sa.and_(resource.c.stack_id == resource_data.c.stack_id,
                          resource.c.id == resource_data.c.resource_id)).where(
        resource_data.c.stack_id == stack_id, resource_data.c.key == key)
    return {name for name, *datum in tx.execute(query) if StoredDatum(*datum).clear() == value}
