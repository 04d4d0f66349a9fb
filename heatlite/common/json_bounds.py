"""Finds from the text of a JSON value that it keeps to the limits of a document, without a look at each value in it.

Operations on the whole text take a tenth of the time of `document_size.measure`. They give upper bounds: what keeps
to the limits by them need not be measured.
"""

from __future__ import annotations

import re
from typing import Final

from heatlite.common import turns
from heatlite.common.limits import MOST_DIGITS, Bounds

MOST_ROUNDS: Final = 50                 # of taking away the innermost brackets; deeper values are measured
BYTES_A_STEP: Final = 16384             # that are read in one step of `turns`
MOST_GROWTH: Final = 5                  # characters that `json.dumps` writes for a byte: 1e15 has 18
_ALL_BUT_SHAPE: Final = bytes(each for each in range(256) if each not in b'"[]{}')
_UNFIT: Final = b'\\ud', b'\\uD', b'NaN', b'Infinity'     # perhaps a lone surrogate or what is no number of JSON
_STRING: Final = re.compile(rb'"[^"]*"')


def keeps_to(text: bytes, limits: Bounds) -> bool:
    """Whether the value of `text`, in which `json.loads` finds no number beyond those of a float, certainly passes
    `document_size.check_size`. False: it is not known."""
    turns.spend(1 + len(text) // BYTES_A_STEP)
    return (_values(text) <= limits.max_expansion and not any(unfit in text for unfit in _UNFIT)
            and not _has_long_number(text) and _depth(text) <= limits.max_depth)


def most_characters(text: bytes) -> int:
    """Return at least the number of characters that `json.dumps` writes for the value of `text`."""
    return MOST_GROWTH * len(text)


def _values(text: bytes) -> int:
    """Return at least the number of values (of 16 characters) that `measure` counts.

    A map or list is one value and has one more element than commas. A text beyond ASCII counts four times."""
    size = len(text) // (16 if text.isascii() and b'\\u' not in text else 4)
    return 1 + text.count(b',') + 2 * (text.count(b'{') + text.count(b'[')) + size


def _has_long_number(text: bytes) -> bool:
    """Whether there are more than MOST_DIGITS digits in a row: they are at one of the places that are looked at."""
    for place in range(0, len(text), MOST_DIGITS):
        after = _digits(text[place:place + MOST_DIGITS + 1])
        if after and after + _digits(text[max(0, place - MOST_DIGITS):place][::-1]) > MOST_DIGITS:
            return True
    return False


def _digits(text: bytes) -> int:
    """Return how many digits the text begins with."""
    return len(text) - len(text.lstrip(b'0123456789'))


def _depth(text: bytes) -> float:
    """Return at least the nesting of the value; infinity if that takes too long to find."""
    shape = text.replace(b'\\\\', b'').replace(b'\\"', b'').translate(None, _ALL_BUT_SHAPE).replace(b'""', b'')
    if b'"' in shape:                       # texts with brackets in them
        shape = _STRING.sub(b'', shape)
    for rounds in range(MOST_ROUNDS):
        if not shape:
            return 2 * rounds
        shape = shape.replace(b'{}', b'').replace(b'[]', b'')       # the innermost two levels, at most
    return float('inf')
