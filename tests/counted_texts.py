"""Texts that count their comparisons: how a search is made shows without a clock."""

from __future__ import annotations


class CountedText(str):
    """A text that counts how often one of its kind is compared. A test sets `compared` to 0 before."""

    compared = 0

    def __eq__(self, other):
        CountedText.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__
