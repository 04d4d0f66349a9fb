"""The `software_config` table. Rows are never updated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from heatlite.db import codec
from heatlite.db.stacks import after
from heatlite.db.tables import software_config, software_deployment


@dataclass(frozen=True)
class Config:
    id: str
    project_id: str
    name: str | None
    group: str | None
    config: Mapping[str, Any]           # {config, inputs, outputs, options}; empty in lists
    created_at: datetime


COLUMNS = codec.columns(software_config, Config)
LISTED = [column if column.name != 'config' else sa.literal('{}').label('config') for column in COLUMNS]
read = codec.reader(Config, 'config')


def insert(tx: sa.Connection, new: Config) -> None:
    tx.execute(software_config.insert().values({
        'id': new.id, 'project_id': new.project_id, 'name': new.name, 'group': new.group,
        'config': codec.encoder(tx)(new.config), 'created_at': new.created_at}))


def show(tx: sa.Connection, config_id: str) -> Config | None:
    """By primary key. The caller checks the project."""
    row = tx.execute(sa.select(*COLUMNS).where(software_config.c.id == config_id)).first()
    return None if row is None else read(row)


def page(tx: sa.Connection, project_id: str | None, limit: int | None = None,
         marker: str | None = None) -> list[Config]:
    """Configs of a project (None: of all), newest first, at most `limit`, after `marker`; an unknown marker is ignored.

    One statement, two with a marker. Index: (project_id, created_at, id).
    """
    if limit == 0:
        return []
    keys = (software_config.c.created_at, software_config.c.id)
    within = [] if project_id is None else [software_config.c.project_id == project_id]
    query = sa.select(*LISTED).where(*within)
    if marker:
        position = tx.execute(sa.select(*keys).where(software_config.c.id == marker, *within)).first()
        if position is not None:
            query = query.where(after(keys, position, ascending=False))
    query = query.order_by(*(key.desc() for key in keys))
    if limit is not None:
        query = query.limit(limit)
    return [read(row) for row in tx.execute(query)]


def count(tx: sa.Connection, project_id: str) -> int:
    return int(tx.execute(sa.select(sa.func.count()).select_from(software_config)
                          .where(software_config.c.project_id == project_id)).scalar_one())


def is_deployed(tx: sa.Connection, config_id: str) -> bool:
    """Whether a deployment refers to it. Index: software_deployment (config_id)."""
    return tx.execute(sa.select(software_deployment.c.id)
                      .where(software_deployment.c.config_id == config_id).limit(1)).first() is not None


def delete(tx: sa.Connection, config_id: str) -> bool:
    """Deletes a config. The caller must check `is_deployed` first."""
    return bool(tx.execute(software_config.delete().where(software_config.c.id == config_id)).rowcount)
