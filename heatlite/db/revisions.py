"""The table `revision`: the definitions that were accepted for root stacks. Rows are never updated.

The content of a definition is a row of `template`. A revision refers to it, so that `templates.prune` leaves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime

import sqlalchemy as sa

from heatlite.db import bulk, codec, templates
from heatlite.db.tables import revision, stack, template
from heatlite.db.templates import StoredTemplate
from heatlite.planning.states import Revision

NAMES = tuple(field.name for field in fields(Revision))


@dataclass(frozen=True)
class StoredRevision:
    """A revision with its outcome. In lists `parameters` is None."""

    number: int
    action: str | None
    outcome: str | None                 # None: not known
    author_id: str | None
    author: str | None
    plan_id: str | None
    template_id: str
    digest: str | None
    parameters: Mapping[str, object] | None
    created_at: datetime


_NEXT = revision.alias('following')
_OUTCOME = sa.case((stack.c.revision == revision.c.number, sa.func.coalesce(stack.c.outcome, stack.c.status)),
                   else_=_NEXT.c.preceding).label('outcome')
COLUMNS = [_OUTCOME if field.name == 'outcome' else revision.c[field.name] for field in fields(StoredRevision)]
LISTED = [sa.null().label('parameters') if column.name == 'parameters' else column for column in COLUMNS]
_FROM = revision.join(stack, stack.c.id == revision.c.stack_id).outerjoin(_NEXT, sa.and_(
    _NEXT.c.stack_id == revision.c.stack_id, _NEXT.c.number == revision.c.number + 1))
_read = codec.reader(StoredRevision, 'parameters')
_GIVEN = {name: sa.bindparam(name, type_=revision.c[name].type) for name in NAMES}
_SHARED = sa.func.coalesce(sa.func.max(revision.c.template_id), _GIVEN['template_id'])
# Built once: building a statement costs more than running it. An aggregate gives one row, whatever it finds.
# The join: an engine of the release before this one removes templates that only revisions refer to.
_SHARING = revision.insert().from_select(NAMES, sa.select(*{**_GIVEN, 'template_id': _SHARED}.values()).select_from(
    revision.join(template, template.c.id == revision.c.template_id)).where(
    revision.c.stack_id == _GIVEN['stack_id'], revision.c.digest == _GIVEN['digest']))


def insert(tx: sa.Connection, new: Revision) -> None:
    """Insert a revision: one statement. It shares the template of an older one with the same digest. By primary
    key."""
    values = {name: getattr(new, name) for name in NAMES}
    values['parameters'] = codec.encode_or_null(new.parameters, codec.encoder(tx))
    if new.number > 1 and new.digest is not None:
        tx.execute(_SHARING, values)
        return
    values['created_at'] = bulk.Times()(new.created_at)
    bulk.texts(tx.dialect.name).insert(tx, 'revision', NAMES, [tuple(values.values())])


def digest(tx: sa.Connection, stack_id: str, number: int) -> str | None:
    """Return the digest of a revision; None if it is not known, or the revision is gone. By primary key."""
    found: str | None = tx.execute(sa.select(revision.c.digest).where(
        revision.c.stack_id == stack_id, revision.c.number == number)).scalar()
    return found


def show(tx: sa.Connection, stack_id: str, number: int) -> StoredRevision | None:
    """By primary key. The caller checks access to the stack."""
    row = tx.execute(sa.select(*COLUMNS).select_from(_FROM).where(
        revision.c.stack_id == stack_id, revision.c.number == number)).first()
    return None if row is None else _read(row)


def definition(tx: sa.Connection, stack_id: str, number: int) -> tuple[StoredRevision, StoredTemplate] | None:
    """Return a revision with its content; None also if that has been removed. By primary keys. The caller checks
    access."""
    found = show(tx, stack_id, number)
    try:
        return None if found is None else (found, templates.get(tx, found.template_id))
    except LookupError:
        return None


def page(tx: sa.Connection, stack_id: str, limit: int | None = None, marker: int | None = None) -> list[StoredRevision]:
    """Revisions of a stack, newest first, at most `limit`, below the number `marker`. The caller checks access.

    One statement, by primary key.
    """
    query = sa.select(*LISTED).select_from(_FROM).where(revision.c.stack_id == stack_id)
    if marker is not None:
        query = query.where(revision.c.number < marker)
    query = query.order_by(revision.c.number.desc())
    return [_read(row) for row in tx.execute(query if limit is None else query.limit(limit))]


def remove_until(tx: sa.Connection, stack_id: str, number: int) -> int:
    """Remove the revisions up to this number; return how many. Their content goes with `templates.prune`."""
    return int(tx.execute(revision.delete().where(
        revision.c.stack_id == stack_id, revision.c.number <= number)).rowcount)
