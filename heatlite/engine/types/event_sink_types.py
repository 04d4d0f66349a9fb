"""The types of event sinks that an environment may use: built-in ones, and extensions of installed packages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Protocol

from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.whole_imports import resolved
from heatlite.engine.compat import extensions
from heatlite.language.constraints import shown

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
        found = resolved(BUILT_IN[name])
    return found


def make(entry: Mapping[str, object]) -> Sink:
    """Make the sink of one entry of an environment. Raises KeyError for an unknown type; errors of the class pass
    through."""
    return load(str(entry['type']))(**_arguments(entry))


def error(entry: Mapping[str, object]) -> str:
    """Return what is wrong with an entry of an environment, '' if nothing is: its type, and its other values as
    arguments of the class. Classes of packages are not called: they may have effects."""
    name = str(entry['type'])
    if name not in names():
        return unknown(entry)
    try:
        inspect.signature(load(name)).bind(**_arguments(entry))
        if name not in extensions.names(extensions.EVENT_SINKS):
            make(entry)
    except Exception as error:
        return _('Event sink of type "%(type)s": %(reason)s') % {'type': name, 'reason': shown(error)}
    return ''


def unknown(entry: Mapping[str, object]) -> str:
    return _('Unknown event sink type "%s"') % shown(entry['type'])


def _arguments(entry: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in entry.items() if name != 'type'}
