"""Properties, as checks of types read them, whose values are not all known, as before resources exist.

A check must not refuse what may turn out to be right: a value that is not known counts as given where one is missing
otherwise, and as not given where it would be one too many. The check runs again at the creation, when all are known.
"""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.engine.properties import Properties
from heatlite.language.expression import ABSENT
from heatlite.language.schema import ERASED
from heatlite.language.unknown import UNKNOWN

Entry = Mapping[str, object]


def value_of(props: Properties, name: str) -> object:
    """Return a property's value; UNKNOWN if it depends on a resource and nothing is known of it."""
    value = props[name]
    return UNKNOWN if value is None and name in props.deferred else value


def entries(props: Properties, name: str) -> list[Entry]:
    """Return the entries of a list of maps, without those that are not known as a whole."""
    value = props[name]
    found = [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []
    return [_known_keys(entry) for entry in found] if name in props.deferred else found


def has_unknown_entries(props: Properties, name: str) -> bool:
    """Whether the list, or an entry of it, is not known as a whole."""
    value = value_of(props, name)
    return value is UNKNOWN or (isinstance(value, list | tuple) and len(entries(props, name)) < len(value))


def _known_keys(entry: Entry) -> Entry:
    """A key that is written counts as given, though an attribute has no value yet."""
    return {key: UNKNOWN if value is None else value for key, value in entry.items()
            if value is not ERASED and value is not ABSENT}


def is_set(value: object) -> bool:
    """Whether a value is certainly given."""
    return value is not UNKNOWN and value is not None


def may_be_set(value: object) -> bool:
    """Whether a value is given, or may be."""
    return value is not None
