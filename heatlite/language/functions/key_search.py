"""Finds the places of keys in a text as if one key after the other was replaced in their order.

A key is found in what lies between the places of the keys before it. The text is scanned once, from left to right, for
the longest key at each position. That gives the same places except where a key that precedes in the order begins inside
of a match: only such a group of overlapping matches is searched key by key.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from heatlite.language import budget as budgets

STEPS_A_TURN = 200
QUICK = 4_000_000               # comparisons of characters that one pattern of all keys makes in milliseconds
COMPARED_A_STEP = 500           # of these
LONGEST_PATTERN = 5000          # characters of all keys in such a pattern
COMPARED = 16                   # characters of a key that show whether another one may begin inside of it


def places(function: str, text: str, keys: list[str]) -> Iterator[tuple[int, str]]:
    """Find the places of `keys`, from left to right: (start, key). `keys`: in their order, the longest first.

    Takes the steps of the search from the budget of the evaluation. Raises RequestLimitExceeded.
    """
    search = _Search(function, text, keys)
    start = 0
    while (found := search.first(start)) is not None:
        at, key = found
        end = search.end_of_overlaps(at, key)
        if end == at + len(key):
            yield found
        else:
            yield from sorted(search.one_by_one(at, end))
        start = end
    search.finish()


def compared(text: str, keys: list[str]) -> int:
    """Return how many characters one pattern of all keys compares at most; more than QUICK for what is not worth it.

    It compares the keys that may begin at a place, in the worst case all of their characters.
    """
    if sum(map(len, keys)) > LONGEST_PATTERN or len(text) * len(keys) > QUICK:
        return QUICK + 1
    of_first: dict[str, int] = {}               # first character -> characters of the keys that begin with it
    for key in keys:
        of_first[key[0]] = of_first.get(key[0], 0) + len(key)
    return sum(text.count(first) * length for first, length in of_first.items())


class _Search:
    """The search in one text."""

    def __init__(self, function: str, text: str, keys: list[str]) -> None:
        self._function, self._text, self._keys = function, text, keys
        self._order = {key: place for place, key in enumerate(keys)}
        self._lengths: dict[str, list[int]] = {}        # first character -> lengths of keys with it, longest first
        for key in keys:
            known = self._lengths.setdefault(key[0], [])
            if not known or known[-1] != len(key):
                known.append(len(key))
        self._sorted = sorted(keys)
        self._inside: dict[str, list[int]] = {}         # key -> offsets at which another one may begin
        self._steps = len(text) // COMPARED_A_STEP
        self._pattern: re.Pattern[str] | None = None    # of all keys, if it is quick
        work = compared(text, keys)
        if work <= QUICK:
            self._steps += 1 + sum(map(len, keys)) + work // COMPARED_A_STEP
            self._pattern = re.compile('|'.join([re.escape(key) for key in keys]))
        self._first_of_key = re.compile(f'[{"".join([re.escape(first) for first in self._lengths])}]')

    def _count(self, steps: int) -> None:
        """Take steps from the budget, many at once."""
        self._steps += steps
        if self._steps >= STEPS_A_TURN:
            self.finish()

    def finish(self) -> None:
        """Take what is left to be taken from the budget."""
        budgets.work(self._function, self._steps)
        self._steps = 0

    def first(self, start: int) -> tuple[int, str] | None:
        """Find the first place of a key from `start` on, and the longest key there."""
        if self._pattern is not None:
            found = self._pattern.search(self._text, start)
            return None if found is None else (found.start(), found.group())
        candidate = self._first_of_key.search(self._text, start)
        while candidate is not None:
            key = self._longest_at(candidate.start())
            if key is not None:
                return candidate.start(), key
            candidate = self._first_of_key.search(self._text, candidate.end())
        return None

    def _longest_at(self, start: int) -> str | None:
        """Return the longest key at this position."""
        for length in self._lengths.get(self._text[start:start + 1], ()):
            self._count(1 + length // 1000)
            key = self._text[start:start + length]
            if key in self._order:
                return key
        return None

    def end_of_overlaps(self, start: int, key: str) -> int:
        """Return the end of the group of overlapping matches that begins with `key` at `start`: no key that is found
        spans it."""
        end = start + len(key)
        if self._order[key] == 0:
            return end                                  # no other one comes before it
        inside = [start + offset for offset in self._offsets(key)]
        while inside:
            at = inside.pop(0)
            other = self._longest_at(at)
            if other is not None and self._order[other] < self._order[key]:
                key, end = other, at + len(other)
                inside = [at + offset for offset in self._offsets(key)]
        return end

    def _offsets(self, key: str) -> list[int]:
        """Return at which characters of `key` another one may begin that goes on behind its end."""
        known = self._inside.get(key)
        if known is None:
            self._count(1 + len(key) // 4)
            known = self._inside[key] = [
                offset for offset in range(1, len(key))
                if key[offset] in self._lengths and self._is_beginning(key[offset:offset + COMPARED])]
        return known

    def _is_beginning(self, part: str) -> bool:
        """Whether a key begins with `part`."""
        place = bisect_left(self._sorted, part)
        return place < len(self._sorted) and self._sorted[place].startswith(part)

    def one_by_one(self, start: int, end: int) -> list[tuple[int, str]]:
        """Find the places of one key after the other in that part of the text, in the order of the keys."""
        self._count(len(self._keys) * (1 + (end - start) // COMPARED_A_STEP))
        found: list[tuple[int, str]] = []
        pieces = [(start, end)]
        for key in self._keys:
            if self._text.find(key, start, end) < 0:
                continue
            rest: list[tuple[int, int]] = []
            for at, behind in pieces:
                while (place := self._text.find(key, at, behind)) >= 0:
                    found.append((place, key))
                    rest.append((at, place))
                    at = place + len(key)
                rest.append((at, behind))
            self._count(len(rest))
            pieces = rest
        return found
