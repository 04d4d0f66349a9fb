"""Imports modules as a whole: no other green thread runs before a module is complete.

All green threads are one thread to Python's import lock, which therefore lets each of them have a module that another
one has only begun to import. A module may compute something when it is imported, such as the checks of its schemas, and
long computations let others run (`common.turns`).
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from heatlite.common import turns


def whole(name: str) -> ModuleType:
    """Import the module of that full name. May be called in any thread; raises what the module raises."""
    with turns.undisturbed():
        return importlib.import_module(name)


def resolved(name: str) -> Any:
    """Import what `module:object` names. Raises what the module raises, AttributeError without such an object."""
    with turns.undisturbed():
        return pkgutil.resolve_name(name)
