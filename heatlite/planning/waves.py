"""The order of the members of a stack set: which ones are worked on at the same time, and how many may fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

PER_CENT = '%'


def concurrent(text: str, members: int) -> int:
    """Return the size of a wave: at least 1. `text`: a number, or per cent of the members, rounded down."""
    return max(1, tolerated(text, members))


def tolerated(text: str, members: int) -> int:
    """Return how many members may fail: `text` as a number, or as per cent of the members, rounded down."""
    if text.endswith(PER_CENT):
        return members * int(text.removesuffix(PER_CENT)) // 100
    return int(text)


def waves(regions: Mapping[str, str], size: int, order: Sequence[str] = ()) -> list[list[str]]:
    """Return the names of the members in waves of at most `size`.

    `regions`: name of a member -> its region, in the order of the members. `order`: regions that come one after the
    other, before the others; no wave has members of two of them. Without it regions make no difference.
    """
    groups: list[Iterable[str]] = [[name for name, region in regions.items() if region == each] for each in order]
    named = frozenset(order)
    groups.append([name for name, region in regions.items() if region not in named])
    return [wave for group in groups for wave in _slices(group, size)]


def _slices(names: Iterable[str], size: int) -> Iterable[list[str]]:
    rest = iter(names)
    while wave := list(islice(rest, size)):
        yield wave
