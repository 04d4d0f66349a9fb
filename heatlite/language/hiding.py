"""Removes the values of hidden parameters from texts for people: errors, previews, logs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

HIDDEN_TEXT = '******'
SHORT = 4                       # characters; a shorter value is masked only where it is a separate word
BEGINNING = 50                  # characters of a secret by which it is found where a message has truncated it
LEAST_KEY = 20                  # characters of a key of a hidden map that is taken for a secret
DIGITS_OF_KEY = 10              # and of so many characters one is a digit at least: names have fewer
MOST_VALUES = 1000              # texts of a hidden map or list that are searched


FALSE_WORDS = frozenset({'false', 'no', 'off', 'n', 'f', '0', ''})


def is_hidden(definition: Mapping[str, object]) -> bool:
    """Whether the definition of a parameter hides its values. The only function that decides this.

    As in Heat, `hidden` (HOT) is true for all values but false, null, 0 and what is empty: for the texts `y` and
    `no` it is true. `NoEcho` (CFN) is false for the texts FALSE_WORDS, too; in Heat it is for all but `true`, so that
    values are shown that were meant to be hidden (`yes` in quotes, 1).
    """
    return bool(definition.get('hidden')) or is_set(definition.get('NoEcho'))


def is_set(flag: object) -> bool:
    """Whether a flag of a definition, which may be a text, is set: it is for every text but FALSE_WORDS."""
    return flag.strip().lower() not in FALSE_WORDS if isinstance(flag, str) else bool(flag)


def texts_of(values: Iterable[object]) -> tuple[str, ...]:
    """All texts in which one of `values`, or a part of it, may appear in an error; longest first."""
    found: set[str] = set()
    for value in values:
        for leaf in _leaves(value):
            if len(found) > MOST_VALUES:
                break
            found |= {leaf, json.dumps(leaf)[1:-1], repr(leaf)[1:-1]}
    return tuple(sorted(found - {''}, key=len, reverse=True))


def is_generated(key: object) -> bool:
    """Whether a key of a hidden map may itself be a secret: long, of letters and digits without a separator, as tokens
    are. Other keys are names (`password`, `db_host_1`), which would be masked in all texts of the stack."""
    return (isinstance(key, str) and len(key) >= LEAST_KEY and key.isalnum() and not key.isdigit()
            and sum(map(str.isdigit, key)) * DIGITS_OF_KEY >= len(key))


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if is_generated(key):
                yield key
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value
        yield value.lower()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def masked(text: str, secrets: Iterable[str]) -> str:
    """`text` without any of `secrets`."""
    for secret in secrets:
        if secret not in text:
            text = _without_beginning(text, secret)
        elif len(secret) >= SHORT:
            text = text.replace(secret, HIDDEN_TEXT)
        else:
            text = re.sub(rf'(?<!\w){re.escape(secret)}(?!\w)', HIDDEN_TEXT, text)
    return text


def _without_beginning(text: str, secret: str) -> str:
    """Remove truncated secrets: messages truncate long values."""
    start = text.find(secret[:BEGINNING]) if len(secret) > BEGINNING else -1
    while start >= 0:
        end = start + BEGINNING
        while end < len(text) and end - start < len(secret) and text[end] == secret[end - start]:
            end += 1
        text = f'{text[:start]}{HIDDEN_TEXT}{text[end:]}'
        start = text.find(secret[:BEGINNING], start + len(HIDDEN_TEXT))
    return text
