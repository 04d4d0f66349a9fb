"""The `template` and `files` tables: what a stack was made from. Rows are written once and never changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from heatlite.common import crypt
from heatlite.db import bulk, codec
from heatlite.db.tables import files as files_table
from heatlite.db.tables import resource, stack, template


@dataclass(frozen=True)
class Template:
    id: str
    document: Mapping[str, Any]
    environment: Mapping[str, Any]
    files_id: str | None
    files: Mapping[str, str]            # empty where they were not asked for
    is_sealed: bool = False             # the environment is stored encrypted


INSERTED = ('id', 'document', 'environment', 'files_id', 'stack_id', 'created_at')
COLUMNS = (template.c.id, template.c.document, template.c.environment, template.c.files_id)
# Built once: putting a statement together costs more than running it.
_WITHOUT_FILES = sa.select(*COLUMNS).where(template.c.id == sa.bindparam('template_id'))
_WITH_FILES = _WITHOUT_FILES.add_columns(files_table.c.content).select_from(
    template.outerjoin(files_table, files_table.c.id == template.c.files_id))


def insert(tx: sa.Connection, template_id: str, document: Mapping[str, Any], environment: Mapping[str, Any],
           files: Mapping[str, str] | None, now: datetime, *, stack_id: str | None = None,
           files_id: str | None = None) -> str:
    """Returns `template_id`. `files` get the template's id; `files_id` shares those of another template instead."""
    encode = codec.encoder(tx)
    if files and files_id is None:
        files_id = template_id
        tx.execute(files_table.insert().values(id=files_id, content=encode(files)))
    bulk.texts(tx.dialect.name).insert(tx, 'template', INSERTED, [
        (template_id, encode(document), encode(environment), files_id, stack_id, bulk.Times()(now))])
    return template_id


def get(tx: sa.Connection, template_id: str) -> Template:
    """With its files. Raises LookupError: a stack's own templates are there as long as the stack is."""
    row = tx.execute(_WITH_FILES, {'template_id': template_id}).first()
    if row is None:
        raise LookupError(f'There is no template {template_id}')
    return _template(row, codec.decode(row.content) or {})


def show(tx: sa.Connection, template_id: str) -> Template:
    """Without its files. Raises LookupError."""
    row = tx.execute(_WITHOUT_FILES, {'template_id': template_id}).first()
    if row is None:
        raise LookupError(f'There is no template {template_id}')
    return _template(row, {})


def documents(tx: sa.Connection, template_ids: Iterable[str]) -> dict[str, Template]:
    """Several at once, without files, by id."""
    query = sa.select(*COLUMNS).where(template.c.id.in_(list(template_ids)))
    return {row.id: _template(row, {}) for row in tx.execute(query)}


def files(tx: sa.Connection, template_id: str) -> Mapping[str, str]:
    content = tx.execute(sa.select(files_table.c.content).join(template, template.c.files_id == files_table.c.id)
                         .where(template.c.id == template_id)).scalar()
    return codec.decode(content) or {}


def prune(tx: sa.Connection, stack_id: str) -> int:
    """Removes templates of former requests that neither the stack nor a resource of it refers to; how many."""
    used = set(tx.execute(sa.select(stack.c.template_id, stack.c.previous_template_id)
                          .where(stack.c.id == stack_id)).one())
    used.update(tx.execute(sa.select(resource.c.template_id).where(resource.c.stack_id == stack_id).distinct())
                .scalars())
    found = tx.execute(sa.select(template.c.id).where(template.c.stack_id == stack_id)).scalars()
    return remove(tx, [each for each in found if each not in used])


def remove(tx: sa.Connection, template_ids: Iterable[str]) -> int:
    """With the files that no other template shares; how many templates."""
    wanted = list(template_ids)
    if not wanted:
        return 0
    shared = list(tx.execute(sa.select(template.c.files_id).where(
        template.c.id.in_(wanted), template.c.files_id.is_not(None)).distinct()).scalars())
    removed = tx.execute(template.delete().where(template.c.id.in_(wanted))).rowcount
    if shared:
        still = set(tx.execute(sa.select(template.c.files_id).where(template.c.files_id.in_(shared)).distinct())
                    .scalars())
        unused = [each for each in shared if each not in still]
        if unused:
            tx.execute(files_table.delete().where(files_table.c.id.in_(unused)))
    return int(removed)


def _template(row: Any, content: Mapping[str, str]) -> Template:
    return Template(row.id, codec.decode(row.document), codec.decode(row.environment), row.files_id, content,
                    crypt.is_sealed(row.environment))
