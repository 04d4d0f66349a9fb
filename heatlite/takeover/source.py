"""Reads the database of a Heat, in slices, and never writes to it.

A slice is read in one read-only transaction that sees one state of the database, so Heat may go on meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db.bulk import chunks
from heatlite.takeover import rows, schema
from heatlite.takeover.rows import HeatTree

T = TypeVar('T')

ROOTS_AT_ONCE = 500                         # root stacks whose marks are read together
ROWS_AT_ONCE = 4000                         # resources and events that are read together, unless one tree has more
DEEPEST = 100                               # levels of nested stacks that are read; deeper trees are refused
SILENCE = 2.5                               # report intervals after which an engine counts as ended


class HeatDatabase:
    """The database of a Heat. `url`: of SQLAlchemy, as in the configuration of that Heat."""

    def __init__(self, url: str) -> None:
        try:
            options: dict[str, object] = {} if sa.make_url(url).get_backend_name() == 'sqlite' else {
                'isolation_level': 'REPEATABLE READ', 'pool_pre_ping': True}
            self._engine = sa.create_engine(url, **options)
        except (sa.exc.ArgumentError, ImportError, sa.exc.NoSuchModuleError) as error:
            raise exception.Error(_('The option [database] connection of Heat cannot be used: %s') % error) from None
        if self._engine.dialect.name in READ_ONLY:
            sa.event.listen(self._engine, 'connect', _read_only)

    @property
    def identity(self) -> str:
        """A digest of host, port and name of the database: which Heat this is, among several."""
        url = self._engine.url
        port = url.port or PORTS.get(url.get_backend_name())
        return _digest(((url.host or '').lower(), port, url.database))

    @contextmanager
    def reader(self) -> Iterator[sa.Connection]:
        """Yield a read-only transaction that sees one state. Raises DatabaseUnavailable."""
        try:
            with self._engine.connect() as tx:
                yield tx
        except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
            raise exception.DatabaseUnavailable(reason=str(getattr(error, 'orig', error))) from None

    def close(self) -> None:
        self._engine.dispose()


PORTS = {'mysql': 3306, 'mariadb': 3306, 'postgresql': 5432}        # of URLs without one
READ_ONLY = {
    'mysql': 'SET SESSION TRANSACTION READ ONLY', 'mariadb': 'SET SESSION TRANSACTION READ ONLY',
    'postgresql': 'SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY', 'sqlite': 'PRAGMA query_only = ON'}


def _read_only(connection: DBAPIConnection, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute(READ_ONLY['sqlite'] if type(connection).__module__.startswith('sqlite3')
                   else READ_ONLY['postgresql'] if type(connection).__module__.startswith('psycopg')
                   else READ_ONLY['mysql'])
    cursor.close()
    connection.commit()


# --- which stacks ------------------------------------------------------------------------------------------

def roots(tx: sa.Connection, project_id: str | None, after: str, *, deleted: bool,
          limit: int = ROOTS_AT_ONCE) -> list[rows.HeatStack]:
    """Root stacks of a project (None: of all) with ids greater than `after`, by id."""
    table = schema.stack
    query = _select(rows.HeatStack, table).where(table.c.owner_id.is_(None), table.c.id > after)
    if project_id is not None:
        query = query.where(table.c.tenant == project_id)
    if not deleted:
        query = query.where(table.c.deleted_at.is_(None))
    return _all(tx, rows.HeatStack, query.order_by(table.c.id).limit(limit))


def orphans(tx: sa.Connection, project_id: str | None, after: str, *, deleted: bool) -> list[rows.HeatStack]:
    """Nested stacks whose owner is not there, so that they are in no tree; selected as `roots` are. Deleted ones are
    not looked at."""
    table, owner = schema.stack, schema.stack.alias()
    there = owner.c.id == table.c.owner_id
    query = _select(rows.HeatStack, table).where(
        table.c.owner_id.is_not(None), table.c.deleted_at.is_(None), table.c.id > after,
        ~sa.exists().where(there, _is_read(owner, deleted)))
    if project_id is not None:
        query = query.where(table.c.tenant == project_id)
    return _all(tx, rows.HeatStack, query.order_by(table.c.id).limit(ROOTS_AT_ONCE))


def _is_read(table: sa.FromClause, deleted: bool) -> sa.ColumnElement[bool]:
    """Whether a stack below a root is part of its tree: see `trees`."""
    is_there: sa.ColumnElement[bool] = table.c.deleted_at.is_(None)
    return sa.or_(is_there, table.c.backup.is_not(sa.true())) if deleted else is_there


def still_there(tx: sa.Connection, ids: Sequence[str]) -> dict[str, bool]:
    """Return those of these stacks that have a row -> whether they are not deleted."""
    table = schema.stack
    return {row.id: row.deleted_at is None for chunk in chunks(ids) for row in tx.execute(
        sa.select(table.c.id, table.c.deleted_at).where(table.c.id.in_(chunk)))}


def trees(tx: sa.Connection, found: Sequence[rows.HeatStack], *, deleted: bool) -> list[HeatTree]:
    """Return the trees of these roots, with their marks but without the rows of their stacks.

    `is_too_deep` of a tree: it has more than DEEPEST levels of nested stacks.

    Without helpers of updates without convergence that are deleted: their rows are left until they are purged.
    Raises Error for stacks that are nested in each other in a circle.
    """
    table = schema.stack
    members: dict[str, list[rows.HeatStack]] = {each.id: [each] for each in found}
    root_of = {each.id: each.id for each in found}
    level = [each.id for each in found]
    too_deep: set[str] = set()              # roots
    for depth in range(DEEPEST + 1):
        query = _select(rows.HeatStack, table).where(_is_read(table, deleted))
        below = sorted(_where(tx, rows.HeatStack, query, table.c.owner_id, level), key=_age)
        if not below:
            break
        if depth == DEEPEST:
            too_deep = {root_of[str(each.owner_id)] for each in below}
            break
        for each in below:
            if each.id in root_of:
                raise exception.Error(_('The stack %s is nested in itself.') % each.id)
            root_of[each.id] = root_of[str(each.owner_id)]
            members[root_of[each.id]].append(each)
        level = [each.id for each in below]
    signs = marks(tx, [each for tree in members.values() for each in tree])
    return [HeatTree(tree, _digest([signs[each.id] for each in tree]), root_id in too_deep)
            for root_id, tree in members.items()]


def _age(stack: rows.HeatStack) -> tuple[bool, datetime, str]:
    return stack.created_at is None, stack.created_at or datetime.min, stack.id


def marks(tx: sa.Connection, stacks: Sequence[rows.HeatStack]) -> dict[str, tuple[object, ...]]:
    """Stack -> values of which one changes whenever a row of the stack does: cheap to read, compared by later runs.

    Five statements for each 500 stacks, over the indexes by stack.
    """
    ids = [each.id for each in stacks]
    resource, event, snapshot, data = schema.resource, schema.event, schema.snapshot, schema.resource_data
    count = sa.func.count()
    queries = (
        (resource.c.stack_id, sa.select(resource.c.stack_id, count, sa.func.max(resource.c.id), sa.func.sum(
            resource.c.atomic_key), sa.func.max(resource.c.updated_at)).group_by(resource.c.stack_id)),
        (event.c.stack_id, sa.select(event.c.stack_id, count, sa.func.max(event.c.id)).group_by(event.c.stack_id)),
        (snapshot.c.stack_id, sa.select(snapshot.c.stack_id, count, sa.func.max(snapshot.c.updated_at), sa.func.max(
            snapshot.c.created_at)).group_by(snapshot.c.stack_id)),
        (resource.c.stack_id, sa.select(resource.c.stack_id, count, sa.func.max(data.c.id), sa.func.max(
            data.c.updated_at)).select_from(data.join(resource, data.c.resource_id == resource.c.id)).group_by(
            resource.c.stack_id)))
    found: dict[str, list[object]] = {each.id: [repr(each)] for each in stacks}
    for column, query in queries:
        aggregates = {row[0]: tuple(str(value) for value in row[1:]) for chunk in chunks(ids)
                      for row in tx.execute(query.where(column.in_(chunk)))}
        for stack_id, values in found.items():
            values.append(aggregates.get(stack_id))
    return {stack_id: tuple(values) for stack_id, values in found.items()}


def _digest(values: object) -> str:
    return hashlib.blake2b(repr(values).encode(), digest_size=16).hexdigest()


def sizes(tx: sa.Connection, found: Sequence[HeatTree]) -> dict[str, int]:
    """Root -> how many resources and events its tree has."""
    root_of = {stack.id: tree.root.id for tree in found for stack in tree.stacks}
    total = {tree.root.id: 0 for tree in found}
    for table in (schema.resource, schema.event):
        for chunk in chunks(root_of):
            for stack_id, number in tx.execute(sa.select(table.c.stack_id, sa.func.count()).where(
                    table.c.stack_id.in_(chunk)).group_by(table.c.stack_id)):
                total[root_of[stack_id]] += number
    return total


# --- whole trees -------------------------------------------------------------------------------------------

def filled(tx: sa.Connection, found: Sequence[HeatTree], absent: Collection[str] = ()) -> list[HeatTree]:
    """Return the trees with all rows of their stacks. A dozen statements for all together. `absent`: which of
    `schema.OPTIONAL` the database does not have."""
    ids = [stack.id for tree in found for stack in tree.stacks]
    resources = _where(tx, rows.HeatResource, _select(rows.HeatResource, schema.resource), schema.resource.c.stack_id,
                       ids)
    events = _where(tx, rows.HeatEvent, _select(rows.HeatEvent, schema.event), schema.event.c.stack_id, ids)
    snapshots = _where(tx, rows.HeatSnapshot, _select(rows.HeatSnapshot, schema.snapshot, absent),
                       schema.snapshot.c.stack_id, ids)
    templates = _by_id(tx, rows.RawTemplate, schema.raw_template, [
        *(number for tree in found for stack in tree.stacks
          for number in (stack.raw_template_id, stack.prev_raw_template_id)),
        *(each.current_template_id for each in resources)])
    content = {
        'data': _grouped(_where(tx, rows.ResourceData, _select(rows.ResourceData, schema.resource_data),
                                schema.resource_data.c.resource_id, [each.id for each in resources]), 'resource_id'),
        'properties': _by_id(tx, rows.PropertiesData, schema.resource_properties_data, [
            *(number for each in resources for number in (each.rsrc_prop_data_id, each.attr_data_id)),
            *(each.rsrc_prop_data_id for each in events)]),
        'templates': templates,
        'files': _by_id(tx, rows.TemplateFiles, schema.raw_template_files, [
            each.files_id for each in templates.values()]),
        'credentials': _by_id(tx, rows.UserCreds, schema.user_creds, [
            stack.user_creds_id for tree in found for stack in tree.stacks]),
        'tags': tags(tx, ids),
        'saved': {} if schema.resource_snapshot.name in absent else _grouped(
            _where(tx, rows.ResourceSnapshot, _select(rows.ResourceSnapshot, schema.resource_snapshot),
                   schema.resource_snapshot.c.snapshot_id, [each.id for each in snapshots]), 'snapshot_id')}
    by_stack = _grouped(sorted(resources, key=lambda each: each.id), 'stack_id')
    history = _grouped(sorted(events, key=lambda each: each.id), 'stack_id')
    kept = _grouped(snapshots, 'stack_id')
    return [HeatTree(tree.stacks, tree.mark, resources={each.id: by_stack.get(each.id, ()) for each in tree.stacks},
                     events=sorted((event for each in tree.stacks for event in history.get(each.id, ())),
                                   key=lambda event: event.id),
                     snapshots=kept, **content) for tree in found]    # type: ignore[arg-type]


def tags(tx: sa.Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the tags of stacks, without blanks at their ends, which MySQL takes for equal."""
    table = schema.stack_tag
    found: dict[str, list[str]] = {}
    for chunk in chunks(ids):
        for stack_id, tag in tx.execute(sa.select(table.c.stack_id, table.c.tag).where(
                table.c.stack_id.in_(chunk)).order_by(table.c.id)):
            found.setdefault(stack_id, []).append(tag.rstrip(' '))
    return found


# --- software configs and deployments ----------------------------------------------------------------------

def configs(tx: sa.Connection, project_id: str | None, after: str, limit: int) -> list[rows.HeatSoftwareConfig]:
    return _page(tx, rows.HeatSoftwareConfig, schema.software_config, project_id, after, limit)


def deployments(tx: sa.Connection, project_id: str | None, after: str, limit: int) -> list[rows.HeatSoftwareDeployment]:
    return _page(tx, rows.HeatSoftwareDeployment, schema.software_deployment, project_id, after, limit)


def _page(tx: sa.Connection, cls: type[T], table: sa.Table, project_id: str | None, after: str, limit: int) -> list[T]:
    """Rows of a project (None: of all) with ids greater than `after`, by id."""
    query = _select(cls, table).where(table.c.id > after)
    if project_id is not None:
        query = query.where(table.c.tenant == project_id)
    return _all(tx, cls, query.order_by(table.c.id).limit(limit))


# --- the engines of that Heat ------------------------------------------------------------------------------

@dataclass(frozen=True)
class HeatEngine:
    """An engine of Heat that was not stopped in order. `interval`: seconds between two of its reports."""

    id: str
    host: str
    reported_at: datetime
    interval: int


def live_engines(tx: sa.Connection, now: datetime) -> list[HeatEngine]:
    """Return the engines that have reported lately: one that was killed is among them for SILENCE intervals."""
    table = schema.service
    found = (HeatEngine(row.id, row.host, row.updated_at or row.created_at or datetime.min, row.report_interval or 60)
             for row in tx.execute(sa.select(table).where(table.c.deleted_at.is_(None))))
    return [each for each in found if now - each.reported_at < timedelta(seconds=SILENCE * each.interval)]


def secrets(tx: sa.Connection, limit: int) -> list[tuple[str, str]]:
    """Return (method, encrypted text) of the newest values of each kind, to try a key."""
    creds, data = schema.user_creds, schema.resource_data
    found = [(row.decrypt_method, text) for row in tx.execute(
        sa.select(creds.c.decrypt_method, creds.c.password, creds.c.trust_id).where(
            creds.c.decrypt_method.is_not(None)).order_by(creds.c.id.desc()).limit(limit))
        for text in (row.password, row.trust_id) if text]
    return found + [(row.decrypt_method, row.value) for row in tx.execute(
        sa.select(data.c.decrypt_method, data.c.value).where(data.c.redact == sa.true(), data.c.decrypt_method != '')
        .order_by(data.c.id.desc()).limit(limit)) if row.value]


# --- statements --------------------------------------------------------------------------------------------

def _select(cls: type, table: sa.Table, absent: Collection[str] = ()) -> sa.Select[tuple[object, ...]]:
    return sa.select(*(sa.null().label(field.name) if f'{table.name}.{field.name}' in absent else table.c[field.name]
                       for field in fields(cls)))


def _all(tx: sa.Connection, cls: type[T], query: sa.Select[tuple[object, ...]]) -> list[T]:
    return [cls(*row) for row in tx.execute(query)]


def _where(tx: sa.Connection, cls: type[T], query: sa.Select[tuple[object, ...]], column: sa.ColumnElement[object],
           values: Iterable[object]) -> list[T]:
    return [each for chunk in chunks(values) for each in _all(tx, cls, query.where(column.in_(chunk)))]


def _by_id(tx: sa.Connection, cls: type[T], table: sa.Table, ids: Iterable[int | None]) -> dict[int, T]:
    wanted = sorted({number for number in ids if number is not None})
    return {each.id: each for each in _where(                       # type: ignore[attr-defined]
        tx, cls, _select(cls, table), table.c.id, wanted)}


def _grouped(found: Iterable[T], name: str) -> dict[object, list[T]]:
    groups: dict[object, list[T]] = {}
    for each in found:
        groups.setdefault(getattr(each, name), []).append(each)
    return groups
