"""Imports: an object that exists becomes the object of a resource. Nothing is written to its service.

The environment says what is imported (`language.registry.import_of`). An import takes the place of the creation; it
has no effect on a resource that has an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.wording import first_few
from heatlite.db.resource_lists import Holder
from heatlite.db.stacks import StoredStack
from heatlite.engine.reconcile import diff, request_keys
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.resource import Resource
from heatlite.engine.resource_update import Comparison, Observed
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.language.registry import ID, NAME, TAG
from heatlite.planning.states import Action

Wanted = Mapping[str, str]
"""{id}, or {name, tag} with one of both at least."""

Holders = Callable[[str], Iterable[Holder]]
"""Physical id -> the resources of all live stacks that have it."""

IMPORTED = 'imported'               # resource data: the object existed before the resource
UNDOING = {request_keys.UNDOING: True}      # in the request of a nested stack that follows a rollback
PROJECT_FIELDS = ('project_id', 'tenant_id', 'os-vol-tenant-attr:tenant_id', 'owner')
PROJECT_PROPERTIES = ('project', 'project_id', 'tenant_id')
MOST_NAMED = 5                      # ids that an error names


def _find(resource: Resource, wanted_import: Wanted, leased: LeasedStack, holders: Holders) -> tuple[str, object]:
    """Return the physical id of the object, which `resource` refers to afterwards, and what the service says of it."""
    try:
        object_id = wanted_import[ID] if ID in wanted_import else _only_one(resource, wanted_import)
        resource.resource_id = object_id
        data = resource.read_imported()
    except exception.EntityNotFound:
        raise _failed(resource, _('there is no object with the id %s') % wanted_import[ID]) from None
    except exception.NotSupported as error:
        raise _failed(resource, str(error).rstrip('.')) from None
    _check_project(resource, data)
    _check_free(resource, object_id, leased, holders)
    return object_id, data


def take(resource: Resource, wanted_import: Wanted, leased: LeasedStack, holders: Holders) -> None:
    """Make the object that of the resource.

    Raises ImportFailed if there is no such object, or several, or it belongs to another project or stack; errors of
    services that do not answer pass through. Then nothing is stored.
    """
    object_id, said = _find(resource, wanted_import, leased, holders)
    stored = {**resource.data_when_imported(said), IMPORTED: 'True'}
    for key, value in stored.items():
        resource.data_set(key, value)
    resource.resource_id_set(object_id)
    try:
        _check_free(resource, object_id, leased, holders)   # of two stacks that import it at once at most one has it
    except exception.ImportFailed:
        for key in stored:
            resource.data_delete(key)
        resource.resource_id_set(None)
        raise


def note_adopted(resource: Resource, entry: object) -> None:
    """Note that the object which the entry of an export names existed before the resource that is to adopt it. Nested
    stacks are made anew; their resources adopt objects."""
    if isinstance(entry, Mapping) and entry.get('resource_id') and not isinstance(resource, StackResource):
        resource.data_set(IMPORTED, 'True')


def differences(resource: Resource) -> dict[str, diff.PropertyChange]:
    """Return the properties of which the imported object has other values than the template says. Asks the service."""
    live = resource.live_when_imported(resource.read_imported())
    definition, given = resource.t, resource.properties
    changed = diff.property_changes(resource, definition, Observed(live),
                                    Comparison(definition, definition, given, given))
    return {name: each for name, each in changed.items() if each.new is not None}


def is_undone(resource: Resource, row: StoredStack) -> bool:
    """Whether a rollback deletes a resource that was imported or adopted: the object existed before, and stays."""
    return IMPORTED in resource.data() and _is_undoing(row)


def following(request: Mapping[str, object], parent: StoredStack) -> dict[str, object]:
    """Return the request to a nested stack, which says whether it follows a rollback. `parent`: the row of its parent.
    """
    return {**request, **UNDOING} if _is_undoing(parent) else {**request}


def _is_undoing(row: StoredStack) -> bool:
    return row.action == Action.ROLLBACK or UNDOING.items() <= (row.request or {}).items()


def _only_one(resource: Resource, wanted_import: Wanted) -> str:
    name, tag = wanted_import.get(NAME), wanted_import.get(TAG)
    object_ids = {resource.id_of_listed(entry) for entry in resource.list_named(name)
                  if (name is None or entry.get('name') == name) and (tag is None or tag in (entry.get('tags') or ()))}
    asked = ', '.join(f'{key} {value}' for key, value in wanted_import.items())
    if not object_ids:
        raise _failed(resource, _('there is no object with %s') % asked)
    if len(object_ids) > 1:
        raise _failed(resource, _('there are %(count)d objects with %(asked)s: %(named)s') % {
            'count': len(object_ids), 'asked': asked, 'named': first_few(sorted(object_ids), MOST_NAMED)})
    return object_ids.pop()


def _check_project(resource: Resource, data: object) -> None:
    """Raise ImportFailed for an object of another project than the stack's, or than the template names."""
    owner = next((data[field] for field in PROJECT_FIELDS if data.get(field)), None) if isinstance(
        data, Mapping) else None
    if owner is None:
        return
    named = [resource.properties[name] for name in PROJECT_PROPERTIES if name in resource.properties_schema]
    if owner not in (resource.context.cloud_project_id, *named):
        raise _failed(resource, _('the object %s belongs to another project') % resource.resource_id)


def _check_free(resource: Resource, object_id: str, leased: LeasedStack, holders: Holders) -> None:
    """Raise ImportFailed if another resource of the same type has the object."""
    kind = resource.type()
    twin = next((row for row in leased.rows.values()
                 if row.physical_id == object_id and row.type == kind and row.id != resource.id), None)
    if twin is not None:
        raise _failed(resource, _('the object %(id)s is that of resource %(other)s') % {
            'id': object_id, 'other': twin.name})
    for holder in holders(object_id):
        if holder.type != kind or (holder.stack_id, holder.id) == (leased.id, resource.id):
            continue
        stack = (f'{holder.stack_name} ({holder.stack_id})' if holder.project_id == leased.row.project_id
                 else _('of another project'))
        raise _failed(resource, _('the object %(id)s is in the stack %(stack)s') % {'id': object_id, 'stack': stack})


def _failed(resource: Resource, why: str) -> exception.ImportFailed:
    return exception.ImportFailed(name=resource.name, type=resource.type(), why=why)
