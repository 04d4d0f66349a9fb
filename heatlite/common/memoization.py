"""Memoizes functions whose results are small: clients that wait for a stack, and dashboards, read the same rows many
times while nothing changes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

T = TypeVar('T')
Given = TypeVarTuple('Given')


class _TooLarge(Exception):
    """Carries a result, its argument, through the cache, which has no errors."""


def memoized(make: Callable[[*Given], T], most: int, is_small: Callable[[T, *Given], bool]) -> Callable[[*Given], T]:
    """Return `make`, which keeps the `most` results that were asked for last, with their arguments.

    `make` depends on nothing but its arguments, which are hashable; each caller gets the same object, and must not
    change it. `is_small(result, *arguments)` bounds the memory: what is not small is made each time. So are errors.
    Threads of all kinds may call it.
    """

    @functools.lru_cache(most)
    def kept(*given: *Given) -> T:
        result = make(*given)
        if not is_small(result, *given):
            raise _TooLarge(result)
        return result

    @functools.wraps(make)
    def memoizing(*given: *Given) -> T:
        try:
            return kept(*given)
        except _TooLarge as error:
            result: T = error.args[0]
            return result

    return memoizing
