"""Removes the values of hidden parameters from what is shown, logged or stored as history.

Hidden in a stack are parameters that its template declares so, those whose value came from something hidden in the
parent stack (`encrypted_param_names` of its environment), and texts that were copied from there into its own documents
(`hidden_values`, where an update also adds what was hidden before). So each stack is masked by its own documents, at
any depth.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

from heatlite.language.hiding import HIDDEN_TEXT as TEXT
from heatlite.language.hiding import is_generated

SHORTEST = 4                # characters; a shorter text is masked only where it is the whole value
MOST_KEPT = 100             # values of former requests that remain hidden
NAMES, VALUES = 'encrypted_param_names', 'hidden_values'        # sections of a stored environment


class Mask:
    """Masks values: `mask(value)` is a copy without hidden texts. A mask is false when it hides nothing.

    Costs a search for each hidden text in the value, and nothing without hidden texts.
    """

    def __init__(self, secrets: Iterable[object] = ()) -> None:
        found = {spelled for secret in secrets for text in _texts(secret) for spelled in _spellings(text)}
        self._long = sorted((text for text in found if len(text) >= SHORTEST), key=len, reverse=True)
        self._whole = frozenset(found)

    def __bool__(self) -> bool:
        return bool(self._whole)

    def __or__(self, other: Mask) -> Mask:
        return Mask([*self._whole, *other._whole]) if self and other else self or other

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
        seen = '\n'.join(_texts(value, whole=True))
        found = [text for text in self._long if text in seen]
        return self._masked(value, found)

    def text(self, text: str) -> str:
        """Masks a text."""
        return self(text)

    def within(self, value: object) -> list[str]:
        """Hidden texts that occur in `value`, sorted."""
        if not self:
            return []
        leaves = list(_texts(value, whole=True))
        seen = '\n'.join(leaves)
        return sorted({text for text in self._long if text in seen} | self._whole.intersection(leaves))

    def without(self, other: Mask) -> list[str]:
        """Hidden texts that `other` does not hide, at most MOST_KEPT."""
        return sorted(self._whole - other._whole)[:MOST_KEPT]

    def _masked(self, value: object, found: list[str]) -> object:
        match value:
            case Mapping():
                return {self._key(key, found): self._masked(item, found) for key, item in value.items()}
            case list() | tuple():
                return [self._masked(item, found) for item in value]
            case bool() | None:
                return value
            case str():
                if value in self._whole:
                    return TEXT
                for text in found:
                    value = value.replace(text, TEXT)
                return value
            case int() | float():
                shown = str(value)
                return TEXT if shown in self._whole or any(text in shown for text in found) else value
        return value

    def _key(self, key: object, found: list[str]) -> object:
        return self._masked(key, found) if isinstance(key, str) and len(key) >= SHORTEST else key


def _texts(value: object, whole: bool = False) -> Iterator[str]:
    """The texts and numbers in a value, and keys that may be secrets; `whole` includes all keys."""
    match value:
        case Mapping():
            for key, item in value.items():
                if whole or is_generated(key):
                    yield str(key)
                yield from _texts(item, whole)
        case list() | tuple() | set() | frozenset():
            for item in value:
                yield from _texts(item, whole)
        case bool() | None | '':
            return
        case str():
            yield value
        case int() | float():
            yield str(value)


def _spellings(text: str) -> Iterator[str]:
    """A text as it is and as escaped in JSON; for a list or a JSON text also its parts."""
    yield text
    for ascii_only in (True, False):
        escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        if escaped != text:
            yield escaped


def _is_true(value: object) -> bool:
    return value is True or str(value).lower() in ('true', '1', 'yes', 'on')


def declared(document: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """The parameters that a template declares as hidden (HOT) or NoEcho (CFN), with their definitions."""
    found = document.get('parameters') or document.get('Parameters') or {}
    if not isinstance(found, Mapping):
        return {}
    return {name: schema for name, schema in found.items()
            if isinstance(schema, Mapping) and (_is_true(schema.get('hidden')) or _is_true(schema.get('NoEcho')))}


def hidden_names(document: Mapping[str, object], environment: Mapping[str, Any]) -> set[str]:
    return {*declared(document), *(environment.get(NAMES) or ())}


def of_documents(document: Mapping[str, object], environment: Mapping[str, Any]) -> Mask:
    """The mask of a stack, from its template and its environment as they are stored."""
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
    """A value with its parts, if it is the text of a list or of JSON."""
    if not isinstance(given, str):
        return [given, json.dumps(given)] if isinstance(given, Mapping | list) else [given]
    parts: list[object] = [given, *(part.strip() for part in given.split(',') if len(part.strip()) >= SHORTEST)]
    if given[:1] in '{[':
        with contextlib.suppress(ValueError, RecursionError):
            parts.append(json.loads(given))
    return parts


def inherited(mask: Mask, names: Iterable[str], document: object, parameters: Mapping[str, object],
              defaults: Mapping[str, object]) -> dict[str, list[str]]:
    """The sections of a nested stack's environment that list what is hidden in it.

    `mask`: of the parent stack; `names`: parameters that are hidden there.
    """
    hidden = {name for name, value in parameters.items() if mask.within(value)} | {*names} & defaults.keys()
    values = mask.within([document, parameters, defaults])
    return {**({NAMES: sorted(hidden)} if hidden else {}), **({VALUES: values} if values else {})}


NOTHING = Mask()
