"""Finds and loads the extensions of installed packages by stevedore, in namespaces of Heat and of heatlite.

Listing names imports nothing; a module is imported when an extension in it is used for the first time. The built-in
extensions of Heat, if it is installed in the same environment, are left out: they need Heat's modules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import EntryPoint
from typing import Any, Final, TypeAlias

from oslo_log import log
from stevedore.extension import Extension, ExtensionManager
from stevedore.named import NamedExtensionManager

from heatlite.engine.compat import aliases

LOG = log.getLogger(__name__)

CLIENTS: Final = 'clients'
CONSTRAINTS: Final = 'constraints'
EVENT_SINKS: Final = 'event_sinks'
LIFECYCLE_PLUGINS: Final = 'stack_lifecycle_plugins'
TEMPLATES: Final = 'templates'              # versions of the template language
TEMPLATE_FUNCTIONS: Final = 'template_functions'
KINDS: Final = (CLIENTS, CONSTRAINTS, EVENT_SINKS, LIFECYCLE_PLUGINS, TEMPLATES, TEMPLATE_FUNCTIONS)
OnFailure: TypeAlias = Callable[[ExtensionManager[object], EntryPoint, BaseException], None]
ORIGINAL: Final = 'heat'                    # the package whose own extensions are left out


class _Manager(NamedExtensionManager[object]):
    """The extensions of one namespace that have one of these names. If several packages have the same name, the one
    found last is used, with a warning (stevedore's rule)."""

    def __init__(self, namespace: str, names: Sequence[str], on_load_failure_callback: OnFailure | None = None) -> None:
        super().__init__(namespace, names, on_load_failure_callback=on_load_failure_callback,
                         on_missing_entrypoints_callback=None)

    def list_entry_points(self) -> list[EntryPoint]:
        return [point for point in super().list_entry_points() if point.module.partition('.')[0] != ORIGINAL]


def namespaces(kind: str) -> tuple[str, str]:
    """Return the namespaces of one of KINDS; a name in the first hides the same name in the second."""
    return f'heatlite.{kind}', f'heat.{kind}'


@functools.cache
def names(kind: str) -> frozenset[str]:
    """Return the names of all extensions of this kind. Imports none of them."""
    return frozenset(name for namespace in namespaces(kind) for name in _Manager(namespace, ()).entry_points_names())


def load(kind: str, name: str) -> Any:
    """Load the object of an entry point, usually a class. Raises KeyError for an unknown name; errors of the import
    pass through."""
    if name in names(kind):
        aliases.install()                     # extensions import heat.*
        for namespace in namespaces(kind):
            manager = _Manager(namespace, (name,), _raise)
            if name in manager:
                return manager[name].plugin
    raise KeyError(name)


def load_all(kind: str) -> list[Extension[object]]:
    """Load all extensions of this kind. One that cannot be loaded is logged and left out."""
    if not names(kind):
        return []
    aliases.install()
    return [each for namespace in namespaces(kind)
            for each in _Manager(namespace, tuple(names(kind)), _log_failure).extensions]


def load_named(kind: str) -> dict[str, object]:
    """Load the objects of all extensions of this kind, by name. One that cannot be loaded is logged and left out."""
    found = {}
    for name in sorted(names(kind)):
        try:
            found[name] = load(kind, name)
        except Exception as error:
            LOG.error('The extension %s of %s was left out: %s: %s', name, ' or '.join(namespaces(kind)),
                      type(error).__name__, error)
    return found


def check() -> Iterator[tuple[str, EntryPoint, Exception | None]]:
    """Load every extension of every kind. Yields (namespace, entry point, the error of loading it or None)."""
    aliases.install()
    failures: list[Exception] = []

    def note(manager: ExtensionManager[object], point: EntryPoint, error: BaseException) -> None:
        failures.append(error)              # type: ignore[arg-type]  # the library hands in Exceptions only

    for namespace in (namespace for kind in KINDS for namespace in namespaces(kind)):
        for point in _Manager(namespace, ()).list_entry_points():
            failures.clear()
            _Manager(namespace, (point.name,), note)
            yield namespace, point, failures[0] if failures else None


def forget() -> None:
    """Drop the cached entry points, so that the next use reads those of the installed packages again."""
    names.cache_clear()
    ExtensionManager.ENTRY_POINT_CACHE.clear()


def _raise(manager: ExtensionManager[object], point: EntryPoint, error: BaseException) -> None:
    raise error


def _log_failure(manager: ExtensionManager[object], point: EntryPoint, error: BaseException) -> None:
    LOG.error('The extension %s of %s was left out: %s: %s', point.name, manager.namespace, type(error).__name__, error)
