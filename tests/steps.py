"""Counts the steps of pure work, so that tests can compare costs without a clock."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

SPARE = 2.5             # a linear cost doubles with its input; a part of it is constant, a dictionary grows in leaps


class TooMany(AssertionError):
    """The work calls more functions than it may."""


def calls(work: Callable[[], object], most: float = math.inf) -> int:
    """Return how many functions the work calls, those in C and each resumption of a generator included.

    Raises TooMany beyond `most`, so that a test of quadratic work ends.
    """
    found = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal found
        found += event in ('call', 'c_call')
        if found > most:
            sys.setprofile(before)
            raise TooMany(f'more than {most} calls')

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Whether twice the size costs about twice the steps, or none worth counting."""
    work(1)                                         # what is made once, such as compiled patterns
    once, twice = calls(lambda: work(size)), calls(lambda: work(2 * size))
    return twice <= SPARE * once + 1000
