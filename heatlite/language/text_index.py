"""Finds which of many texts occur in a value, in a time that does not depend on their number.

A text is found by its hash: the hash of each part of a value follows from those of its beginnings (Rabin and Karp), and
the longest text at a position from a binary search over the lengths of texts. Each length that the search for a text
visits before it has an entry for the beginning of that text (Waldvogel: binary search on prefix lengths).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from heatlite.common import turns

BEGINNING: Final = 4                    # characters by which most positions are excluded; no text is shorter
PIECE: Final = 2048                     # characters that are looked at between two calls of `turns`
CHARACTERS_A_STEP: Final = 20
_PRIME: Final = (1 << 61) - 1
# Differs in each process, as the hashes of texts do: who writes a template cannot choose texts of equal hashes.
_BASE: Final = 1 << 32 | hash('heatlite.language.text_index') & (1 << 60) - 1


class TextIndex:
    """Some texts of BEGINNING characters at least. Costs a step for each 20 characters, once."""

    def __init__(self, texts: Collection[str]) -> None:
        ordered = sorted(texts, key=lambda text: (-len(text), text))
        self._texts = ordered
        self._lengths = sorted({len(text) for text in ordered})
        self._powers = [pow(_BASE, length, _PRIME) for length in self._lengths]
        self._beginnings = frozenset(text[:BEGINNING] for text in ordered)
        # For each length: hash of a beginning -> place in `_texts` of the longest text that it begins with, or -1.
        self._tables: list[dict[int, int]] = [{} for _length in self._lengths]
        self._within: list[int] = [-1] * len(ordered)       # for each text: the longest other one that it begins with
        for place in range(len(ordered) - 1, -1, -1):
            self._add(place)

    def _add(self, place: int) -> None:
        """Add a text, after all shorter ones."""
        text = self._texts[place]
        hashes = _hashes(text)
        self._within[place] = self._longest(hashes, 0, len(text) - 1)
        low, high = 0, len(self._lengths)
        while low < high:
            middle = (low + high) // 2
            length = self._lengths[middle]
            if length == len(text):
                self._tables[middle][hashes[-1]] = place
                return
            if length > len(text):
                high = middle
                continue
            if hashes[length] not in self._tables[middle]:
                self._tables[middle][hashes[length]] = self._longest(hashes, 0, length)
            low = middle + 1

    def _longest(self, hashes: Sequence[int], start: int, most: int) -> int:
        """Return the place of the longest text at `start` with at most `most` characters, or -1.

        `hashes`: of the beginnings of the value.
        """
        found, before = -1, hashes[start]
        lengths, powers, tables = self._lengths, self._powers, self._tables
        low, high = 0, len(lengths)
        while low < high:
            middle = (low + high) // 2
            length = lengths[middle]
            longest = None
            if length <= most:
                longest = tables[middle].get((hashes[start + length] - before * powers[middle]) % _PRIME)
            if longest is None:
                high = middle
            else:
                found, low = longest, middle + 1
        return found

    def _matches(self, value: str) -> tuple[Sequence[int], list[tuple[int, int]]]:
        """Return the hashes of `value`, and (place of the longest text, position) for each position with one."""
        beginnings, starts = self._beginnings, []
        for first in range(0, len(value) - BEGINNING + 1, PIECE):
            turns.spend(1 + PIECE // CHARACTERS_A_STEP)
            last = min(first + PIECE, len(value) - BEGINNING + 1)
            starts += [start for start in range(first, last) if value[start:start + BEGINNING] in beginnings]
        if not starts:
            return (), []
        hashes, size = _hashes(value), len(value)
        found = [(self._longest(hashes, start, size - start), start) for start in turns.paced(starts)]
        return hashes, [each for each in found if each[0] >= 0]

    def within(self, value: str) -> set[str]:
        """Return the texts that occur in `value`, also those within others."""
        found: set[int] = set()
        for place, _start in self._matches(value)[1]:
            while place >= 0 and place not in found:
                found.add(place)
                place = self._within[place]
        return {self._texts[place] for place in found}

    def replaced(self, value: str, by: str) -> str:
        """Return `value` with `by` for each text in it: longer ones first, then by alphabet, then from left to right.

        It is what `str.replace` gives for one text after the other, unless texts contain what replaces them.
        """
        hashes, waiting = self._matches(value)
        if not waiting:
            return value
        heapq.heapify(waiting)
        taken, spans = bytearray(len(value)), []
        while waiting:
            turns.spend()
            place, start = heapq.heappop(waiting)
            if taken[start]:
                continue
            end = start + len(self._texts[place])
            other = taken.find(1, start, end)
            if other < 0:
                taken[start:end] = b'\1' * (end - start)
                spans.append((start, end))
            else:                   # at least halves what is free at this position from the second time on
                shorter = self._longest(hashes, start, other - start)
                if shorter >= 0:
                    heapq.heappush(waiting, (shorter, start))
        return by.join(_between(value, sorted(spans)))


def _hashes(text: str) -> list[int]:
    """Return the hash of each beginning of `text`, from the empty one to the whole."""
    found, last = [0], 0
    for first in range(0, len(text), PIECE):
        piece = text[first:first + PIECE]
        turns.spend(1 + len(piece) // CHARACTERS_A_STEP)
        found += [last := (last * _BASE + ord(sign) + 1) % _PRIME for sign in piece]
    return found


def _between(value: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    end = 0
    for start, following in spans:
        yield value[end:start]
        end = following
    yield value[end:]
