"""Caches references and attributes of finished resources, for their dependents and for outputs.

Stored with the row (column `attributes`), so that an update which changes one resource calls no service for the
others. Keys of that column: '' for the reference, an attribute's name, or a JSON list of a name and a path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from heatlite.language.unknown import UNKNOWN
from heatlite.planning.states import ResourceState

REFERENCE = ''


def key(attribute: str, path: tuple[object, ...] = ()) -> str:
    """Return the key under which a value is cached."""
    return json.dumps([attribute, *path]) if path else attribute


def storable(values: Mapping[str, object]) -> dict[str, object]:
    """Return the cached values without errors, which are not stored: those values are read again after a restart."""
    return {name: value for name, value in values.items() if not isinstance(value, Exception)}


def attribute_of(name: str) -> str:
    """Return the attribute's name in a key."""
    return str(json.loads(name)[0]) if name.startswith('[') else name


class StackScope:
    """The values of one stack's resources for the template language (`language` Scope).

    `current(name)`: the current row; `cached_values(row)`; `ask(row, attribute, path)`: reads from the type, which may
    call a service; `future(row, attribute)`: for previews, whether its reference (or with `attribute`, its attributes)
    becomes known only during the update; `unmade(name)`: the reference of a resource without an object; `present()`:
    the scope of `present`.
    """

    def __init__(self, current: Callable[[str], ResourceState | None],
                 cached_values: Callable[[ResourceState], Mapping[str, object]],
                 ask: Callable[[ResourceState, str, tuple[object, ...]], object],
                 future: Callable[[ResourceState, bool], bool] = lambda row, attribute: False,
                 unmade: Callable[[str], str] = str, present: Callable[[], StackScope] | None = None) -> None:
        self._current = current
        self._cached_values = cached_values
        self._ask = ask
        self._future = future
        self._unmade = unmade
        self._present = present

    def present(self) -> StackScope:
        """Return a scope of the values of this moment, for one reading (`present_scope`)."""
        return self if self._present is None else self._present()

    def reference(self, resource_name: str) -> object:
        row = self._current(resource_name)
        if row is None or not row.exists:
            return self._unmade(resource_name)
        if self._future(row, False):
            return UNKNOWN
        values = self._cached_values(row)
        if REFERENCE in values:
            return values[REFERENCE]
        return row.physical_id if row.physical_id is not None else self._unmade(row.name)

    def attribute(self, resource_name: str, attribute: str, path: tuple[object, ...] = ()) -> object:
        row = self._current(resource_name)
        if row is None or not row.exists:
            return None
        if self._future(row, True):
            return UNKNOWN
        values = self._cached_values(row)
        name = key(attribute, path)
        if name not in values:
            return self._ask(row, attribute, path)
        value = values[name]
        if isinstance(value, Exception):            # raised now, not when it was cached
            raise value
        return value

    def all_attributes(self, resource_name: str) -> object:
        row = self._current(resource_name)
        if row is None or not row.exists:
            return None
        return UNKNOWN if self._future(row, True) else self._ask(row, '*', ())
