"""Counts what a stack is to have inside before any of it is built.

One rule for creates, updates, signals, batches and previews: a tree of stacks has at most as many resources as its
quota allows, and without a quota one nested stack has at most `Limits.max_members`.
"""

from __future__ import annotations

from heatlite.common import exception, limits

UNLIMITED = -1


def check(count: int, quota: int) -> None:
    """`count`: resources of a whole tree. Raises StackResourceLimitExceeded beyond `quota` (UNLIMITED: never)."""
    if quota != UNLIMITED and count > quota:
        raise exception.StackResourceLimitExceeded()


def check_members(count: int, quota: int, most: int) -> None:
    """`count`: resources of one nested stack. Raises RequestLimitExceeded beyond `most` or `quota`."""
    check(count, quota)
    if count > most:
        raise limits.exceeded('A nested stack has more resources', most, 'max_members_per_group')
