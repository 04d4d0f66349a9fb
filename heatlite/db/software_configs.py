"""The `software_config` table. Nothing that can be read of a row is ever updated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from heatlite.db import codec
from heatlite.db.connection import certifies
from heatlite.db.listing import after
from heatlite.db.tables import software_config, software_deployment


@dataclass(frozen=True)
class Config:
    """A software config. `created_at`: UTC."""

    id: str
    project_id: str
    name: str | None
    group: str | None
    config: Mapping[str, Any]              # {config, inputs, outputs, options}; empty in lists
    created_at: datetime


COLUMNS = codec.columns(software_config, Config)
LISTED = [column if column.name != 'config' else sa.literal('{}').label('config') for column in COLUMNS]
read = codec.reader(Config, 'config')


def insert(tx: sa.Connection, new: Config) -> None:
    tx.execute(software_config.insert().values({
        'id': new.id, 'project_id': new.project_id, 'name': new.name, 'group': new.group,
        'config': codec.encoder(tx)(new.config), 'created_at': new.created_at}))


def show(tx: sa.Connection, config_id: str, held: bool = False) -> Config | None:
    """By primary key. The caller checks the project. `held`: for a transaction that deploys it; no other one deletes it
    before that ends; on Galera one on another node fails with a conflict, or this one does."""
    query = sa.select(*COLUMNS).where(software_config.c.id == config_id)
    if held and certifies(tx):          # before it is read: two transactions with a shared lock could not write both
        tx.execute(software_config.update().where(software_config.c.id == config_id).values(
            uses=software_config.c.uses + 1))
    row = tx.execute(query.with_for_update(read=True) if held else query).first()
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


def delete_unused(tx: sa.Connection, config_id: str) -> bool:
    """Delete a config, unless a deployment refers to it: then False. Waits for transactions that have it held, because
    what they insert cannot be seen before. Index: software_deployment (config_id)."""
    tx.execute(sa.select(software_config.c.id).where(software_config.c.id == config_id).with_for_update()).first()
    is_deployed = tx.execute(sa.select(software_deployment.c.id).where(
        software_deployment.c.config_id == config_id).limit(1)).first() is not None
    if not is_deployed:
        tx.execute(software_config.delete().where(software_config.c.id == config_id))
    return not is_deployed
