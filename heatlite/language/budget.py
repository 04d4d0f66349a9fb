"""Limits what one evaluation may still produce and compute: one budget for all its functions, patterns and copies.

An evaluation is the properties of one resource, the value of one output, or a check. Code that makes text or structures
takes their size from the budget before it makes them; code that loops takes its steps, which also lets other green
threads run (`common.turns`). A `Ledger` limits what all resources, or all outputs, of one definition may produce
together.

The budget of an evaluation is stored in the context of the green thread, so interleaved evaluations do not mix.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from heatlite.common import turns
from heatlite.common.i18n import _
from heatlite.common.limits import USUAL, Limits, exceeded

ITEM: Final = 16            # size of a container, and of each place in it, in addition to the characters of its texts
_NOTHING: Final = (0, 0)
_COUNTED: Final = 1024      # characters or steps from which on an evaluation gets an entry in a ledger


class Budget:
    """The remaining budget of one evaluation.

    `size`: characters (an item counts `ITEM`), `steps`: of about a microsecond, `matching`: milliseconds of patterns
    that are matched under a time-out.
    """

    __slots__ = ('limits', 'matching', 'size', 'steps')

    def __init__(self, limits: Limits, size: int = sys.maxsize, steps: int = sys.maxsize) -> None:
        self.limits = limits
        self.size = min(size, limits.max_evaluation_result)
        self.steps = min(steps, limits.max_evaluation_steps)
        self.matching = limits.max_matching_time

    def make(self, function: str, size: int) -> None:
        """Take the size of a value before it is made. Raises RequestLimitExceeded."""
        self.size -= size
        if self.size < 0:
            raise exceeded(_('"%s" makes this evaluation larger') % function, self.limits.max_evaluation_result,
                           'max_evaluation_result')

    def make_text(self, function: str, length: int, is_ascii: bool = True) -> None:
        """Take the size of a text.

        Beyond ASCII a character takes up to four bytes. One call makes at most `max_result`.
        """
        if length > self.limits.max_result:
            raise exceeded(_('"%s" gives more') % function, self.limits.max_result, 'max_function_result')
        self.make(function, length if is_ascii else 4 * length)

    def make_items(self, function: str, count: int) -> None:
        """Take the size of a list or map. One call makes at most `max_result` items."""
        if count > self.limits.max_result:
            raise exceeded(_('"%s" gives more') % function, self.limits.max_result, 'max_function_result')
        self.make(function, ITEM * (count + 1))

    def hold(self, values: int) -> None:
        """Take the size of the whole result.

        `values`: their number, counting shared ones each time (`document.measure`).
        """
        if ITEM * values > _COUNTED:
            self.make(_('the result'), ITEM * values)

    def work(self, function: str, steps: int) -> None:
        """Take steps. Raises RequestLimitExceeded. May switch green threads."""
        self.steps -= steps
        if self.steps < 0:
            raise exceeded(_('"%s" makes this evaluation longer') % function, self.limits.max_evaluation_steps,
                           'max_evaluation_steps')
        turns.spend(steps)

    def match(self, milliseconds: int) -> None:
        """Take the time that a pattern may be matched for. Raises RequestLimitExceeded."""
        self.matching -= milliseconds
        if self.matching < 0:
            raise exceeded(_('The patterns of this evaluation take longer'), self.limits.max_matching_time,
                           'max_matching_time')
        turns.spend(milliseconds * 1000)


_current: ContextVar[Budget | None] = ContextVar('budget', default=None)


def current() -> Budget | None:
    """Return the budget of the evaluation that runs in this green thread; None outside of one."""
    return _current.get()


def here(limits: Limits = USUAL) -> Budget:
    """Return the current budget, or a new one outside of an evaluation."""
    return _current.get() or Budget(limits)


@contextmanager
def shared(limits: Limits = USUAL, parts: int = 0) -> Iterator[Budget]:
    """Use one budget for the whole block: the current one if there is any.

    `parts`: the number of resources that are checked in it; each adds `max_steps_per_resource`.
    """
    found = _current.get()
    if found is not None:
        yield found
        return
    made = Budget(limits)
    made.steps += parts * limits.max_steps_per_resource
    token = _current.set(made)
    try:
        yield made
    finally:
        _current.reset(token)


@contextmanager
def own(made: Budget) -> Iterator[Budget]:
    """Use this budget for the whole block."""
    token = _current.set(made)
    try:
        yield made
    finally:
        _current.reset(token)


class Ledger:
    """What the parts of one definition have produced, counting the last evaluation of each.

    `parts`: their number. All together may produce `max_evaluation_result` and, for each part,
    `max_result_per_resource`; steps are limited in the same way.
    """

    def __init__(self, limits: Limits, parts: int) -> None:
        self.limits = limits
        self._size = limits.max_evaluation_result + parts * limits.max_result_per_resource
        self._steps = limits.max_evaluation_steps + parts * limits.max_steps_per_resource
        self._made: dict[Hashable, tuple[int, int]] = {}

    def evaluation(self, part: Hashable) -> _Evaluation:
        """Return the evaluation of one part, with a budget of its own, for a `with` block.

        Its costs are recorded however it ends.
        """
        return _Evaluation(self, part)


class _Evaluation:
    """`with` gives the budget. A class, since there is one for each resource: a generator takes three times as long."""

    __slots__ = ('_before', '_budget', '_given', '_ledger', '_outer', '_part', '_token')

    def __init__(self, ledger: Ledger, part: Hashable) -> None:
        self._ledger, self._part = ledger, part

    def __enter__(self) -> Budget:
        ledger = self._ledger
        self._before = before = ledger._made.get(self._part, _NOTHING)
        self._budget = made = Budget(ledger.limits, ledger._size + before[0], ledger._steps + before[1])
        self._given = made.size, made.steps
        self._outer = _current.get()
        self._token = _current.set(made)
        return made

    def __exit__(self, *_error: object) -> None:
        _current.reset(self._token)
        ledger, made = self._ledger, self._budget
        size, steps = self._given[0] - made.size, self._given[1] - made.steps
        if size >= _COUNTED or steps >= _COUNTED or self._before is not _NOTHING:
            ledger._made[self._part] = size, steps
            ledger._size += self._before[0] - size
            ledger._steps += self._before[1] - steps
            if self._outer is not None:
                self._outer.steps -= steps


def text_size(text: str) -> int:
    """Return the size that a text counts."""
    return len(text) if text.isascii() else 4 * len(text)


def work(function: str, steps: int) -> None:
    """Take steps from the current budget, if there is one, and let other green threads run."""
    found = _current.get()
    if found is not None:
        found.work(function, steps)
    else:
        turns.spend(steps)


def frozen(value: Any) -> object:
    """Return a hashable copy of plain data: equal for equal data, and only for it.

    Comparing many structures with each other would cost the product of their number and size. So would a set of values
    whose hashes users can choose: those of numbers (-1 and -2 have the same, and so has every 2 ** 61 - 1st integer),
    and those of sequences of nothing but such values. Numbers, null and the kinds of containers therefore become bytes,
    whose hashes depend, as those of texts, on a secret of the process.
    """
    kind = type(value)
    if kind is str:
        return value
    if kind is dict:
        turns.spend(1 + len(value) // 8)
        return b'map', frozenset([(frozen(key), frozen(item)) for key, item in value.items()])
    if kind is list:
        turns.spend(1 + len(value) // 8)
        return (b'list', *[frozen(item) for item in value])
    if isinstance(value, int) or (kind is float and value.is_integer()):
        return b'%x' % int(value)               # equal numbers of all kinds alike; hexadecimal takes linear time
    if kind is float and value == value:
        return repr(value).encode()
    return b'null' if value is None else value
