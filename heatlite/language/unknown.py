"""The placeholder for values that are unknown before a resource exists.

`get_attr` of a resource that is still to be created has no value yet. A preview uses `UNKNOWN` in its place: a function
returns it if its arguments contain it, containers hold it as a leaf. It never reaches a row or a client.
"""

from __future__ import annotations

from typing import Any, Final


class Unknown:
    """The type of `UNKNOWN`; there is one instance, compare with `is`."""

    __slots__ = ()
    _only: Unknown | None = None

    def __new__(cls) -> Unknown:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return '<not known yet>'

    def __copy__(self) -> Unknown:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Unknown:
        return self

    def __reduce__(self) -> tuple[type[Unknown], tuple[()]]:
        return Unknown, ()


UNKNOWN: Final = Unknown()


def is_known(value: Any) -> bool:
    """Whether `value` contains no `UNKNOWN` at any depth, in values or keys."""
    if value is UNKNOWN:
        return False
    kind = type(value)
    if kind is dict:
        if UNKNOWN in value:
            return False
        value = value.values()
    elif kind is not list and kind is not tuple:
        return True
    for item in value:          # no generator: a deep value would need a C frame for each level
        if item is UNKNOWN:
            return False
        kind = type(item)
        if (kind is dict or kind is list or kind is tuple) and not is_known(item):
            return False
    return True
