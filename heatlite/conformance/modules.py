"""Loads what is to be checked by the rules of `plugin_dirs`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from heatlite.engine import plugin_loading


@dataclass(frozen=True)
class Plugin:
    """What a path holds. `found`: types and constraints by name, and what could not be loaded."""

    path: Path
    found: plugin_loading.Found


def load(path: Path) -> Plugin:
    """A folder as a whole; of a file's folder that file. Raises FileNotFoundError."""
    path = path.absolute()
    if path.is_dir():
        return Plugin(path, plugin_loading.load([str(path)]))
    if not path.is_file():
        raise FileNotFoundError(path)
    return Plugin(path, plugin_loading.load([str(path.parent)], only=path.name))
