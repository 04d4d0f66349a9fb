"""The `stack` table and all statements on it. Never opens, commits or retries a transaction."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Protocol, TypeAlias, TypedDict, Unpack

import sqlalchemy as sa
from oslo_db import exception as db_exception

from heatlite.common import exception
from heatlite.db import bulk, codec, leases, presence
from heatlite.db.listing import Keys, Page, ordered
from heatlite.db.tables import SEALED, stack, stack_tag
from heatlite.planning import revisions
from heatlite.planning.states import Status


@dataclass(frozen=True)
class StoredStack:
    """A whole row, with JSON decoded."""

    id: str
    name: str
    project_id: str
    username: str | None
    owner_id: str | None
    root_id: str
    parent_resource: str | None
    depth: int
    action: str
    status: str
    reason: str
    description: str
    template_id: str
    previous_template_id: str | None
    generation: int
    next_resource: int
    timeout_mins: int | None
    disable_rollback: bool
    converge: bool
    credentials_id: str | None
    user_project_id: str | None
    tags: Sequence[str] | None
    parameters: Mapping[str, object] | None
    outputs: Sequence[Mapping[str, object]] | None
    request: Mapping[str, Any] | None
    created_at: datetime
    updated_at: datetime | None
    started_at: datetime | None
    deleted_at: datetime | None
    revision: int | None = None
    outcome: str | None = None
    restored_from: datetime | None = None       # when the backup was taken that the stack, or its parent, is from
    # Whether a root stack has, or had, resources in its tree that act by the token of its requests. None: not known, as
    # for stacks of release 0.1.0 and of a Heat.
    acts_by_token: bool | None = None
    departed: str | None = None                 # its project is not in this cell: see db.presence


@dataclass(frozen=True, eq=False)
class Summary(codec.KeptRow):
    """The columns that lists show."""

    id: str
    name: str
    project_id: str
    username: str | None
    owner_id: str | None
    user_project_id: str | None
    action: str
    status: str
    reason: str
    description: str
    tags: Sequence[str] | None
    created_at: datetime
    updated_at: datetime | None
    deleted_at: datetime | None


@dataclass(frozen=True)
class Identity:
    """Ids, project, place in the tree and state of a stack: enough for links, access and waiting."""

    id: str
    name: str
    project_id: str
    user_project_id: str | None
    root_id: str
    owner_id: str | None
    parent_resource: str | None
    depth: int
    template_id: str
    previous_template_id: str | None
    generation: int
    action: str
    status: str
    reason: str
    deleted_at: datetime | None


class StackFilter(Page, Protocol):
    """Which stacks a list has, and in which order; names are those of columns.

    `tags`: has all, `tags_any`: has one, `not_`: the opposite.
    """

    @property
    def show_deleted(self) -> bool: ...

    @property
    def show_nested(self) -> bool: ...

    @property
    def tags(self) -> Sequence[str]: ...

    @property
    def tags_any(self) -> Sequence[str]: ...

    @property
    def not_tags(self) -> Sequence[str]: ...

    @property
    def not_tags_any(self) -> Sequence[str]: ...


Selected: TypeAlias = sa.Select[tuple[object, ...]] | sa.CompoundSelect[tuple[object, ...]]
NAMES = tuple(field.name for field in fields(StoredStack))
TIMES = ('created_at', 'updated_at', 'started_at', 'deleted_at', 'restored_from')
JSON = ('tags', 'parameters', 'outputs', 'request')
DEEPEST = 1000                          # levels of nested stacks: more than any tree has
WHOLE = codec.columns(stack, StoredStack)
SUMMARY = codec.columns(stack, Summary)
IDENTITY = codec.columns(stack, Identity)
# Built once: building a statement costs more than running it.
_ANY = sa.select(*WHOLE).where(stack.c.id == sa.bindparam('stack_id'))
_LIVE = _ANY.where(stack.c.live == 1)
_BY_ID = {(True, False): _ANY, (True, True): _ANY.with_for_update(),        # (deleted, for_update)
          (False, False): _LIVE, (False, True): _LIVE.with_for_update()}
_PARAMETERS = sa.select(stack.c.parameters).where(stack.c.id == sa.bindparam('stack_id'))
_IDENTITY_BY_ID = sa.select(*IDENTITY).where(stack.c.id == sa.bindparam('stack_id'))
# A root, and what is at most `depth` levels below it.
IN_TREE = sa.and_(stack.c.root_id == sa.bindparam('stack_id'), stack.c.depth.between(0, sa.bindparam('depth')),
                  sa.or_(stack.c.live == 1, stack.c.id == sa.bindparam('stack_id')))
# A stack of any depth, and those that its resources own. Two parts of one statement: with an OR a server might read
# the whole table.
ITSELF = stack.c.id == sa.bindparam('stack_id')
OWNED = sa.and_(stack.c.owner_id == sa.bindparam('stack_id'), stack.c.live == 1)
OUTER_FIRST = (stack.c.depth, stack.c.created_at, stack.c.id)
_FAMILY = (*IDENTITY, stack.c.created_at)
_DEPTH, _WIDTH = [field.name for field in fields(Identity)].index('depth'), len(IDENTITY)
_WITH_DESCENDANTS: dict[bool, Selected] = {
    True: sa.union_all(sa.select(*_FAMILY).where(ITSELF), sa.select(*_FAMILY).where(OWNED)),
    False: sa.select(*_FAMILY).where(IN_TREE)}
_SETTLED = stack.c.id, stack.c.owner_id, stack.c.generation, stack.c.settled
_OWNED = sa.and_(stack.c.owner_id.in_(sa.bindparam('owners', expanding=True)), stack.c.live == 1)
_OWNED_IDENTITIES = sa.select(*IDENTITY, stack.c.created_at).where(_OWNED)
_OWNED_SETTLED = sa.select(*_SETTLED).where(_OWNED)
_PROJECTS = sa.or_(stack.c.project_id == sa.bindparam('project'), stack.c.user_project_id == sa.bindparam('project'))
_IDENTITY_WITHIN = _IDENTITY_BY_ID.where(_PROJECTS)
_IDENTITY_BY_NAME = sa.select(*IDENTITY).where(
    stack.c.name == sa.bindparam('stack_name'), stack.c.live == 1, _PROJECTS).order_by(
    stack.c.created_at, stack.c.id).limit(1)
_LIVE_ROOTS = sa.select(sa.func.count()).select_from(stack).where(
    stack.c.project_id == sa.bindparam('project'), stack.c.live == 1, stack.c.owner_id.is_(None))
_stack = codec.reader(StoredStack, *JSON)
_summaries = codec.kept_reader(Summary, 'tags')



class TemplateColumns(TypedDict, total=False):
    """The columns that follow from a template and an environment."""

    parameters: Mapping[str, object] | None
    description: str


class Requested(TemplateColumns, total=False):
    """The columns that a request may change besides the state."""

    template_id: str
    previous_template_id: str | None
    request: Mapping[str, object] | None
    timeout_mins: int | None
    disable_rollback: bool
    converge: bool
    tags: Sequence[str] | None
    outputs: Sequence[Mapping[str, object]] | None
    credentials_id: str | None
    user_project_id: str | None
    username: str | None
    acts_by_token: bool | None


class Revised(TypedDict, total=False):
    """The columns about the revision that a request changes."""

    revision: int | None
    outcome: str | None


REQUESTED = frozenset(Requested.__annotations__)
ACCEPTED = ('action', 'status', 'reason', 'updated_at', 'started_at', 'generation', 'revision', 'outcome')
SELECTED_AT_ONCE = 500                              # values in one IN list
NEVER = datetime(1970, 1, 1)                        # stands for null where rows are sorted by `updated_at`


# --- one stack ---------------------------------------------------------------------------------------------

def insert(tx: sa.Connection, new: StoredStack) -> None:
    """Inserts a stack. Raises StackExists when a live stack of the project has this name. Insert its lease with it."""
    time = bulk.Times()
    values = {name: getattr(new, name) for name in NAMES}
    for name in JSON:
        values[name] = _encoded(tx, name, values[name])
    for name in TIMES:
        values[name] = time(values[name])
    values['reason'], values['description'] = codec.clean(new.reason), codec.clean(new.description)
    row = (*values.values(), None if new.deleted_at else 1)
    try:
        bulk.texts(tx.dialect.name).insert(tx, 'stack', (*NAMES, 'live'), [row])
    except db_exception.DBDuplicateEntry:
        raise exception.StackExists(stack_name=new.name) from None
    _set_tags(tx, new.id, new.tags)


def get(tx: sa.Connection, stack_id: str, project_id: str | None = None, deleted: bool = False,
        for_update: bool = False) -> StoredStack | None:
    """Selects by primary key; None also when the stack belongs to another project. `deleted`: includes deleted ones.

    Within a writer it raises ProjectMoves for a stack of a project that has left this cell.
    """
    query = _BY_ID[deleted, for_update]
    if project_id is not None:
        query = query.where(*_within(project_id))
    row = tx.execute(query, {'stack_id': stack_id}).first()
    if row is None:
        return None
    if row.departed is not None:
        presence.check_departed(tx)
    return _stack(row)


def show(tx: sa.Connection, stack_id: str) -> StoredStack | None:
    """Selects by primary key, deleted ones included. The caller checks access."""
    return get(tx, stack_id, deleted=True)


def identity(tx: sa.Connection, stack_id: str) -> Identity | None:
    """Selects by primary key, deleted ones included. The caller checks access."""
    row = tx.execute(_IDENTITY_BY_ID, {'stack_id': stack_id}).first()
    return None if row is None else Identity(*row)


def count_live(tx: sa.Connection) -> int:
    """The number of live root stacks of all projects, for operators: reads all rows of stacks."""
    return int(tx.execute(sa.select(sa.func.count()).select_from(stack).where(
        stack.c.live == 1, stack.c.owner_id.is_(None), stack.c.departed.is_(None))).scalar_one())


def project_of_users(tx: sa.Connection, user_project_id: str) -> str | None:
    """The project of a stack whose own users live in that project; None: there is none. Index: (user_project_id)."""
    found = tx.execute(sa.select(stack.c.project_id).where(
        stack.c.user_project_id == user_project_id).limit(1)).scalar()
    return None if found is None else str(found)


def changed_at(tx: sa.Connection, stack_id: str) -> datetime:
    """When a stack was updated last, or created. Primary key."""
    found: datetime = tx.execute(sa.select(sa.func.coalesce(stack.c.updated_at, stack.c.created_at)).where(
        stack.c.id == stack_id)).scalar_one()
    return found


def parameters(tx: sa.Connection, stack_id: str) -> Mapping[str, str] | None:
    """Parameters as users see them, hidden ones masked. Primary key."""
    found = tx.execute(_PARAMETERS, {'stack_id': stack_id}).scalar()
    return None if found is None else codec.decode(found)


def by_name(tx: sa.Connection, project_id: str | None, name: str) -> Identity | None:
    """The oldest live stack of this name that belongs to the project, or whose users live in the project.

    A caller without a project (None) finds nothing. Indexes: (project_id, name, live) and (user_project_id).
    """
    if project_id is None:
        return None
    row = tx.execute(_IDENTITY_BY_NAME, {'stack_name': name, 'project': project_id}).first()
    return None if row is None else Identity(*row)


def by_id_or_name(tx: sa.Connection, project_id: str | None, text: str) -> Identity | None:
    """Selects by id, deleted ones included; else by name among the live ones.

    Only within the project; None finds nothing.
    """
    if project_id is None:
        return None
    row = tx.execute(_IDENTITY_WITHIN, {'stack_id': text, 'project': project_id}).first()
    return by_name(tx, project_id, text) if row is None else Identity(*row)


def has_user_project(tx: sa.Connection, project_id: str | None, user_project_id: str) -> bool:
    """Whether a stack of `project_id` has its users in `user_project_id`. Index: (user_project_id)."""
    return tx.execute(sa.select(stack.c.id).where(
        stack.c.user_project_id == user_project_id, stack.c.project_id == project_id).limit(1)).first() is not None


def _within(project_id: str | None) -> list[sa.ColumnElement[bool]]:
    return [] if project_id is None else [
        sa.or_(stack.c.project_id == project_id, stack.c.user_project_id == project_id)]


# --- lists -------------------------------------------------------------------------------------------------

def page(tx: sa.Connection, project_id: str | None, wanted: StackFilter,
         hidden_tags: Sequence[str] = ()) -> list[Summary]:
    """Stacks of a project (None: of all), newest first unless sorted, at most `limit`, after `marker`.

    An unknown marker is ignored. One statement, two with a marker. Index of the usual list, that of live roots:
    (project_id, live, owner_id, created_at, id); of the others (project_id, created_at, id).
    """
    if wanted.limit == 0:
        return []
    query = _listing(project_id is not None, wanted.show_deleted, wanted.show_nested, tuple(wanted.sort_keys),
                     wanted.sort_dir, wanted.limit is not None)
    filters = _filters(wanted, hidden_tags)
    if filters:
        query = query.where(*filters)
    if wanted.marker:
        keys, ascending = _order(wanted.sort_keys, wanted.sort_dir)
        at = tx.execute(sa.select(*keys).where(stack.c.id == wanted.marker,
                                               *([] if project_id is None else [stack.c.project_id == project_id])))
        position = at.first()
        if position is not None:
            query = query.where(after(keys, position, ascending))
    return _summaries(tx.execute(query, {'project': project_id, 'limit': wanted.limit}).all())


@functools.lru_cache(maxsize=128)
def _listing(is_within: bool, show_deleted: bool, show_nested: bool, sort_keys: tuple[str, ...], sort_dir: str | None,
             is_limited: bool) -> sa.Select[tuple[object, ...]]:
    """The statement of `page` without filters, built once: that costs more than executing it. Parameters: `project`
    (`is_within`), `limit` (`is_limited`)."""
    keys, ascending = _order(sort_keys, sort_dir)
    query = sa.select(*SUMMARY).where(*_scope(is_within, show_deleted, show_nested))
    return ordered(query, keys, ascending, is_limited)


def count(tx: sa.Connection, project_id: str | None, wanted: StackFilter, hidden_tags: Sequence[str] = ()) -> int:
    """The number of stacks for `page`, without its limit and marker."""
    return int(tx.execute(sa.select(sa.func.count()).select_from(stack)
                          .where(*_scope(project_id is not None, wanted.show_deleted, wanted.show_nested),
                                 *_filters(wanted, hidden_tags)), {'project': project_id}).scalar_one())


def newest_roots(tx: sa.Connection, project_id: str | None = None) -> dict[str, list[str]]:
    """The ids of all live root stacks of each project, or of one; those with credentials first, then the newest."""
    query = sa.select(stack.c.project_id, stack.c.id).where(stack.c.live == 1, stack.c.owner_id.is_(None))
    if project_id is not None:
        query = query.where(stack.c.project_id == project_id)
    found: dict[str, list[str]] = {}
    for project, stack_id in tx.execute(query.order_by(
            stack.c.project_id, stack.c.credentials_id.is_(None), stack.c.created_at.desc(), stack.c.id)):
        found.setdefault(project, []).append(stack_id)
    return found


def count_live_roots(tx: sa.Connection, project_id: str) -> int:
    """The number of live root stacks of a project. Index: (project_id, live, owner_id, ...)."""
    return int(tx.execute(_LIVE_ROOTS, {'project': project_id}).scalar_one())


def _scope(is_within: bool, show_deleted: bool, show_nested: bool) -> list[sa.ColumnElement[bool]]:
    """The conditions for all stacks of a list, in the parameter `project` if it `is_within` one."""
    found: list[sa.ColumnElement[bool]] = []
    if is_within:
        found.append(stack.c.project_id == sa.bindparam('project'))
    if not show_deleted:
        found.append(stack.c.live == 1)
    if not show_nested:
        # For all projects: filters by a column without an index, so that the planner uses the index of the order.
        found.append(stack.c.owner_id.is_(None) if is_within else stack.c.depth == 0)
    return found


def _filters(wanted: StackFilter, hidden_tags: Sequence[str]) -> list[sa.ColumnElement[bool]]:
    """The conditions of one request."""
    found: list[sa.ColumnElement[bool]] = []
    if hidden_tags:
        found.append(~_has_any(hidden_tags))
    found += [stack.c[column].in_(list(values)) for column, values in wanted.filters.items()]
    if wanted.tags:
        found += [_has_any(wanted.tags), _has_all(wanted.tags)]
    if wanted.tags_any:
        found.append(_has_any(wanted.tags_any))
    if wanted.not_tags:
        found.append(~_has_all(wanted.not_tags))
    if wanted.not_tags_any:
        found.append(~_has_any(wanted.not_tags_any))
    return found


def _has_all(tags: Iterable[str]) -> sa.ColumnElement[bool]:
    """One condition for any number of tags: with one for each, PostgreSQL plans for minutes and SQLite refuses."""
    wanted = list(dict.fromkeys(tags))
    return sa.select(sa.func.count()).select_from(stack_tag).where(
        stack_tag.c.stack_id == stack.c.id, stack_tag.c.tag.in_(wanted)).scalar_subquery() == len(wanted)


def _has_any(tags: Iterable[str]) -> sa.ColumnElement[bool]:
    return sa.exists().where(stack_tag.c.stack_id == stack.c.id, stack_tag.c.tag.in_(list(tags)))


def _order(sort_keys: Sequence[str], sort_dir: str | None) -> tuple[Keys, bool]:
    """The columns to sort by, and whether ascending. Ties are broken by the id, in the same direction."""
    if not sort_keys:
        return [stack.c.created_at, stack.c.id], sort_dir == 'asc'
    keys: list[sa.ColumnElement[object]] = [
        sa.func.coalesce(stack.c.updated_at, sa.literal(NEVER, stack.c.updated_at.type)).label('updated')
        if name == 'updated_at' else stack.c[name] for name in dict.fromkeys(sort_keys)]
    return [*(key.element if isinstance(key, sa.Label) else key for key in keys), stack.c.id], sort_dir != 'desc'


def after(keys: Keys, position: Sequence[object], ascending: bool) -> sa.ColumnElement[bool]:
    """The condition for rows after `position` in the order of `keys`.

    Spelled out because MySQL uses no index range for (a, b) < (x, y), but does for `a <= x and (a < x or b < y)`.
    """
    def beyond(key: sa.ColumnElement[object], value: object) -> sa.ColumnElement[bool]:
        found: sa.ColumnElement[bool] = key > value if ascending else key < value
        return found

    last = len(keys) - 1
    found = beyond(keys[last], position[last])
    for number in range(last - 1, -1, -1):
        key, value = keys[number], position[number]
        reached = key >= value if ascending else key <= value
        found = sa.and_(reached, sa.or_(beyond(key, value), found))
    return found


# --- trees -------------------------------------------------------------------------------------------------

def tree(tx: sa.Connection, root_id: str, deleted: bool = False) -> list[Identity]:
    """A root and all stacks below it, outer ones first. Index: (root_id, depth)."""
    query = sa.select(*IDENTITY).where(stack.c.root_id == root_id)
    if not deleted:
        query = query.where(stack.c.live == 1)
    return [Identity(*row) for row in tx.execute(query.order_by(*OUTER_FIRST))]


def descendants(tx: sa.Connection, root_id: str, stack_id: str, depth: int = DEEPEST) -> list[Identity]:
    """Live stacks at most `depth` levels below `stack_id`, outer ones first, without itself.

    One SELECT for a root, by the index (root_id, depth); for others as `_inner`.
    """
    if depth < 1:
        return []
    if stack_id != root_id:
        inner = _inner(tx, _OWNED_IDENTITIES, stack_id, depth)
        outer_first = sorted(inner, key=lambda row: (row.depth, row.created_at, row.id))
        return [Identity(*row[:-1]) for row in outer_first]
    return below(stack_id, depth, (Identity(*row) for row in tx.execute(sa.select(*IDENTITY).where(
        stack.c.root_id == root_id, stack.c.live == 1, stack.c.depth.between(1, depth)).order_by(*OUTER_FIRST))))


def _inner(tx: sa.Connection, owned: sa.Select[tuple[object, ...]], stack_id: str,
           depth: int) -> Iterator[sa.Row[tuple[object, ...]]]:
    """Execute `owned`, of `owners`, for each level below a stack, without reading the rest of its tree.

    One SELECT for each 500 stacks of the level above, until there are none. Index: owner_id. One statement that goes
    down by itself takes longer: PostgreSQL expects too many rows of a recursion, and MariaDB writes texts in one to a
    file."""
    above = [stack_id]
    while above and depth > 0:
        level = [row for chunk in bulk.chunks(above) for row in tx.execute(owned, {'owners': chunk})]
        yield from level
        above, depth = [row.id for row in level], depth - 1


def below(stack_id: str, depth: int, nested: Iterable[Identity]) -> list[Identity]:
    """Those of a tree's nested stacks, outer ones first, that are at most `depth` levels below `stack_id`."""
    levels = {stack_id: 0}
    found = []
    for each in nested:
        level = levels.get(each.owner_id or '')
        if level is not None and level < depth:
            levels[each.id] = level + 1
            found.append(each)
    return found


def with_descendants(tx: sa.Connection, stack_id: str, depth: int) -> tuple[Identity | None, list[Identity]]:
    """A stack, as `identity`, and its `descendants`. One SELECT. None where more than that is needed: for a stack that
    is no root, with a `depth` of more than one.

    Indexes: primary key and (owner_id) for one level, (root_id, depth) for more.
    """
    statement = _WITH_DESCENDANTS[depth <= 1]
    return family(stack_id, depth, tx.execute(statement, {'stack_id': stack_id, 'depth': depth}))


def family(stack_id: str, depth: int,
           rows: Iterable[sa.Row[tuple[object, ...]]]) -> tuple[Identity | None, list[Identity]]:
    """As `with_descendants`, of rows in any order that begin with the columns of an Identity and `created_at`."""
    outer_first = sorted(rows, key=lambda row: (row[_DEPTH], row[_WIDTH], row[0]))
    found = [Identity(*row[:_WIDTH]) for row in outer_first]
    return (found[0], below(stack_id, depth, found[1:])) if found else (None, [])


def path(tx: sa.Connection, nested: StoredStack | Identity) -> tuple[str, ...]:
    """The names of the resources that lead from the root to a stack; () for a root. One SELECT for each level."""
    return whole_path(tx, nested)[1:]


def whole_path(tx: sa.Connection, nested: StoredStack | Identity) -> tuple[str, ...]:
    """The name of the root stack, then `path`. One SELECT for each level."""
    names: list[str] = []
    at: StoredStack | Identity = nested
    while at.owner_id is not None:
        names.append(str(at.parent_resource))
        above = identity(tx, at.owner_id)
        if above is None:
            return ('', *reversed(names))
        at = above
    return (at.name, *reversed(names))


def settled_below(tx: sa.Connection, root_id: str, stack_id: str | None) -> dict[str, str]:
    """The live stacks below a stack of a tree that are settled, together with all stacks below them: id -> digest.
    `stack_id`: None for all of the tree, with its root.

    A stack is settled if nothing has happened since a create or an update brought it to a definition in which only
    another definition can cause a change; `digest` is of what had an influence on it. `settling` makes the column,
    which any newer generation outdates. SELECTs and indexes: as of `descendants`.
    """
    if stack_id in (None, root_id):
        query = sa.select(*_SETTLED).where(stack.c.root_id == root_id, stack.c.live == 1,
                                           stack.c.depth >= (0 if stack_id is None else 1))
        rows = tx.execute(query).all()
    else:
        rows = list(_inner(tx, _OWNED_SETTLED, stack_id, DEEPEST))
    owners = {row.id: row.owner_id for row in rows}
    nested = Counter(owners.values())
    found = {}
    unsettled = []
    for row in rows:
        state, _colon, digest = (row.settled or '').rpartition(':')
        if state == f'{row.generation}:{nested[row.id]}':
            found[row.id] = digest
        else:
            unsettled.append(row.id)
    for each in unsettled:
        above = owners.get(each)
        while above is not None:
            found.pop(above, None)
            above = owners.get(above)
    return found


def is_settled(tx: sa.Connection, stack_id: str) -> bool:
    """Whether a stack is settled, whatever the stacks below it are. By primary key."""
    found = tx.execute(sa.select(stack.c.generation, stack.c.settled).where(stack.c.id == stack_id)).first()
    return found is not None and (found.settled or '').startswith(f'{found.generation}:')


def settling(generation: int, nested: int, digest: str) -> str:
    """The value of the column `settled` of a stack with that many nested stacks."""
    return f'{generation}:{nested}:{digest}'


def keep_settled(tx: sa.Connection, stack_id: str, generation: int) -> None:
    """Has a settled stack settled in its next generation, too. Two statements by primary key."""
    before = tx.execute(sa.select(stack.c.settled).where(stack.c.id == stack_id)).scalar_one()
    _former, nested, digest = before.split(':')
    tx.execute(stack.update().where(stack.c.id == stack_id).values(settled=settling(generation, int(nested), digest)))


def unsettle(tx: sa.Connection, stack_id: str) -> None:
    """Notes that the next update has to look at a stack."""
    tx.execute(stack.update().where(stack.c.id == stack_id, stack.c.settled.is_not(None)).values(settled=None))


def child(tx: sa.Connection, stack_id: str, resource_name: str) -> Identity | None:
    """The live nested stack of a resource. Index: (owner_id)."""
    row = tx.execute(sa.select(*IDENTITY).where(
        stack.c.owner_id == stack_id, stack.c.parent_resource == resource_name, stack.c.live == 1)
        .order_by(stack.c.created_at.desc(), stack.c.id.desc()).limit(1)).first()
    return None if row is None else Identity(*row)


def children(tx: sa.Connection, stack_ids: Iterable[str]) -> dict[str, Identity]:
    """Selects these stacks, deleted ones included, by id: parents poll for nested stacks that other engines drive.

    One SELECT for each 500, by primary key.
    """
    wanted = list(stack_ids)
    found: dict[str, Identity] = {}
    for begin in range(0, len(wanted), SELECTED_AT_ONCE):
        query = sa.select(*IDENTITY).where(stack.c.id.in_(wanted[begin:begin + SELECTED_AT_ONCE]))
        found.update((row.id, Identity(*row)) for row in tx.execute(query))
    return found


# --- changes -----------------------------------------------------------------------------------------------

def accept(tx: sa.Connection, stack_id: str, *, action: str, reason: str, now: datetime,
           status: str = Status.IN_PROGRESS, keeps_revision: bool = False,
           **requested: Unpack[Requested]) -> StoredStack:
    """Stores a new request: the next generation, in progress from `now`, marked as having work for the next sweep.

    `requested`: the columns that the request changes, any of REQUESTED; all others stay. `keeps_revision`: a
    `template_id` among them has the content of the present definition. The row is locked until the
    end of `tx`. Raises StackNotFound for a stack that is gone. Four statements by primary key, more with tags.
    """
    unknown = set(requested) - REQUESTED
    if unknown:
        raise TypeError(f'A request cannot change {", ".join(sorted(unknown))}')
    # Lease before stack, as in every transaction that locks both.
    leases.want(tx, stack_id)
    before = get(tx, stack_id, for_update=True)
    if before is None:
        raise exception.StackNotFound(stack_name=stack_id)
    accepted = replace(before, action=str(action), status=str(status), reason=codec.clean(reason), updated_at=now,
                       started_at=now, generation=before.generation + 1, **requested,
                       **_revised(before, 'template_id' in requested, keeps_revision))
    values = {name: getattr(accepted, name) for name in ACCEPTED + tuple(requested)}
    for name in JSON:
        if name in values:
            values[name] = _encoded(tx, name, values[name])
    tx.execute(stack.update().where(stack.c.id == stack_id).values(**values))
    if 'tags' in requested and requested['tags'] != before.tags:
        tx.execute(stack_tag.delete().where(stack_tag.c.stack_id == stack_id))
        _set_tags(tx, stack_id, accepted.tags)
    return accepted


def next_revision(before: StoredStack) -> int | None:
    """The number of the next definition of a stack; None for a nested stack, which has no revisions.

    The present definition of a stack without a number gets 1 (`engine.reconcile.revisions`).
    """
    return None if before.owner_id is not None else (before.revision or 1) + 1


def _revised(before: StoredStack, has_definition: bool, keeps_revision: bool) -> Revised:
    """The columns `revision` and `outcome` when a request is accepted."""
    if has_definition:
        return {'revision': before.revision if keeps_revision else next_revision(before), 'outcome': None}
    return {} if before.revision is None else {'outcome': revisions.settled(before.outcome, before.status)}


def set_outputs(tx: sa.Connection, stack_id: str, outputs: Sequence[Mapping[str, object]] | None) -> None:
    tx.execute(stack.update().where(stack.c.id == stack_id).values(outputs=_encoded(tx, 'outputs', outputs)))


def set_parameters(tx: sa.Connection, stack_id: str, parameters: Mapping[str, object] | None) -> None:
    tx.execute(stack.update().where(stack.c.id == stack_id).values(
        parameters=_encoded(tx, 'parameters', parameters)))


def set_user_project(tx: sa.Connection, stack_id: str, project_id: str | None) -> None:
    """Sets the project in the identity service in which the stack's own users live."""
    tx.execute(stack.update().where(stack.c.id == stack_id).values(user_project_id=project_id))


def user_project(tx: sa.Connection, stack_id: str) -> str | None:
    """The project in the identity service in which the stack's own users live; None without any."""
    found: str | None = tx.execute(sa.select(stack.c.user_project_id).where(stack.c.id == stack_id)).scalar()
    return found


def set_user_project_of_tree(tx: sa.Connection, root_id: str, project_id: str | None) -> None:
    """Sets it for a root and all stacks below it. Index: (root_id, depth)."""
    tx.execute(stack.update().where(stack.c.root_id == root_id).values(user_project_id=project_id))


def set_credentials(tx: sa.Connection, stack_id: str, credentials_id: str | None) -> None:
    tx.execute(stack.update().where(stack.c.id == stack_id).values(credentials_id=credentials_id))


def take_resource_numbers(tx: sa.Connection, stack_id: str, wanted: int) -> range:
    """Reserves numbers for `wanted` new resources; a number is never used twice. Raises StackNotFound."""
    taken = tx.execute(stack.update().where(stack.c.id == stack_id)
                       .values(next_resource=stack.c.next_resource + wanted))
    if not taken.rowcount:
        raise exception.StackNotFound(stack_name=stack_id)
    end = tx.execute(sa.select(stack.c.next_resource).where(stack.c.id == stack_id)).scalar_one()
    return range(end - wanted, end)


def set_next_resource(tx: sa.Connection, stack_id: str, number: int) -> None:
    """Raises the next number for resources to `number`; never lowers it."""
    tx.execute(stack.update().where(stack.c.id == stack_id, stack.c.next_resource < number)
               .values(next_resource=number))


def delete_soft(tx: sa.Connection, stack_id: str, now: datetime) -> bool:
    """Marks a stack as deleted and frees its name; the row stays until it is purged.

    False when it was deleted before.
    """
    done = tx.execute(stack.update().where(stack.c.id == stack_id, stack.c.live == 1)
                      .values(live=None, deleted_at=now))
    return bool(done.rowcount)


def _encoded(tx: sa.Connection, name: str, value: object) -> str | None:
    return codec.encode_or_null(value, codec.encoder(tx) if name in SEALED[stack] else codec.encode)


def _set_tags(tx: sa.Connection, stack_id: str, tags: Sequence[str] | None) -> None:
    if tags:
        tx.execute(stack_tag.insert(), [{'stack_id': stack_id, 'tag': tag} for tag in dict.fromkeys(tags)])
