"""Descriptions of types: read from YAML, completed by their family, checked. Errors name file and line.

The words are explained in docs/authors/described-types.rst.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from heatlite.engine.resources import yaml_lines
from heatlite.engine.resources.packed import StatusFacts
from heatlite.engine.resources.rest import bodies, calls, rules, subresources, waits
from heatlite.engine.resources.rest.calls import CallTemplate
from heatlite.engine.resources.rest.subresources import Follow
from heatlite.engine.resources.rest.waits import DescribedWait, Gone
from heatlite.engine.resources.rest.words import (
    After,
    Attributes,
    BeforeDelete,
    CheckWords,
    Existing,
    Find,
    Fold,
    Kept,
    Live,
    Patch,
)
from heatlite.engine.resources.yaml_lines import Written

FAMILIES = 'families'
JOINED = ('body', 'attributes', 'live', 'follow', 'find', 'constants', 'microversions', 'hooks')
WORDS = frozenset({
    'about', 'family', 'path', 'object', 'key', 'answer_key', 'plural', 'id', 'name', 'client', 'service',
    'service_type', 'create', 'then', 'finish', 'update', 'patch', 'delete', 'before_delete', 'show', 'body',
    'constants', 'nulls', 'update_nulls', 'send', 'spread', 'find', 'fold', 'wait', 'gone', 'retry', 'follow',
    'attributes', 'live', 'after', 'check', 'healthy', 'suspend', 'resume', 'keep_failed', 'existing', 'keep',
    'microversion', 'microversions', 'hooks', 'ignore', 'replace_first', 'busy_says', 'properties', 'extension',
    'name_limit', 'mark', 'support'})
HOOK_EVENTS = ('body', 'check', 'replace', 'live', 'create', 'update', 'delete', 'id', 'done', 'exists')


class DescriptionError(Exception):
    """A description cannot be used. `types`: the names it would have defined."""

    def __init__(self, file: str, line: int, text: str, types: tuple[str, ...] = ()) -> None:
        self.types = types
        super().__init__(f'{file}, line {line}: {text}')


@dataclass(frozen=True)
class TypeDescription:
    """What one type does. Words of the same names in the files; `rules` are those of the body."""

    name: str
    file: str
    about: str = ''
    path: str | None = None
    object: str | None = None
    key: str | None = None
    answer_key: str | None = None           # where answers have another key than requests
    plural: str | None = None
    id: str = 'id'
    name_property: str | None = None
    client: str | None = None
    service: str | None = None
    service_type: str | None = None
    create: CallTemplate | None = None      # body None: made of the properties
    then: tuple[CallTemplate, ...] = ()     # right after it was made
    finish: tuple[CallTemplate, ...] = ()   # once it is ready
    update: tuple[CallTemplate, ...] = ()   # body None: made of the properties
    patch: Patch | None = None
    delete: CallTemplate | None = None
    delete_follow: bool = False             # there is nothing but the sub-collections
    before_delete: tuple[BeforeDelete, ...] = ()
    show: CallTemplate | None = None
    rules: bodies.BodyRules = field(default_factory=lambda: bodies.BodyRules({}))
    constants: Mapping[str, builtins.object] = field(default_factory=dict)
    update_nulls: bool = True
    send: str | list[list[str]] = 'changed'
    find: Mapping[str, str | Find] = field(default_factory=dict)
    fold: Mapping[str, str | Fold] = field(default_factory=dict)
    waits: Mapping[str, DescribedWait] = field(default_factory=dict)
    gone: Gone | None = None
    retry: Mapping[str, frozenset[int]] = field(default_factory=dict)     # by action: ask again at the next turn
    busy_says: frozenset[str] = frozenset()     # texts of such an answer that will be another one in any case
    follow: tuple[Follow, ...] = ()
    attributes: Attributes = field(default_factory=dict)
    live: Mapping[str, str | Live | None] = field(default_factory=dict)
    after: tuple[After, ...] = ()
    check: tuple[CheckWords, ...] = ()
    healthy: Mapping[str, builtins.object] | None = None
    suspend: tuple[CallTemplate, ...] = ()
    resume: tuple[CallTemplate, ...] = ()
    keep_failed: Mapping[str, builtins.object] | None = None
    existing: str | Existing = 'name'
    mark: str | None = None
    keep: Mapping[str, Kept] = field(default_factory=dict)
    microversion: str | None = None
    microversions: Mapping[str, str] = field(default_factory=dict)
    hooks: Mapping[str, str] = field(default_factory=dict)
    ignore: frozenset[str] = frozenset()
    replace_first: bool = False
    name_limit: int | None = None
    properties: Mapping[str, builtins.object] | None = None     # facts of a type of the operator's own
    extension: str | None = None
    support: StatusFacts | None = None


# --- reading ---------------------------------------------------------------------------------------------

def load(text: str, file: str) -> dict[str, TypeDescription]:
    """All types of one file. Raises DescriptionError."""
    return {name: compiled(name, entry, document, file) for document in [DescriptionFile(text, file)]
            for name, entry in document.types()}


class DescriptionFile:
    """The values of one file of descriptions, and errors that name the line of a value."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        try:
            self._source = yaml_lines.read(text)
        except yaml_lines.YamlError as error:
            raise DescriptionError(file, error.line, str(error)) from None
        self.values = self._source.values if self._source.values is not None else {}
        if not isinstance(self.values, dict):
            raise DescriptionError(file, 1, 'a file of descriptions is a map of type names')

    def types(self) -> Iterator[tuple[str, Written]]:
        for name, entry in self.values.items():
            if name != FAMILIES:
                if not isinstance(entry, dict):
                    raise self.error((name,), f'{name} is not a map')
                yield name, entry

    def error(self, path: tuple[object, ...], text: str) -> DescriptionError:
        """`path` is where it is wrong, or where it would stand."""
        types = tuple(name for name in self.values if name != FAMILIES)
        return DescriptionError(self.file, self._source.line(path), text, types)

    def complete(self, name: str, entry: Written, seen: tuple[str, ...] = ()) -> Written:
        """`entry` with what its families say."""
        family = entry.get('family')
        if family is None:
            return dict(entry)
        families = self.values.get(FAMILIES) or {}
        if family not in families or family in seen:
            raise self.error((name, 'family'), f'there is no family {family} in this file')
        base = self.complete(name, families[family], (*seen, family))
        joined = {key: {**base[key], **entry[key]} for key in JOINED if key in base and key in entry}
        return {**base, **entry, **joined}


def compiled(name: str, entry: Mapping[str, object], document: DescriptionFile, file: str) -> TypeDescription:
    """The description of one type. Raises DescriptionError."""
    whole = document.complete(name, entry)
    unknown = sorted(str(word) for word in whole if word not in WORDS)
    if unknown:
        raise document.error((name, unknown[0]), f'{unknown[0]} is no word of descriptions')
    built: dict[str, Any] = {'name': name, 'file': file}
    for word, build in _BUILD.items():
        if whole.get(word) is not None:
            try:
                built[word if word != 'wait' else 'waits'] = build(whole[word])
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise document.error((name, word), f'{name}, {word}: {error}') from None
    path = whole.get('path')
    built['object'] = whole.get('object') or (f'{path}/{{id}}' if path else None)
    built['name_property'] = whole.get('name', 'name') or None
    built['update_nulls'] = whole.get('update_nulls', 'send') == 'send'
    built['rules'] = bodies.BodyRules(whole.get('body') or {}, whole.get('spread') or (), whole.get('nulls', 'drop'))
    built['delete_follow'] = whole.get('delete') == 'follow'
    for word in ('create', 'delete', 'show'):
        built[word] = _action(word, whole, built['object'], document, name)
    built['update'] = _update(whole, built['object'], document, name)
    return TypeDescription(**{word: value for word, value in built.items() if value is not None})


def _action(word: str, whole: Written, thing: str | None, document: DescriptionFile,
            name: str) -> CallTemplate | None:
    """`create: POST` is the verb at the collection, `delete: DELETE` and `show: GET` at the object."""
    written = whole.get(word, 'GET' if word == 'show' else None)
    if written in (None, False, 'follow'):
        return None
    place = whole.get('path') if word == 'create' else thing
    try:
        if written in calls.VERBS:
            return calls.template(f'{written} {place}') if place else None
        return calls.template(written)
    except ValueError as error:
        raise document.error((name, word), f'{name}, {word}: {error}') from None


def _update(whole: Written, thing: str | None, document: DescriptionFile, name: str) -> tuple[CallTemplate, ...]:
    written = whole.get('update')
    if not written:
        return ()
    try:
        return calls.templates(f'{written} {thing}' if written in calls.VERBS else written)
    except ValueError as error:
        raise document.error((name, 'update'), f'{name}, update: {error}') from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f'text is wanted, not {value!r}')
    return value


def _as_it_is(value: object) -> object:
    return value


def _map(value: object) -> Written:
    if not isinstance(value, dict):
        raise ValueError(f'a map is wanted, not {value!r}')
    return value


def _rules(written: Iterable[CheckWords]) -> tuple[CheckWords, ...]:
    for rule in written:
        unknown = sorted(set(rule) - rules.KEYS)
        if unknown or not any(form in rule for form in rules.FORMS):
            raise ValueError(f'{", ".join(unknown) or rule}: not known; there are {", ".join(rules.FORMS)}')
    return tuple(written)


def _follow(written: object) -> tuple[Follow, ...]:
    return tuple(subresources.read(name, each) for name, each in _map(written).items() if each is not None)


def _before_delete(written: Iterable[str | Written]) -> tuple[BeforeDelete, ...]:
    found: list[BeforeDelete] = []
    for each in written:
        step = {'call': each} if isinstance(each, str) else dict(each)
        source = step.pop('each', None)
        values = step.pop('property', None)
        found.append({'call': calls.templates(step), 'each': calls.templates(source),
                      'property': values})
    return tuple(found)


def _retry(written: list[int] | Mapping[str, list[int]]) -> Mapping[str, frozenset[int]]:
    """Statuses by action; a plain list is for all of them."""
    if isinstance(written, list):
        return {action: frozenset(written) for action in ('create', 'update', 'delete')}
    return {action: frozenset(statuses) for action, statuses in written.items()}


def _hooks(written: Mapping[str, str]) -> Mapping[str, str]:
    unknown = sorted(set(_map(written)) - set(HOOK_EVENTS))
    if unknown:
        raise ValueError(f'{", ".join(unknown)}: no such event; there are {", ".join(HOOK_EVENTS)}')
    return written


_BUILD: dict[str, Any] = {word: build for build, words in {
    _text: 'about path key answer_key plural id client service service_type extension mark microversion',
    _map: 'patch constants find fold attributes live keep microversions healthy keep_failed properties support',
    calls.templates: 'then finish suspend resume',
    frozenset: 'ignore busy_says', tuple: 'after', int: 'name_limit', bool: 'replace_first', _as_it_is: 'send existing',
    _before_delete: 'before_delete', _hooks: 'hooks', _follow: 'follow', _rules: 'check', _retry: 'retry',
    waits.waits: 'wait', waits.gone: 'gone',
}.items() for word in words.split()}
