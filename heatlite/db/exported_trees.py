"""Reads trees of stacks for exports, by few statements for a whole tree. Never opens, commits or retries a transaction.

Large texts are returned as they are stored, so that they are decoded after the transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from heatlite.common.template_files import Files
from heatlite.db import bulk, codec, stack_trees, stacks, templates
from heatlite.db.resource_data import StoredDatum
from heatlite.db.tables import files, resource, resource_data, stack, template
from heatlite.planning.states import Action
from heatlite.planning.steps import avoided_template, highest

STACK, ROW, DATUM = 512, 256, 64        # characters in an export beside the texts that are measured: of each


class ExportedRow(NamedTuple):
    """A row of the table `resource`. `metadata`: as it is stored."""

    stack_id: str
    id: int
    name: str
    type: str
    action: str
    status: str
    physical_id: str | None
    template_id: str | None
    replaced_by: int | None
    metadata: str | None


@dataclass(frozen=True)
class ExportedStack:
    """A stack with its current rows, by number, and their data. `document` and `environment`: as they are stored."""

    identity: stacks.Identity
    tags: Sequence[str]
    document: str
    environment: str
    files: Files
    rows: Sequence[ExportedRow]
    data: Mapping[int, Sequence[StoredDatum]]       # by row number


_STACKS: sa.BindParameter[str] = sa.bindparam('stack_ids', expanding=True)
_WITHIN = stack.c.id.in_(_STACKS)
_SOURCES = sa.join(stack, template, template.c.id == stack.c.template_id)
_TEXTS = sa.select(
    stack.c.id, stack.c.tags, template.c.document, template.c.environment, template.c.files_id).select_from(
    _SOURCES).where(_WITHIN)
_LENGTHS = sa.select(
    stack.c.id, template.c.files_id,
    sa.func.length(template.c.document) + sa.func.length(template.c.environment)).select_from(_SOURCES).where(_WITHIN)
_ROWS = sa.select(*(resource.c[name] for name in ExportedRow._fields)).where(
    resource.c.stack_id.in_(_STACKS)).order_by(resource.c.stack_id, resource.c.id)
_SIZE_OF_ROWS = sa.select(
    sa.func.count(), sa.func.sum(sa.func.coalesce(sa.func.length(resource.c.metadata), 0))).where(
    resource.c.stack_id.in_(_STACKS))
_DATA = sa.select(
    resource_data.c.stack_id, resource_data.c.resource_id, resource_data.c.key, resource_data.c.value,
    resource_data.c.method).where(resource_data.c.stack_id.in_(_STACKS)).order_by(
    resource_data.c.stack_id, resource_data.c.resource_id, resource_data.c.key)
_SIZE_OF_DATA = sa.select(
    sa.func.count(), sa.func.sum(sa.func.coalesce(sa.func.length(resource_data.c.value), 0))).where(
    resource_data.c.stack_id.in_(_STACKS))


def identities(tx: sa.Connection, stack_id: str) -> list[stacks.Identity]:
    """Return a live stack and all stacks below it, outer ones first; nothing if there is none. Two SELECTs for a
    root."""
    top = stacks.identity(tx, stack_id)
    if top is None or top.deleted_at is not None:
        return []
    return [top, *stack_trees.descendants(tx, top.root_id, top.id)]


def size(tx: sa.Connection, found: Sequence[stacks.Identity]) -> int:
    """Return the characters of an export of these stacks, of texts as they are stored. Returns no long column.

    Three SELECTs for each 500 stacks, and one for the files. `found`: as `identities` returns them.
    """
    total, files_of = STACK * len(found), dict[str, str | None]()
    for chunk in bulk.chunks(found):
        wanted = {'stack_ids': [each.id for each in chunk]}
        for stack_id, files_id, length in tx.execute(_LENGTHS, wanted):
            files_of[stack_id] = files_id
            total += int(length)
        for statement, beside in ((_SIZE_OF_ROWS, ROW), (_SIZE_OF_DATA, DATUM)):
            number, length = tx.execute(statement, wanted).one()
            total += beside * int(number) + int(length or 0)
    return total + _size_of_files(tx, [files_id for each in found if (files_id := files_of.get(each.id)) is not None
                                       and files_id != files_of.get(each.owner_id or '')])


def _size_of_files(tx: sa.Connection, shown: Sequence[str]) -> int:
    """`shown`: the ids of their rows, one that is shown twice given twice."""
    lengths = {files_id: int(length) for chunk in bulk.chunks(dict.fromkeys(shown)) for files_id, length in
               tx.execute(sa.select(files.c.id, sa.func.length(files.c.content)).where(files.c.id.in_(chunk)))}
    return sum(lengths.get(files_id, 0) for files_id in shown)


def whole(tx: sa.Connection, found: Sequence[stacks.Identity]) -> dict[str, ExportedStack]:
    """Return these stacks by id. Three SELECTs for each 500 of them, and one for each set of files."""
    exported = dict[str, ExportedStack]()
    for chunk in bulk.chunks(found):
        wanted = {'stack_ids': [each.id for each in chunk]}
        texts = {row.id: row for row in tx.execute(_TEXTS, wanted)}
        rows, data = dict[str, list[ExportedRow]](), dict[str, dict[int, list[StoredDatum]]]()
        for row in tx.execute(_ROWS, wanted):
            rows.setdefault(row.stack_id, []).append(ExportedRow(*row))
        for stack_id, number, *datum in tx.execute(_DATA, wanted):
            data.setdefault(stack_id, {}).setdefault(number, []).append(StoredDatum(*datum))
        for each in chunk:
            text = texts[each.id]
            exported[each.id] = ExportedStack(
                each, codec.decode(text.tags) or (), text.document, text.environment,
                templates.files_of_row(tx, text.files_id), _current(each, rows.get(each.id, ())),
                data.get(each.id, {}))
    return exported


def _current(identity: stacks.Identity, rows: Iterable[ExportedRow]) -> list[ExportedRow]:
    """Return one row for each name, by number, as `planning.steps.current_rows`."""
    live = (row for row in rows if row.action != Action.DELETE)
    avoided = avoided_template(identity.action, identity.previous_template_id)
    return sorted(highest(live, identity.template_id, avoided).values(), key=lambda row: row.id)
