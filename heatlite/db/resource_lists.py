"""Lists and numbers of resources, of one stack and of several. Never opens, commits or retries a transaction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db import codec
from heatlite.db.bulk import chunks
from heatlite.db.stack_trees import IN_TREE, ITSELF, OWNED, Selected, family
from heatlite.db.stacks import IDENTITY, Identity
from heatlite.db.tables import resource, stack
from heatlite.planning import progress
from heatlite.planning.states import Status
from heatlite.planning.waiting import Wait


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


ROWS_PER_SLICE = 500
FEW = 20                # numbers of rows of a stack that come with it: each brings the columns of the stack, too
DETAILS = ('definition', 'attributes', 'metadata')
_BRIEF = tuple(resource.c[name] for name in ShownResource.__dataclass_fields__ if name not in DETAILS)
_DETAILED = tuple(resource.c[name] for name in ShownResource.__dataclass_fields__)
_FIELDS = list(ShownResource.__dataclass_fields__)
_NUMBER, _UUID = map(_FIELDS.index, ('id', 'uuid'))
_PLACE = itemgetter(_FIELDS.index('stack_id'), _NUMBER)
_NEEDING = itemgetter(*map(_FIELDS.index, ('stack_id', 'name', 'requires')))
_shown = codec.reader(ShownResource, 'requires', *DETAILS)
_brief = codec.cached_reader(ShownResource, 'requires')
Requiring = dict[str, dict[str, tuple[str, ...]]]       # stack -> name -> names of the resources that need it
_Found = dict[str, dict[str, dict[str, None]]]
_REQUIRES_SOME = resource.c.requires != '{}'
# Built once: building a statement costs more than running it.
_OF_STACK = resource.c.stack_id == sa.bindparam('stack_id')
_OF_STACKS = resource.c.stack_id.in_(sa.bindparam('stack_ids', expanding=True))
_NAMED = resource.c.name.in_(sa.bindparam('names', expanding=True))
# Not sorted: the server would make a temporary table for the texts, which takes as long as all else.
_FEW_COLUMNS = (*IDENTITY, stack.c.created_at, stack.c.next_resource)
_AND_FEW = stack.outerjoin(resource, sa.and_(
    resource.c.stack_id == stack.c.id, ITSELF, stack.c.next_resource <= FEW))
_WITH_FEW: dict[bool, Selected] = {
    True: sa.union_all(sa.select(*_FEW_COLUMNS, *_BRIEF).select_from(_AND_FEW).where(ITSELF),
                       sa.select(*_FEW_COLUMNS, *(sa.null() for _column in _BRIEF)).where(OWNED)),
    False: sa.select(*_FEW_COLUMNS, *_BRIEF).select_from(_AND_FEW).where(IN_TREE)}
_NAME = sa.bindparam('name', type_=resource.c.name.type)
_BY_NAME = sa.select(*_DETAILED).where(_OF_STACK, resource.c.name == _NAME).order_by(resource.c.id)
_REQUIRING = sa.select(resource.c.stack_id, resource.c.name, resource.c.requires).order_by(
    resource.c.stack_id, resource.c.id)
_BELOW = stack.alias()
_IN_PLACE = sa.select(*IDENTITY, *(_BELOW.c[column.name] for column in IDENTITY), *_DETAILED).select_from(
    stack.outerjoin(resource, sa.and_(resource.c.stack_id == stack.c.id, resource.c.name == _NAME))
    .outerjoin(_BELOW, sa.and_(_BELOW.c.owner_id == stack.c.id, _BELOW.c.parent_resource == _NAME,
                               _BELOW.c.live == 1))).where(
    stack.c.id == sa.bindparam('stack_id')).order_by(resource.c.id, _BELOW.c.created_at)


@dataclass(frozen=True)
class ResourceCount:
    """How many resources of a stack have this type and state."""

    type: str
    action: str
    status: str
    number: int


def page(tx: sa.Connection, stack_ids: Sequence[str], details: Sequence[str] = (),
         yield_control: Callable[[], None] = lambda: None, names: Sequence[str] = ()) -> list[ShownResource]:
    """Rows of these stacks, each stack's by number. `details`: which of DETAILS are read; others are None. `names`: if
    there are any, at most bulk.AT_ONCE, only of resources with these names; perhaps of some that differ by blanks at
    their ends.

    One SELECT for each 500 stacks; ranges of the primary key, with names of (stack_id, name, id). Calls `yield_control`
    after each whole slice of rows: reading ten thousand of them would block other green threads for too long.
    """
    found: list[ShownResource] = []
    for chunk in chunks(stack_ids):
        is_one = len(chunk) == 1
        wanted: dict[str, object] = {'stack_id': chunk[0]} if is_one else {'stack_ids': chunk}
        rows = tx.execute(_page(tuple(details), is_one, bool(names)), {**wanted, 'names': names} if names else wanted)
        for block in rows.partitions(ROWS_PER_SLICE):
            found += map(_shown, block) if details else _brief(map(_without_detail, block), len(found))
            if len(block) == ROWS_PER_SLICE:
                yield_control()
    return found


@functools.cache
def _page(details: tuple[str, ...], is_one: bool, is_named: bool) -> sa.Select[tuple[object, ...]]:
    """Return the statement of `page`, built once. For one stack without a list: it is not known when the statement is
    compiled, which takes as long as sending it."""
    columns = [*_BRIEF, *(resource.c[name] if name in details else sa.null().label(name) for name in DETAILS)]
    return sa.select(*columns if details else _BRIEF).where(
        _OF_STACK if is_one else _OF_STACKS, *([_NAMED] if is_named else ())).order_by(
        resource.c.stack_id, resource.c.id)


def named(tx: sa.Connection, stack_ids: Sequence[str], names: Sequence[str], details: Sequence[str] = (),
          yield_control: Callable[[], None] = lambda: None) -> tuple[list[ShownResource], Requiring]:
    """Return what `page` and `requiring` return for these names: the rows with them, and what requires them.

    One SELECT for each 500 stacks, which reads ranges as theirs do. Two would wait twice for a busy server.
    """
    found, needing = list[ShownResource](), _Found()
    for chunk in chunks(stack_ids):
        is_one = len(chunk) == 1
        wanted = {'stack_id': chunk[0]} if is_one else {'stack_ids': chunk}
        own, others = list[Sequence[object]](), list[Sequence[object]]()
        for block in tx.execute(_named(tuple(details), is_one, names), {**wanted, 'names': names}).partitions(
                ROWS_PER_SLICE):
            for row in block:
                (others if row[_UUID] is None else own).append(row)
            if len(block) == ROWS_PER_SLICE:
                yield_control()
        for rows in (own, others):
            rows.sort(key=_PLACE)
        found += map(_shown, own) if details else _brief(map(_without_detail, own), len(found))
        _note_requiring(needing, map(_NEEDING, others), frozenset(names))
    return found, _in_order(needing)


def _named(details: tuple[str, ...], is_one: bool, names: Sequence[str]) -> Selected:
    return _named_many(details, is_one) if len(names) > FEW else _both(details, is_one, _requires_any(names))


@functools.cache
def _named_many(details: tuple[str, ...], is_one: bool) -> Selected:
    return _both(details, is_one, _REQUIRES_SOME)


def _both(details: tuple[str, ...], is_one: bool, condition: sa.ColumnElement[bool]) -> Selected:
    """Return the statement for rows with names, and for those that `condition` is true for, without their `uuid`."""
    rows = _page(details, is_one, True).order_by(None)
    kept = {'stack_id', 'id', 'name', 'requires'}
    others = sa.select(*(column if column.name in kept else sa.null() for column in rows.selected_columns)).where(
        _OF_STACK if is_one else _OF_STACKS, condition)
    return sa.union_all(rows, others)


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


def oldest_holders(tx: sa.Connection, physical_id: str, project_id: str | None, most: int) -> list[Holder]:
    """Return the resources with this physical id in live stacks of the project, or for its users inside stacks (None:
    of all), `most` at most: those that were stored first. Index: (physical_id)."""
    query = sa.select(*_HOLDER).join(stack, stack.c.id == resource.c.stack_id).where(
        resource.c.physical_id == physical_id, stack.c.live == 1)
    if project_id is not None:
        query = query.where(sa.or_(stack.c.project_id == project_id, stack.c.user_project_id == project_id))
    return [Holder(*row) for row in tx.execute(query.order_by(resource.c.id).limit(most))]


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
    return list(requiring(tx, [stack_id], [name]).get(stack_id, {}).get(name, ()))


def requiring(tx: sa.Connection, stack_ids: Sequence[str], names: Sequence[str]) -> Requiring:
    """Which resources need those with these names, in the order of creation, each once.

    One SELECT for each 500 stacks. Ranges of the primary key, of which it returns no more than is asked for if there
    are at most FEW names.
    """
    found = _Found()
    for chunk in chunks(stack_ids):
        _note_requiring(found, tx.execute(_REQUIRING.where(resource.c.stack_id.in_(chunk), _requires_any(names))),
                        frozenset(names))
    return _in_order(found)


def _requires_any(names: Sequence[str]) -> sa.ColumnElement[bool]:
    """Return what excludes most rows in SQL, by the names encoded as JSON. The decoded `requires`, which is small,
    decides."""
    if len(names) > FEW:
        return _REQUIRES_SOME
    return sa.or_(*(resource.c.requires.like(f'%{_escaped(codec.encode(name))}%', escape='!') for name in names))


def _note_requiring(found: _Found, rows: Iterable[Sequence[str]], wanted: Set[str]) -> None:
    """Add what these rows, (stack, name, stored requirements), require of what is wanted."""
    for stack_id, name, requires in rows:
        for needed in codec.decode(requires):
            if needed in wanted:
                found.setdefault(stack_id, {}).setdefault(needed, {})[name] = None


def _in_order(found: _Found) -> Requiring:
    return {stack_id: {name: tuple(each) for name, each in needed.items()} for stack_id, needed in found.items()}


def _escaped(text: str) -> str:
    return text.replace('!', '!!').replace('%', '!%').replace('_', '!_')


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
