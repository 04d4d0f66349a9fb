"""Measures plain data, and refuses what is too large or what JSON cannot represent."""

from __future__ import annotations

import math
import sys
from typing import Any, Final, TypeVar

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_DIGITS, Bounds, exceeded, is_too_long

VALUES_A_TURN: Final = 2000
LONG_TEXT: Final = 100                  # characters from which on a text is checked once, not at each of its places

Value = TypeVar('Value')


class _Unbounded:
    max_size = max_depth = max_expansion = sys.maxsize


UNBOUNDED: Final = _Unbounded()


def check_size(value: Value, limits: Bounds) -> Value:
    """Return `value` itself, or refuse it.

    Raises RequestLimitExceeded if it nests too deeply or its aliases expand too far, HTTPBadRequest if it contains what
    JSON cannot represent: a number that is not finite or too long, a lone surrogate. Linear in what is stored, however
    often parts of it are shared.
    """
    measure(value, limits)
    return value


def check_text(value: object) -> object:
    """Check as `check_size`, without a limit of the size: for data whose text was limited before it was decoded."""
    measure(value, UNBOUNDED)
    return value


def measure(value: object, limits: Bounds) -> int:
    """Return the number of values (of 16 characters) of `value`, counting shared parts each time. Raises as
    `check_size`.

    Keys count as other texts do: a short one is part of the value of its element. A text beyond ASCII takes up to four
    bytes for each character, and is counted so. The JSON of a document has at most 200 characters for each value
    counted here.
    """
    if type(value) is not dict and type(value) is not list:
        return 1 + _checked(value)
    if not value:
        return 1
    # Plain numbers, not tuples: the garbage collector, which tracks containers only, is not triggered by them.
    sizes: dict[int, int] = {}              # id of a container, or of a long text beyond ASCII -> its expanded size
    depths: dict[int, int] = {}             # the same for containers that contain others: the rest has depth 1
    opened: set[int] = set()                # containers whose children were put on the stack
    stack: list[Any] = [value]
    done = 0
    while stack:
        item = stack[-1]
        ident = id(item)
        if ident in sizes:
            stack.pop()
            continue
        is_map = type(item) is dict
        children = item.values() if is_map else item
        if ident not in opened:
            unknown = [child for child in children
                       if (type(child) is dict or type(child) is list) and id(child) not in sizes]
            if unknown:                     # most have none: they are visited once
                opened.add(ident)
                stack += unknown
                has_itself = not opened.isdisjoint(map(id, unknown))
                if has_itself or len(stack) > limits.max_expansion:
                    raise exceeded(_('The document expands further'), limits.max_expansion, 'max_template_expansion')
                continue
        stack.pop()
        size, depth = 1 + len(item), 0
        for child in children:
            kind = type(child)
            if kind is str:
                size += len(child) >> 4 if child.isascii() else _beyond_ascii(child, sizes)
            elif kind is dict or kind is list:
                size += sizes[id(child)]
                below = depths.get(id(child), 1)
                if below > depth:
                    depth = below
            elif kind is int:
                size += _checked(child)
            elif kind is float:
                _checked(child)
        if is_map:
            for key in item:
                if type(key) is str:
                    size += len(key) >> 4 if key.isascii() else _beyond_ascii(key, sizes)
        sizes[ident] = size
        if depth:
            depths[ident] = depth + 1
        if size > limits.max_expansion:
            raise exceeded(_('The document expands further'), limits.max_expansion, 'max_template_expansion')
        if depth + 1 > limits.max_depth:
            raise exceeded(_('The document nests deeper'), limits.max_depth, 'max_template_depth')
        done += len(item) + 1
        if done >= VALUES_A_TURN:
            turns.spend(done // 8)
            done = 0
    return sizes[id(value)]


def _beyond_ascii(text: str, sizes: dict[int, int]) -> int:
    """Return the size of a text beyond one, as `_checked`. It is encoded for that: one that is shared often, only
    once."""
    if len(text) < LONG_TEXT:
        return _checked(text)
    known = sizes.get(id(text))
    if known is None:
        known = sizes[id(text)] = _checked(text)
    return known


def _checked(value: object) -> int:
    """Return the size of a leaf beyond one. Raises HTTPBadRequest for what JSON cannot represent."""
    if isinstance(value, str):
        if value.isascii():
            return len(value) >> 4
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise exception.HTTPBadRequest(_('A text holds the lone surrogate %s, which is no character')
                                           % ascii(value[error.start])) from None
        return len(value) >> 2
    if isinstance(value, float):
        if not math.isfinite(value):
            raise exception.HTTPBadRequest(_('%s is not a number that JSON knows') % value)
    elif isinstance(value, int):
        if is_too_long(value):
            raise exception.HTTPBadRequest(_('A number has more than %d digits') % MOST_DIGITS)
        return value.bit_length() >> 6              # 19 digits
    return 0
