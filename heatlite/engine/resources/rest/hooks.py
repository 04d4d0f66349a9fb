"""Functions that descriptions call by name, where data cannot say it. Each event has its own arguments:

    body     (resource, body, given, action) -> body          create   (resource, call) -> call
    update   (resource, calls, changed) -> calls              delete   (resource, calls) -> calls
    id       (resource, answer) -> id                         check    (resource), raises
    replace  (resource, changed, after, before) -> bool       live     (resource, wanted, found) -> {property: value}
    exists   (resource, given, answer) -> whether it is there

and an attribute's is (resource, name) -> value.

Those of a file X.yaml stand in X_hooks.py, which is imported with the first type of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource
    from heatlite.engine.resources.rest.description import TypeDescription

Hook = TypeVar('Hook', bound=Callable[..., object])
REGISTERED: dict[str, Callable[..., object]] = {}


def hook(function: Hook) -> Hook:
    REGISTERED[function.__name__] = function
    return function


def call(what: TypeDescription, event: str, *arguments: object) -> Any:
    """The hook of a description for an event. KeyError when it has none."""
    return REGISTERED[what.hooks[event]](*arguments)


def changed(what: TypeDescription, event: str, value: Any, resource: DescribedResource | None,
            *arguments: object) -> Any:
    """`value` as the hook for `event` makes it: hook(resource, value, ...); the value itself without one."""
    if event not in what.hooks:
        return value
    return REGISTERED[what.hooks[event]](resource, value, *arguments)
