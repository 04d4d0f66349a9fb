"""Checks the number of resources of a tree of stacks before any of them is built.

The same rule for creates, updates, signals, batches and previews: a tree of stacks has at most as many resources as its
quota allows, and one nested stack at most `Limits.max_members`.
"""

from __future__ import annotations

from collections.abc import Callable

from heatlite.common import exception, limits


def check(count: int, quota: int) -> None:
    """Raise StackResourceLimitExceeded if `count`, the resources of a whole tree, exceeds `quota` (or UNLIMITED)."""
    if quota != limits.UNLIMITED and count > quota:
        raise exception.StackResourceLimitExceeded()


def check_members(count: int, quota: int, most: int) -> None:
    """Raise RequestLimitExceeded if `count`, the resources of one nested stack, exceeds `most` or `quota`."""
    check(count, quota)
    if count > most:
        raise limits.exceeded('A nested stack has more resources', most, 'max_members_per_group')


def counter(quota: int) -> Callable[[int], None]:
    """Return a function that counts the resources of further stacks of one tree, and raises as `check`."""
    total = 0

    def take(count: int) -> None:
        nonlocal total
        total += count
        check(total, quota)
    return take
