"""Reads the YAML files of the catalogue, checks every entry, and returns the facts that the packed file stores.

The service does not import this module: it reads the packed file (`heatlite.engine.resources.packed`). The words of
an entry are explained in docs/developers/catalogue.rst.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heatlite.common import exception
from heatlite.engine import attributes
from heatlite.engine.resources import catalogue, packed, yaml_lines
from heatlite.engine.resources.catalogue import texts
from heatlite.language import support, translation

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[3]                    # where `heatlite` is
ALIASES = 'aliases.yaml'
TYPE_NAME = re.compile(r'[A-Za-z]\w*(::\w+)+')

FAMILIES = ('placeholder',)
POLICIES = ('project_admin',)
REFERENCE = {'kind': 'physical_id', 'before_create': 'resource_name'}
REFERENCE_WORDS = (*REFERENCE, 'output', 'property')
SHOW = {'type': 'map', 'cache_mode': attributes.CACHE_NONE}     # the attribute that every type has
RULES = tuple(rule.lower() for rule in translation.RULES)

Facts = dict[str, Any]
Path = yaml_lines.Path


class CatalogueError(Exception):
    """An entry is wrong. The text names the file, the line, the type, the property, and what was expected."""


@dataclass(frozen=True)
class Catalogue:
    """The contents of all files. Types are sorted by name."""

    facts: Mapping[str, Facts]              # type -> its facts, as `packed.facts` returns them
    modules: Mapping[str, str]              # type -> module with its class; only types that have one
    aliases: Mapping[str, str]              # other name, or prefix with `*` -> the name it stands for


def read(folder: pathlib.Path = FOLDER) -> Catalogue:
    """Raise CatalogueError for the first entry that is wrong."""
    facts: dict[str, Facts] = {}
    modules: dict[str, str] = {}
    files: dict[str, str] = {}
    for path in sorted(folder.glob('*.yaml')):
        if path.name == ALIASES:
            continue
        for entry in _entries(path):
            if entry.name in files:
                raise entry.error((), f'an entry in one file only; {files[entry.name]} has one, too')
            files[entry.name] = path.name
            module, facts[entry.name] = entry.module(), entry.facts()
            if module is not None:
                modules[entry.name] = module
    try:
        texts.add(facts, folder / texts.FOLDER.name)
    except texts.TextError as error:
        raise CatalogueError(str(error)) from None
    return Catalogue(dict(sorted(facts.items())), dict(sorted(modules.items())), _aliases(folder / ALIASES, facts))


def _source(path: pathlib.Path) -> yaml_lines.YamlSource:
    try:
        source = yaml_lines.read(path.read_text(encoding='utf-8'))
    except yaml_lines.YamlError as error:
        raise CatalogueError(f'{path.name}, line {error.line}: {error}') from None
    if not isinstance(source.values, dict):
        raise CatalogueError(f'{path.name}, line 1: expected a map of names')
    return source


def _entries(path: pathlib.Path) -> Iterator[_Entry]:
    source, former = _source(path), ''
    for name, body in source.values.items():
        entry = _Entry(path.name, source, str(name), body)
        if not TYPE_NAME.fullmatch(str(name)):
            raise entry.error((), 'a name such as OS::Nova::Server')
        if str(name) < former:
            raise entry.error((), f'types in alphabetical order; {former} stands before it')
        former = str(name)
        yield entry


def _aliases(path: pathlib.Path, facts: Mapping[str, Facts]) -> dict[str, str]:
    if not path.exists():
        return {}
    source = _source(path)
    for alias, target in source.values.items():
        entry = _Entry(path.name, source, str(alias), target)
        if alias in facts:
            raise entry.error((), 'a name that is not a type itself')
        is_prefix = str(alias).endswith('*')
        if str(target).endswith('*') != is_prefix or (not is_prefix and target not in facts):
            raise entry.error((), 'the name of a type, or for a prefix with * another prefix with *', target)
    return dict(source.values)


# --- what a value must be ---------------------------------------------------------------------------------

def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ''


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_text(item) for item in value)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_bounds(value: object) -> bool:
    return (isinstance(value, dict) and bool(value) and set(value) <= {'min', 'max'}
            and all(_is_integer(bound) or isinstance(bound, float) for bound in value.values()))


def _is_modulo(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {'step', 'offset'} and all(map(_is_integer, value.values()))


Check = tuple[Callable[[object], bool], str]   # whether a value is right; what was expected if it is not
TEXT: Check = _is_text, 'a text'
TEXTS: Check = _is_texts, 'a list of texts'
TRUE: Check = (lambda value: value is True), 'true; leave the word out otherwise'
FALSE: Check = (lambda value: value is False), 'false; leave the word out otherwise'
ANYTHING: Check = (lambda value: True), ''
NAMES: Check = (lambda value: isinstance(value, dict) and bool(value) and all(map(_is_text, value))), 'a map of names'
BOUNDS: Check = _is_bounds, 'a map with min, max or both, which are numbers'


def _one_of(*values: str) -> Check:
    return (lambda value: value in values), f'one of {", ".join(sorted(values))}'


CONSTRAINTS: Mapping[str, Check] = {
    'range': BOUNDS, 'length': BOUNDS, 'modulo': (_is_modulo, 'a map with step and offset, which are integers'),
    'allowed_values': ((lambda value: isinstance(value, list) and bool(value)), 'a list of values'),
    'allowed_pattern': TEXT, 'custom_constraint': TEXT,
}
TYPE_WORDS: Mapping[str, Check] = {
    'module': TEXT, 'class_name': TEXT, 'support_status': ANYTHING, 'family': _one_of(*FAMILIES),
    'default_client_name': TEXT, 'entity': TEXT, 'required_service_extension': TEXT, 'policy': _one_of(*POLICIES),
    'reference': NAMES, 'class_flags': NAMES, 'properties': NAMES, 'update_policy': NAMES, 'attributes': NAMES,
    'translation_rules': ((lambda value: isinstance(value, list) and bool(value)), 'a list of rules'),
}
PROPERTY_WORDS: Mapping[str, Check] = {
    'type': _one_of(*packed.DATA_TYPES), 'required': TRUE, 'default': ANYTHING, 'default_from_config': TEXT,
    'update_allowed': TRUE, 'immutable': TRUE, 'implemented': FALSE, 'support_status': ANYTHING,
    'constraints': ((lambda value: isinstance(value, list) and bool(value)), 'a list of constraints'),
    'schema': ANYTHING,
}
ATTRIBUTE_WORDS: Mapping[str, Check] = {
    'type': _one_of(*catalogue.ATTRIBUTE_TYPES), 'cached': FALSE, 'support_status': ANYTHING}
RULE_WORDS: Mapping[str, Check] = {
    'rule': _one_of(*RULES), 'path': TEXTS, 'finder': TEXT, 'entity': TEXT, 'client_plugin': TEXT,
    'value': ANYTHING, 'value_name': TEXT, 'value_path': TEXTS, 'custom_value_path': TEXTS, 'entity_choices': TEXTS,
    'conditional': TRUE}


@dataclass(frozen=True)
class _Entry:
    """One type of one file. A `path` below leads from the entry to a value in it."""

    file: str
    source: yaml_lines.YamlSource
    name: str
    body: object

    def error(self, path: Path, expected: str, *found: object) -> CatalogueError:
        where = f'{self.name}, {".".join(map(str, path))}' if path else self.name
        text = f', found {found[0]!r}' if found else ''
        return self._error(path, f'{where}: expected {expected}{text}')

    def _error(self, path: Path, text: str) -> CatalogueError:
        return CatalogueError(f'{self.file}, line {self.source.line((self.name, *path))}: {text}')

    def module(self) -> str | None:
        """The module that has the type's class; None for a type without one."""
        module = self.body.get('module') if isinstance(self.body, dict) else None
        if module is not None and not (_is_text(module)
                                       and (ROOT / module.replace('.', '/')).with_suffix('.py').is_file()):
            raise self.error(('module',), 'the dotted name of a module of heatlite', module)
        return module

    def facts(self) -> Facts:
        body = self.checked((), self.body, TYPE_WORDS)
        found = {key: value for key, value in body.items() if key not in ('module', 'attributes')}
        found['class_name'] = body.get('class_name', self.name.rpartition('::')[2])
        found['support_status'] = self.support((), body) or {'status': support.SUPPORTED, 'version': None}
        found['reference'] = {**REFERENCE, **self.reference(body.get('reference', {}))}
        for word in ('properties', 'update_policy'):
            if word in body:
                found[word] = {name: self.property((word, name), each) for name, each in body[word].items()}
        found['attributes'] = self.attributes(body.get('attributes', {}))
        for place, rule in enumerate(body.get('translation_rules', ())):
            path = ('translation_rules', place)
            for word in ('rule', 'path'):
                if word not in self.checked(path, rule, RULE_WORDS):
                    raise self.error((*path, word), RULE_WORDS[word][1])
        return found

    def checked(self, path: Path, body: object, words: Mapping[str, Check]) -> Facts:
        """`body`, if it is a map of known `words` with values as they must be."""
        if not isinstance(body, dict):
            raise self.error(path, f'a map with words of {", ".join(words)}', body)
        for word, value in body.items():
            if word not in words:
                raise self.error((*path, word), f'one of the words {", ".join(words)}')
            is_right, expected = words[word]
            if not is_right(value):
                raise self.error((*path, word), expected, value)
        return body

    def reference(self, body: Facts) -> Facts:
        for word, value in body.items():
            if word not in REFERENCE_WORDS:
                raise self.error(('reference', word), f'one of the words {", ".join(REFERENCE_WORDS)}')
            if not _is_text(value) and not (word == 'before_create' and value is None):
                raise self.error(('reference', word), 'a text', value)
        return body

    def attributes(self, bodies: Facts) -> Facts:
        found: Facts = {attributes.SHOW_ATTR: dict(SHOW)}
        for name, body in bodies.items():
            path = ('attributes', name)
            if name == attributes.SHOW_ATTR:
                raise self.error(path, 'no entry: every type has this attribute')
            said = self.checked(path, {'type': body} if isinstance(body, str) else body, ATTRIBUTE_WORDS)
            found[name] = {'type': said.get('type'),
                           'cache_mode': attributes.CACHE_LOCAL if said.get('cached', True) else attributes.CACHE_NONE}
            status = self.support(path, said)
            if status is not None:
                found[name]['support_status'] = status
        return dict(sorted(found.items()))

    def property(self, path: Path, body: object) -> Facts:
        said = self.checked(path, {'type': body} if isinstance(body, str) else body, PROPERTY_WORDS)
        if 'type' not in said:
            raise self.error((*path, 'type'), PROPERTY_WORDS['type'][1])
        found = dict(said)
        status = self.support(path, said)
        if status is not None:
            found['support_status'] = status
        if 'constraints' in said:
            found['constraints'] = [self.constraint((*path, 'constraints', place), limit)
                                    for place, limit in enumerate(said['constraints'])]
        if 'schema' in said:
            found['schema'] = self.inner((*path, 'schema'), said['type'], said['schema'])
        try:
            packed.schema(found)
        except (exception.InvalidSchemaError, TypeError, ValueError) as error:
            raise self._error(path, f'{self.name}, {".".join(map(str, path))}: {error}') from None
        return found

    def inner(self, path: Path, kind: str, body: Any) -> Facts:
        """The schema of a list's items, or of a map's entries."""
        match kind:
            case 'list':
                return {'*': self.property(path, body)}
            case 'map':
                is_right, expected = NAMES
                if not is_right(body):
                    raise self.error(path, f'{expected} of properties', body)
                return {name: self.property((*path, name), each) for name, each in body.items()}
        raise self.error(path, f'no schema for the type {kind}, only for list and map')

    def constraint(self, path: Path, body: object) -> Facts:
        if not isinstance(body, dict) or len(body) != 1:
            raise self.error(path, f'a map with one of the words {", ".join(CONSTRAINTS)}', body)
        (kind, value), = self.checked(path, body, CONSTRAINTS).items()
        return {'kind': kind, 'value': value}

    def support(self, path: Path, body: Facts) -> Facts | None:
        """The status with its former ones behind it, from texts such as `HIDDEN 5.0.0`, the newest first."""
        if 'support_status' not in body:
            return None
        path, value = (*path, 'support_status'), body['support_status']
        first, *former = [self.status(path, each) for each in (value if isinstance(value, list) and value else [value])]
        if first['status'] == support.HIDDEN:
            first['hidden'] = True
        return {**first, 'previous': former} if former else first

    def status(self, path: Path, body: object) -> Facts:
        """`body`: `STATUS VERSION`, `STATUS`, or a map of one of these to a message."""
        message = None
        if isinstance(body, dict) and len(body) == 1:
            (body, message), = body.items()
        status, _space, version = body.partition(' ') if isinstance(body, str) else ('', '', '')
        if not support.is_valid_status(status) or not (message is None or _is_text(message)):
            raise self.error(path, f'a status ({", ".join(support.STATUSES)}) with the version in which it began, or a '
                                   'list of them from the newest to the oldest', body)
        found = {'status': status, 'version': version or None}
        return found if message is None else {**found, 'message': message}
