"""Finds out which keys stored values are encrypted with, and rewrites values: encrypted or in clear, and with the
operator's present key. Contents do not change.

All of it may run while engines and API processes work: a batch of rows is read without locks, and only rows to be
changed are locked, read again and written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import sqlalchemy as sa

from heatlite.common import crypt, exception
from heatlite.db.codec import hides_nothing
from heatlite.db.connection import Database
from heatlite.db.listing import after
from heatlite.db.tables import SEALED, WRITTEN_BY_USERS, credentials, resource_data, stack, template

# Columns that are encrypted value by value: for secrets a column of its own holds the method.
WITH_METHOD: Mapping[sa.Table, Sequence[str]] = {
    resource_data: ('value',), credentials: ('trust_id', 'password', 'token')}
COLUMNS: Mapping[sa.Table, Sequence[str]] = {
    **SEALED, **WRITTEN_BY_USERS, **{table: ('method', *names) for table, names in WITH_METHOD.items()}}
# Tables that are always encrypted come first: a wrong key is detected before anything is written with it.
ORDER = (*WITH_METHOD, *SEALED, *WRITTEN_BY_USERS)
AT_ONCE = 100                               # rows in one transaction
SAMPLES = 5                                 # stacks whose newest values serve to verify a key

Progress = Callable[[str, int, int], None]
"""(table, rows of it read until now, rows of it changed until now): called after each batch."""


def check_keys(database: Database, keys: crypt.Keyring) -> None:
    """Raise InvalidEncryptionKey when none of the keys decrypts the newest of the sealed values.

    When nothing is sealed, every key is accepted. Reads a few rows by an index.
    """
    with database.reader() as tx:
        texts = list(tx.execute(sa.select(stack.c.parameters).where(stack.c.parameters.is_not(None))
                                .order_by(stack.c.created_at.desc(), stack.c.id.desc()).limit(SAMPLES)).scalars())
        secret = tx.execute(sa.select(credentials.c.method, *(credentials.c[name] for name in WITH_METHOD[credentials]))
                            .where(credentials.c.method.is_not(None)).limit(1)).first()
    for text in filter(crypt.is_sealed, texts):
        keys.opened(*crypt.parts(text))
    if secret is not None:
        for value in filter(None, secret[1:]):
            keys.opened(secret.method, value)


def usage(database: Database, keys: crypt.Keyring, progress: Progress) -> Counter[str | None]:
    """How many values each key decrypts; under None: those that no key decrypts. Reads all rows, in batches."""
    found: Counter[str | None] = Counter()
    for table in ORDER:
        read = 0
        for rows in _batches(database, table, AT_ONCE):
            read += len(rows)
            found.update(_key_of(keys, *parts) for row in rows for parts in _encrypted(table, row.stored))
            progress(table.name, read, 0)
    return found


@dataclass(frozen=True)
class Rewriting:
    """Rewrites all rows. `encrypt`: whether what users wrote is stored encrypted; None: each value as it is.

    `keys`: the first one encrypts. `at_once`: rows in one batch. `pause()`: called after each batch that changed rows.
    """

    encrypt: bool | None
    keys: crypt.Keyring
    at_once: int = AT_ONCE
    pause: Callable[[], None] = lambda: None
    skipped: Counter[str] = field(default_factory=Counter)      # rows that no key decrypts, by table

    def run(self, database: Database, progress: Progress = lambda _table, _read, _changed: None) -> int:
        """Return how many rows were changed. If it is interrupted it may be run again: rows that are as wanted are
        only read.

        Raises InvalidEncryptionKey for a value that no key decrypts, unless `encrypt` is None: then it remains.
        """
        return sum(self._rewrite(database, table, progress) for table in ORDER)

    def _rewrite(self, database: Database, table: sa.Table, progress: Progress) -> int:
        read = total = 0
        for rows in _batches(database, table, self.at_once):
            read += len(rows)
            outdated = [row.key for row in rows if self._wanted(table, row, self.skipped) != row.stored]
            if outdated:
                total += database.retry(partial(self._change, table=table, outdated=outdated))
            progress(table.name, read, total)
            if outdated:
                self.pause()
        return total

    def _change(self, tx: sa.Connection, table: sa.Table, outdated: Sequence[Sequence[object]]) -> int:
        """Lock these rows and rewrite those that still differ. Returns how many."""
        keys, total = list(table.primary_key), 0
        for row in _rows(tx, table, _select(table).where(_one_of(keys, outdated)).with_for_update()):
            wanted = self._wanted(table, row)
            if wanted != row.stored:
                tx.execute(table.update().where(*(key == value for key, value in zip(keys, row.key, strict=True)))
                           .values(**wanted))
                total += 1
        return total

    def _wanted(self, table: sa.Table, row: _Row, skipped: Counter[str] | None = None) -> Mapping[str, object]:
        try:
            if table in WITH_METHOD:
                return self._with_method(row.stored)
            secret = True if table in SEALED or row.is_nested else self.encrypt
            return {name: text if text is None or hides_nothing(name, text) else self._text(text, secret)
                    for name, text in row.stored.items()}
        except exception.InvalidEncryptionKey:
            if self.encrypt is not None:
                raise
            if skipped is not None:
                skipped[table.name] += 1
            return row.stored

    def _text(self, text: str, secret: bool | None) -> str:
        if not crypt.is_sealed(text):
            return crypt.seal(text, self.keys.key) if secret else text
        method, hidden = crypt.parts(text)
        clear, is_current = self._opened(method, hidden)
        if secret is False:
            return clear
        return text if is_current else crypt.seal(clear, self.keys.key)

    def _with_method(self, stored: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the values of a row with method. A value with a method remains encrypted: its author called it
        secret."""
        wanted, method = dict(stored), stored['method']
        if method is None:
            return {name: value if name == 'method' or value is None else self._text(value, secret=True)
                    for name, value in stored.items()}
        opened = {name: self._opened(method, value) for name, value in stored.items()
                  if name != 'method' and value is not None}
        if not all(is_current for _clear, is_current in opened.values()):       # one method for all values of the row
            wanted |= {'method': crypt.METHOD, **{
                name: crypt.encrypt(clear, self.keys.key)[1] for name, (clear, _) in opened.items()}}
        return wanted

    def _opened(self, method: str, secret: str) -> tuple[str, bool]:
        """Return the clear text, and whether it is encrypted with the present key and method."""
        clear, key = self.keys.opened(method, secret)
        return clear.decode(), key == self.keys.key and method == crypt.METHOD


# --- rows --------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class _Row:
    key: Sequence[object]
    stored: Mapping[str, str | None]        # COLUMNS by name
    is_nested: bool                         # a template of a nested stack


def _batches(database: Database, table: sa.Table, at_once: int) -> Iterator[list[_Row]]:
    """All rows of a table by key, each batch in a transaction of its own."""
    keys, query = list(table.primary_key), _select(table).order_by(*table.primary_key).limit(at_once)
    rows: list[_Row] = []
    while not rows or len(rows) == at_once:
        following = query.where(after(keys, rows[-1].key, ascending=True)) if rows else query
        with database.reader() as tx:
            rows = _rows(tx, table, following)
        if not rows:
            return
        yield rows


def _select(table: sa.Table) -> sa.Select[tuple[object, ...]]:
    nested: sa.ColumnElement[bool] = sa.literal(value=False)
    if table is template:
        nested = sa.exists().where(stack.c.id == template.c.stack_id, stack.c.owner_id.is_not(None))
    return sa.select(*table.primary_key, *(table.c[name] for name in COLUMNS[table]), nested)


def _rows(tx: sa.Connection, table: sa.Table, query: sa.Select[tuple[object, ...]]) -> list[_Row]:
    width, names = len(table.primary_key), COLUMNS[table]
    return [_Row(row[:width], dict(zip(names, row[width:-1], strict=True)), bool(row[-1])) for row in tx.execute(query)]


def _one_of(keys: Sequence[sa.Column[object]], values: Sequence[Sequence[object]]) -> sa.ColumnElement[bool]:
    if len(keys) == 1:
        return keys[0].in_([value for value, in values])
    return sa.tuple_(*keys).in_([tuple(value) for value in values])


def _encrypted(table: sa.Table, stored: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """Yield (method, text) of each encrypted value of a row."""
    method = stored.get('method') if table in WITH_METHOD else None
    for name, value in stored.items():
        if value is None or (table in WITH_METHOD and name == 'method'):
            continue
        if method is not None:
            yield method, value
        elif crypt.is_sealed(value):
            yield crypt.parts(value)


def _key_of(keys: crypt.Keyring, method: str, text: str) -> str | None:
    try:
        return keys.opened(method, text)[1]
    except exception.InvalidEncryptionKey:
        return None
