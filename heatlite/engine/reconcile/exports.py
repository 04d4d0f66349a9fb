"""Exports a stack as a document, for export, abandon and snapshots (docs/spec/engine.rst, "Exports")."""

from __future__ import annotations

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.db import resource_data, resources, stack_trees, stacks, templates
from heatlite.engine.reconcile import request_keys
from heatlite.language import masking
from heatlite.planning.states import Action
from heatlite.planning.steps import current_rows_of

REDACTED = 'redacted'               # key of the names of secret data; the API removes these entries from answers


def document(tx: Connection, stack_id: str, with_resources: bool = True) -> dict[str, object]:
    """Export the whole tree: a resource with a nested stack is that stack's document. `with_resources` False: nothing
    of them is read. Raises EntityNotFound."""
    row = stacks.get(tx, stack_id)
    if row is None:
        raise exception.EntityNotFound(entity='Stack', name=stack_id)
    stored = templates.get(tx, row.template_id)
    environment = stored.environment
    inherited = {section: environment[section] for section in (masking.NAMES, masking.VALUES)
                 if environment.get(section)}
    return {
        'name': row.name, 'id': row.id, 'action': row.action, 'status': row.status, 'template': stored.document,
        'environment': {name: environment.get(name) or empty for name, empty in (
            ('resource_registry', {}), ('parameters', {}), ('parameter_defaults', {}), ('event_sinks', [])
            )} | inherited,
        'files': stored.files, 'tags': list(row.tags or ()), 'project_id': row.project_id,
        'stack_user_project_id': row.user_project_id, 'resources': _resources(tx, row) if with_resources else {}}


def _resources(tx: Connection, row: stacks.StoredStack) -> dict[str, object]:
    rows = {state.id: state for state in resources.light(tx, row.id)}
    metadata = resources.columns(tx, row.id, None, ('metadata',))
    data = resource_data.all_data(tx, row.id)
    nested = {child.parent_resource: child for child in stack_trees.tree(tx, row.root_id) if child.owner_id == row.id}
    exported: dict[str, object] = {}
    for name, number in sorted(current_rows_of(row, rows.values()).items(), key=lambda pair: pair[1]):
        state = rows[number]
        if name in nested and state.physical_id == nested[name].id:
            exported[name] = document(tx, nested[name].id)
            continue
        exported[name] = {
            'name': name, 'resource_id': state.physical_id, 'type': state.type, 'action': state.action,
            'status': state.status, 'metadata': metadata.get(number, {}).get('metadata') or {},
            'resource_data': {entry.key: entry.clear() for entry in data.get(number, ())},
            REDACTED: [entry.key for entry in data.get(number, ()) if entry.redact]}
    return exported


ABANDONING = {request_keys.ABANDON: True}


def is_abandoned(row: stacks.StoredStack) -> bool:
    """Whether the stack is deleted without deleting the objects of its resources."""
    return row.action == Action.DELETE and bool((row.request or {}).get(request_keys.ABANDON))
