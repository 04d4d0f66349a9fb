"""Parses JSON, and refuses numbers that JSON does not have: those that are not finite, or too long."""

from __future__ import annotations

import json
import math
from typing import Final, NoReturn

from heatlite.common.i18n import _
from heatlite.common.limits import MOST_DIGITS


class Unfit(ValueError):
    """A number or text that JSON cannot carry."""


def _no_constant(word: str) -> NoReturn:
    raise Unfit(_('%s is not a number that JSON knows') % word)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Unfit(_('"%s" is not a finite number') % digits[:100])
    return number


def _short(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise Unfit(_('a number has more than %d digits') % MOST_DIGITS)
    return int(digits)


_JSON: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
_STRICT_JSON: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite, parse_int=_short)


def loads(text: str) -> object:
    """Parse JSON. Raises ValueError also for values outside of JSON (NaN, Infinity, 1e999) and for too long
    integers."""
    try:
        return _JSON.decode(text)
    except (Unfit, json.JSONDecodeError):
        raise
    except ValueError:                      # the interpreter refuses to convert so many digits
        return _STRICT_JSON.decode(text)
