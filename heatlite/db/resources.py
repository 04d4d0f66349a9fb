"""The `resource` and `resource_data` tables. Rows of one stack are adjacent; only the stack's owner writes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

import sqlalchemy as sa

from heatlite.common import crypt, exception
from heatlite.common.i18n import _
from heatlite.db import bulk, codec
from heatlite.db.bulk import AT_ONCE, chunks
from heatlite.db.codec import ACTIONS, STATUSES
from heatlite.db.stack_trees import IN_TREE, ITSELF, OWNED, Selected, family
from heatlite.db.stacks import IDENTITY, Identity
from heatlite.db.tables import resource, resource_data, stack
from heatlite.planning import progress
from heatlite.planning.replacement import MADE, MARKED, ReplacementCause
from heatlite.planning.states import NO_HANDLE, UNSURE, Action, ResourceState, Status
from heatlite.planning.waiting import Wait

LIGHT = tuple(resource.c[name] for name in ResourceState._fields)
ROW = ('stack_id', 'id', 'name', 'uuid', 'type', 'action', 'status', 'reason', 'physical_id', 'requires', 'replaces',
       'replaced_by', 'template_id', 'fingerprint', 'handle', 'created_at', 'updated_at')
HELD = 'True'                                       # value stored under the name of a hook that holds the resource
UNKNOWN_TIME = datetime(1970, 1, 1)                 # time of creation where it is unknown

WORDS = {member: member.value for kind in (Action, Status) for member in kind}


@dataclass(frozen=True, eq=False)
class ShownResource(codec.CachedRow):
    """A resource as the API shows it. `definition`, `attributes`, `metadata`: None if not requested, or empty."""

    stack_id: str
    id: int
    name: str
    uuid: str
    type: str
    action: str
    status: str
    reason: str
    physical_id: str | None
    requires: Mapping[str, int]
    replaces: int | None
    replaced_by: int | None
    template_id: str | None
    created_at: datetime
    updated_at: datetime | None
    definition: Mapping[str, object] | None = None
    attributes: Mapping[str, object] | None = None
    metadata: Mapping[str, object] | None = None


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


ROWS_PER_SLICE = 500
FEW = 20                # numbers of rows of a stack that come with it: each brings the columns of the stack, too
_DETAILS = ('definition', 'attributes', 'metadata')
_BRIEF = tuple(resource.c[name] for name in ShownResource.__dataclass_fields__ if name not in _DETAILS)
_DETAILED = tuple(resource.c[name] for name in ShownResource.__dataclass_fields__)
_NUMBER = list(ShownResource.__dataclass_fields__).index('id')
_shown = codec.reader(ShownResource, 'requires', *_DETAILS)
_brief = codec.cached_reader(ShownResource, 'requires')
# Built once: building a statement costs more than running it.
_OF_STACK = resource.c.stack_id == sa.bindparam('stack_id')
_LIGHT = sa.select(*LIGHT).where(_OF_STACK).order_by(resource.c.id)
_NOT_ENCODED = {'requires': sa.literal('{}', sa.Text()).label('requires'),
                'handle': sa.literal(None, sa.Text()).label('handle')}
_PLAIN = sa.select(*(_NOT_ENCODED.get(column.name, column) for column in LIGHT)).where(_OF_STACK).order_by(
    resource.c.id)
_OF_STACKS = resource.c.stack_id.in_(sa.bindparam('stack_ids', expanding=True))
_NAMED = sa.or_(resource.c.name.in_(sa.bindparam('names', expanding=True)), resource.c.requires != '{}')
# For one stack without a list: it is not known when the statement is compiled, which takes as long as sending it.
_PAGES = {(with_detail, is_one, is_named): sa.select(*columns).where(
              _OF_STACK if is_one else _OF_STACKS, *([_NAMED] if is_named else ())).order_by(
              resource.c.stack_id, resource.c.id)
          for with_detail, columns in ((False, _BRIEF), (True, _DETAILED)) for is_one in (True, False)
          for is_named in (True, False)}
# Not sorted: the server would make a temporary table for the texts, which takes as long as all else.
_FEW_COLUMNS = (*IDENTITY, stack.c.created_at, stack.c.next_resource)
_AND_FEW = stack.outerjoin(resource, sa.and_(
    resource.c.stack_id == stack.c.id, ITSELF, stack.c.next_resource <= FEW))
_WITH_FEW: dict[bool, Selected] = {
    True: sa.union_all(sa.select(*_FEW_COLUMNS, *_BRIEF).select_from(_AND_FEW).where(ITSELF),
                       sa.select(*_FEW_COLUMNS, *(sa.null() for _column in _BRIEF)).where(OWNED)),
    False: sa.select(*_FEW_COLUMNS, *_BRIEF).select_from(_AND_FEW).where(IN_TREE)}
_KINDS = sa.select(resource.c.type, resource.c.template_id, sa.func.count(), sa.func.max(resource.c.id)).where(
    _OF_STACK).group_by(resource.c.type, resource.c.template_id)
_UNLIKE_APPLIED = _LIGHT.where(sa.or_(
    resource.c.requires != '{}', resource.c.status != Status.COMPLETE.value,
    resource.c.action.in_([Action.INIT.value, Action.DELETE.value]), resource.c.replaces.is_not(None),
    resource.c.replaced_by.is_not(None), resource.c.fingerprint.in_(['', *sorted(UNSURE)]),
    resource.c.type.in_(sa.bindparam('types', expanding=True))))
_NAME = sa.bindparam('name', type_=resource.c.name.type)
_BY_NAME = sa.select(*_DETAILED).where(_OF_STACK, resource.c.name == _NAME).order_by(resource.c.id)
_REQUIRING = sa.select(resource.c.name, resource.c.requires).where(
    _OF_STACK, resource.c.requires.like(sa.bindparam('pattern'), escape='!')).order_by(resource.c.id)
_BELOW = stack.alias()
_IN_PLACE = sa.select(*IDENTITY, *(_BELOW.c[column.name] for column in IDENTITY), *_DETAILED).select_from(
    stack.outerjoin(resource, sa.and_(resource.c.stack_id == stack.c.id, resource.c.name == _NAME))
    .outerjoin(_BELOW, sa.and_(_BELOW.c.owner_id == stack.c.id, _BELOW.c.parent_resource == _NAME,
                               _BELOW.c.live == 1))).where(
    stack.c.id == sa.bindparam('stack_id')).order_by(resource.c.id, _BELOW.c.created_at)


# --- for the owner of a stack -------------------------------------------------------------------------------

@dataclass(frozen=True)
class ResourceCount:
    """How many resources of a stack have this type and state."""

    type: str
    action: str
    status: str
    number: int


def light(tx: sa.Connection, stack_id: str) -> list[ResourceState]:
    """All rows of a stack without their heavy columns, by number. Reads one range of the primary key."""
    return [_state(row) for row in tx.execute(_LIGHT, {'stack_id': stack_id}).all()]     # `all` takes half the time


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


def columns(tx: sa.Connection, stack_id: str, numbers: Iterable[int] | None,
            names: Sequence[str]) -> dict[int, dict[str, dict[str, object] | None]]:
    """Heavy columns, decoded: {row number: {name: value}}.

    `numbers` None: all rows of the stack that have any of them.
    """
    selected = sa.select(resource.c.id, *(resource.c[name] for name in names)).where(resource.c.stack_id == stack_id)
    queries = [selected.where(sa.or_(*(resource.c[name].is_not(None) for name in names)))] if numbers is None else [
        selected.where(resource.c.id.in_(chunk)) for chunk in chunks(list(numbers))]
    return {number: dict(zip(names, map(codec.decode, values), strict=True))
            for query in queries for number, *values in tx.execute(query)}


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


# --- for the API --------------------------------------------------------------------------------------------

def page(tx: sa.Connection, stack_ids: Sequence[str], with_detail: bool = False,
         yield_control: Callable[[], None] = lambda: None, names: Sequence[str] = ()) -> list[ShownResource]:
    """Rows of these stacks, each stack's by number; `with_detail`: with definition, attributes and metadata. `names`:
    if there are at most AT_ONCE, only of resources with these names, and of all that require others, as they may
    require these.

    One SELECT for each 500 stacks; ranges of the primary key. Calls `yield_control` after each whole slice of rows:
    reading ten thousand of them would block other green threads for too long.
    """
    found: list[ShownResource] = []
    is_named = 0 < len(names) <= AT_ONCE
    for chunk in chunks(stack_ids):
        is_one = len(chunk) == 1
        wanted: dict[str, object] = {'stack_id': chunk[0]} if is_one else {'stack_ids': chunk}
        rows = tx.execute(_PAGES[with_detail, is_one, is_named], {**wanted, 'names': names} if is_named else wanted)
        for block in rows.partitions(ROWS_PER_SLICE):
            found += map(_shown, block) if with_detail else _brief(map(_without_detail, block), len(found))
            if len(block) == ROWS_PER_SLICE:
                yield_control()
    return found


def _without_detail(row: Sequence[object]) -> Sequence[object]:
    return (*row, None, None, None)


@dataclass(frozen=True)
class StackWithFew:
    """A stack, live stacks below it, outer ones first, and its rows as they are stored if they are few; None: read
    `page`."""

    stack: Identity
    below: list[Identity]
    stored: Sequence[Sequence[object]] | None

    def rows(self) -> list[ShownResource] | None:
        """As `page`. Call it for those who may see the stack: nothing is decoded for others."""
        return None if self.stored is None else _brief(map(_without_detail, self.stored))


def with_few(tx: sa.Connection, stack_id: str, depth: int) -> StackWithFew | None:
    """As stack_trees.with_descendants, with the rows of a small stack. One SELECT.

    Indexes: as there, and ranges of the primary key.
    """
    found = tx.execute(_WITH_FEW[depth <= 1], {'stack_id': stack_id, 'depth': depth}).all()
    own = [row for row in found if row[0] == stack_id]
    if not own:
        return None
    number, first = len(IDENTITY) + 1, len(IDENTITY) + 2
    top, nested = family(stack_id, depth, [own[0], *(row for row in found if row[0] != stack_id)])
    assert top is not None
    few = sorted((row[first:] for row in own if row[first] is not None), key=itemgetter(_NUMBER))
    return StackWithFew(top, nested, None if own[0][number] > FEW else few)


def by_name(tx: sa.Connection, stack_id: str, name: str) -> list[ShownResource]:
    """All rows of a name, by number: several during a replacement. Index: (stack_id, name, id)."""
    found = (_shown(row) for row in tx.execute(_BY_NAME, {'stack_id': stack_id, 'name': name}))
    return [row for row in found if row.name == name]


def in_place(tx: sa.Connection, stack_id: str, name: str) -> tuple[Identity, list[ShownResource],
                                                                   Identity | None] | None:
    """Return the stack (deleted or not), its rows of a name by number, and the live nested stack of that resource.

    None when there is no such stack. One SELECT: primary key of the stack, (stack_id, name, id), (owner_id).
    """
    rows = tx.execute(_IN_PLACE, {'stack_id': stack_id, 'name': name}).all()
    if not rows:
        return None
    width = len(IDENTITY)
    found = {row[2 * width + _NUMBER]: _shown(row[2 * width:]) for row in rows if row[2 * width] is not None}
    below = [nested for row in rows if row[width] is not None
             and (nested := Identity(*row[width:2 * width])).parent_resource == name]
    return (Identity(*rows[0][:width]), [row for row in found.values() if row.name == name],
            below[-1] if below else None)


def by_physical_id(tx: sa.Connection, physical_id: str, project_id: str | None) -> list[ShownResource]:
    """Rows of live stacks of the project (None: of all) with this physical id. Index: (physical_id)."""
    query = sa.select(*_DETAILED).join(stack, stack.c.id == resource.c.stack_id).where(
        resource.c.physical_id == physical_id, stack.c.live == 1)
    if project_id is not None:
        query = query.where(sa.or_(stack.c.project_id == project_id, stack.c.user_project_id == project_id))
    return [_shown(row) for row in tx.execute(query.order_by(resource.c.stack_id, resource.c.id))]


@dataclass(frozen=True)
class Holder:
    """A resource that has an object. `id`: the number of its row."""

    stack_id: str
    stack_name: str
    project_id: str
    id: int
    name: str
    type: str


_HOLDER = (stack.c.id, stack.c.name, stack.c.project_id, resource.c.id, resource.c.name, resource.c.type)
_HOLDERS = sa.select(*_HOLDER).join(stack, stack.c.id == resource.c.stack_id).where(
    resource.c.physical_id == sa.bindparam('physical_id', type_=resource.c.physical_id.type),
    stack.c.live == 1).order_by(resource.c.stack_id, resource.c.id)


def holders(tx: sa.Connection, physical_id: str) -> list[Holder]:
    """Return the resources of live stacks of all projects with this physical id. Index: (physical_id)."""
    return [Holder(*row) for row in tx.execute(_HOLDERS, {'physical_id': physical_id})]


def placed(tx: sa.Connection, project_id: str, physical_ids: Iterable[str]) -> dict[str, list[Holder]]:
    """Return the resources of live stacks of a project that have these objects, by physical id."""
    found: dict[str, list[Holder]] = {}
    for physical_id, *holder in _having(tx, physical_ids, _HOLDER, stack.c.project_id == project_id):
        found.setdefault(physical_id, []).append(Holder(*holder))
    return found


def owners(tx: sa.Connection, physical_ids: Iterable[str]) -> dict[str, set[str]]:
    """Which of these objects are in live stacks of any project: physical id -> types of the resources that have it."""
    found: dict[str, set[str]] = {}
    for physical_id, kind in _having(tx, physical_ids, (resource.c.type,)):
        found.setdefault(physical_id, set()).add(kind)
    return found


def _having(tx: sa.Connection, physical_ids: Iterable[str], columns: Sequence[sa.Column[object]],
            *conditions: sa.ColumnElement[bool]) -> Iterator[sa.Row[tuple[object, ...]]]:
    """(physical id, columns) of the resources of live stacks that have these objects.

    One SELECT for each 500 ids. Index: (physical_id)."""
    for chunk in chunks(sorted(physical_ids)):
        yield from tx.execute(sa.select(resource.c.physical_id, *columns).join(
            stack, stack.c.id == resource.c.stack_id).where(
            resource.c.physical_id.in_(chunk), stack.c.live == 1, *conditions))


def required_by(tx: sa.Connection, stack_id: str, name: str) -> list[str]:
    """Names of the resources of the stack that need `name`, in the order of creation."""
    # The name encoded as JSON excludes most rows in SQL; the decoded `requires`, which is small, decides.
    pattern = '%' + _escaped(codec.encode(name)) + '%'
    rows = tx.execute(_REQUIRING, {'stack_id': stack_id, 'pattern': pattern})
    return list(dict.fromkeys(row.name for row in rows if name in codec.decode(row.requires)))


def _escaped(text: str) -> str:
    return text.replace('!', '!!').replace('%', '!%').replace('_', '!_')


# --- metadata ----------------------------------------------------------------------------------------------

def metadata(tx: sa.Connection, stack_id: str, number: int) -> tuple[Mapping[str, object] | None, int]:
    """(metadata, its version), as `set_metadata` needs them. Raises LookupError when the row is gone."""
    row = tx.execute(sa.select(resource.c.metadata, resource.c.metadata_version).where(
        resource.c.stack_id == stack_id, resource.c.id == number)).first()
    if row is None:
        raise LookupError(f'Stack {stack_id} has no resource row {number}')
    return codec.decode(row[0]), row[1]


def set_metadata(tx: sa.Connection, stack_id: str, number: int, value: Mapping[str, object], version: int) -> bool:
    """Compare and swap: False when another writer has changed it since `version` was read."""
    done = tx.execute(resource.update().where(
        resource.c.stack_id == stack_id, resource.c.id == number, resource.c.metadata_version == version)
        .values(metadata=codec.encoder(tx)(value), metadata_version=version + 1))
    return bool(done.rowcount)


# --- data --------------------------------------------------------------------------------------------------

def data(tx: sa.Connection, stack_id: str, number: int) -> list[StoredDatum]:
    """All data of one resource as stored, by key. Primary key."""
    query = sa.select(resource_data.c.key, resource_data.c.value, resource_data.c.method).where(
        resource_data.c.stack_id == stack_id, resource_data.c.resource_id == number)
    return [StoredDatum(*row) for row in tx.execute(query.order_by(resource_data.c.key))]


def all_data(tx: sa.Connection, stack_id: str) -> dict[int, list[StoredDatum]]:
    """Return the data of all resources of a stack, by row number."""
    query = sa.select(resource_data.c.resource_id, resource_data.c.key, resource_data.c.value,
                      resource_data.c.method).where(resource_data.c.stack_id == stack_id)
    found: dict[int, list[StoredDatum]] = {}
    for number, *datum in tx.execute(query.order_by(resource_data.c.resource_id, resource_data.c.key)):
        found.setdefault(number, []).append(StoredDatum(*datum))
    return found


def secrets(tx: sa.Connection, stack_id: str, numbers: Collection[int] | None = None) -> set[str]:
    """Return the data that types have marked as secret, of a stack or of some of its rows. Ranges of the primary
    key."""
    query = sa.select(resource_data.c.key, resource_data.c.value, resource_data.c.method).where(
        resource_data.c.stack_id == stack_id, resource_data.c.method.is_not(None))
    if numbers is not None:
        query = query.where(resource_data.c.resource_id.in_(numbers))
    return {value for row in tx.execute(query) if (value := StoredDatum(*row).clear())}


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


# --- for operators -----------------------------------------------------------------------------------------

def set_state(tx: sa.Connection, stack_id: str, row: ResourceState, mark: ReplacementCause | None = None) -> None:
    """Write action, status, reason and time of one row outside a traversal, and why the next update replaces the
    resource. The caller must hold the lease's lock."""
    tx.execute(resource.update().where(resource.c.stack_id == stack_id, resource.c.id == row.id).values(
        action=str(row.action), status=str(row.status), reason=codec.stored_text('reason', row.reason),
        updated_at=row.updated_at, cause=_mark(tx, mark)))


def _mark(tx: sa.Connection, mark: ReplacementCause | None) -> str | None:
    return None if mark is None else codec.encoder(tx)({MARKED: mark.to_json()})


def replacement_causes(tx: sa.Connection, stack_id: str) -> dict[str, ReplacementCause]:
    """Return what the resources of a stack were made for in place of others, by name, where it is stored. One range of
    the primary key."""
    query = sa.select(resource.c.name, resource.c.cause).where(
        resource.c.stack_id == stack_id, resource.c.cause.is_not(None), resource.c.replaced_by.is_(None))
    found = {name: codec.decode(cause).get(MADE) for name, cause in tx.execute(query)}
    return {name: ReplacementCause.from_json(cause) for name, cause in found.items() if cause is not None}


def stored_wait(text: str) -> Wait | None:
    """Return what the column `waits` of a resource has; None if that cannot be decoded."""
    try:
        return Wait.from_json(codec.decode(text))
    except codec.UNDECODABLE:
        return None


def waits(tx: sa.Connection, stack_ids: Sequence[str]) -> dict[tuple[str, str], Wait]:
    """Return what the resources in progress of these stacks wait for, where it is stored and can be decoded: (stack,
    name) -> wait. Primary keys."""
    found = {}
    for chunk in chunks(list(stack_ids)):
        query = sa.select(resource.c.stack_id, resource.c.name, resource.c.created_at, resource.c.updated_at,
                          resource.c.waits).where(
            resource.c.stack_id.in_(chunk), resource.c.waits.is_not(None), resource.c.replaced_by.is_(None),
            resource.c.status == Status.IN_PROGRESS.value)
        for stack_id, name, created_at, updated_at, stored in tx.execute(query):
            wait = stored_wait(stored)
            if wait is not None and wait.row_at == (updated_at or created_at):      # else of an earlier action
                found[stack_id, name] = wait
    return found


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


def find(tx: sa.Connection, text: str) -> ShownResource:
    """Find a row by physical id or uuid, in any project. Raises NotFound, or PhysicalResourceIDAmbiguity."""
    rows = tx.execute(sa.select(*_DETAILED).where(
        sa.or_(resource.c.physical_id == text, resource.c.uuid == text)).limit(2)).all()
    if not rows:
        raise exception.NotFound(_('No resource has the physical id or uuid %(id)s.'), id=text)
    if len(rows) > 1:
        raise exception.PhysicalResourceIDAmbiguity(phys_id=text)
    return _shown(rows[0])


def counts(tx: sa.Connection, stack_id: str) -> list[ResourceCount]:
    """Return the resources of a stack by type and state, without replaced ones. Primary key."""
    kinds = (resource.c.type, resource.c.action, resource.c.status)
    return [ResourceCount(*row) for row in tx.execute(sa.select(*kinds, sa.func.count()).where(
        resource.c.stack_id == stack_id, resource.c.replaced_by.is_(None)).group_by(*kinds))]


def counts_by_level(tx: sa.Connection, stack_ids: Sequence[str]) -> list[progress.StateCount]:
    """Return the resources of these stacks by depth in the tree and state, without replaced ones. Primary keys."""
    kinds = (stack.c.depth, stack.c.action, resource.c.action, resource.c.status)
    return [progress.StateCount(*row) for chunk in chunks(stack_ids) for row in tx.execute(
        sa.select(*kinds, sa.func.count()).join_from(stack, resource, resource.c.stack_id == stack.c.id).where(
            stack.c.id.in_(chunk), resource.c.replaced_by.is_(None)).group_by(*kinds))]


def in_progress(tx: sa.Connection, stack_ids: Sequence[str], limit: int) -> list[ShownResource]:
    """Resources of these stacks that an action is in progress on, at most `limit`, the longest running first."""
    found = [_shown((*row, None, None, None)) for chunk in chunks(stack_ids) for row in tx.execute(
        sa.select(*_BRIEF).where(resource.c.stack_id.in_(chunk), resource.c.status == Status.IN_PROGRESS)
        .order_by(sa.func.coalesce(resource.c.updated_at, resource.c.created_at)).limit(limit))]
    return sorted(found, key=lambda each: each.updated_at or each.created_at)[:limit]
