"""The `software_deployment` table: which config runs on which server, and its result."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from heatlite.db import bulk, codec, software_configs
from heatlite.db.listing import after, cut
from heatlite.db.software_configs import Config
from heatlite.db.tables import software_config, software_deployment


@dataclass(frozen=True)
class Deployment:
    """A deployment of a config to a server, with the state and the values that the server reports. Times are UTC."""

    id: str
    project_id: str
    stack_user_project_id: str | None
    server_id: str
    config_id: str
    action: str | None
    status: str | None
    status_reason: str | None
    input_values: Mapping[str, object] | None
    output_values: Mapping[str, object] | None
    created_at: datetime
    updated_at: datetime | None


DEPLOYED: Final = 512           # characters of a deployed config in the metadata of its server, beside what it contains

JSON = ('input_values', 'output_values')
COLUMNS = codec.columns(software_deployment, Deployment)
_SIZE = sum((sa.func.coalesce(sa.func.length(software_deployment.c[name]), 0) for name in (*JSON, 'status_reason')),
            start=sa.literal(0))
_KEYS = (software_deployment.c.created_at, software_deployment.c.id)
_PROJECTS = (software_deployment.c.project_id, software_deployment.c.stack_user_project_id)
_deployment = codec.reader(Deployment, *JSON)
_listed = codec.reader(Deployment, *JSON, decode=codec.document_or_none)
CHANGEABLE = frozenset({'config_id', 'action', 'status', 'status_reason', *JSON})


def insert(tx: sa.Connection, new: Deployment) -> None:
    tx.execute(software_deployment.insert().values(
        **_encoded(tx, {field.name: getattr(new, field.name) for field in fields(Deployment)})))


def show(tx: sa.Connection, deployment_id: str) -> Deployment | None:
    """By primary key. The caller checks the project."""
    row = tx.execute(sa.select(*COLUMNS).where(software_deployment.c.id == deployment_id)).first()
    return None if row is None else _deployment(row)


def page(tx: sa.Connection, project_id: str | None, server_id: str | None = None, last: Deployment | None = None,
         limit: int = bulk.AT_ONCE, most: int = sys.maxsize) -> tuple[list[Deployment], bool]:
    """Deployments of a project or of the users in it (None: of all), on a server (None: on any), oldest first, after
    `last`; and whether there are more. At most `limit`, and as many as reach `most` characters, at least one. Values
    that cannot be decoded are None.

    One statement for their sizes, which returns no long column, and one for the deployments. Indexes: (server_id), else
    (project_id, created_at, id) and (stack_user_project_id, created_at, id).
    """
    query = sa.select(*_KEYS, _SIZE.label('size'))
    if last is not None:
        query = query.where(after(_KEYS, (last.created_at, last.id), ascending=True))
    if server_id is not None:
        found = _first(query.where(software_deployment.c.server_id == server_id, *_within(project_id)), limit + 1)
    elif project_id is None:
        found = _first(query, limit + 1)
    else:           # with an OR a server would read all projects; a deployment that belongs to both parts comes once
        parts = [_first(query.where(column == project_id), limit + 1).subquery() for column in _PROJECTS]
        either = sa.union(*map(sa.select, parts)).subquery()
        found = sa.select(either).order_by(either.c.created_at, either.c.id).limit(limit + 1)
    sizes = tx.execute(found).all()
    ids = [row.id for row in cut(sizes[:limit], lambda row: int(row.size), most)]
    rows = tx.execute(sa.select(*COLUMNS).where(software_deployment.c.id.in_(ids)).order_by(*_KEYS)) if ids else ()
    return [_listed(row) for row in rows], len(ids) < len(sizes)


def _first(query: sa.Select[tuple[object, ...]], number: int) -> sa.Select[tuple[object, ...]]:
    return query.order_by(*_KEYS).limit(number)


def size_on_server(tx: sa.Connection, project_id: str, server_id: str) -> int:
    """Characters of the configs that a project has deployed on a server, as they are stored, those of a config counted
    for each deployment of it, and DEPLOYED for each. Index: (server_id)."""
    number, size = tx.execute(sa.select(sa.func.count(), sa.func.sum(sa.func.length(software_config.c.config))).join(
        software_deployment, software_deployment.c.config_id == software_config.c.id).where(
        software_deployment.c.server_id == server_id, *_within(project_id))).one()
    return int(size or 0) + DEPLOYED * int(number)


def configs_of_server(tx: sa.Connection, project_id: str | None, server_id: str) -> list[Config]:
    """Return the configs deployed on a server, by name, as its agent polls for them. Raises InvalidEncryptionKey for
    one that cannot be decoded: agents remove what a config has made that is not in the answer. One statement. Index:
    (server_id)."""
    query = sa.select(*software_configs.COLUMNS).join(
        software_deployment, software_deployment.c.config_id == software_config.c.id).where(
        software_deployment.c.server_id == server_id, *_within(project_id))
    return [software_configs.read(row) for row in tx.execute(query.order_by(
        software_config.c.name, software_deployment.c.created_at, software_deployment.c.id))]


def count(tx: sa.Connection, project_id: str) -> int:
    return int(tx.execute(sa.select(sa.func.count()).select_from(software_deployment)
                          .where(software_deployment.c.project_id == project_id)).scalar_one())


def update(tx: sa.Connection, deployment_id: str, now: datetime, **changed: object) -> bool:
    """Update any of the columns CHANGEABLE. False when the row is gone."""
    return _update(tx, (software_deployment.c.id == deployment_id,), now, changed)


def update_unchanged(tx: sa.Connection, known: Deployment, now: datetime, **changed: object) -> bool:
    """As `update`, by compare and swap: False also when the config, the action or the status are not those of
    `known`."""
    return _update(tx, (software_deployment.c.id == known.id, software_deployment.c.config_id == known.config_id, *(
        software_deployment.c[name].is_not_distinct_from(getattr(known, name)) for name in ('action', 'status'))),
        now, changed)


def _update(tx: sa.Connection, conditions: Iterable[sa.ColumnElement[bool]], now: datetime,
            changed: Mapping[str, object]) -> bool:
    unknown = set(changed) - CHANGEABLE
    if unknown:
        raise TypeError(f'A deployment cannot change {", ".join(sorted(unknown))}')
    return bool(tx.execute(software_deployment.update().where(*conditions)
                           .values(**_encoded(tx, changed), updated_at=now)).rowcount)


def delete(tx: sa.Connection, deployment_id: str) -> bool:
    return bool(tx.execute(software_deployment.delete().where(software_deployment.c.id == deployment_id)).rowcount)


def _within(project_id: str | None) -> list[sa.ColumnElement[bool]]:
    """Return the condition beside that for a server. It alone has no index."""
    return [] if project_id is None else [sa.or_(*(column == project_id for column in _PROJECTS))]


def _encoded(tx: sa.Connection, values: Mapping[str, object]) -> dict[str, object]:
    found = dict(values)
    for name in JSON:
        if name in found:
            found[name] = codec.encode_or_null(found[name], codec.encoder(tx))
    reason = found.get('status_reason')
    if isinstance(reason, str):
        found['status_reason'] = codec.stored_text('status_reason', reason)
    return found
