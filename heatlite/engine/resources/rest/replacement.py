"""Whether the object of a failed resource is kept, and whether an object is removed before its replacement is created.

These are the `keep_failed` and `replace_first` of descriptions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.engine.resources.rest import deletion, service
from heatlite.engine.resources.rest.templating import pick
from heatlite.engine.rsrc_defn import ResourceDefinition

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

REMOVED_FIRST = 'removed_first'             # resource data: the removal of the object before its replacement has begun


def is_needed_after_failure(resource: DescribedResource) -> bool:
    """Return False if the description keeps the object of a failed resource, and it is there and not bad itself."""
    bad = resource.description.keep_failed
    if bad is None or resource.resource_id is None:
        return True
    try:
        found = resource.shown(fresh=True)
    except Exception as error:
        if not isinstance(error, exception.ObjectUncomparable) and not service.is_not_found(error):
            raise
        return True
    return any(pick(found, name) == value for name, value in bad.items())


def prepare(resource: DescribedResource, wanted: ResourceDefinition | None) -> None:
    """Remove the object if it must go before its replacement. `wanted`: the new definition, if it is known."""
    if resource.resource_id is not None and _goes_first(resource, wanted):
        resource.data_set(REMOVED_FIRST, 'true')
        resource.note_release()
        deletion.delete(resource)
        resource.resource_id_set(None)


def has_begun_removal(resource: DescribedResource) -> bool:
    """Return whether `prepare` has begun to remove the object."""
    return REMOVED_FIRST in resource.data()


def forget_removal(resource: DescribedResource) -> None:
    """Forget a removal that has failed: the update finds out what there is of the object, and repairs it."""
    resource.data_delete(REMOVED_FIRST)


def _goes_first(resource: DescribedResource, wanted: ResourceDefinition | None) -> bool:
    """Return whether the old and the new object have the same values of all properties of `replace_first`."""
    unique = resource.description.replace_first
    if isinstance(unique, bool):
        return unique
    before = resource.last_known()
    if all(before.get(name) is None for name in unique):
        return False
    if wanted is None or wanted.resource_type != resource.type():
        return wanted is None
    after = wanted.properties(resource._schemata(), resource.context)
    resource.translate_properties(after, ignore_resolve_error=True)
    return all(before.get(name) == after[name] for name in unique)
