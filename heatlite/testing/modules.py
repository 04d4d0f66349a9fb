"""Loads what is to be checked by the rules of `plugin_dirs`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from heatlite.engine import plugins
from heatlite.engine.types import plugin_loading, registry
from heatlite.language.registry import Registry


@dataclass(frozen=True)
class LoadedPlugin:
    """What a path holds. `found`: types and constraints by name, and what could not be loaded."""

    path: Path
    found: plugin_loading.PluginDefinitions


def load(path: Path) -> LoadedPlugin:
    """Load a folder as a whole; of the folder of a file, or of a package, that one. Raises FileNotFoundError.

    Read anew, from this folder first: another path may hold a module of the same name.
    """
    path = path.absolute()
    if not path.exists():
        raise FileNotFoundError(path)
    folder, only = (path, None) if path.is_dir() and not is_package(path) else (path.parent, path.name)
    package = plugins.__path__
    package[:] = [str(folder), *(other for other in package if other != str(folder))]
    found = plugin_loading.load([str(folder)], only, former=plugin_loading.PluginDefinitions())
    known = Registry(found.types, registry.current().operator)
    plugin_loading.leave_out_unresolved(found, known)       # they are among the failures
    return LoadedPlugin(path, found)


def is_package(path: Path) -> bool:
    return (path / '__init__.py').is_file()
