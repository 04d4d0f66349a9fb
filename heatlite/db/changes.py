"""Writes a batch of changes of many stacks in few statements, under the fence of their leases. This is the hot path.

Each row is written once, with the values of its last change in the batch; all events are stored, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from heatlite.common import crypt
from heatlite.db import revisions, signals
from heatlite.db.bulk import Texts, Times, chunks, one_message, texts
from heatlite.db.codec import NO_TEXTS, WORDS, clean, encode, encode_or_null, encoder, once, sealed, stored_text
from heatlite.db.connection import certifies
from heatlite.db.events import EVENT, event_values
from heatlite.db.resources import ROW, row_values
from heatlite.db.stacks import SHORTENED
from heatlite.db.tables import SEALED, stack
from heatlite.planning.states import NO_HANDLE, Change, Datum, ResourceState, SignalError, StackChange

IMMUTABLE_COLUMNS = ('name', 'uuid', 'created_at')  # never changed after the row was inserted
CONTAINERS = (dict, list, tuple, Mapping)            # what values that may be large are
DATUM = ('stack_id', 'resource_id', 'key', 'value', 'method')


@dataclass(frozen=True)
class Written:
    """The part of a batch that was not written. `lost`: stacks with changes under an epoch that is not current.

    `superseded`: those for an earlier request than the one that the row of their stack has: they were dropped, and the
    events of the stack itself that came with them; what else was changed with them was written.
    """

    lost: frozenset[str] = frozenset()
    superseded: tuple[StackChange, ...] = ()
    refused: frozenset[tuple[str, int]] = frozenset()       # (stack id, epoch) of each entry of `lost`

    def is_refused(self, change: Change) -> bool:
        return (change.stack_id, change.epoch) in self.refused

    def is_superseded(self, change: Change) -> bool:
        """Whether it was so itself: a batch may have others of its stack, for a later request."""
        return any(dropped is change.stack for dropped in self.superseded)


class EncodedChange(NamedTuple):
    """A change, with what its values are as JSON. `texts`: by `id` of the value; `size`: characters of all of them, and
    of other long texts of the change."""

    change: Change
    texts: Mapping[int, str] = NO_TEXTS
    size: int = 0


def encoded(change: Change) -> EncodedChange:
    """Encode the values of a change, before the transaction that stores it. One that cannot be encoded is left to
    `write`, which raises the error."""
    row, size = change.row, 0
    texts: dict[int, str] = {}
    values = [value for value in (*change.columns.values(), *[each.properties for each in change.events])
              if value is not None]                 # most events have no properties
    if row is not None and row.handle is not NO_HANDLE:
        values.append(row.handle)
    for value in values:
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, CONTAINERS) and id(value) not in texts:
            try:
                text = encode(value)
            except Exception:
                continue
            texts[id(value)] = text
            size += len(text)
    for datum in change.data:
        size += len(datum.value or '')
    if change.stack is not None:
        size += sum([len(text or '') for text in (change.stack.outputs, change.stack.parameters, change.stack.settled)])
    return EncodedChange(change, texts, size)


def touch_nothing(tx: sa.Connection) -> None:
    """Execute a write that finds no row.

    Raises the error that keeps the database from accepting writes, if there is one.
    """
    tx.execute(stack.delete().where(stack.c.id == ''))


def write(tx: sa.Connection, batch: Sequence[Change], again: bool = False,
          texts_of_values: Mapping[int, str] = NO_TEXTS) -> Written:
    """Write all changes whose epoch is current. `again`: an earlier attempt may have been committed unnoticed;
    `texts_of_values`: those of `encoded`.

    The leases stay locked until the end of `tx`, so no other engine can take a stack over meanwhile.
    """
    statements = texts(tx.dialect.name)
    refused = _refused(tx, batch, statements, again)
    accepted = [change for change in batch if (change.stack_id, change.epoch) not in refused] if refused else batch
    gathered = _Gathered(once(encoder(tx, texts_of_values)))       # properties are those of a row and of its event
    for change in accepted:
        gathered.add(change)
    stored = _stored_stacks(tx, gathered, statements)
    known = _known_events(tx, gathered, statements) if again else set()
    with one_message(tx, with_commit=True):
        superseded = _write_stacks(tx, gathered, stored, statements, again)
        _write_rows(tx, gathered, statements)
        _write_data(tx, gathered, statements)
        _remove(tx, gathered, statements)
        _write_events(tx, gathered, known, statements)
        _remove_signals(tx, gathered, statements)
        _unsettle(tx, gathered, statements)
    for stack_id, refused_signal in gathered.errors:
        signals.keep_error(tx, stack_id, refused_signal)
    return Written(frozenset(stack_id for stack_id, _ in refused), tuple(superseded), frozenset(refused))


# --- gathering: one entry for each row ---------------------------------------------------------------------

class _Gathered:
    """The rows that the changes of a batch result in."""

    def __init__(self, encode: Callable[[object], str]) -> None:
        self.encode = encode
        self.rows: dict[tuple[str, int], ResourceState] = {}
        self.columns: dict[tuple[str, int], dict[str, object]] = {}
        self.created: dict[tuple[str, int], datetime | None] = {}   # for rows without a time of their own
        self.data: dict[tuple[str, int], dict[str, Datum]] = {}
        self.removed: dict[str, list[int]] = {}
        self.stacks: list[tuple[str, StackChange, list[int]]] = []  # with the indexes of its own events
        self.events: list[tuple[str, str, *tuple[object, ...]] | None] = []
        self.signals: list[int] = []
        self.signalled: set[str] = set()            # stacks of these signals
        self.errors: list[tuple[str, SignalError]] = []
        self.time = Times()

    def add(self, change: Change) -> None:
        stack_id = change.stack_id
        row = change.row
        if row is not None:
            key = (stack_id, row.id)
            self.rows[key] = row
            if change.columns:
                self.columns.setdefault(key, {}).update(change.columns)
            if row.created_at is None and key not in self.created:
                self.created[key] = change.events[0].created_at if change.events else row.updated_at
            if change.data:
                self.data.setdefault(key, {}).update((datum.key, datum) for datum in change.data)
        if change.remove is not None:
            for gathered in (self.rows, self.columns, self.data):
                gathered.pop((stack_id, change.remove), None)
            self.removed.setdefault(stack_id, []).append(change.remove)
        own = []
        for each in change.events:
            if each.resource_id is None:
                own.append(len(self.events))
            self.events.append(event_values(stack_id, each, self.time, self.encode))
        if change.stack is not None:
            self.stacks.append((stack_id, change.stack, own))
        if change.signals:
            self.signals += change.signals
            self.signalled.add(stack_id)
        if change.signal_error is not None:
            self.errors.append((stack_id, change.signal_error))


# --- the fence ---------------------------------------------------------------------------------------------

def _refused(tx: sa.Connection, batch: Sequence[Change], statements: Texts,
             again: bool) -> set[tuple[str, int]]:
    """Return the (stack, epoch) pairs of the batch that may not write. Locks the leases, always in the same order."""
    wanted = {(change.stack_id, change.epoch) for change in batch}
    current: dict[str, int] = {}
    for chunk in chunks(sorted({stack_id for stack_id, _ in wanted})):
        for stack_id, epoch, engine_id in statements.select(tx, 'stack_id, epoch, engine_id', 'lease', 'stack_id',
                                                            chunk, lock=True):
            # A free lease permits no writes, unless an earlier attempt of this same write has released it.
            if engine_id is not None or again:
                current[stack_id] = epoch
    if certifies(tx):
        for chunk in chunks(sorted(current)):
            statements.run(tx, f'UPDATE lease SET writes = writes + 1 WHERE stack_id IN '
                               f'({statements.marks(len(chunk))})', tuple(chunk))
    return {pair for pair in wanted if current.get(pair[0]) != pair[1]}


# --- writing -----------------------------------------------------------------------------------------------

def _stored_stacks(tx: sa.Connection, gathered: _Gathered, statements: Texts) -> dict[str, Sequence[object]]:
    """Return the generation, action and template of the stacks to be written, by id. Locks their rows."""
    ids = sorted({stack_id for stack_id, _, _ in gathered.stacks})
    return {row[0]: row[1:] for chunk in chunks(ids) for row in statements.select(
        tx, 'id, generation, action, template_id', 'stack', 'id', chunk, lock=True)}


def _write_stacks(tx: sa.Connection, gathered: _Gathered, stored: Mapping[str, Sequence[object]], statements: Texts,
                  again: bool) -> list[StackChange]:
    """Write the rows of stacks. Returns the superseded changes and removes their own events from `gathered`."""
    generations = {stack_id: row[0] for stack_id, row in stored.items()}
    values: dict[str, dict[str, object]] = {}
    released: set[str] = set()
    superseded: list[StackChange] = []
    for stack_id, change, own_events in gathered.stacks:
        if again and _is_done(change, stored.get(stack_id)):
            generations[stack_id] = change.next_generation
            continue
        if generations.get(stack_id) != change.generation:
            superseded.append(change)
            for place in own_events:
                gathered.events[place] = None
            continue
        values.setdefault(stack_id, {}).update(_stack_values(change, gathered))
        if change.next_generation is not None:
            generations[stack_id] = change.next_generation
        for each in change.revisions:
            revisions.insert(tx, each)
        if change.release:
            released.add(stack_id)
        else:
            released.discard(stack_id)
    alike: dict[tuple[tuple[str, object], ...], list[str]] = {}    # many stacks end with the same values
    for stack_id in sorted(values):
        if values[stack_id]:
            alike.setdefault(tuple(values[stack_id].items()), []).append(stack_id)
    for changed, stack_ids in alike.items():
        sets = ', '.join([f'{name} = {statements.mark}' for name, _ in changed])
        for chunk in chunks(stack_ids):
            statements.run(tx, f'UPDATE stack SET {sets} WHERE id IN ({statements.marks(len(chunk))})',
                           (*(sealed(tx, value) if isinstance(value, str) and name in SEALED[stack] else value
                              for name, value in changed), *chunk))
    for chunk in chunks(sorted(released)):
        # A signal that arrived while the stack was being finished still needs an owner.
        statements.run(tx, f'UPDATE lease SET engine_id = NULL, wanted = EXISTS (SELECT 1 FROM '
                           f'{statements.quoted("signal")} waiting WHERE waiting.stack_id = lease.stack_id) '
                           f'WHERE stack_id IN ({statements.marks(len(chunk))})', tuple(chunk))
    return superseded


def _is_done(change: StackChange, stored: Sequence[object] | None) -> bool:
    """Whether an earlier attempt has started the writer's next request; another request may have the same number."""
    return (stored is not None and change.next_generation is not None
            and (stored[0], stored[1], stored[2]) == (change.next_generation, change.action, change.template_id))


def _stack_values(change: StackChange, gathered: _Gathered) -> dict[str, object]:
    values: dict[str, object] = {}
    if change.action is not None:
        values['action'] = WORDS[change.action]
    if change.status is not None:
        values['status'] = WORDS[change.status]
    for name in SHORTENED:
        if getattr(change, name) is not None:
            values[name] = stored_text(name, getattr(change, name))
    for name in ('template_id', 'previous_template_id', 'outcome', 'outputs', 'parameters', 'settled'):
        if getattr(change, name) is not None:
            values[name] = getattr(change, name)
    if change.updated_at is not None:
        values['updated_at'] = gathered.time(change.updated_at)
    if change.next_generation is not None:
        values['generation'] = change.next_generation
        values['started_at'] = gathered.time(change.updated_at) or values.get('started_at')
    if change.revision is not None:
        values['revision'], values['outcome'] = change.revision, None
    if change.deleted_at is not None:
        values['deleted_at'] = gathered.time(change.deleted_at)
        values['live'] = None
    return values


def _write_rows(tx: sa.Connection, gathered: _Gathered, statements: Texts) -> None:
    """Write rows of resources: one upsert for each set of heavy columns that change together, in the order of the
    keys."""
    groups: dict[tuple[str, ...], list[tuple[object, ...]]] = {}
    time, columns = gathered.time, gathered.columns
    for key in sorted(gathered.rows):
        row = gathered.rows[key]
        heavy = columns.get(key)
        names = tuple(sorted(heavy)) if heavy else ()
        values = row_values(key[0], row, time, row.created_at or gathered.created.get(key), gathered.encode)
        if heavy:
            values += tuple([_heavy_text(name, heavy[name], row, gathered.encode) for name in names])
        groups.setdefault(names, []).append(values)
    for names, rows in groups.items():
        statements.upsert(tx, 'resource', (*ROW, *names), ('stack_id', 'id'), rows, IMMUTABLE_COLUMNS,
                          'metadata_version' if 'metadata' in names else '')


def _heavy_text(name: str, value: object, row: ResourceState, seal: Callable[[object], str]) -> str | None:
    if name == 'definition' and value == {'type': row.type, 'deletion_policy': 'Delete'}:
        return encode(value)                        # in clear: see `codec.hides_nothing`
    return encode_or_null(value, seal)


def _write_data(tx: sa.Connection, gathered: _Gathered, statements: Texts) -> None:
    kept: list[tuple[object, ...]] = []
    gone = []
    seal = tx.get_execution_options().get('seal') or str
    data = [((*row, key), datum) for row, entries in gathered.data.items() for key, datum in entries.items()]
    for (stack_id, number, key), datum in sorted(data):
        if datum.value is None:
            gone.append((stack_id, number, key))
        else:
            method, value = crypt.encrypt(datum.value) if datum.redact else (None, seal(clean(datum.value)))
            kept.append((stack_id, number, key, value, method))
    statements.upsert(tx, 'resource_data', DATUM, ('stack_id', 'resource_id', 'key'), kept)
    for each in gone:
        statements.run(tx, f'DELETE FROM resource_data WHERE stack_id = {statements.mark} AND '
                           f'resource_id = {statements.mark} AND {statements.quoted("key")} = {statements.mark}', each)


def _remove(tx: sa.Connection, gathered: _Gathered, statements: Texts) -> None:
    for stack_id, numbers in sorted(gathered.removed.items()):
        for chunk in chunks(sorted(set(numbers))):
            marks = statements.marks(len(chunk))
            for table, column in (('resource', 'id'), ('resource_data', 'resource_id')):
                statements.run(tx, f'DELETE FROM {table} WHERE stack_id = {statements.mark} AND {column} IN ({marks})',
                               (stack_id, *chunk))


def _remove_signals(tx: sa.Connection, gathered: _Gathered, statements: Texts) -> None:
    for chunk in chunks(sorted(set(gathered.signals))):
        statements.run(tx, f'DELETE FROM {statements.quoted("signal")} WHERE id IN ({statements.marks(len(chunk))})',
                       tuple(chunk))


def _unsettle(tx: sa.Connection, gathered: _Gathered, statements: Texts) -> None:
    """Note that the next update has to look at stacks whose resources have handled signals."""
    for chunk in chunks(sorted(gathered.signalled)):
        statements.run(tx, f'UPDATE stack SET settled = NULL WHERE id IN ({statements.marks(len(chunk))}) '
                           f'AND settled IS NOT NULL', tuple(chunk))


def _known_events(tx: sa.Connection, gathered: _Gathered, statements: Texts) -> set[str]:
    """Those of the events that an earlier attempt has stored."""
    new = [each for each in gathered.events if each is not None]
    known: set[str] = set()
    for chunk in chunks([each[0] for each in new]):
        for some in chunks(sorted({each[1] for each in new})):
            known.update(row[0] for row in statements.run(
                tx, f'SELECT uuid FROM event WHERE stack_id IN ({statements.marks(len(some))}) AND '
                    f'uuid IN ({statements.marks(len(chunk))})', (*some, *chunk)))
    return known


def _write_events(tx: sa.Connection, gathered: _Gathered, known: Set[str], statements: Texts) -> None:
    statements.insert(tx, 'event', EVENT, [
        each for each in gathered.events if each is not None and each[0] not in known])
