"""Rewrites stored values: encrypted or in clear, and with the operator's present key. Contents do not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from heatlite.common import crypt, exception
from heatlite.db.codec import HIDES_NOTHING
from heatlite.db.connection import Database
from heatlite.db.stacks import after
from heatlite.db.tables import SEALED, WRITTEN_BY_USERS, credentials, resource_data, stack, template

# Columns that are encrypted value by value: for secrets a column of its own holds the method.
WITH_METHOD: Mapping[sa.Table, Sequence[str]] = {
    resource_data: ('value',), credentials: ('trust_id', 'password', 'token')}
COLUMNS: Mapping[sa.Table, Sequence[str]] = {
    **SEALED, **WRITTEN_BY_USERS, **{table: ('method', *names) for table, names in WITH_METHOD.items()}}
AT_ONCE = 100                               # rows in one transaction
SAMPLES = 5                                 # stacks whose newest values serve to verify a key


def _is_nested(table: sa.Table) -> sa.ColumnElement[Any]:
    """Whether a row is a template of a nested stack."""
    if table is not template:
        return sa.literal(value=False)
    return sa.exists().where(stack.c.id == template.c.stack_id, stack.c.owner_id.is_not(None))


def check_key(database: Database, key: str) -> None:
    """Raises InvalidEncryptionKey when the newest of the sealed values was sealed with another key.

    When nothing is sealed, every key is accepted. Reads a few rows by an index.
    """
    with database.reader() as tx:
        texts = list(tx.execute(sa.select(stack.c.parameters).where(stack.c.parameters.is_not(None))
                                .order_by(stack.c.created_at.desc(), stack.c.id.desc()).limit(SAMPLES)).scalars())
        secret = tx.execute(sa.select(credentials.c.method, *(credentials.c[name] for name in WITH_METHOD[credentials]))
                            .where(credentials.c.method.is_not(None)).limit(1)).first()
    for text in filter(crypt.is_sealed, texts):
        crypt.unseal(text, key)
    if secret is not None:
        for value in secret[1:]:
            crypt.decrypt(secret.method, value, key)


@dataclass(frozen=True)
class Rewriting:
    """Rewrites all rows. `encrypt` False: what users wrote is stored in clear.

    `previous`: the former key, if it differs.
    """

    encrypt: bool
    key: str
    previous: str | None = None

    def run(self, database: Database) -> int:
        """Returns how many rows were changed. If it is interrupted it may be run again.

        Raises InvalidEncryptionKey for a value that neither key decrypts.
        """
        # Tables that are always encrypted come first: a wrong key is detected before anything is written with it.
        return sum(self._rewrite(database, table) for table in (*WITH_METHOD, *SEALED, *WRITTEN_BY_USERS))

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
        """Rewrites one batch. Returns the key where the next one begins, and how many rows of this one were changed."""
        names = COLUMNS[table]
        query = sa.select(*keys, *(table.c[name] for name in names), _is_nested(table)).order_by(*keys).limit(
            AT_ONCE).with_for_update()
        if position is not None:
            query = query.where(after(keys, position, ascending=True))
        rows, total = tx.execute(query).all(), 0
        for row in rows:
            stored = dict(zip(names, row[len(keys):-1], strict=True))
            secret = self.encrypt or table in SEALED or bool(row[-1])
            wanted = self._with_method(stored) if table in WITH_METHOD else self._sealed(stored, secret)
            if wanted != stored:
                tx.execute(table.update().where(*(key == value for key, value in zip(keys, row, strict=False)))
                           .values(**wanted))
                total += 1
        return (rows[-1][:len(keys)] if len(rows) == AT_ONCE else None), total

    def _sealed(self, stored: Mapping[str, Any], secret: bool) -> dict[str, Any]:
        return {name: text if text is None or text in HIDES_NOTHING else self._text(text, secret)
                for name, text in stored.items()}

    def _text(self, text: str, secret: bool) -> str:
        if not crypt.is_sealed(text):
            return crypt.seal(text, self.key) if secret else text
        method, _colon, hidden = text.partition(':')
        clear, is_current = self._opened(method, hidden)
        if not secret:
            return clear
        return text if is_current and method == crypt.METHOD else crypt.seal(clear, self.key)

    def _with_method(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a row with method. A value with a method remains encrypted: its author called it secret."""
        wanted, method = dict(stored), stored['method']
        for name, value in stored.items():
            if name == 'method' or value is None:
                continue
            if method is None:
                wanted[name] = self._text(value, secret=True)
                continue
            clear, is_current = self._opened(method, value)
            if not is_current or method != crypt.METHOD:
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
