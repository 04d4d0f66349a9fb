"""Removes the values of hidden parameters from what is shown, logged or stored as history.

Hidden in a stack are parameters that its template declares so, those whose value came from something hidden in the
parent stack (`encrypted_param_names` of its environment), and texts that were copied from there into its own documents
(`hidden_values`, where an update also adds what was hidden before). So each stack is masked by its own documents, at
any depth.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, overload

from heatlite.common import turns
from heatlite.language import text_index
from heatlite.language.hiding import HIDDEN_TEXT as TEXT
from heatlite.language.hiding import is_generated, is_hidden
from heatlite.language.text_index import TextIndex

SHORTEST = text_index.BEGINNING     # characters; a shorter text is masked only where it is the whole value
FEW = 100                           # hidden texts that are searched one after the other in a value of any size
QUICK = 1_000_000                   # characters that are compared, at most, for more of them
SEARCH = 50                         # characters that are compared in the time in which a search begins
CHARACTERS_A_STEP = 10_000          # that a search compares in one step of `turns`
VALUES_A_STEP = 8
DELETE = '\x7f'             # the only ASCII character that JSON has in two spellings
MOST_KEPT = 100             # values of former requests that remain hidden
NAMES, VALUES = 'encrypted_param_names', 'hidden_values'        # sections of a stored environment


class Mask:
    """Masks values: `mask(value)` is a copy without hidden texts. A mask is false when it hides nothing.

    Costs a step for some characters of a value, however many texts are hidden, and nothing without hidden texts.
    """

    def __init__(self, secrets: Iterable[object] = ()) -> None:
        self._hide({spelled for secret in secrets for text in ((secret,) if isinstance(secret, str) else _texts(secret))
                    if text for spelled in _spellings(text)})

    def _hide(self, found: Collection[str]) -> None:
        self._long = sorted((text for text in found if len(text) >= SHORTEST), key=lambda text: (-len(text), text))
        self._whole = frozenset(found)
        self._all: TextIndex | None = None

    def __bool__(self) -> bool:
        return bool(self._whole)

    def prepare(self) -> None:
        """Make the index of many texts now. For a mask of log lines, in which no other thread may run meanwhile."""
        if len(self._long) > FEW:
            self._all = self._index

    def __or__(self, other: Mask) -> Mask:
        if not self or not other:
            return self or other
        made = Mask()
        made._hide(self._whole | other._whole)
        return made

    @property
    def _index(self) -> TextIndex:
        """The index of all texts, made at the first use, or by `prepare`: few masks need it."""
        if self._all is None:
            self._all = TextIndex(self._long)
        return self._all

    @overload
    def __call__(self, value: str) -> str: ...

    @overload
    def __call__(self, value: Mapping[str, object]) -> Mapping[str, object]: ...

    @overload
    def __call__(self, value: Mapping[str, object] | None) -> Mapping[str, object] | None: ...

    @overload
    def __call__(self, value: list[object] | tuple[object, ...]) -> list[object]: ...

    @overload
    def __call__(self, value: object) -> object: ...

    def __call__(self, value: object) -> object:
        if not self:
            return value
        seen = value if isinstance(value, str) else '\n'.join(_texts(value, whole=True))
        return self._masked(value, self._found(seen) if self._searches_each(seen) else None)

    def text(self, text: str) -> str:
        """Masks a text."""
        return self(text)

    def within(self, value: object) -> list[str]:
        """Hidden texts that occur in `value`, sorted."""
        if not self:
            return []
        leaves = list(_texts(value, whole=True))
        seen = '\n'.join(leaves)
        found = self._found(seen) if self._searches_each(seen) else self._index.within(seen)
        return sorted(self._whole.intersection(leaves).union(found))

    def without(self, other: Mask) -> list[str]:
        """Hidden texts that `other` does not hide, at most MOST_KEPT."""
        return sorted(self._whole - other._whole)[:MOST_KEPT]

    def _searches_each(self, seen: str) -> bool:
        """Whether a search for each hidden text takes less time than the index of all."""
        return len(self._long) <= FEW or len(self._long) * (SEARCH + len(seen)) <= QUICK

    def _found(self, seen: str) -> list[str]:
        turns.spend(1 + len(self._long) * (SEARCH + len(seen)) // CHARACTERS_A_STEP)
        return [text for text in self._long if text in seen]

    def _masked(self, value: object, found: list[str] | None) -> object:
        """Return a copy of `value` without the texts `found` in it; None: they are in the index."""
        if isinstance(value, str):
            if value in self._whole:
                return TEXT
            if found is None:
                return self._index.replaced(value, TEXT)
            for text in found:
                value = value.replace(text, TEXT)
            return value
        if isinstance(value, dict | Mapping):
            turns.spend(1 + len(value) // VALUES_A_STEP * (1 + len(found or ())))
            return {self._key(key, found): self._masked(item, found) for key, item in value.items()}
        if isinstance(value, list | tuple):
            turns.spend(1 + len(value) // VALUES_A_STEP * (1 + len(found or ())))
            return [self._masked(item, found) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            shown = str(value)
            return TEXT if self._masked(shown, found) != shown else value
        return value

    def _key(self, key: object, found: list[str] | None) -> object:
        return self._masked(key, found) if isinstance(key, str) and len(key) >= SHORTEST else key


def _texts(value: object, whole: bool = False) -> Iterator[str]:
    """Yield the texts and numbers in a value, and keys that may be secrets; `whole` includes all keys. At any depth: a
    hidden text may be JSON that nests deeper than documents do."""
    waiting: list[Iterator[object]] = [iter((value,))]
    while waiting:
        for each in waiting[-1]:
            if isinstance(each, str):
                if each:
                    yield each
            elif isinstance(each, dict | Mapping):
                waiting.append(_entries(each, whole))
                break
            elif isinstance(each, list | tuple | set | frozenset):
                waiting.append(iter(each))
                break
            elif isinstance(each, int | float) and not isinstance(each, bool):
                yield str(each)
        else:
            waiting.pop()
            turns.spend()


def _entries(value: Mapping[object, object], whole: bool) -> Iterator[object]:
    """Yield the keys, those that may be secrets or the `whole` of them, each before its value."""
    for key, item in value.items():
        if whole or is_generated(key):
            yield str(key)
        yield item


def _spellings(text: str) -> Iterator[str]:
    """Yield a text as it is, as escaped in JSON, and in JSON that is itself a text in JSON."""
    yield text
    for escaped in _escaped(text):
        yield escaped
        yield from _escaped(escaped)


def _escaped(text: str) -> Iterator[str]:
    """Yield the spellings of a text in JSON that differ from it."""
    turns.spend()
    has_one = text.isascii() and DELETE not in text
    for ascii_only in (True,) if has_one else (True, False):
        escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        if escaped != text:
            yield escaped


def declared(document: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """Return the parameters that a template declares as hidden (HOT) or NoEcho (CFN), with their definitions."""
    found = document.get('parameters') or document.get('Parameters') or {}
    if not isinstance(found, Mapping):
        return {}
    return {name: schema for name, schema in found.items()
            if isinstance(schema, Mapping) and is_hidden(schema)}


def hidden_names(document: Mapping[str, object], environment: Mapping[str, Any]) -> set[str]:
    return {*declared(document), *(environment.get(NAMES) or ())}


def of_documents(document: Mapping[str, object], environment: Mapping[str, Any]) -> Mask:
    """Return the mask of a stack, from its template and its environment as they are stored."""
    own = declared(document)
    secrets: list[object] = list(environment.get(VALUES) or ())
    for name in {*own, *(environment.get(NAMES) or ())}:
        schema = own.get(name, {})
        for given in ((environment.get('parameters') or {}).get(name),
                      (environment.get('parameter_defaults') or {}).get(name),
                      schema.get('default', schema.get('Default'))):
            secrets += _parts(given)
    return Mask(secrets) if secrets else NOTHING


def _parts(given: object) -> list[object]:
    """Return a value with its parts, if it is the text of a list or of JSON."""
    if not isinstance(given, str):
        return [given, json.dumps(given)] if isinstance(given, Mapping | list) else [given]
    parts: list[object] = [given, *(part.strip() for part in given.split(',') if len(part.strip()) >= SHORTEST)]
    if given[:1] in '{[':
        with contextlib.suppress(ValueError, RecursionError):
            parts.append(json.loads(given))
    return parts


def inherited(mask: Mask, names: Iterable[str], document: object, parameters: Mapping[str, object],
              defaults: Mapping[str, object]) -> dict[str, list[str]]:
    """Return the sections of a nested stack's environment that list what is hidden in it.

    `mask`: of the parent stack; `names`: parameters that are hidden there.
    """
    hidden = {name for name, value in parameters.items() if mask.within(value)} | {*names} & defaults.keys()
    values = mask.within([document, parameters, defaults])
    return {**({NAMES: sorted(hidden)} if hidden else {}), **({VALUES: values} if values else {})}


NOTHING = Mask()
