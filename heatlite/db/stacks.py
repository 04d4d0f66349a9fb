"""One stack: finds, accepts requests to and changes it. Never opens, commits or retries a transaction.

Lists are in `stack_lists`, statements on whole trees in `stack_trees` and `settled_stacks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, TypedDict, Unpack

import sqlalchemy as sa
from oslo_db import exception as db_exception

from heatlite.common import exception
from heatlite.db import bulk, codec, leases, presence
from heatlite.db.tables import SEALED, stack, stack_tag
from heatlite.planning import revisions
from heatlite.planning.states import Action, Status


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
    action: Action
    status: Status
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


@dataclass(frozen=True)
class Identity:
    """Ids, project, place in the tree and state of a stack: enough for links, access and waiting.

    Made of a row as it is: action and status are the texts of planning.states.Action and Status."""

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


NAMES = tuple(field.name for field in fields(StoredStack))
TIMES = ('created_at', 'updated_at', 'started_at', 'deleted_at', 'restored_from')
SHORTENED = ('reason', 'description')
JSON = ('tags', 'parameters', 'outputs', 'request')
WHOLE = codec.columns(stack, StoredStack)
IDENTITY = codec.columns(stack, Identity)
# Built once: building a statement costs more than running it.
_ANY = sa.select(*WHOLE).where(stack.c.id == sa.bindparam('stack_id'))
_LIVE = _ANY.where(stack.c.live == 1)
_BY_ID = {(True, False): _ANY, (True, True): _ANY.with_for_update(),        # (deleted, for_update)
          (False, False): _LIVE, (False, True): _LIVE.with_for_update()}
_PARAMETERS = sa.select(stack.c.parameters).where(stack.c.id == sa.bindparam('stack_id'))
_IDENTITY_BY_ID = sa.select(*IDENTITY).where(stack.c.id == sa.bindparam('stack_id'))
_PROJECT_BY_ID = sa.select(stack.c.project_id).where(stack.c.id == sa.bindparam('stack_id'))
_PROJECTS = sa.or_(stack.c.project_id == sa.bindparam('project'), stack.c.user_project_id == sa.bindparam('project'))
_IDENTITY_BY_NAME = sa.select(*IDENTITY).where(
    stack.c.name == sa.bindparam('stack_name'), stack.c.live == 1, _PROJECTS).order_by(
    stack.c.created_at, stack.c.id).limit(1)
_stack = codec.reader(StoredStack, *JSON, members={'action': codec.ACTIONS, 'status': codec.STATUSES})


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


# --- one stack ---------------------------------------------------------------------------------------------

def insert(tx: sa.Connection, new: StoredStack) -> None:
    """Insert a stack. Raises StackExists when a live stack of the project has this name. Insert its lease with it."""
    time = bulk.Times()
    values = {name: getattr(new, name) for name in NAMES}
    for name in JSON:
        values[name] = _encoded(tx, name, values[name])
    for name in TIMES:
        values[name] = time(values[name])
    for name in SHORTENED:
        values[name] = codec.stored_text(name, getattr(new, name))
    row = (*values.values(), None if new.deleted_at else 1)
    try:
        bulk.texts(tx.dialect.name).insert(tx, 'stack', (*NAMES, 'live'), [row])
    except db_exception.DBDuplicateEntry:
        raise exception.StackExists(stack_name=new.name) from None
    _set_tags(tx, new.id, new.tags)


def get(tx: sa.Connection, stack_id: str, project_id: str | None = None, deleted: bool = False,
        for_update: bool = False) -> StoredStack | None:
    """Select by primary key; None also when the stack belongs to another project. `deleted`: includes deleted ones.

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
    """Select by primary key, deleted ones included. The caller checks access."""
    return get(tx, stack_id, deleted=True)


def identity(tx: sa.Connection, stack_id: str) -> Identity | None:
    """Select by primary key, deleted ones included. The caller checks access."""
    row = tx.execute(_IDENTITY_BY_ID, {'stack_id': stack_id}).first()
    return None if row is None else Identity(*row)


def project_of_users(tx: sa.Connection, user_project_id: str) -> str | None:
    """Return the project of a stack whose own users live in that project; None: there is none. Index:
    (user_project_id)."""
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
    """Return the oldest live stack of this name that belongs to the project, or whose users live in the project.

    A caller without a project (None) finds nothing. Indexes: (project_id, name, live) and (user_project_id).
    """
    if project_id is None:
        return None
    row = tx.execute(_IDENTITY_BY_NAME, {'stack_name': name, 'project': project_id}).first()
    return None if row is None else Identity(*row)


def has_user_project(tx: sa.Connection, project_id: str | None, user_project_id: str) -> bool:
    """Whether a stack of `project_id` has its users in `user_project_id`. Index: (user_project_id)."""
    return tx.execute(sa.select(stack.c.id).where(
        stack.c.user_project_id == user_project_id, stack.c.project_id == project_id).limit(1)).first() is not None


def _within(project_id: str | None) -> list[sa.ColumnElement[bool]]:
    return [] if project_id is None else [
        sa.or_(stack.c.project_id == project_id, stack.c.user_project_id == project_id)]


# --- changes -----------------------------------------------------------------------------------------------

def accept(tx: sa.Connection, stack_id: str, *, action: Action, reason: str, now: datetime,
           status: Status = Status.IN_PROGRESS, keeps_revision: bool = False,
           **requested: Unpack[Requested]) -> StoredStack:
    """Store a new request: the next generation, in progress from `now`, marked as having work for the next sweep.

    `requested`: the columns that the request changes, any of REQUESTED; all others stay, and `previous_template_id`
    becomes the last good one. `keeps_revision`: a `template_id` among them has the content of the present definition.
    The row is locked until the end of `tx`. Raises StackNotFound for a stack that is gone. Four statements by primary
    key, more with tags.
    """
    unknown = set(requested) - REQUESTED
    if unknown:
        raise TypeError(f'A request cannot change {", ".join(sorted(unknown))}')
    # Lease before stack, as in every transaction that locks both.
    leases.want(tx, stack_id)
    before = get(tx, stack_id, for_update=True)
    if before is None:
        raise exception.StackNotFound(stack_name=stack_id)
    requested.setdefault('previous_template_id', revisions.last_good(before))
    if 'description' in requested:
        requested['description'] = codec.stored_text('description', requested['description'])
    accepted = replace(before, action=action, status=status, reason=codec.stored_text('reason', reason), updated_at=now,
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
    """Return the number of the next definition of a stack; None for a nested stack, which has no revisions.

    The present definition of a stack without a number gets 1 (`engine.reconcile.revisions`).
    """
    return None if before.owner_id is not None else (before.revision or 1) + 1


def _revised(before: StoredStack, has_definition: bool, keeps_revision: bool) -> Revised:
    """Return the columns `revision` and `outcome` when a request is accepted."""
    if has_definition:
        return {'revision': before.revision if keeps_revision else next_revision(before), 'outcome': None}
    if before.outcome is None and before.action not in revisions.DEFINING:
        return {}                                   # a row of a former release, or of a Heat
    return {'outcome': revisions.settled(before)}


def set_request(tx: sa.Connection, stack_id: str, request: Mapping[str, object]) -> None:
    """Set what the action of a stack needs besides the definition. The caller has locked the row."""
    tx.execute(stack.update().where(stack.c.id == stack_id).values(request=_encoded(tx, 'request', request)))


def set_user_project(tx: sa.Connection, stack_id: str, project_id: str | None) -> None:
    """Set the project in the identity service in which the stack's own users live."""
    tx.execute(stack.update().where(stack.c.id == stack_id).values(user_project_id=project_id))


def project(tx: sa.Connection, stack_id: str) -> str:
    """Return the project of a stack, which may be deleted; empty: there is no such stack. Primary key."""
    return tx.execute(_PROJECT_BY_ID, {'stack_id': stack_id}).scalar() or ''


def user_project(tx: sa.Connection, stack_id: str) -> str | None:
    """Return the project in the identity service in which the stack's own users live; None without any."""
    found: str | None = tx.execute(sa.select(stack.c.user_project_id).where(stack.c.id == stack_id)).scalar()
    return found


def set_user_project_of_tree(tx: sa.Connection, root_id: str, project_id: str | None) -> None:
    """Set it for a root and all stacks below it. Index: (root_id, depth)."""
    tx.execute(stack.update().where(stack.c.root_id == root_id).values(user_project_id=project_id))


def set_next_resource(tx: sa.Connection, stack_id: str, number: int) -> None:
    """Raise the next number for resources to `number`; never lowers it."""
    tx.execute(stack.update().where(stack.c.id == stack_id, stack.c.next_resource < number)
               .values(next_resource=number))


def _encoded(tx: sa.Connection, name: str, value: object) -> str | None:
    return codec.encode_or_null(value, codec.encoder(tx) if name in SEALED[stack] else codec.encode)


def _set_tags(tx: sa.Connection, stack_id: str, tags: Sequence[str] | None) -> None:
    if tags:
        distinct = dict.fromkeys(tag.rstrip(' ') for tag in tags)           # others are equal for MariaDB
        tx.execute(stack_tag.insert(), [{'stack_id': stack_id, 'tag': tag} for tag in distinct])
