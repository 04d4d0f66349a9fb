"""Dependencies that the template does not name: which other resources of the stack are of a type, and what they say.

Asked for every resource of a stack that is being checked, so what was read of the others is kept with the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from heatlite.common import exception, turns
from heatlite.engine.resource import Resource
from heatlite.language.unknown import UNKNOWN


def of_type(resource: Resource, type_name: str) -> Iterator[Resource]:
    """The others whose `has_interface` says that they are of that type. Objects are made of these alone."""
    stack = resource.stack
    definitions = getattr(getattr(stack, 'definition', None), 'resources', None)
    if definitions is None:                 # not one of ours: ask all of them
        found = [other for other in stack.values() if other.has_interface(type_name)]
    else:
        found = _kept(stack, type_name, lambda: [
            stack[name] for name, each in turns.paced(definitions.items())
            if resource.implements_type(each.type, name, type_name)])
    return (other for other in found if other.name != resource.name)


def _kept(stack: object, type_name: str, read: Callable[[], list[Resource]]) -> list[Resource]:
    """Return `read()`. It is remembered for a stack that is only checked: its resources do not change, as those of a
    stack with a traversal may."""
    if hasattr(stack, 'physical_id_of'):
        return read()
    kept: dict[str, list[Resource]] = stack.__dict__.setdefault('_of_type', {})
    if type_name not in kept:
        kept[type_name] = read()
    return kept[type_name]


def value(resource: Resource, name: str, *path: object) -> object:
    """A property as far as it is known; None when it is not."""
    try:
        found = resource.properties.get(name)
    except (exception.HeatException, ValueError, TypeError):
        return None
    for part in path:
        if found is None:
            return None
        try:
            found = found[part]
        except (KeyError, IndexError, TypeError):
            return None
    return None if found is UNKNOWN or found == '' else found
