"""A position in the sequence of all events that skips none: which numbers have been read, and which may still appear.

Transactions commit in another order than they take numbers, so a number that is missing may appear later. It is looked
for until `GAP_TIMEOUT` seconds have passed: no transaction lasts that long (a server ends one that is idle for five
seconds, and a lock is waited for at most ten). Numbers that never appear (transactions rolled back, the steps of a
Galera node) are forgotten then. Pure: the time is passed in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heatlite.db.event_stream import Span

GAP_TIMEOUT = 30.0              # seconds
MOST_SPANS = 50                 # in one statement; more are read as one span from the first to the last
MOST_MISSING = 20_000           # spans; beyond, the oldest are forgotten


@dataclass(frozen=True)
class _Gap:
    first: int
    last: int
    until: float                # by the clock of the caller


class EventCursor:
    """`top`: the highest number that was read."""

    def __init__(self, newest: Sequence[int], now: float) -> None:
        """Begin behind `newest`, the last numbers that exist, ascending: those missing among them may appear."""
        self.top = newest[0] if newest else 0
        self._gaps: list[_Gap] = []         # ascending, they do not overlap
        self.pass_over(newest, now)

    @property
    def floor(self) -> int:
        """Everything up to this number has been read, or will never appear: where a reader may resume."""
        return self._gaps[0].first - 1 if self._gaps else self.top

    def wanted(self, now: float) -> list[Span]:
        """Return the spans in which numbers may still appear; at most MOST_SPANS, which may then include numbers
        read."""
        self._gaps = [gap for gap in self._gaps if gap.until > now]
        if len(self._gaps) <= MOST_SPANS:
            return [(gap.first, gap.last) for gap in self._gaps]
        return [(self._gaps[0].first, self._gaps[-1].last)]

    def missing(self, numbers: Iterable[int]) -> list[int]:
        """Those of `numbers` that had been missing."""
        return [number for number in numbers if self._place(number) is not None]

    def fill(self, number: int) -> None:
        """Note that a missing number was read."""
        place = self._place(number)
        if place is None:
            return
        gap = self._gaps[place]
        self._gaps[place:place + 1] = [
            *([_Gap(gap.first, number - 1, gap.until)] if gap.first < number else []),
            *([_Gap(number + 1, gap.last, gap.until)] if number < gap.last else [])]

    def pass_over(self, numbers: Iterable[int], now: float) -> None:
        """Numbers above `top` were read, ascending."""
        for number in numbers:
            self.advance(number, now)

    def advance(self, number: int, now: float) -> None:
        """Note that the next number above `top` was read; those in between are missing."""
        if number > self.top + 1:
            self._gaps.append(_Gap(self.top + 1, number - 1, now + GAP_TIMEOUT))
            del self._gaps[:-MOST_MISSING]
        self.top = max(self.top, number)

    def _place(self, number: int) -> int | None:
        place = bisect_right(self._gaps, number, key=lambda gap: gap.first) - 1
        return place if place >= 0 and self._gaps[place].last >= number else None
