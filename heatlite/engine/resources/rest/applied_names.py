"""Where the names in applied properties led to: a name may lead nowhere, or elsewhere, while the object is there.

The ids are stored once the properties are applied, for those that say what the object is a part of, or that are used to
delete it. Deletes and comparisons read them instead of looking the names up again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from oslo_utils import uuidutils

from heatlite.common import exception
from heatlite.engine.properties import Properties, Values
from heatlite.engine.resources import stored_json
from heatlite.engine.resources.rest.bodies import without_nulls

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

DATA_KEY = 'rest_parents'                   # property -> its value with ids, if it has names


class Applied(Values):
    """Properties as applied. `stored`: those whose names need not be looked up again, with ids."""

    def __init__(self, stored: Mapping[str, object], properties: Values) -> None:
        self._stored = stored
        self._properties = properties

    def __getitem__(self, name: str) -> object:
        return self._stored[name] if name in self._stored else self._properties[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._properties)

    def __len__(self) -> int:
        return len(self._properties)

    @property
    def unresolved(self) -> set[str]:
        """Names of properties read so far that still have a name that leads nowhere."""
        return set(getattr(self._properties, 'unresolved', ())) - set(self._stored)


def store(resource: DescribedResource, properties: Properties) -> None:
    """Store the ids of what `properties` have by name, once they are applied."""
    stored_json.write(resource, DATA_KEY, {**found(resource, properties), **lasting(resource, properties)})


def stored(resource: DescribedResource) -> dict[str, object]:
    """Return the values with ids of the properties that are applied, by name of the property."""
    return stored_json.read(resource, DATA_KEY, {}) if resource.resource_id is not None else {}


def lasting(resource: DescribedResource, properties: Properties) -> dict[str, object]:
    """Return what is stored of the properties that no update of the object changes: it stays as it was made."""
    changing, parents_of = resource.calc_update_allowed(properties), parents(resource)
    return {name: value for name, value in stored(resource).items() if name in parents_of or name not in changing}


def found(resource: DescribedResource, properties: Properties) -> dict[str, object]:
    """Return, with ids, the properties in question whose given values have names."""
    used = resource.description.used_to_delete
    names = [*parents(resource), *(name for name in resource.properties_schema if name in used)]
    values = {name: properties[name] for name in names}
    looked_up = {name: value for name, value in values.items() if name in properties.looked_up}
    given = list(properties.resolved_data().values()) if looked_up else []
    return {name: value for name, value in looked_up.items() if without_nulls(value) not in given}


def led_elsewhere(resource: DescribedResource, wanted: Properties) -> dict[str, object]:
    """Return the wanted values of properties whose names led to other objects when they were applied."""
    staying = lasting(resource, wanted)
    return {name: wanted[name] for name, applied in stored(resource).items()
            if name not in staying and without_nulls(wanted[name]) != without_nulls(applied)}


def parents(resource: DescribedResource) -> list[str]:
    """Return the properties that say what the object is a part of, for ever."""
    return [name for name in resource.description.parents if name in resource.properties_schema
            and not resource.properties.schema[name].update_allowed]


def parent(resource: DescribedResource, properties: Values, name: str) -> object:
    """Return what a property of `parents` leads to. Raises EntityNotFound if a name leads nowhere, and where it led to
    was not stored."""
    known = stored(resource)
    if name in known:
        return known[name]
    value = properties.get(name)
    if name in getattr(properties, 'unresolved', ()) and not uuidutils.is_uuid_like(value):
        raise exception.EntityNotFound(entity=name, name=value)
    return value
