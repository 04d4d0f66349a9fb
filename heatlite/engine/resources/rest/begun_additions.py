"""Stores the items that updates have begun to add to properties that are lists, of types that are repaired in place.

It is stored before any call. If the update fails, some items were added, and nothing else says which: the next update
and the delete take them away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatlite.engine.properties import Properties, Values
from heatlite.engine.resources import stored_json
from heatlite.engine.resources.rest import plans, subresources
from heatlite.engine.resources.rest.applied_names import Applied
from heatlite.engine.resources.rest.calls import DescribedCall

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

DATA_KEY = 'rest_begun'                     # list with one map for each update: property -> items


def note(resource: DescribedResource, wanted: Properties, before: Values) -> None:
    """Store what an update to `wanted` begins to add."""
    what = resource.description
    added = plans.added(what, wanted, before) if what.repaired_in_place else {}
    known = _all(resource)
    if added and added not in known:
        stored_json.note(resource, DATA_KEY, [*known, added])


def forget(resource: DescribedResource) -> None:
    """Delete the stored items, after all calls of the update."""
    stored_json.write(resource, DATA_KEY, [])


def items(resource: DescribedResource, name: str) -> list[object]:
    """Return the items of a property that updates which failed may have added."""
    return [item for begun in _all(resource) for item in subresources.items(begun.get(name))]


def dropped(resource: DescribedResource, properties: Values) -> list[DescribedCall]:
    """Return calls that take away what updates which failed have added, but for what `properties` have."""
    return [call for begun in _all(resource) for call in plans.dropped(
        resource.description, resource.scope(properties, old=Applied(begun, properties)), begun)]


def _all(resource: DescribedResource) -> list[dict[str, object]]:
    return stored_json.read(resource, DATA_KEY, [])
