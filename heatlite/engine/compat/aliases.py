"""Lets plug-ins import `heat.*` and get `heatlite.*`: one module object under both names.

Installed when the first plug-in is loaded. Classes are compared by identity, so a second copy of a module would have
unrelated classes.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from importlib import abc, machinery
from typing import TypeVar

from heatlite.common import i18n, turns
from heatlite.common.whole_imports import resolved, whole
from heatlite.engine.compat import old_names, type_modules

T = TypeVar('T')

OLD, NEW = 'heat', 'heatlite'
PLUGINS = f'{NEW}.engine.plugins'
NAMESPACE = 'oslo'                          # `oslo.config` of 2015 -> oslo_config


class _Existing(abc.Loader):
    """Loads a module that exists already, and restores its own `__spec__`."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module
        self._spec = getattr(module, '__spec__', None)

    def create_module(self, spec: machinery.ModuleSpec) -> types.ModuleType:
        return self._module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self._spec        # the import system has set the spec of the second name


class _PluginLoader(machinery.SourceFileLoader):
    """Runs a plug-in's module with an import statement that also looks beside the file."""

    def path_stats(self, path: str) -> Mapping[str, object]:
        """Return the time in microseconds: Python compares compiled files by the second, and a plug-in may be changed
        and reloaded within one."""
        found = os.stat(path)
        return {'mtime': found.st_mtime_ns // 1000, 'size': found.st_size}

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__['__builtins__'] = {**vars(builtins), '_': i18n._, '__import__': import_of_plugin}
        super().exec_module(module)


class Finder(abc.MetaPathFinder):
    """The first finder of the import system, for `heat.*`, `oslo.*` and the modules of plug-ins."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: object = None) -> machinery.ModuleSpec | None:
        first, _dot, rest = fullname.partition('.')
        if first == OLD:
            return _spec_of(fullname, _of_heat(rest))
        if first == NAMESPACE:
            return _spec_of(fullname, _of_oslo(rest))
        if first == NEW and _is_former(rest):
            # `from heat.engine import environment` looks for the name below the package's own one.
            return _spec_of(fullname, whole(f'{OLD}.{rest}'))
        if not fullname.startswith(f'{PLUGINS}.'):
            return None
        spec = machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and type(spec.loader) is machinery.SourceFileLoader:
            spec.loader = _PluginLoader(spec.loader.name, spec.loader.path)
        return spec


def _spec_of(fullname: str, module: types.ModuleType | None) -> machinery.ModuleSpec | None:
    if module is None:
        return None
    return machinery.ModuleSpec(fullname, _Existing(module), is_package=hasattr(module, '__path__'))


def import_of_plugin(name: str, globals: Mapping[str, object] | None = None, locals: Mapping[str, object] | None = None,
                     fromlist: Sequence[str] | None = (), level: int = 0) -> types.ModuleType:
    """Execute `import` in plug-ins: a module that is not found is searched in the file's folder, as in Python 2.

    The bare name is not added to `sys.modules`, so two plug-ins may each have a file of the same name.
    """
    try:
        with turns.undisturbed():
            return builtins.__import__(name, globals, locals, fromlist or (), level)
    except ModuleNotFoundError as error:
        first = name.partition('.')[0]
        folder = _folder_with(first, globals) if level == 0 and error.name == first else None
        if folder is None:
            raise
    found = whole(f'{folder}.{name}')
    if not fromlist:
        return whole(f'{folder}.{first}')
    for wanted in fromlist:
        if hasattr(found, '__path__') and not hasattr(found, wanted) and _exists(f'{found.__name__}.{wanted}'):
            whole(f'{found.__name__}.{wanted}')
    return found


def _folder_with(name: str, globals: Mapping[str, object] | None) -> str | None:
    """Return the package of plug-ins that has a module of that name, searched from the importing module's upwards."""
    folder = str((globals or {}).get('__package__') or '')
    while folder.startswith(PLUGINS):
        if _exists(f'{folder}.{name}'):
            return folder
        folder = folder.rpartition('.')[0]
    return None


def _exists(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _of_heat(rest: str) -> types.ModuleType | None:
    """Return the module for `heat.<rest>`; None if there is none. Errors of its import pass through."""
    if rest in old_names.MADE:
        return _made(rest)
    if rest in type_modules.MODULES:
        return _of_types(rest)
    moved = next((old for old in (rest, *_parents(rest)) if old in old_names.MOVED), None)
    if moved is not None:
        return _import(old_names.MOVED[moved] + rest[len(moved):])
    if rest in old_names.PACKAGES:
        return _package(f'{OLD}.{rest}')
    found = _import(f'{NEW}.{rest}' if rest else NEW)
    return _package(f'{OLD}.{rest}') if found is None and rest in type_modules.PACKAGES else found


def _is_former(rest: str) -> bool:
    """Whether a module without its first name exists for plug-ins only."""
    return (rest in old_names.MADE or rest in old_names.PACKAGES or rest in type_modules.MODULES
            or any(old in old_names.MOVED for old in (rest, *_parents(rest))))


def _parents(name: str) -> list[str]:
    parts = name.split('.')
    return ['.'.join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]


def _of_oslo(rest: str) -> types.ModuleType | None:
    return _import(f'oslo_{rest}') if rest else _package(NAMESPACE)


def _import(name: str) -> types.ModuleType | None:
    try:
        module = whole(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f'{error.name}.')):
            return None                     # so that the error has the name that the plug-in imports
        raise
    for added, value in old_names.ADDED.get(name, {}).items():
        if not hasattr(module, added):
            setattr(module, added, value)
    return module


def _package(name: str) -> types.ModuleType:
    module = types.ModuleType(name, 'A folder of former years.')
    module.__path__ = []
    return module


def _made(rest: str) -> types.ModuleType:
    base_name, names = old_names.MADE[rest]
    return _lazy(rest, 'A module of former years.', names, _resolved,
                 whole(base_name) if base_name else None)


def _resolved(value: object) -> object:
    return resolved(value) if isinstance(value, str) and ':' in value else value


def _of_types(rest: str) -> types.ModuleType:
    other = type_modules.OTHER_NAMES.get(rest)
    return _lazy(rest, 'A module with built-in types.', type_modules.MODULES[rest], type_modules.class_of,
                 whole(other) if other else None)


def _lazy(rest: str, purpose: str, names: Mapping[str, T], value_of: Callable[[T], object],
          base: types.ModuleType | None = None) -> types.ModuleType:
    """Return the module `heat.<rest>`, which looks a name up when it is used: a plug-in seldom needs all of them.

    `value_of(entry)`: the value for an entry of `names`; `base`: has all other names."""
    module = types.ModuleType(f'{OLD}.{rest}', purpose)

    def lookup(name: str) -> object:
        if name in names:
            value = value_of(names[name])
            setattr(module, name, value)
            return value
        if base is not None and not name.startswith('__'):
            return getattr(base, name)
        raise AttributeError(f'module {module.__name__!r} has no attribute {name!r}')

    vars(module)['__getattr__'] = lookup
    return module


def install() -> None:
    """Install the finder, once for a process.

    `from heat.engine import resource` asks no finder for a module that is there, so names are added to all here.
    """
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
        for name in old_names.ADDED:
            _import(name)
