"""The text of a document, with conversions of places: offsets count characters from 0.

Editors count lines that end with LF, CR LF or CR, and columns in units of the encoding that client and server agreed
on; the linter counts the lines of YAML, and characters, both from 1.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

LINE_END: Final = re.compile(r'\r\n|\n|\r')
YAML_LINE_END: Final = re.compile('\r\n|[\n\r\x85\u2028\u2029]')
UTF8, UTF16, UTF32 = 'utf-8', 'utf-16', 'utf-32'
UNITS: Final[Mapping[str, Callable[[str], int]]] = {        # encoding -> units of a text
    UTF8: lambda text: len(text.encode('utf-8', 'surrogatepass')),
    UTF16: lambda text: len(text) + sum(character > '\uffff' for character in text),
    UTF32: len}


@dataclass(frozen=True)
class TextSpan:
    """A part of a text: offsets of its first character and of the one after its last."""

    start: int
    end: int

    def holds(self, offset: int) -> bool:
        """Whether an offset is within, or directly after the last character."""
        return self.start <= offset <= self.end


class Text:
    """A text with an index of its lines."""

    def __init__(self, text: str, encoding: str = UTF16) -> None:
        self.text, self.encoding = text, encoding
        self._units = UNITS[encoding]
        self._starts = _starts(LINE_END, text)
        self._is_ascii = text.isascii()
        self._counted: dict[int, Sequence[int]] = {}

    @functools.cached_property
    def _yaml_starts(self) -> list[int]:
        return _starts(YAML_LINE_END, self.text)

    @property
    def lines(self) -> int:
        return len(self._starts)

    def line_of(self, offset: int) -> int:
        """Return the number of the line with an offset, from 0."""
        return bisect.bisect_right(self._starts, offset) - 1

    def line(self, number: int) -> TextSpan:
        """Return the line with a number, without its end."""
        start = self._starts[number]
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return TextSpan(start, start + len(self.text[start:end].rstrip('\r\n')))

    def position(self, offset: int) -> tuple[int, int]:
        """(line, units before it in the line) of an offset, both from 0."""
        offset = max(0, min(offset, len(self.text)))
        number = self.line_of(offset)
        return number, self._before(number)[offset - self._starts[number]]

    def offset(self, number: int, units: int) -> int:
        """Return the offset of a position; the end of the line or of the text if the position is behind it."""
        if number >= len(self._starts):
            return len(self.text)
        line = self.line(number)
        place = bisect.bisect_right(self._before(number), units) - 1
        return min(line.start + place, line.end)

    def _before(self, number: int) -> Sequence[int]:
        """Return the units before each character of a line, and before the next line; computed once for each line."""
        found = self._counted.get(number)
        if found is None:
            start = self._starts[number]
            end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
            found = range(end - start + 1) if self._is_ascii else list(itertools.accumulate(
                map(self._units, self.text[start:end]), initial=0))
            self._counted[number] = found
        return found

    def found_at(self, line: int, column: int) -> int:
        """Return the offset of a place of the linter: a line of YAML and a column, both from 1."""
        if line > len(self._yaml_starts):
            return len(self.text)
        start = self._yaml_starts[line - 1] + (line == 1 and self.text.startswith('\ufeff'))
        return min(start + column - 1, len(self.text))


def _starts(pattern: re.Pattern[str], text: str) -> list[int]:
    return [0, *(found.end() for found in pattern.finditer(text))]
