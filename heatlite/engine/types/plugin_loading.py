"""Finds and imports the operator's plug-ins. Broken ones are logged and recorded; they never stop the engine."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from oslo_log import log

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.whole_imports import whole
from heatlite.engine import attributes, properties
from heatlite.engine import plugins as package
from heatlite.engine.compat import aliases
from heatlite.engine.resource import Resource
from heatlite.engine.types import contract_names, source_lines
from heatlite.language import diagnostics
from heatlite.language import environment as environments_of_language
from heatlite.language import registry as language_registry

LOG = log.getLogger(__name__)

NO_NAME = _('the name %r in its mapping must be text that is not empty')
# Of the messages about what only Python 2 accepts: print, exec, `except A, b`, 0777, tabs between blanks.
PYTHON_2 = ("Missing parentheses in call to 'print'", "Missing parentheses in call to 'exec'",
            'multiple exception types must be parenthesized', 'leading zeros in decimal integer', 'use of tabs')
_OF_YAML = 'in "<unicode string>",'
_TYPE_NAME = re.compile(r'''['"]([A-Za-z_]\w*(?:::\w+)+)['"]\s*:''')


@dataclass(frozen=True)
class LoadFailure:
    """A plug-in or environment file that was left out. `types`: names that it would have defined, if known."""

    name: str                               # of the module, or of the environment file
    file: str
    types: tuple[str, ...]
    error: str

    def __str__(self) -> str:
        types = f' ({", ".join(self.types)})' if self.types else ''
        return f'{self.name}{types} in {self.file} was left out: {self.error}'


@dataclass(frozen=True)
class LoadWarning:
    """What the author of a file that was loaded has probably not meant."""

    file: str
    text: str


@dataclass
class PluginDefinitions:
    """The definitions of plug-in modules, in the order of loading."""

    types: dict[str, object] = field(default_factory=dict)
    constraints: dict[str, Any] = field(default_factory=dict)
    environments: dict[str, dict[str, object]] = field(default_factory=dict)      # file -> sections
    failures: list[LoadFailure] = field(default_factory=list)
    warnings: list[LoadWarning] = field(default_factory=list)
    modules: dict[str, str] = field(default_factory=dict)       # name -> file, of all that could be loaded
    files: dict[str, str] = field(default_factory=dict)         # name of a type or constraint -> its file

    def warn(self, warning: LoadWarning) -> None:
        self.warnings.append(warning)
        LOG.warning('%s: %s', warning.file, warning.text)

    def left_out(self, failure: LoadFailure) -> None:
        self.failures.append(failure)

    def keep(self, former: PluginDefinitions) -> None:
        """Take over from `former` the definitions of files that are broken now."""
        broken = {failure.file for failure in self.failures}
        for mine, theirs in ((self.types, former.types), (self.constraints, former.constraints)):
            for name, value in theirs.items():
                if name not in mine and former.files.get(name) in broken:
                    mine[name], self.files[name] = value, former.files[name]


def load(directories: Iterable[str], only: str | None = None,
         former: PluginDefinitions | None = None) -> PluginDefinitions:
    """Load all modules below `directories`, in the given order, sorted by name in each.

    `only`: load only the file, or package, of that name. `former`: the result of the previous load; modules are then
    read anew, and the former definitions of broken ones stay.
    """
    found = PluginDefinitions()
    paths = [path for path in directories if os.path.isdir(path)]
    if not paths:
        return found
    aliases.install()
    package.__path__ += [path for path in paths if path not in package.__path__]
    importlib.invalidate_caches()
    before = _forget() if former is not None else {}
    for name in _walk(paths, f'{package.__name__}.', found):
        if only is not None and not _is_in(name, only):
            continue
        known = len(found.failures)
        module = _import(name, found)
        if module is not None:
            found.modules[_shown(name)] = module.__file__ or ''
            _read(module, found)
        elif name in before:
            sys.modules[name] = before[name]        # former definitions that stay may import it later
        for failure in found.failures[known:]:
            LOG.error('Plug-in %s', failure)
    _read_descriptions(paths, found, only)
    if former is not None:
        found.keep(former)
    return found


def _is_in(name: str, only: str) -> bool:
    """Whether the module belongs to `only`: the name of its file, or of a package that contains it."""
    relative = name.removeprefix(f'{package.__name__}.')
    return f'{relative}.py' == only or relative.partition('.')[0] == only


def _forget() -> dict[str, ModuleType]:
    """Remove the modules of plug-ins from the import system, and return them. Existing references stay valid."""
    gone = {name: module for name, module in sys.modules.items()
            if name.startswith((f'{package.__name__}.', f'{_shown(package.__name__)}.'))}
    for name in gone:
        del sys.modules[name]
    return gone


def _read_descriptions(paths: Iterable[str], definitions: PluginDefinitions, only: str | None) -> None:
    """Load types without code from the YAML files of the folders."""
    from heatlite.engine.resources.rest import operator_types

    def left_out(file: str, types: tuple[str, ...], error: str) -> None:
        failure = LoadFailure(os.path.basename(file), file, types, error)
        definitions.left_out(failure)
        LOG.error('Plug-in %s', failure)

    for name, kind in operator_types.load(paths, left_out, only):
        definitions.types.pop(name, None)
        definitions.types[name] = kind
        definitions.files[name] = file = kind.description.file
        definitions.modules[os.path.basename(file)] = file


def _walk(paths: Iterable[str], prefix: str, definitions: PluginDefinitions) -> Iterator[str]:
    """Yield names of modules, a package before its content. A folder is a package if it has an `__init__.py`."""
    seen = set()
    for path in paths:
        for entry in pkgutil.iter_modules([path], prefix):
            if entry.name in seen or _is_skipped(entry.name):
                continue
            seen.add(entry.name)
            yield entry.name
            if entry.ispkg:
                yield from _walk([os.path.join(path, entry.name.rpartition('.')[2])], f'{entry.name}.', definitions)


def _is_skipped(name: str) -> bool:
    return '.tests.' in f'{name}.' or name.endswith('.setup')


def _import(name: str, definitions: PluginDefinitions) -> ModuleType | None:
    try:
        return whole(name)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:          # also SystemExit: a plug-in must not end the engine
        file, text = _source(name)
        definitions.left_out(LoadFailure(_shown(name), file, tuple(dict.fromkeys(_TYPE_NAME.findall(text))),
                                         _reason(error, file)))
        return None


def _shown(name: str) -> str:
    """Return the name of a module as plug-in authors know it."""
    return name.replace('heatlite.', 'heat.', 1)


def _source(name: str) -> tuple[str, str]:
    """Return (file, text) of a module that could not be imported; two empty strings if it is not found."""
    parts = name.removeprefix(f'{package.__name__}.').split('.')
    for path in package.__path__:
        for file in (f'{os.path.join(path, *parts)}.py', os.path.join(path, *parts, '__init__.py')):
            if os.path.isfile(file):
                with open(file, encoding='utf-8', errors='replace') as source:
                    return file, source.read()
    return '', ''


def _reason(error: BaseException, file: str = '') -> str:
    """Describe an error. `file`: the description names its line, and the entry of a dictionary in which it is, if the
    error's traceback has a line of it."""
    if isinstance(error, SyntaxError):
        is_of_before = any(words in error.msg for words in PYTHON_2)
        return f'{type(error).__name__}: {error.msg} ({error.filename or file}, line {error.lineno})' + (
            _('; only Python 3 can be loaded') if is_of_before else '')
    line = source_lines.of_error(error, file) if file else None
    entry = source_lines.entries_of_error(error, file) if line else ''
    return f'{_name(error)}: {_line(error)}' + (f' (line {line})' if line else '') + (
        f', in "{entry}"' if entry else '')


def _name(error: BaseException) -> str:
    return type(error).__name__.rstrip('_')         # of a class that is not to hide a builtin


def _line(error: BaseException) -> str:
    """The text of an error in one line. YAML's parser shows lines of the file and calls it a string: they are left
    out."""
    lines = str(error).splitlines()
    if any(_OF_YAML in line for line in lines):
        lines = [line.replace(_OF_YAML, ',') for line in lines if _OF_YAML in line or not line.startswith('  ')]
    return ' '.join(' '.join(lines).split()).replace(' , ', ', ').rstrip(':')


def _read(module: ModuleType, definitions: PluginDefinitions) -> None:
    functions = (name for name, value in vars(module).items() if callable(value))
    for given, meant in contract_names.misspelt_mappings(functions):
        definitions.warn(LoadWarning(module.__file__ or '', _('%(given)s is never called: did you mean %(meant)s?') % {
            'given': given, 'meant': meant}))
    for name, kind in _mapping(module, contract_names.RESOURCE_MAPPINGS, definitions).items():
        diagnostic = _complaint(kind)
        if not isinstance(name, str) or not name:
            definitions.left_out(LoadFailure(_shown(module.__name__), module.__file__ or '', (str(name),),
                                             NO_NAME % (name,)))
        elif diagnostic is None:
            definitions.types.pop(name, None)  # a later module replaces it, and takes the later place in the order
            definitions.types[name] = kind
            definitions.files[name] = module.__file__ or ''
            _warn_of_misspelt(name, kind, module.__file__ or '', definitions)
        else:
            definitions.left_out(LoadFailure(_shown(module.__name__), module.__file__ or '', (name,), diagnostic))
    for name, kind in _mapping(module, (contract_names.CONSTRAINT_MAPPING,), definitions).items():
        if not isinstance(name, str) or not name:
            definitions.left_out(LoadFailure(_shown(module.__name__), module.__file__ or '', (), NO_NAME % (name,)))
        elif callable(getattr(kind, 'validate', None)):
            definitions.constraints[name] = kind
            definitions.files[name] = module.__file__ or ''
        else:
            definitions.left_out(LoadFailure(_shown(module.__name__), module.__file__ or '', (),
                                             _('the constraint %s has no method validate') % name))


def _warn_of_misspelt(name: str, kind: object, file: str, definitions: PluginDefinitions) -> None:
    if isinstance(kind, type) and issubclass(kind, Resource):
        for given, meant in contract_names.misspelt(kind):
            definitions.warn(LoadWarning(file,
                                         _('%(type)s: %(class)s.%(given)s is never used: did you mean %(meant)s?') % {
                'type': name, 'class': kind.__name__, 'given': given, 'meant': meant}))
        for hook in contract_names.uncalled_hooks(kind):
            definitions.warn(LoadWarning(file, _(
                '%(type)s: %(class)s.%(hook)s is never called: override member_definition, which returns the member as '
                'a template has it') % {'type': name, 'class': kind.__name__, 'hook': hook}))


def _mapping(module: ModuleType, names: Iterable[str], definitions: PluginDefinitions) -> Mapping[object, object]:
    function = next((getattr(module, name) for name in names if callable(getattr(module, name, None))), None)
    if function is None:
        return {}
    try:
        answer = function()
    except Exception as error:
        diagnostic = _('%(function)s failed: %(error)s') % {
            'function': function.__name__, 'error': _reason(error, module.__file__ or '')}
    else:
        if answer is None or isinstance(answer, Mapping):
            return answer or {}
        diagnostic = _('%(function)s must return a map, not %(kind)s') % {
            'function': function.__name__, 'kind': type(answer).__name__}
    definitions.left_out(LoadFailure(_shown(module.__name__), module.__file__ or '', (), diagnostic))
    return {}


def _complaint(kind: object) -> str | None:
    """Return why `kind` is no valid resource type, or None. Reads its schemas, so that their errors are found here."""
    if isinstance(kind, str):
        return None                         # another type, or a template
    if not isinstance(kind, type) or not issubclass(kind, Resource):
        return _('%r is not a subclass of heat.engine.resource.Resource') % (kind,)
    for name, read in (('properties_schema', properties.schemata), ('update_policy_schema', properties.schemata),
                       ('attributes_schema', attributes.schemata)):
        try:
            read(getattr(kind, name))
        except Exception as error:
            return f'{kind.__name__}.{name}: {_reason(error)}{_place(kind, name, read)}'
    return None


def _place(kind: type, name: str, read: Callable[[Mapping[str, object]], object]) -> str:
    """Return ` (line N), in "KEY"` of the entry that cannot be read, or ''."""
    declared = getattr(kind, name)
    for key, entry in declared.items() if isinstance(declared, Mapping) else ():
        try:
            read({key: entry})
        except Exception:
            line = source_lines.of_entry(kind, name, key).rpartition(':')[2]
            return f' (line {line}), in "{key}"'
    return ''


def leave_out_unresolved(definitions: PluginDefinitions, known: language_registry.Registry) -> list[str]:
    """Leave out each type of `definitions` that is mapped to a name which leads neither to a class nor to a template.
    Return their names.

    `known`: all types of the operator, those of `definitions` included. Modules are loaded in any order, so that this
    can be decided only after all of them.
    """
    names: list[str] = []
    for name, target in list(definitions.types.items()):
        error = unresolved(name, target, known) if isinstance(target, str) else None
        if error is not None:
            del definitions.types[name]
            file = definitions.files.pop(name, '')
            module = next((module for module, path in definitions.modules.items() if path == file), '')
            failure = LoadFailure(module, file, (name,), error)
            definitions.left_out(failure)
            LOG.error('Plug-in %s', failure)
            names.append(name)
    return names


def unresolved(name: str, target: str, known: language_registry.Registry) -> str | None:
    """Return why `name`, which is mapped to the name `target`, means no type; None if it means one.

    A pattern (`My::*`) means what is asked for later.
    """
    if name.endswith('*'):
        return None
    try:
        known.find(name)
    except exception.StackValidationFailed as error:
        if target in known.entries:             # it is the rest of the chain that ends nowhere
            return _('it is mapped to %(target)s: %(error)s') % {'target': target, 'error': error}
    else:
        return None
    hint = diagnostics.did_you_mean(target, known.types())
    return _('it is mapped to "%(target)s", which is neither a subclass of heat.engine.resource.Resource, nor the name '
             'of a type that is defined, nor that of a template (.yaml, .template)%(hint)s') % {
                 'target': target, 'hint': f'; {hint}' if hint else ''}


def environments(directory: str, definitions: PluginDefinitions, former: PluginDefinitions | None = None) -> None:
    """Add the operator's environment files, sorted by name. A broken one is logged; its former content stays."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    for name in names:
        file = os.path.join(directory, name)
        if not os.path.isfile(file) or name.startswith('.'):
            continue
        sections, diagnostic = _environment(file)
        if diagnostic is None:
            definitions.environments[file] = sections
            continue
        definitions.left_out(LoadFailure(name, file, (), diagnostic))
        LOG.error('Environment %s', definitions.failures[-1])
        if former is not None and file in former.environments:
            definitions.environments[file] = former.environments[file]


def _environment(file: str) -> tuple[dict[str, object], str | None]:
    """Read a file: (sections, None), or ({}, error text)."""
    try:
        with open(file, encoding='utf-8') as source:
            return environments_of_language.read(source.read()), None
    except Exception as error:
        return {}, _reason(error)
