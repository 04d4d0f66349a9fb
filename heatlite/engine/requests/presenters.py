"""Formats stacks and resources for the answers of previews.

Source: docs/spec/rest.rst, "Preview of a create" and "Raw resources".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import datetime

from heatlite.common.identifier import HeatIdentifier
from heatlite.common.timeutils import isotime
from heatlite.engine.reconcile.diff import PropertyChange
from heatlite.engine.requests.causes import Causes, replacement_in_words
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.previewed_change import PreviewedChange
from heatlite.language.definition import StackDefinition
from heatlite.language.expression import PLACEHOLDERS
from heatlite.language.masking import Mask
from heatlite.language.unknown import is_known
from heatlite.planning import graph
from heatlite.planning.plan import PlanAction
from heatlite.planning.states import ResourceState

VALUES = ('properties', 'property_changes', 'replace_reason', 'reason', 'nested_unknown', 'metadata',
          'resource_status_reason', 'description')
SHOWN_AS: Mapping[PlanAction, str] = {      # the lists of the answer; Heat has no `unknown`
    PlanAction.NONE: 'unchanged', PlanAction.UPDATE: 'updated', PlanAction.REPLACE: 'replaced',
    PlanAction.CREATE: 'added', PlanAction.IMPORT: 'added', PlanAction.DELETE: 'deleted',
    PlanAction.RELEASE: 'deleted', PlanAction.UNKNOWN: 'unknown'}
OF_STORED = (PlanAction.UPDATE, PlanAction.DELETE, PlanAction.RELEASE)      # shown with the present state


def changes(preview: PreviewedStack, show_nested: bool) -> dict[str, list[dict[str, object]]]:
    """Return the lists of a preview of an update: word -> entries; with `show_nested` those of nested stacks, too.

    The list `unknown` (Heat has none) has the resources without a certain verdict, each with `reason`. In addition to
    Heat's keys, entries have `changed_properties`, `property_changes` ({name: {old, new or unknown,
    forces_replacement}}), for a replacement `replace_reason`, and `nested_unknown`, why the nested changes are unknown.
    """
    lists: dict[str, list[dict[str, object]]] = {word: [] for word in SHOWN_AS.values()}
    waiting = deque([preview])
    while waiting:
        stack = waiting.popleft()
        needed_by, causes = required_by(stack.definition), Causes.within(stack)
        for change in stack.changes.values():
            shown = _change(change, stack.definition, needed_by)
            if change.action is not PlanAction.UNKNOWN and change.why:
                shown['replace_reason'] = replacement_in_words(change, stack, causes)
            shown = masked(shown, stack.mask)
            if stack.row.parent_resource is not None:
                shown['parent_resource'] = stack.row.parent_resource
            lists[SHOWN_AS[change.action]].append(shown)
        if show_nested:
            waiting.extend(stack.inside)
    return lists


def _change(change: PreviewedChange, definition: StackDefinition,
            needed_by: Mapping[str, list[str]]) -> dict[str, object]:
    is_stored = change.action in OF_STORED or change.name not in definition.resources
    if is_stored and change.row is not None:
        shown = _stored(change.row, definition, needed_by)
    else:
        shown = wanted(change.name, definition, needed_by)
    if change.nested is not None:
        nested = change.nested
        shown['nested_stack_id'] = dict(HeatIdentifier(nested.project_id, nested.name, nested.id))
    if change.properties:
        shown['changed_properties'] = sorted(change.properties)
        shown['property_changes'] = {name: _property_change(each) for name, each in change.properties.items()
                                     if each.old != each.new}
    if change.why and change.action is PlanAction.UNKNOWN:
        shown['reason'] = change.why
    if change.inside and change.action is not PlanAction.UNKNOWN:
        shown['nested_unknown'] = change.inside
    return shown


def masked(shown: dict[str, object], mask: Mask) -> dict[str, object]:
    """Mask hidden values in an entry, but not in names and identities: a value that equals one is no secret."""
    return {**shown, **{key: mask(shown[key]) for key in VALUES if key in shown}} if mask else shown


def _property_change(change: PropertyChange) -> dict[str, object]:
    shown: dict[str, object] = {'old': change.old, 'forces_replacement': change.forces_replacement}
    if is_known(change.new):
        shown['new'] = change.new
    else:
        shown['unknown'] = True                      # it depends on a resource that will be created or changed
    return shown


def required_by(definition: StackDefinition) -> Mapping[str, list[str]]:
    return graph.dependents((name, resource.requires) for name, resource in definition.resources.items())


def identity(definition: StackDefinition) -> HeatIdentifier:
    """Return the identifier of the stack itself."""
    whose = definition.identity
    return HeatIdentifier(whose.project_id, whose.name, str(whose.id))


def wanted(name: str, definition: StackDefinition, needed_by: Mapping[str, list[str]]) -> dict[str, object]:
    """Format a resource that does not exist yet."""
    resource = definition.resources[name]
    return {**_raw(name, resource.type, definition, needed_by), 'physical_resource_id': '',
            'resource_action': 'INIT', 'resource_status': 'COMPLETE', 'resource_status_reason': '',
            'creation_time': None, 'updated_time': None, 'description': resource.description,
            'metadata': resource.metadata(PLACEHOLDERS)}


def _stored(row: ResourceState, definition: StackDefinition, needed_by: Mapping[str, list[str]]) -> dict[str, object]:
    return {**_raw(row.name, row.type, definition, needed_by), 'physical_resource_id': row.physical_id or '',
            'resource_action': row.action, 'resource_status': row.status, 'resource_status_reason': row.reason,
            'creation_time': _time(row.created_at), 'updated_time': _time(row.updated_at or row.created_at),
            'description': '', 'metadata': {}}


def _time(at: datetime | None) -> str | None:
    return None if at is None else isotime(at)


def _raw(name: str, resource_type: str, definition: StackDefinition,
         needed_by: Mapping[str, list[str]]) -> dict[str, object]:
    stack = identity(definition)
    return {'resource_name': name, 'resource_type': resource_type, 'required_by': needed_by.get(name, []),
            'resource_identity': dict(HeatIdentifier(stack.tenant, stack.stack_name, stack.stack_id,
                                                     f'/resources/{name}')),
            'stack_identity': dict(stack), 'stack_name': stack.stack_name, 'attributes': {}}
