"""The types of event sinks that an environment may use: built-in ones, and extensions of installed packages."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from typing import Protocol

from heatlite.common.context import RequestContext
from heatlite.engine.compat import extensions

BUILT_IN: dict[str, str] = {'zaqar-queue': 'heatlite.engine.notify.event_sinks:ZaqarQueue'}      # name -> module:class



class Sink(Protocol):
    """What consumes the events of a stack."""

    def consume(self, context: RequestContext, event: Mapping[str, object]) -> object: ...


def names() -> frozenset[str]:
    return extensions.names(extensions.EVENT_SINKS) | BUILT_IN.keys()


def load(name: str) -> Callable[..., Sink]:
    """Return the class. Raises KeyError for an unknown name, and what the import of its module raises."""
    if name in extensions.names(extensions.EVENT_SINKS):
        found: Callable[..., Sink] = extensions.load(extensions.EVENT_SINKS, name)
    else:
        found = pkgutil.resolve_name(BUILT_IN[name])
    return found
