"""Bounds of YAQL expressions beyond the ones yaql has. Importing this module loads yaql.

yaql limits elements and memory. A sequence of 200 inside one of 200 inside one of 200 is within both and takes
minutes; so do some patterns and some powers. Here an evaluation has so many calls, no pattern that may try for ever,
and no number grows without bound.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import yaql
from yaql.language import contexts, specs, yaqltypes
from yaql.standard_library import math as arithmetic
from yaql.standard_library import regex as matching

from heatlite.common.i18n import _
from heatlite.common.limits import exceeded
from heatlite.language import patterns

PATTERN_LENGTH = 1000           # characters a pattern inside an expression is judged by
LONGEST_KEPT = 2000             # characters of an expression that is kept parsed
MOST_BITS = 10_000              # of a number: more cannot be shown as text


@functools.lru_cache(maxsize=8)
def engine(iterators: int, memory: int) -> Any:
    """What parses expressions. `iterators`: elements, `memory`: bytes."""
    return yaql.YaqlFactory().create(options={
        'yaql.limitIterators': iterators, 'yaql.memoryQuota': memory, 'yaql.convertInputData': True,
        'yaql.convertOutputData': True})


@functools.lru_cache(maxsize=1)
def _library() -> Any:
    """The standard library with our functions before its own, shared by all evaluations."""
    made = contexts.Context(yaql.create_context())
    for function, declare in FUNCTIONS:
        made.register_function(declare(function))
    return made


def context(calls: int) -> Any:
    """Where one evaluation finds its functions; good for `calls` function calls."""
    return Counting(_library(), budget=[calls, calls])


@functools.lru_cache(maxsize=256)
def _parsed_before(expression: str, iterators: int, memory: int) -> Any:
    return engine(iterators, memory)(expression)


def parsed(expression: str, iterators: int, memory: int) -> Any:
    """The expression, ready to be evaluated any number of times. Raises YaqlException."""
    parse = _parsed_before if len(expression) <= LONGEST_KEPT else _parsed_before.__wrapped__
    return parse(expression, iterators, memory)


class Counting(contexts.Context):  # type: ignore[misc]
    """A context, and all below it, that looks up only so many functions: RequestLimitExceeded."""

    def __init__(self, parent: Any = None, budget: list[int] | None = None, **kwargs: Any) -> None:
        self.budget = budget if budget is not None else parent.budget
        super().__init__(parent, **kwargs)

    def collect_functions(self, *args: Any, **kwargs: Any) -> Any:
        self.budget[0] -= 1
        if self.budget[0] < 0:
            raise exceeded(_('The yaql expression takes more calls'), self.budget[1], '[yaql] call_limit')
        return super().collect_functions(*args, **kwargs)


def _safe(pattern: str) -> str:
    """Raises ValueError for a pattern that may try exponentially often."""
    if patterns.steps(pattern, PATTERN_LENGTH) > patterns.MOST_STEPS_OF_QUERY:
        raise ValueError(_('The pattern "%s" repeats within a repetition and may take for ever') % pattern)
    return pattern


def _regex(pattern: str, ignore_case: bool = False, multi_line: bool = False, dot_all: bool = False) -> Any:
    return matching.regex(_safe(pattern), ignore_case, multi_line, dot_all)


def _matches(string: str, regexp: str) -> Any:
    return matching.matches_(string, _safe(regexp))


def _found(string: str, pattern: str) -> Any:
    return matching.matches_operator_string(string, _safe(pattern))


def _missing(string: str, pattern: str) -> Any:
    return matching.not_matches_operator_string(string, _safe(pattern))


def _power(a: Any, b: Any, c: Any = None) -> Any:
    if c is None and isinstance(a, int) and isinstance(b, int) and b > 0:
        _check_bits(a.bit_length() * b)
    return arithmetic.pow_(a, b, c)


def _shift_left(value: int, bits_number: int) -> Any:
    _check_bits(value.bit_length() + bits_number)
    return arithmetic.shift_bits_left(value, bits_number)


def _check_bits(bits: int) -> None:
    if bits > MOST_BITS:
        raise ValueError(_('The result has more than %d bits') % MOST_BITS)


def _declared(name: str, *, method: bool = False, **types: Any) -> Callable[[Any], Any]:
    """Tells yaql the name and the types of a function's arguments."""
    def declare(function: Any) -> Any:
        definition = specs.get_function_definition(function, name=name)
        for argument, kind in types.items():
            definition.set_parameter(argument, kind, overwrite=True)
        definition.is_method, definition.is_function = method, not method
        return definition
    return declare


TEXT, NUMBER = yaqltypes.String(), yaqltypes.Number()
FUNCTIONS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (_regex, _declared('regex', pattern=TEXT)),
    (_matches, _declared('matches', method=True, string=TEXT, regexp=TEXT)),
    (_found, _declared('#operator_=~', string=TEXT, pattern=TEXT)),
    (_missing, _declared('#operator_!~', string=TEXT, pattern=TEXT)),
    (_power, _declared('pow', a=NUMBER, b=NUMBER, c=yaqltypes.Number(nullable=True))),
    (_shift_left, _declared('shiftBitsLeft', value=yaqltypes.Integer(), bits_number=yaqltypes.Integer())),
)
