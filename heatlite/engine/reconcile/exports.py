"""Exports a stack as a document, for export, abandon and snapshots (docs/spec/engine.rst, "Exports")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection

from heatlite.common import exception, limits, turns
from heatlite.common.i18n import _
from heatlite.db import codec, exported_trees, stacks, templates
from heatlite.db.exported_trees import ExportedRow, ExportedStack
from heatlite.db.resource_data import StoredDatum
from heatlite.engine.reconcile import request_keys
from heatlite.language import masking
from heatlite.planning.states import Action

Document = dict[str, object]

REDACTED = 'redacted'               # key of the names of secret data; the API removes these entries from answers
FILES, RESOURCES = 'files', 'resources'     # keys of what is encoded in pieces
TURNS = 10                          # steps that count for one resource, see `turns`


def check_size(tx: Connection, stack_id: str) -> Sequence[stacks.Identity]:
    """Return the stacks that an export contains, outer ones first. Raises EntityNotFound, and RequestLimitExceeded if
    it would have more than MOST_EXPORTED characters, before any large text is read."""
    found = exported_trees.identities(tx, stack_id)
    if not found:
        raise exception.EntityNotFound(entity='Stack', name=stack_id)
    size = exported_trees.size(tx, found)
    if size > limits.MOST_EXPORTED:
        raise exception.RequestLimitExceeded(
            _('The export of the stack would be larger than %(most)d characters: with its nested stacks it has '
              '%(size)d.') % {'most': limits.MOST_EXPORTED, 'size': size})
    return found


class Export:
    """What is read of a stack and its nested stacks. The number of statements grows with each 500 stacks. Raises as
    `check_size`."""

    def __init__(self, tx: Connection, stack_id: str) -> None:
        found = check_size(tx, stack_id)
        self._top = found[0].id
        self._stacks = exported_trees.whole(tx, found)
        self._nested: dict[str, dict[str | None, str]] = {}         # stack -> resource -> the stack that it owns
        for each in found[1:]:
            self._nested.setdefault(each.owner_id or '', {})[each.parent_resource] = each.id

    def document(self) -> Document:
        """Return the document: the entry of a resource with a nested stack is that stack's. Other threads run while it
        is made: call it outside of transactions."""
        return self._document(self._stacks[self._top])

    def _document(self, stack: ExportedStack) -> Document:
        around = self._stacks.get(stack.identity.owner_id or '')
        shared = around is not None and stack.files is around.files
        return {**_described(stack.identity, stack.tags, codec.decode(stack.document), codec.decode(stack.environment),
                             {} if shared else stack.files),
                RESOURCES: {row.name: self._entry(stack, row) for row in turns.paced(stack.rows, TURNS)}}

    def _entry(self, stack: ExportedStack, row: ExportedRow) -> Document:
        nested = self._nested.get(stack.identity.id, {}).get(row.name)
        if nested is not None and nested == row.physical_id:
            return self._document(self._stacks[nested])
        return _exported(row, stack.data.get(row.id, ()))


def without_resources(tx: Connection, row: stacks.StoredStack) -> Document:
    """Return the document of a stack of which no resources are read."""
    stored = templates.get(tx, row.template_id)
    return {**_described(row, row.tags or (), stored.document, stored.environment, stored.files), RESOURCES: {}}


def encoded(document: Document) -> codec.Encoded:
    """Return the document as JSON text, made in pieces between which other threads run."""
    return codec.Encoded(_text(document))


def _text(document: Mapping[str, object]) -> str:
    return _joined((name, _joined(_pieces(value)) if name in (FILES, RESOURCES) and isinstance(value, Mapping) else
                    codec.encode(value)) for name, value in document.items())


def _pieces(entries: Mapping[str, object]) -> Iterable[tuple[str, str]]:
    """Yield the files, or the resources, of a document with their JSON texts."""
    for name, entry in turns.paced(entries.items(), TURNS):
        yield name, _text(entry) if isinstance(entry, Mapping) and RESOURCES in entry else codec.encode(entry)


def _joined(entries: Iterable[tuple[str, str]]) -> str:
    return f'{{{",".join([f"{codec.encode(name)}:{text}" for name, text in entries])}}}'


def _described(row: stacks.StoredStack | stacks.Identity, tags: Iterable[str], template: object,
               environment: Mapping[str, object], files: Mapping[str, str]) -> Document:
    inherited = {section: environment[section] for section in (masking.NAMES, masking.VALUES)
                 if environment.get(section)}
    return {
        'name': row.name, 'id': row.id, 'action': row.action, 'status': row.status, 'template': template,
        'environment': {name: environment.get(name) or empty for name, empty in (
            ('resource_registry', {}), ('parameters', {}), ('parameter_defaults', {}), ('event_sinks', [])
            )} | inherited,
        FILES: files, 'tags': list(tags), 'project_id': row.project_id,
        'stack_user_project_id': row.user_project_id}


def _exported(row: ExportedRow, data: Sequence[StoredDatum]) -> Document:
    return {
        'name': row.name, 'resource_id': row.physical_id, 'type': row.type, 'action': row.action,
        'status': row.status, 'metadata': codec.decode(row.metadata) or {},
        'resource_data': {entry.key: entry.clear() for entry in data},
        REDACTED: [entry.key for entry in data if entry.redact]}


ABANDONING = {request_keys.ABANDON: True}


def is_abandoned(row: stacks.StoredStack) -> bool:
    """Whether the stack is deleted without deleting the objects of its resources."""
    return row.action == Action.DELETE and bool((row.request or {}).get(request_keys.ABANDON))
