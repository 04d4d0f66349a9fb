"""Rewrites what is stored: encrypted or in clear, and with the operator's present key. Contents stay what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from heatlite.common import crypt, exception
from heatlite.db.connection import Database
from heatlite.db.stacks import after
from heatlite.db.tables import SEALED, credentials, resource_data

# Encrypted always, or value by value: the method stands in a column of its own.
WITH_METHOD: Mapping[sa.Table, Sequence[str]] = {
    resource_data: ('value',), credentials: ('trust_id', 'password', 'token')}
AT_ONCE = 100                               # rows in one transaction


@dataclass(frozen=True)
class Rewriting:
    """`encrypt` False: what need not be secret becomes readable. `previous`: the key before, where it was another."""

    encrypt: bool
    key: str
    previous: str | None = None

    def run(self, database: Database) -> int:
        """How many rows were changed. Stopped half-way it may be run again.

        Raises InvalidEncryptionKey for a value of neither key.
        """
        # Those first that are encrypted anyway: a wrong key is noticed before anything is written with it.
        return sum(self._rewrite(database, table) for table in (*WITH_METHOD, *SEALED))

    def _rewrite(self, database: Database, table: sa.Table) -> int:
        keys, position, total = list(table.primary_key), None, 0
        while True:
            position, changed = database.retry(
                lambda tx, position=position: self._some(tx, table, keys, position))    # type: ignore[misc]
            total += changed
            if position is None:
                return total

    def _some(self, tx: sa.Connection, table: sa.Table, keys: Sequence[sa.Column[Any]],
              position: Sequence[Any] | None) -> tuple[Sequence[Any] | None, int]:
        """Where the next ones begin, and how many of these were changed."""
        names = SEALED[table] if table in SEALED else ('method', *WITH_METHOD[table])
        query = sa.select(*keys, *(table.c[name] for name in names)).order_by(*keys).limit(AT_ONCE).with_for_update()
        if position is not None:
            query = query.where(after(keys, position, ascending=True))
        rows, total = tx.execute(query).all(), 0
        for row in rows:
            stored = dict(zip(names, row[len(keys):], strict=True))
            wanted = self._sealed(stored) if table in SEALED else self._with_method(stored)
            if wanted != stored:
                tx.execute(table.update().where(*(key == value for key, value in zip(keys, row, strict=False)))
                           .values(**wanted))
                total += 1
        return (rows[-1][:len(keys)] if len(rows) == AT_ONCE else None), total

    def _sealed(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        return {name: text if text in (None, '{}', '[]') else self._text(text) for name, text in stored.items()}

    def _text(self, text: str) -> str:
        if not crypt.is_sealed(text):
            return crypt.seal(text, self.key) if self.encrypt else text
        method, _colon, secret = text.partition(':')
        clear, is_current = self._opened(method, secret)
        if not self.encrypt:
            return clear
        return text if is_current else crypt.seal(clear, self.key)

    def _with_method(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Once encrypted it stays so: nobody knows any more which its author called a secret."""
        wanted, method = dict(stored), stored['method']
        if method is None and not self.encrypt:
            return wanted
        for name, value in stored.items():
            if name != 'method' and value is not None:
                clear, is_current = (value, False) if method is None else self._opened(method, value)
                if not is_current:
                    wanted['method'], wanted[name] = crypt.encrypt(clear, self.key)
        return wanted

    def _opened(self, method: str, secret: str) -> tuple[str, bool]:
        """The clear text, and whether it is encrypted with the present key."""
        try:
            return crypt.decrypt(method, secret, self.key) or '', True
        except exception.InvalidEncryptionKey:
            if self.previous is None:
                raise
            return crypt.decrypt(method, secret, self.previous) or '', False
