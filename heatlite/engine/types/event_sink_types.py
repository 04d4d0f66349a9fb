"""The types of event sinks that an environment may use: built-in ones, and extensions of installed packages."""

from __future__ import annotations

import pkgutil
from typing import Any

from heatlite.engine.compat import extensions

BUILT_IN: dict[str, str] = {'zaqar-queue': 'heatlite.engine.notify.event_sinks:ZaqarQueue'}      # name -> module:class


def names() -> frozenset[str]:
    return extensions.names(extensions.EVENT_SINKS) | BUILT_IN.keys()


def load(name: str) -> Any:
    """Return the class. Raises KeyError for an unknown name, and what the import of its module raises."""
    if name in extensions.names(extensions.EVENT_SINKS):
        return extensions.load(extensions.EVENT_SINKS, name)
    return pkgutil.resolve_name(BUILT_IN[name])
