"""Finds what besides its own properties can change a nested stack: the environment, and the files that it may use.

Reads texts without parsing them: the result may contain too much, never too little. A nested stack whose properties
and influences are as before has the definition that it had.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

from heatlite.common import turns
from heatlite.common.template_files import Files
from heatlite.language import registry as registries
from heatlite.language.environment import DEFAULTS, REGISTRY, SINKS, Environment
from heatlite.language.template import is_template_name

WORD = re.compile(r'[^\s"\'\[\]{},]+')
# A value may stand at once behind a quoted key only. An anchor or a tag in front of it has no quote; so no match reads
# what another one begins with, and the work grows with the text.
TYPE = re.compile(r'[tT]ype(?:["\']\s*:\s*|\s*:\s+)(?:[&!][^\s"\']*+\s++)*["\']?([^\s"\',\[\]{}]+)')
TYPE_IN_JSON = re.compile(r'"[tT]ype":"((?:[^"\\]|\\.)*)"')
ESCAPES = ('\\/', '\\x', '\\u', '\\U', '\\\n')      # with them a quoted text may name a file in other characters
SPECIAL = ('.', '/', ':')                           # at least one of them is in the names that are looked for in texts
TYPE_KEYS = frozenset({'type', 'Type'})
TEMPLATE_URL = 'TemplateURL'                        # the property of AWS::CloudFormation::Stack
MOST_SEARCHED = 100                                 # names that are searched for in the text of a whole template
NAMES_A_STEP = 16                                   # looked up in one step of `turns`
CHARACTERS_A_STEP = 4096                            # read by the regular expressions in one step of `turns`


class UnknownFile(Exception):
    """A template is in use whose text is not among the files: one at a URL, or one of the operator."""


class Influence:
    """What the environment and the files of one stack can change in its nested stacks."""

    def __init__(self, environment: Environment, files: Files) -> None:
        sections = environment.shown()
        registry = sections[REGISTRY]
        self._files = files
        self._environment = repr(_ordered([registry, sections[DEFAULTS], sections[SINKS]]))
        self._mapped = _mappings(environment)
        self._known = frozenset(files) | frozenset(self._mapped)
        # Names that are no single word of a text, and what may be in use under any name.
        self._always = {name for name in self._known if not _is_sought(name)}
        self._always.update(*(_texts(each)[0] for each in (sections[DEFAULTS], registry.get(registries.RESOURCES))))

    def on(self, definition: Mapping[str, object]) -> list[str] | None:
        """Return texts that are equal for equal influences on the nested stack of a resource; None: not known.

        `definition`: the resource's type and properties, with functions resolved.
        """
        return self._of(*_texts(definition))

    def on_resources(self, section: Mapping[str, object], document: str) -> list[str] | None:
        """As `on`, for the resources of a whole template: for many of them without a look at each value.

        `document`: the template as JSON in ASCII characters, without blanks."""
        if len(self._known) > MOST_SEARCHED:
            return self.on(section)
        turns.spend(1 + len(document) // CHARACTERS_A_STEP)
        return self._of({name for name in (*self._known, TEMPLATE_URL) if json.dumps(name) in document},
                        {json.loads(f'"{name}"') for name in set(TYPE_IN_JSON.findall(document))})

    def _of(self, words: set[str], types: set[str]) -> list[str] | None:
        if TEMPLATE_URL in words:
            return None
        try:
            for name in types:
                self._check_at_hand(name)
            names = sorted(self._closure(words | self._always))
        except UnknownFile:
            return None
        return [self._environment, *(
            text for name in names for text in (name, self._mapped.get(name, ''), self._digest(name)))]

    def _closure(self, words: set[str]) -> set[str]:
        """Return the files and mapped names that these words lead to, directly or through types and other files."""
        seen: set[str] = set()
        waiting = words & self._known
        has_all = False                 # all known names are in `seen` or `waiting`
        while waiting:
            name = waiting.pop()
            seen.add(name)
            target = self._mapped.get(name)
            if target is not None:
                self._check_at_hand(target)
                waiting |= {target} - seen
            mentioned: frozenset[str] | None = self._mentioned(name) if name in self._files else frozenset()
            turns.spend(1 + (0 if mentioned is None else min(len(mentioned), len(self._known)) // NAMES_A_STEP))
            if not has_all:
                has_all = mentioned is None
                waiting |= (self._known if mentioned is None else self._known.intersection(mentioned)) - seen
        return seen

    def _check_at_hand(self, type_name: str) -> None:
        if '\\' in type_name or type_name.startswith('*') or (
                is_template_name(type_name) and type_name not in self._files):
            raise UnknownFile(type_name)

    def _mentioned(self, name: str) -> frozenset[str] | None:
        """Return the words of a file that may be names; None for any name."""
        words, types = _reading(self._files, name)
        for each in types:
            self._check_at_hand(each)
        if TEMPLATE_URL in types:
            raise UnknownFile(name)
        return words

    def _digest(self, name: str) -> str:
        """Return the digest of a file; empty for a name that is no file."""
        if name not in self._files:
            return ''
        digests = self._files.digests
        if name not in digests:
            digests[name] = hashlib.sha256(self._files[name].encode('utf-8', 'surrogatepass')).hexdigest()
        return digests[name]


def _reading(files: Files, name: str) -> tuple[frozenset[str] | None, frozenset[str]]:
    """Return the words of a file that may be names, None for any name, and what it uses as types.

    Each file is read once for all stacks of a tree.
    """
    if name not in files.readings:
        text = files[name]
        turns.spend(1 + len(text) // CHARACTERS_A_STEP)
        words = None if any(each in text for each in ESCAPES) else frozenset(
            word for word in map(_without_colon, WORD.findall(text)) if _is_sought(word))
        types = {*TYPE.findall(text), *([TEMPLATE_URL] if TEMPLATE_URL in text else ())}
        files.readings[name] = words, frozenset(types)
    return files.readings[name]


def _is_sought(name: str) -> bool:
    return any(each in name for each in SPECIAL) and '*' not in name and WORD.fullmatch(name) is not None


def _without_colon(word: str) -> str:
    return word[:-1] if word.endswith(':') else word


def _texts(value: object) -> tuple[set[str], set[str]]:
    """Return all texts in nested lists and maps, keys included, and those that stand under a key `type` or `Type`."""
    texts: set[str] = set()
    types: set[str] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            texts.add(each)
        elif isinstance(each, dict | Mapping):
            for key, inside in each.items():
                if isinstance(key, str):
                    texts.add(key)
                if not isinstance(inside, str):
                    waiting.append(inside)
                else:
                    texts.add(inside)
                    if key in TYPE_KEYS:
                        types.add(inside)
        elif isinstance(each, list | tuple):
            waiting += each
    return texts, types


def _mappings(environment: Environment) -> dict[str, str]:
    """Return {name: target} of entries that map a type name to another name or to a template; the user's prevail."""
    found: dict[str, str] = {}
    level: registries.Registry | None = environment.registry
    while level is not None:
        found = {**level.mappings, **found}
        level = level.behind
    return found


def _ordered(value: object) -> object:
    """Return `value` with the entries of maps in order, so that equal values have equal texts."""
    if isinstance(value, Mapping):
        return [(str(key), _ordered(value[key])) for key in sorted(value, key=str)]
    return [_ordered(each) for each in value] if isinstance(value, list | tuple) else value
