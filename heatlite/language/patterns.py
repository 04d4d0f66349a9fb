"""Regular expressions users write, matched within bounds: a pattern can be made to try for years."""

from __future__ import annotations

import functools
import math
import re
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import regex

from heatlite.common.i18n import _

SECONDS = 1.0                   # for one match of a pattern that may take long
MOST_STEPS = math.log(1e6)      # estimated steps (their logarithm) up to which a pattern is matched without a watch
MOST_STEPS_OF_QUERY = math.log(1e30)     # up to about ten free repetitions, none in another


def match_end(pattern: str, text: str) -> int:
    """Where the match of `pattern` at the start of `text` ends; -1 without a match.

    Raises ValueError when it takes longer than `SECONDS`.
    """
    if steps(pattern, len(text)) <= MOST_STEPS:
        found = re.match(pattern, text)
        return found.end() if found else -1
    try:
        slow = regex.match(pattern, text, timeout=SECONDS)
    except TimeoutError:
        raise ValueError(_('The pattern "%(pattern)s" took longer than the %(limit)s s one match may take')
                         % {'pattern': pattern, 'limit': SECONDS}) from None
    except regex.error as error:
        raise ValueError(_('The pattern "%(pattern)s" cannot be matched within bounds: %(error)s')
                         % {'pattern': pattern, 'error': error}) from None
    return slow.end() if slow else -1


@functools.lru_cache(maxsize=1000)
def steps(pattern: str, length: int) -> float:
    """The logarithm of how many steps matching a text of `length` characters may take, estimated from above.

    Every place where the pattern leaves a choice multiplies; a choice inside a repetition multiplies with each turn.
    Raises re.error.
    """
    return _sequence(parser.parse(pattern), max(length, 1))


def _sequence(parsed: Any, length: int) -> float:
    return sum(_one(opcode, argument, length) for opcode, argument in parsed)


def _one(opcode: Any, argument: Any, length: int) -> float:
    if opcode in (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT):
        low, high, inner = argument
        turns = length + 1 if high == opcodes.MAXREPEAT else min(int(high), length + 1)
        return _sequence(inner, length) * turns + math.log(max(turns - int(low) + 1, 1))
    if opcode is opcodes.BRANCH:
        return math.log(sum(math.exp(min(_sequence(branch, length), 500.0)) for branch in argument[1]))
    if opcode is opcodes.SUBPATTERN:
        return _sequence(argument[3], length)
    if opcode in (opcodes.ASSERT, opcodes.ASSERT_NOT):
        return _sequence(argument[1], length)
    if opcode is opcodes.ATOMIC_GROUP:
        return _sequence(argument, length)
    if opcode is opcodes.GROUPREF_EXISTS:
        return sum(_sequence(part, length) for part in argument[1:] if part is not None)
    return 0.0
