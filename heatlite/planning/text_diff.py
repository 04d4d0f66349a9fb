"""The difference of two texts for people, in the unified format, with bounds on its cost and its length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import Match, SequenceMatcher

from heatlite.common import turns

CONTEXT = 3                             # equal lines around each change
MOST_LINES = 1000                       # that differ, in each text
MOST_COMPARED = 500_000                 # lines and pairs of equal ones that are looked at: at most 0.1 s
COMPARED_A_STEP = 100                   # of them in one step of `turns`


class _TooMuch(Exception):
    """The comparison takes more than MOST_COMPARED."""


class _Matcher(SequenceMatcher[str]):
    """Compares within a budget. Lines that are repeated in both texts cost the product of their numbers for each block
    of equal lines that is found."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new)
        self._old = old
        self._places: Mapping[str, Sequence[int]] = vars(self)['b2j']      # of the lines of `new`, without popular ones
        self._left = MOST_COMPARED

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        compared = sum([1 + len(self._places.get(line, ())) for line in self._old[alo:ahi]])
        self._left -= compared
        if self._left < 0:
            raise _TooMuch
        turns.spend(1 + compared // COMPARED_A_STEP)
        return super().find_longest_match(alo, ahi, blo, bhi)


def unified(before: str, after: str, longest: int) -> tuple[str | None, bool]:
    """Return the changed lines with their surroundings, at most `longest` characters, and whether anything is left out.

    None instead of a text if more than MOST_LINES lie between the first difference and the last, or if comparing them
    takes more than MOST_COMPARED.
    """
    old, new = (text.removesuffix('\n').split('\n') if text else [] for text in (before, after))
    start, end = _equal_ends(old, new)
    if max(len(old), len(new)) - start - end > MOST_LINES:
        return None, True
    start, end = max(start - CONTEXT, 0), max(end - CONTEXT, 0)
    try:
        return _shortened(_lines(old[start:len(old) - end], new[start:len(new) - end], start), longest)
    except _TooMuch:
        return None, True


def _shortened(lines: Iterable[str], longest: int) -> tuple[str, bool]:
    found: list[str] = []
    length = 0
    for line in lines:
        length += len(line) + 1
        if length > longest:
            return '\n'.join(found), True
        found.append(line)
    return '\n'.join(found), False


def _equal_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines are equal at the start, and how many of the others at the end."""
    shorter = min(len(old), len(new))
    start = next((number for number in range(shorter) if old[number] != new[number]), shorter)
    end = next((number for number in range(shorter - start) if old[-1 - number] != new[-1 - number]), shorter - start)
    return start, end


def _lines(old: Sequence[str], new: Sequence[str], skipped: int) -> Iterator[str]:
    """Yield the lines of the diff. `skipped`: equal lines in front of both parts."""
    for group in _Matcher(old, new).get_grouped_opcodes(CONTEXT):
        (_tag, first, _last, other_first, _other_last), (_end, _, last, _other, other_last) = group[0], group[-1]
        yield f'@@ -{_range(first, last, skipped)} +{_range(other_first, other_last, skipped)} @@'
        for tag, i, j, k, m in group:
            if tag == 'equal':
                yield from (f' {line}' for line in old[i:j])
            else:
                yield from (f'-{line}' for line in old[i:j])
                yield from (f'+{line}' for line in new[k:m])


def _range(first: int, last: int, skipped: int) -> str:
    """Return a range of lines, from 1; an empty one is named by the line before it."""
    count = last - first
    return f'{first + skipped + (1 if count else 0)},{count}'
