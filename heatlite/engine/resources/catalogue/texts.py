"""Reads the texts that describe properties and attributes to users of the types, and adds them to the facts.

`texts/*.yaml` has a text for each property, each property inside another, each part of the update policy and each
attribute. An entry whose name is a pattern gives them to all types that match it, so that one fact stands once; the
text of the more exact name wins. The form is explained in docs/developers/catalogue.rst. The service does not import
this module: the packed file has the texts.
"""

from __future__ import annotations

import fnmatch
import pathlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from heatlite.engine import attributes
from heatlite.engine.resources import yaml_lines

FOLDER = pathlib.Path(__file__).with_name('texts')
NOUN = 'noun'
OWN_WORDS = 'words'
SECTIONS = ('properties', 'update_policy', 'attributes')
KEYS = (OWN_WORDS, *SECTIONS)
DESCRIPTION = 'description'
PLACE = re.compile(r'\{(\w+)\}')
HUMP = re.compile('(?<=[a-z0-9])(?=[A-Z])')

Facts = dict[str, Any]
Member = tuple[str, str]                    # section, and the names that lead to the property, joined by dots


class TextError(Exception):
    """An entry is wrong. The text names the file, the line, the entry, and what was expected."""


@dataclass
class TypeTexts:
    """The texts of the types whose names match one of several patterns."""

    name: str                               # patterns, separated by spaces
    where: str                              # file and line
    words: Mapping[str, str]                # what stands for `{word}` in the texts of these types
    texts: Mapping[Member, str]
    used: set[Member] = field(default_factory=set)

    def matches(self, type_name: str) -> bool:
        return any(fnmatch.fnmatchcase(type_name, pattern) for pattern in self.name.split())


def members(facts: Facts) -> Iterator[tuple[Member, Facts]]:
    """Whatever has a text in the facts of one type, with its own facts; the properties of a list's items by the list's
    name. Items themselves have no text: that of the list is about them."""
    for section in SECTIONS[:2]:
        for path, body in _inner(facts.get(section, {}), ()):
            yield (section, '.'.join(path)), body
    for name, body in facts.get('attributes', {}).items():
        if name != attributes.SHOW_ATTR:    # of every type: its text is in the base class
            yield ('attributes', name), body


def _inner(bodies: Facts, at: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, object]]]:
    for name, body in bodies.items():
        yield (*at, name), body
        inside = body
        while inside['type'] == 'list' and 'schema' in inside:
            inside = inside['schema']['*']
        if inside['type'] == 'map' and 'schema' in inside:
            yield from _inner(inside['schema'], (*at, name))


def missing(facts: Facts) -> list[str]:
    """Names of the members of one type that have no text."""
    return [f'{section}: {path}' for (section, path), body in members(facts) if not body.get(DESCRIPTION)]


def add(facts: Mapping[str, Facts], folder: pathlib.Path = FOLDER) -> None:
    """Add the texts of `folder` to the facts of all types. Raises TextError, also for a text that no type uses."""
    found = sorted((entry for path in sorted(folder.glob('*.yaml')) for entry in entries(path)),
                   key=lambda entry: ('*' not in entry.name, -len(entry.name.split()), len(entry.name)), reverse=True)
    for name, body in facts.items():
        _add(name, body, [entry for entry in found if entry.matches(name)])
    for entry in found:
        for section, path in sorted(set(entry.texts) - entry.used):
            raise TextError(f'{entry.where}: {entry.name}, {section}.{path}: expected a name that a type has')


def _add(name: str, facts: Facts, entries: list[TypeTexts]) -> None:
    """`entries`: those that match, the most exact one first."""
    words = {NOUN: HUMP.sub(' ', name.rpartition('::')[2]).lower()}
    for entry in reversed(entries):
        words.update(entry.words)
    for member, body in members(facts):
        having = [entry for entry in entries if member in entry.texts]
        for entry in having:
            entry.used.add(member)
        if having:
            at = f'{having[0].where}: {name}, {".".join(member)}'
            body[DESCRIPTION] = _sentences(having[0].texts[member], words, at)


def _sentences(text: str, words: Mapping[str, str], at: str) -> str:
    unknown = sorted(set(PLACE.findall(text)) - set(words))
    if unknown:
        raise TextError(f'{at}: expected one of the words {", ".join(sorted(words))}, found {unknown[0]!r}')
    found = PLACE.sub(lambda place: words[place[1]], text)
    if not found.endswith('.'):
        raise TextError(f'{at}: expected sentences that end with a full stop, found {found!r}')
    return found


def entries(path: pathlib.Path) -> Iterator[TypeTexts]:
    """The entries of one file. Raises TextError."""
    try:
        source = yaml_lines.read(path.read_text(encoding='utf-8'))
    except yaml_lines.YamlError as error:
        raise TextError(f'{path.name}, line {error.line}: {error}') from None
    for name, body in (source.values or {}).items():
        _check(path.name, source, name, body)
        texts = {(section, str(at)): text for section in SECTIONS for at, text in body.get(section, {}).items()}
        yield TypeTexts(name, f'{path.name}, line {source.line((name,))}', body.get(OWN_WORDS, {}), texts)


def _check(file: str, source: yaml_lines.YamlSource, name: str, body: object) -> None:
    """Raise TextError unless an entry is a map of maps of texts."""
    if not isinstance(body, dict):
        raise TextError(f'{file}, line {source.line((name,))}: {name}: expected a map of {", ".join(KEYS)}')
    for key, texts in body.items():
        at = f'{file}, line {source.line((name, key))}: {name}, {key}'
        if key not in KEYS:
            raise TextError(f'{at}: expected one of {", ".join(KEYS)}')
        if not isinstance(texts, dict) or not all(isinstance(text, str) and text for text in texts.values()):
            raise TextError(f'{at}: expected a map of texts')
