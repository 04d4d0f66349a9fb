"""Descriptions of types: read from YAML, completed by their family, checked. Errors name file and line.

The words are explained in docs/authors/described-types.rst.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from heatlite.engine.resources import yaml_lines
from heatlite.engine.resources.packed import StatusFacts
from heatlite.engine.resources.rest import bodies, calls, rules, spelling, subresources, waits
from heatlite.engine.resources.rest.calls import CallTemplate
from heatlite.engine.resources.rest.subresources import Follow
from heatlite.engine.resources.rest.templating import places
from heatlite.engine.resources.rest.waits import DescribedWait, Gone
from heatlite.engine.resources.rest.words import (
    After,
    Attributes,
    AttributeWords,
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
JOINED = ('body', 'attributes', 'live', 'follow', 'find', 'constants', 'microversions', 'hooks', 'removed')
WORDS = frozenset({
    'about', 'family', 'path', 'object', 'key', 'answer_key', 'plural', 'id', 'name', 'client', 'service',
    'service_type', 'create', 'then', 'finish', 'update', 'patch', 'delete', 'before_delete', 'show', 'body',
    'constants', 'nulls', 'update_nulls', 'send', 'spread', 'find', 'fold', 'wait', 'gone', 'retry', 'follow',
    'attributes', 'live', 'after', 'check', 'healthy', 'suspend', 'resume', 'keep_failed', 'existing', 'keep',
    'microversion', 'microversions', 'hooks', 'ignore', 'replace_first', 'busy_says', 'properties', 'extension',
    'name_limit', 'mark', 'support', 'removed', 'not_reset', 'replaces',
    'folded', 'updates', 'ends'})
SOURCES = frozenset({'field', 'call', 'value', 'data', 'hook'})     # of attributes
HOOK_EVENTS = ('body', 'check', 'replace', 'live', 'create', 'update', 'delete', 'id', 'exists')


Mistake = tuple[tuple[object, ...], str]
"""(path in the document, what is wrong there)"""

SHAPES = (ValueError, TypeError, KeyError, AttributeError, IndexError)      # of code that reads values of another form


class DescriptionError(Exception):
    """A description cannot be used. `types`: the names it would have defined. `found`: (line, what is wrong there).

    `mistakes`: its text without the file, for output that names the file itself.
    """

    def __init__(self, file: str, found: Iterable[tuple[int, str]], types: tuple[str, ...] = ()) -> None:
        self.types = types
        self.mistakes = '; '.join(f'line {line}: {text}' for line, text in sorted(set(found)))
        super().__init__(f'{file}, {self.mistakes}')


@dataclass(frozen=True)
class TypeDescription:
    """The description of one type. Words of the same names in the files; `rules` are those of the body."""

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
    update_nulls: str = 'send'              # or `drop`; `reset`: a delete gives what is removed its default
    removed: Mapping[str, builtins.object] = field(default_factory=dict)    # property -> what it is then set to
    not_reset: frozenset[str] = frozenset()     # properties that stay as they are when they are removed
    replaces: frozenset[str] = frozenset()      # properties whose change replaces although the facts say otherwise
    updates: frozenset[str] = frozenset()       # properties that change in place although the facts say otherwise
    send: str | list[list[str]] = 'changed'
    find: Mapping[str, str | Find] = field(default_factory=dict)
    folded: frozenset[str] = frozenset()        # texts that the service stores in small letters
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
    replace_first: bool | tuple[str, ...] = False       # or: only if none of these properties changes
    ends: tuple[Mapping[str, str], ...] = ()    # when the service deletes the object itself, once it is done
    name_limit: int | None = None
    properties: Mapping[str, builtins.object] | None = None     # facts of a type of the operator's own
    extension: str | None = None
    support: StatusFacts | None = None


    @functools.cached_property
    def parents(self) -> frozenset[str]:
        """Names of places in the paths of the object: `id`, and properties that say what it is a part of."""
        return frozenset(place for call in (self.show, self.delete, *self.update) if call is not None
                         for place in places(call.path))

    @functools.cached_property
    def used_to_delete(self) -> frozenset[str]:
        """Names of the places of calls that take away the object or a part of it, `old.x` as x, and of the properties
        whose items they take."""
        calls = [*(call for each in self.follow for call in each.drop),
                 *(call for step in self.before_delete for call in (*step['call'], *step['each']))]
        if self.delete is not None:
            calls.append(self.delete)
        found = {place.removeprefix('old.').lstrip('.').partition('.')[0] for call in calls
                 for place in places([call.path, call.body, call.headers, call.query])}
        return frozenset(found | {each.property for each in self.follow if each.drop}
                         | {step['property'] for step in self.before_delete if step['property']})

    @functools.cached_property
    def repaired_in_place(self) -> bool:
        """Whether creating the object again changes nothing, and is done with one call: then one that failed is not
        replaced."""
        takes_turns = (self.then or self.finish or 'create' in self.waits or self.retry.get('create')
                       or (self.keep and self.retry.get('update')))
        return self.existing == 'again' and '{' in self.id and not takes_turns


# --- reading ---------------------------------------------------------------------------------------------

def load(text: str, file: str) -> dict[str, TypeDescription]:
    """Return all types of one file. Raises DescriptionError."""
    return {name: compiled(name, entry, document, file) for document in [DescriptionFile(text, file)]
            for name, entry in document.types()}


class DescriptionFile:
    """The values of one file of descriptions, and errors that name the line of a value."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        try:
            self._source = yaml_lines.read(text)
        except yaml_lines.YamlError as error:
            raise DescriptionError(file, [(error.line, str(error))]) from None
        self.values = self._source.values if self._source.values is not None else {}
        if not isinstance(self.values, dict):
            raise DescriptionError(file, [(1, 'a file of descriptions is a map of type names')])

    def types(self) -> Iterator[tuple[str, object]]:
        """Yield the name and the entry of each type. An entry that is right is a map."""
        yield from ((name, entry) for name, entry in self.values.items() if name != FAMILIES)

    def wrong_families(self) -> Iterator[Mistake]:
        families = self.values.get(FAMILIES)
        if not isinstance(families, dict | None):
            yield (FAMILIES,), f'{FAMILIES} is not a map'
            return
        for name, entry in (families or {}).items():
            if not isinstance(entry, dict):
                yield (FAMILIES, name), f'the family {name} is not a map'

    def error(self, mistakes: Iterable[Mistake]) -> DescriptionError:
        """The path of each mistake is where it is, or where what is missing would stand."""
        types = tuple(str(name) for name in self.values if name != FAMILIES)
        return DescriptionError(self.file, [(self._source.line(path), text) for path, text in mistakes], types)

    def complete(self, name: str, entry: Written, mistakes: list[Mistake], seen: tuple[str, ...] = ()) -> Written:
        """`entry` with what its families say; without one that is wrong, which is added to `mistakes`."""
        family = entry.get('family')
        if family is None:
            return dict(entry)
        written = self.values.get(FAMILIES)
        families = written if isinstance(written, dict) else {}
        if not isinstance(family, str) or family not in families or family in seen:
            hint = spelling.hint(family, families)
            mistakes.append(((name, 'family'), f'there is no family {family} in this file{hint}'))
            return dict(entry)
        if not isinstance(families[family], dict):
            mistakes.append(((name, 'family'), f'the family {family} is not a map'))
            return dict(entry)
        base = self.complete(name, families[family], mistakes, (*seen, family))
        joined = {key: {**base[key], **entry[key]} for key in JOINED
                  if isinstance(base.get(key), dict) and isinstance(entry.get(key), dict)}
        return {**base, **entry, **joined}


def compiled(name: str, entry: object, document: DescriptionFile, file: str) -> TypeDescription:
    """The description of one type. Raises DescriptionError, with all mistakes in it."""
    found, mistakes = examined(name, entry, document, file)
    if mistakes:
        raise document.error(mistakes)
    return found


def examined(name: str, entry: object, document: DescriptionFile,
             file: str) -> tuple[TypeDescription, list[Mistake]]:
    """The description of one type, without the words that are wrong, and what is wrong with them.

    Raises DescriptionError if it is no map.
    """
    mistakes: list[Mistake] = []
    if not isinstance(entry, dict):
        raise document.error([((name,), f'{name} is not a map')])
    whole = document.complete(name, entry, mistakes)
    mistakes += [((name, word), f'{word} is no word of descriptions{spelling.hint(word, WORDS)}')
                 for word in whole if word not in WORDS]
    built: dict[str, Any] = {'name': name, 'file': file}

    def build(word: str, make: Callable[[], object], target: str | None = None) -> None:
        try:
            built[target or word] = make()
        except SHAPES as error:
            mistakes.append(((name, word), f'{name}, {word}: {error}'))

    for word, read in _BUILD.items():
        if whole.get(word) is not None:
            build(word, functools.partial(read, whole[word]), 'waits' if word == 'wait' else None)
    path = whole.get('path')
    built['object'] = whole.get('object') or (f'{path}/{{id}}' if path else None)
    built['name_property'] = whole.get('name', 'name') or None
    built['update_nulls'] = whole.get('update_nulls', 'send')
    build('body', lambda: bodies.BodyRules(_map(whole.get('body') or {}), whole.get('spread') or (),
                                           whole.get('nulls', 'drop')), 'rules')
    built['delete_follow'] = whole.get('delete') == 'follow'
    for word in ('create', 'delete', 'show'):
        build(word, functools.partial(_action, word, whole, built['object']))
    build('update', lambda: _update(whole, built['object']))
    return TypeDescription(**{word: value for word, value in built.items() if value is not None}), mistakes


def _action(word: str, whole: Written, thing: str | None) -> CallTemplate | None:
    """`create: POST` is the verb at the collection, `delete: DELETE` and `show: GET` at the object."""
    written = whole.get(word, 'GET' if word == 'show' else None)
    if written in (None, False, 'follow'):
        return None
    place = whole.get('path') if word == 'create' else thing
    if written in calls.VERBS:
        return calls.template(f'{written} {place}') if place else None
    return calls.template(written)


def _update(whole: Written, thing: str | None) -> tuple[CallTemplate, ...]:
    written = whole.get('update')
    if not written:
        return ()
    return calls.templates(f'{written} {thing}' if written in calls.VERBS else written)


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


def _attributes(written: object) -> Attributes:
    mistakes: list[str] = []
    for name, source in _map(written).items():
        if isinstance(source, str):
            continue
        if not isinstance(source, dict):
            mistakes.append(f'{name}: a field of the answer or a map is wanted, not {source!r}')
            continue
        unknown = spelling.unknown(source, AttributeWords.__annotations__)
        if not unknown and not SOURCES & set(source):
            unknown = [f'one of {", ".join(sorted(SOURCES))} is missing']
        mistakes += [f'{name}: {mistake}' for mistake in unknown]
    if mistakes:
        raise ValueError('; '.join(mistakes))
    return _map(written)


def _replace_first(written: object) -> bool | tuple[str, ...]:
    if isinstance(written, bool):
        return written
    if not isinstance(written, list) or not written:
        raise ValueError(f'true or a list of properties is wanted, not {written!r}')
    return tuple(_text(name) for name in written)


def _ends(written: Iterable[Mapping[str, str]]) -> tuple[Mapping[str, str], ...]:
    for condition in written:
        if not isinstance(condition, dict) or len(condition) != 1 or not set(condition) <= {'when', 'unless'}:
            raise ValueError(f'a list of {{when: property}} and {{unless: property}} is wanted, not {condition!r}')
    return tuple(written)


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
    spelling.refuse(_map(written), HOOK_EVENTS, f'no such event; there are {", ".join(HOOK_EVENTS)}')
    return written


_BUILD: dict[str, Any] = {word: build for build, words in {
    _text: 'about path key answer_key plural id client service service_type extension mark microversion',
    _map: 'patch constants find fold live removed keep microversions healthy keep_failed properties support',
    calls.templates: 'then finish suspend resume',
    frozenset: 'ignore busy_says not_reset replaces updates folded', tuple: 'after', int: 'name_limit',
    _replace_first: 'replace_first', _ends: 'ends', _as_it_is: 'send existing',
    _before_delete: 'before_delete', _hooks: 'hooks', _follow: 'follow', _rules: 'check', _retry: 'retry',
    _attributes: 'attributes', waits.waits: 'wait', waits.gone: 'gone',
}.items() for word in words.split()}
