"""Phrases that several packages use in texts for users and in the log."""

from __future__ import annotations

from collections.abc import Sequence

from heatlite.common.i18n import _


def first_few(items: Sequence[object], most: int, separator: str = ', ') -> str:
    """Return the first `most` items as a list for readers, and of more also the number of the others: "a, b, and 3
    more"."""
    shown = [str(each) for each in items[:most]]
    rest = len(items) - len(shown)
    return separator.join([*shown, _('and %d more') % rest] if rest else shown)
