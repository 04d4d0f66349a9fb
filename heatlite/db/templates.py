"""The `template` and `files` tables: the sources of stacks. Rows are never updated.

Files may be large and all stacks of a tree share one set: a nested stack's template refers to the row of its parent's
template, and within a process they are one object, however many stacks were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from heatlite.common import crypt
from heatlite.common.template_files import Files
from heatlite.db import bulk, codec
from heatlite.db.codec import Encoded
from heatlite.db.tables import files as files_table
from heatlite.db.tables import resource, revision, stack, template


@dataclass(frozen=True)
class StoredTemplate:
    """A template with the environment and the files that were sent with it."""

    id: str
    document: Mapping[str, object]
    environment: Mapping[str, Any]
    files: Files                        # empty if not requested
    is_sealed: bool = False             # the environment is stored encrypted


INSERTED = ('id', 'document', 'environment', 'files_id', 'stack_id', 'created_at')
COLUMNS = (template.c.id, template.c.document, template.c.environment, template.c.files_id)
# Built once: building a statement costs more than running it.
_ONE = sa.select(*COLUMNS).where(template.c.id == sa.bindparam('template_id'))
_ENVIRONMENT = sa.select(template.c.environment).where(template.c.id == sa.bindparam('template_id'))
_CONTENT = sa.select(files_table.c.content).where(files_table.c.id == sa.bindparam('files_id'))
_FILES = sa.select(files_table.c.content).join(template, template.c.files_id == files_table.c.id).where(
    template.c.id == sa.bindparam('template_id'))
_HELD = sa.select(files_table.c.id).where(files_table.c.id == sa.bindparam('files_id')).with_for_update(read=True)


def insert(tx: sa.Connection, template_id: str, document: Mapping[str, object] | Encoded,
           environment: Mapping[str, object], files: Mapping[str, str] | None, now: datetime, *,
           stack_id: str | None = None, is_nested: bool = False) -> str:
    """Insert a template and return `template_id`. Files that have no row yet get one with the template's id.

    `is_nested`: the template of a nested stack, whose documents hold values that its parents received or computed.
    """
    seal = codec.sealed if is_nested else codec.source_sealed
    files_id = _stored(tx, template_id, Files.of(files)) if files else None
    bulk.texts(tx.dialect.name).insert(tx, 'template', INSERTED, [
        (template_id, seal(tx, codec.text_of(document)), seal(tx, codec.encode(environment)), files_id, stack_id,
         bulk.Times()(now))])
    return template_id


def _stored(tx: sa.Connection, template_id: str, files: Files) -> str:
    """Return the id of the row of these files, locked until the end of `tx`: `remove` waits, and then sees the new
    reference."""
    shared = files.id is not None and files.id != template_id       # its own id: a retry of the same transaction
    if shared and tx.execute(_HELD, {'files_id': files.id}).first() is not None:
        return str(files.id)
    tx.execute(files_table.insert().values(id=template_id, content=codec.source_encoder(tx)(files)))
    files.id = template_id
    return template_id


def get(tx: sa.Connection, template_id: str) -> StoredTemplate:
    """Return a template with its files. Raises LookupError: a stack's own templates exist as long as the stack does."""
    row = _row(tx, template_id)
    return _template(row, files_of_row(tx, row.files_id))


def undecoded(tx: sa.Connection, template_id: str) -> StoredTemplate:
    """As `get`, with a document that is decoded when it is first read."""
    row = _row(tx, template_id)
    return _template(row, files_of_row(tx, row.files_id), lambda text: codec.Undecoded(codec.clear(text)))


def show(tx: sa.Connection, template_id: str) -> StoredTemplate:
    """Return a template without its files. Raises LookupError."""
    return _template(_row(tx, template_id), Files())


def sources(tx: sa.Connection, template_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the documents and environments of some templates, as JSON texts in clear: many are often equal. One
    SELECT; give few ids, as each text may be large."""
    return {row.id: (codec.clear(row.document), codec.clear(row.environment)) for row in tx.execute(
        sa.select(template.c.id, template.c.document, template.c.environment).where(template.c.id.in_(template_ids)))}


def environment(tx: sa.Connection, template_id: str) -> Mapping[str, object] | None:
    """Return the environment of a template alone; None if there is no such template."""
    found = tx.execute(_ENVIRONMENT, {'template_id': template_id}).scalar_one_or_none()
    return None if found is None else codec.decode(found)


def files(tx: sa.Connection, template_id: str) -> Mapping[str, str]:
    return codec.decode(tx.execute(_FILES, {'template_id': template_id}).scalar()) or {}


def _row(tx: sa.Connection, template_id: str) -> sa.Row[tuple[object, ...]]:
    row = tx.execute(_ONE, {'template_id': template_id}).first()
    if row is None:
        raise LookupError(f'There is no template {template_id}')
    return row


def files_of_row(tx: sa.Connection, files_id: str | None) -> Files:
    """Return the files of a row of their table, one object for all who read it at a time; none for None."""
    if files_id is None:
        return Files()
    known = tx.get_execution_options()['files']
    found: Files | None = known.get(files_id)
    if found is None:
        found = Files(codec.decode(tx.execute(_CONTENT, {'files_id': files_id}).scalar()) or {})
        found.id = files_id
        known[files_id] = found
    return found


def prune(tx: sa.Connection, stack_id: str, keep: int = 0) -> int:
    """Remove templates of former requests that neither the stack nor its resources nor its revisions refer to, but for
    the newest `keep`; return how many."""
    used = set(tx.execute(sa.select(stack.c.template_id, stack.c.previous_template_id)
                          .where(stack.c.id == stack_id)).one())
    used.update(tx.execute(sa.select(resource.c.template_id).where(resource.c.stack_id == stack_id).distinct())
                .scalars())
    found = tx.execute(sa.select(template.c.id).where(
        template.c.stack_id == stack_id, template.c.id.not_in(
            sa.select(revision.c.template_id).where(revision.c.stack_id == stack_id)))
        .order_by(template.c.created_at.desc(), template.c.id)).scalars()
    return remove(tx, [each for each in found if each not in used][keep:])


def remove(tx: sa.Connection, template_ids: Iterable[str]) -> int:
    """Remove templates, with the files that no other template shares; return how many templates."""
    wanted = list(template_ids)
    if not wanted:
        return 0
    shared = list(tx.execute(sa.select(template.c.files_id).where(
        template.c.id.in_(wanted), template.c.files_id.is_not(None)).distinct()).scalars())
    removed = tx.execute(template.delete().where(template.c.id.in_(wanted))).rowcount
    if shared:
        tx.execute(sa.select(files_table.c.id).where(files_table.c.id.in_(shared)).with_for_update()).all()
        still = set(tx.execute(sa.select(template.c.files_id).where(template.c.files_id.in_(shared)).distinct())
                    .scalars())
        unused = [each for each in shared if each not in still]
        if unused:
            tx.execute(files_table.delete().where(files_table.c.id.in_(unused)))
    return int(removed)


def _template(row: sa.Row[tuple[object, ...]], content: Files,
              decode: Callable[[str], Mapping[str, object]] = codec.decode) -> StoredTemplate:
    return StoredTemplate(row.id, decode(row.document), codec.decode(row.environment), content,
                          crypt.is_sealed(row.environment))
