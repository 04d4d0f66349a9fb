"""Caches references and attributes of finished resources, for their dependents and for outputs.

Stored with the row (column `attributes`), so that an update which changes one resource calls no service for the
others. Keys of that column: '' for the reference, an attribute's name, or a JSON list of a name and a path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

from heatlite.language.unknown import UNKNOWN
from heatlite.planning.states import ResourceState

REFERENCE = ''

Values: TypeAlias = Mapping[str, object]
NO_VALUES: Values = {}


def key(attribute: str, path: tuple[object, ...] = ()) -> str:
    """Return the key under which a value is cached."""
    return json.dumps([attribute, *path]) if path else attribute


def storable(values: Mapping[str, object]) -> dict[str, object]:
    """Return the cached values without errors, which are not stored: those values are read again after a restart."""
    return {name: value for name, value in values.items() if not isinstance(value, Exception)}


def attribute_of(name: str) -> str:
    """Return the attribute's name in a key."""
    return str(json.loads(name)[0]) if name.startswith('[') else name


def is_worth_storing(values: Mapping[str, object], physical_id: str | None) -> bool:
    """Whether the values of a row say more than the physical id in it."""
    return len(values) > 1 or (len(values) == 1 and values.get(REFERENCE) != physical_id)


class AttributeCache:
    """The cached values of one stack's rows, by row number: cache key -> value, or the error of reading it.

    The values of a row are replaced, never changed, so all threads may read them.
    """

    def __init__(self) -> None:
        self._values: dict[int, Values] = {}

    def has(self, number: int) -> bool:
        """Whether there are values of that row, if only an empty set of them."""
        return number in self._values

    def of(self, number: int) -> Values:
        """Return the values of that row; the same object until they change."""
        return self._values.get(number, NO_VALUES)

    def numbers(self) -> list[int]:
        """Return the numbers of the rows that have values."""
        return list(self._values)

    def fill(self, stored: Mapping[int, Values]) -> None:
        """Take over stored values, but for rows that have values: these are newer."""
        for number, values in stored.items():
            self._values.setdefault(number, values)

    def put(self, number: int, values: Values) -> None:
        """Replace all values of a row."""
        self._values[number] = values

    def put_reference(self, number: int, reference: object) -> None:
        """Replace all values of a row by its reference."""
        self._values[number] = {REFERENCE: reference}

    def replace_reference(self, number: int, reference: object) -> None:
        """Replace the reference of a row; its other values stay."""
        self._values[number] = {**self.of(number), REFERENCE: reference}

    def keep(self, number: int, physical_id: str | None, values: Values) -> dict[str, object] | None:
        """Replace the values of a row by those that `AttributeReader.read` has returned. Return what is stored of them
        in its column `attributes`. None: nothing, as the physical id in the row is the only value and nothing else was
        stored before."""
        if not is_worth_storing(values, physical_id):
            return {} if self.drop(number) else None
        self._values[number] = values
        return storable(values)

    def drop(self, number: int) -> bool:
        """Drop the values of a row. Returns whether there were any."""
        return bool(self._values.pop(number, None))

    def drop_attributes(self, number: int, is_dropped: Callable[[str], bool] = lambda attribute: True) -> bool:
        """Drop the values of a row's attributes for which `is_dropped(attribute)`. The reference stays. Returns whether
        there were any."""
        values = self.of(number)
        kept = {name: value for name, value in values.items()
                if name == REFERENCE or not is_dropped(attribute_of(name))}
        if len(kept) == len(values):
            return False
        self._values[number] = kept
        return True


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
