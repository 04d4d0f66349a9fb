"""The `resource` table, for the owner of a stack. Rows of one stack are adjacent; only the owner writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from heatlite.common import turns
from heatlite.db import bulk, codec
from heatlite.db.bulk import chunks
from heatlite.db.codec import ACTIONS, STATUSES, WORDS
from heatlite.db.resource_data import StoredDatum
from heatlite.db.tables import resource, resource_data, stack
from heatlite.planning import marks
from heatlite.planning.replacement import MADE, MARKED, ReplacementCause
from heatlite.planning.states import NO_HANDLE, Action, ResourceState, Status

LIGHT = tuple(resource.c[name] for name in ResourceState._fields)
ROW = ('stack_id', 'id', 'name', 'uuid', 'type', 'action', 'status', 'reason', 'physical_id', 'requires', 'replaces',
       'replaced_by', 'template_id', 'fingerprint', 'handle', 'created_at', 'updated_at')
ROWS_AT_ONCE = 500                                  # without their heavy columns: some milliseconds of work
PART = 10_000                                       # rows of one result in memory
ROWS_A_STEP = 5                                     # of `turns`
UNKNOWN_TIME = datetime(1970, 1, 1)                 # time of creation where it is unknown
# Built once: building a statement costs more than running it.
_OF_STACK = resource.c.stack_id == sa.bindparam('stack_id')
_LIGHT = sa.select(*LIGHT).where(_OF_STACK).order_by(resource.c.id)
_PART = _LIGHT.where(resource.c.id > sa.bindparam('last')).limit(sa.bindparam('part', type_=sa.Integer))
_NOT_ENCODED = {'requires': sa.literal('{}', sa.Text()).label('requires'),
                'handle': sa.literal(None, sa.Text()).label('handle')}
_PLAIN = sa.select(*(_NOT_ENCODED.get(column.name, column) for column in LIGHT)).where(_OF_STACK).order_by(
    resource.c.id)
_KINDS = sa.select(resource.c.type, resource.c.template_id, sa.func.count(), sa.func.max(resource.c.id)).where(
    _OF_STACK).group_by(resource.c.type, resource.c.template_id)
_HAS_IN_PROGRESS = sa.select(sa.exists().where(_OF_STACK, resource.c.status == Status.IN_PROGRESS.value))
_UNLIKE_APPLIED = _LIGHT.where(sa.or_(
    resource.c.requires != '{}', resource.c.status != Status.COMPLETE.value,
    resource.c.action.in_([Action.INIT.value, Action.DELETE.value]), resource.c.replaces.is_not(None),
    resource.c.replaced_by.is_not(None), resource.c.fingerprint.in_(sorted(marks.UNKNOWN)),
    resource.c.fingerprint.like(f'%{marks.MARK}%'),
    resource.c.type.in_(sa.bindparam('types', expanding=True))))


def light(tx: sa.Connection, stack_id: str) -> list[ResourceState]:
    """All rows of a stack without their heavy columns, by number. Reads one range of the primary key. Others run while
    many rows are read."""
    found = list[ResourceState]()
    for block in tx.execute(_LIGHT, {'stack_id': stack_id}).partitions(ROWS_AT_ONCE):     # twice as fast as row by row
        found += map(_state, block)
        turns.spend(len(block) // ROWS_A_STEP)
    return found


def light_in_parts(tx: sa.Connection, stack_id: str, part: int = PART) -> list[ResourceState]:
    """As `light`, by one SELECT for each `part` of them: drivers keep the whole result of a statement, which takes as
    much memory as the rows. For the owner of the stack: others would find the parts of different moments."""
    found = list[ResourceState]()
    while True:
        rows = tx.execute(_PART, {'stack_id': stack_id, 'last': found[-1].id if found else -1, 'part': part}).all()
        found += map(_state, rows)
        turns.spend(len(rows) // ROWS_A_STEP)
        if len(rows) < part:
            return found


def objects(tx: sa.Connection, stack_id: str) -> list[ResourceState]:
    """Return the rows of a stack that may have an object in the cloud, without the columns that are encoded: they can
    be read even if those were encrypted with another key. Reads one range of the primary key."""
    rows = map(_state, tx.execute(_PLAIN, {'stack_id': stack_id}))
    return [row for row in rows if row.exists and row.physical_id is not None]


@dataclass(frozen=True)
class AppliedType:
    """The rows of a stack with one type that were last applied with one template. `last`: the highest row number."""

    type: str
    template_id: str | None
    number: int
    last: int


def kinds(tx: sa.Connection, stack_id: str) -> list[AppliedType]:
    """Return the kinds of all rows of a stack. Reads one range of the primary key, returns few rows."""
    return [AppliedType(*row) for row in tx.execute(_KINDS, {'stack_id': stack_id})]


def unlike_applied(tx: sa.Connection, stack_id: str, types: Iterable[str]) -> list[ResourceState]:
    """Return the rows without their heavy columns that require others, are or were part of a replacement, are of one of
    these types, or are not as a completed create or update leaves them. Reads one range of the primary key."""
    return [_state(row) for row in tx.execute(_UNLIKE_APPLIED, {'stack_id': stack_id, 'types': list(types)}).all()]


def of_names(tx: sa.Connection, stack_id: str, names: Iterable[str]) -> list[ResourceState]:
    """All rows of these names without their heavy columns. One SELECT for each 500. Index: (stack_id, name, id)."""
    wanted = frozenset(names)
    found = [_state(row) for chunk in chunks(list(wanted)) for row in tx.execute(
        sa.select(*LIGHT).where(resource.c.stack_id == stack_id, resource.c.name.in_(chunk)))]
    return [row for row in found if row.name in wanted]


def _state(row: sa.Row[tuple[object, ...]]) -> ResourceState:
    (number, name, uuid, kind, action, status, reason, physical_id, requires, replaces, replaced_by, template_id,
     fingerprint, handle, created_at, updated_at) = row
    return ResourceState(
        number, name, uuid, kind, ACTIONS[action], STATUSES[status], reason, physical_id,
        {} if requires == '{}' else codec.decode(requires), replaces, replaced_by, template_id, fingerprint,
        NO_HANDLE if handle is None else codec.decode(handle), created_at, updated_at)


def named(tx: sa.Connection, stack_id: str, name: str) -> list[ResourceState]:
    """All rows of one name without their heavy columns, by number. Index: (stack_id, name, id)."""
    query = sa.select(*LIGHT).where(resource.c.stack_id == stack_id, resource.c.name == name).order_by(resource.c.id)
    return [row for row in map(_state, tx.execute(query)) if row.name == name]


def names_with_physical_id(tx: sa.Connection, stack_id: str, physical_id: str) -> set[str]:
    """Return the names of the rows of a stack with this physical id. Index: (physical_id)."""
    # Compared with the column itself, SQLite would read all rows of the stack by the primary key.
    rows = tx.execute(sa.select(resource.c.name, resource.c.physical_id).where(
        resource.c.physical_id == physical_id, resource.c.stack_id.concat('') == stack_id))
    return {name for name, found in rows if found == physical_id}


def names_with_cached_value(tx: sa.Connection, stack_id: str, key: str, value: str) -> dict[int, str]:
    """Return the numbers and names of the rows of a stack whose attribute cache has this value under this key. Decodes
    each: they may be encrypted. Reads one range of the primary key."""
    rows = tx.execute(sa.select(resource.c.id, resource.c.name, resource.c.attributes).where(
        resource.c.stack_id == stack_id, resource.c.attributes.is_not(None)))
    return {number: name for number, name, stored in rows if (codec.decode(stored) or {}).get(key) == value}


def has_in_progress(tx: sa.Connection, stack_id: str) -> bool:
    """Whether a row of a stack is in progress. Reads at most one range of the primary key, returns one value."""
    return bool(tx.execute(_HAS_IN_PROGRESS, {'stack_id': stack_id}).scalar_one())


def columns(tx: sa.Connection, stack_id: str, numbers: Iterable[int] | None,
            names: Sequence[str]) -> dict[int, dict[str, dict[str, object] | None]]:
    """Heavy columns, decoded: {row number: {name: value}}.

    `numbers` None: all rows of the stack that have any of them. Others run while many rows are decoded.
    """
    selected = sa.select(resource.c.id, *(resource.c[name] for name in names)).where(resource.c.stack_id == stack_id)
    queries = [selected.where(sa.or_(*(resource.c[name].is_not(None) for name in names)))] if numbers is None else [
        selected.where(resource.c.id.in_(chunk)) for chunk in chunks(list(numbers))]
    return {number: dict(zip(names, map(codec.decode, values), strict=True))
            for query in queries for number, *values in turns.paced(tx.execute(query))}


def cached_values(tx: sa.Connection, stack_id: str,
                  numbers: Iterable[int] | None = None) -> dict[int, Mapping[str, object]]:
    """Return the stored attribute cache of these rows, None: of all rows of the stack: row number -> {key: value}."""
    found = columns(tx, stack_id, numbers, ('attributes',))
    return {number: each['attributes'] for number, each in found.items() if each['attributes']}


def stored(tx: sa.Connection, stack_id: str, first: int,
           end: int) -> dict[int, tuple[dict[str, object], list[StoredDatum]]]:
    """(properties, definition, metadata and cause, data) of the rows from `first` up to, not including, `end`.

    Two SELECTs, each one range of a primary key.
    """
    names = ('properties', 'definition', 'metadata', 'cause')
    found: dict[int, tuple[dict[str, object], list[StoredDatum]]] = {
        number: (dict(zip(names, map(codec.decode, values), strict=True)), [])
        for number, *values in tx.execute(sa.select(resource.c.id, *(resource.c[name] for name in names)).where(
            resource.c.stack_id == stack_id, resource.c.id >= first, resource.c.id < end))}
    for number, *datum in tx.execute(sa.select(
            resource_data.c.resource_id, resource_data.c.key, resource_data.c.value, resource_data.c.method).where(
            resource_data.c.stack_id == stack_id, resource_data.c.resource_id >= first,
            resource_data.c.resource_id < end)):
        if number in found:
            found[number][1].append(StoredDatum(*datum))
    return found


def insert_many(tx: sa.Connection, stack_id: str, rows: Iterable[ResourceState],
                columns: Mapping[int, Mapping[str, object]] | None = None) -> None:
    """Insert rows; `columns`: heavy ones by row number. The number of statements does not grow with each row."""
    heavy, time, encode = columns or {}, bulk.Times(), codec.encoder(tx)
    names = tuple(sorted({name for each in heavy.values() for name in each}))
    bulk.texts(tx.dialect.name).insert(tx, 'resource', (*ROW, *names), (
        row_values(stack_id, row, time, row.created_at, encode)
        + tuple([codec.encode_or_null(heavy.get(row.id, {}).get(name), encode) for name in names]) for row in rows))


def row_values(stack_id: str, row: ResourceState, time: bulk.Times, created_at: datetime | None,
               encode: Callable[[object], str]) -> tuple[object, ...]:
    """Return the values of the columns ROW for one row. `encode`: codec.encoder."""
    handle = row.handle
    return (stack_id, row.id, row.name, row.uuid, row.type, WORDS[row.action], WORDS[row.status],
            codec.stored_text('reason', row.reason), row.physical_id,
            codec.encode(row.requires) if row.requires else '{}', row.replaces, row.replaced_by, row.template_id,
            row.fingerprint, None if handle is NO_HANDLE else encode(handle), time(created_at or UNKNOWN_TIME),
            time(row.updated_at))


def count(tx: sa.Connection, stack_ids: Iterable[str]) -> int:
    """Return the number of rows of all these stacks together."""
    return sum(int(tx.execute(sa.select(sa.func.count()).select_from(resource)
                              .where(resource.c.stack_id.in_(chunk))).scalar_one())
               for chunk in chunks(list(stack_ids)))


def count_in_tree(tx: sa.Connection, root_id: str) -> int:
    """Return the number of rows of a root stack and of all live stacks below it.

    Indexes: stack (root_id, depth), primary key.
    """
    return int(tx.execute(sa.select(sa.func.count()).select_from(resource.join(
        stack, stack.c.id == resource.c.stack_id)).where(stack.c.root_id == root_id, stack.c.live == 1)).scalar_one())


def types(tx: sa.Connection, stack_id: str) -> list[str]:
    """Return the types of a stack's resources, each once. Reads one range of the primary key."""
    return list(tx.execute(sa.select(resource.c.type).where(resource.c.stack_id == stack_id).distinct()).scalars())


def names(tx: sa.Connection, stack_ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of the resources of these stacks for which something was begun, each once: stack -> names.

    One SELECT for each 500 stacks; ranges of the primary key.
    """
    found: dict[str, dict[str, None]] = {}
    for chunk in chunks(list(stack_ids)):
        for stack_id, name in tx.execute(sa.select(resource.c.stack_id, resource.c.name).where(
                resource.c.stack_id.in_(chunk), resource.c.action != 'INIT')):
            found.setdefault(stack_id, {})[name] = None
    return {stack_id: list(each) for stack_id, each in found.items()}


# --- metadata ----------------------------------------------------------------------------------------------

def metadata(tx: sa.Connection, stack_id: str, number: int) -> tuple[Mapping[str, object] | None, int]:
    """(metadata, its version), as `set_metadata` needs them. Raises LookupError when the row is gone."""
    row = tx.execute(sa.select(resource.c.metadata, resource.c.metadata_version).where(
        resource.c.stack_id == stack_id, resource.c.id == number)).first()
    if row is None:
        raise LookupError(f'Stack {stack_id} has no resource row {number}')
    return codec.decode(row[0]), row[1]


def set_metadata(tx: sa.Connection, stack_id: str, number: int, value: Mapping[str, object] | codec.Encoded,
                 version: int) -> bool:
    """Compare and swap: False when another writer has changed it since `version` was read."""
    done = tx.execute(resource.update().where(
        resource.c.stack_id == stack_id, resource.c.id == number, resource.c.metadata_version == version)
        .values(metadata=codec.sealed(tx, codec.text_of(value)), metadata_version=version + 1))
    return bool(done.rowcount)


# --- for operators -----------------------------------------------------------------------------------------

def set_state(tx: sa.Connection, stack_id: str, row: ResourceState, mark: ReplacementCause | None = None) -> None:
    """Write action, status, reason, fingerprint and time of one row outside a traversal, and why the next update
    replaces the resource. The caller must hold the lease's lock."""
    tx.execute(resource.update().where(resource.c.stack_id == stack_id, resource.c.id == row.id).values(
        action=str(row.action), status=str(row.status), reason=codec.stored_text('reason', row.reason),
        fingerprint=row.fingerprint, updated_at=row.updated_at, cause=_mark(tx, mark)))


def _mark(tx: sa.Connection, mark: ReplacementCause | None) -> str | None:
    return None if mark is None else codec.encoder(tx)({MARKED: mark.to_json()})


def replacement_causes(tx: sa.Connection, stack_id: str) -> dict[str, ReplacementCause]:
    """Return what the resources of a stack were made for in place of others, by name, where it is stored. One range of
    the primary key."""
    query = sa.select(resource.c.name, resource.c.cause).where(
        resource.c.stack_id == stack_id, resource.c.cause.is_not(None), resource.c.replaced_by.is_(None))
    found = {name: codec.decode(cause).get(MADE) for name, cause in tx.execute(query)}
    return {name: ReplacementCause.from_json(cause) for name, cause in found.items() if cause is not None}


def set_fingerprint(tx: sa.Connection, stack_id: str, number: int, fingerprint: str,
                    mark: ReplacementCause | None = None) -> None:
    """Write the fingerprint of one row outside a traversal, and why the next update may replace the resource. The
    caller must hold the lease's lock."""
    tx.execute(resource.update().where(resource.c.stack_id == stack_id, resource.c.id == number).values(
        fingerprint=fingerprint, cause=_mark(tx, mark)))


def fail_in_progress(tx: sa.Connection, stack_id: str, reason: str, now: datetime) -> int:
    """Mark IN_PROGRESS rows as FAILED and return how many."""
    return int(tx.execute(resource.update().where(
        resource.c.stack_id == stack_id, resource.c.status == Status.IN_PROGRESS.value)
        .values(status=Status.FAILED.value, reason=codec.stored_text('reason', reason), updated_at=now)).rowcount)
