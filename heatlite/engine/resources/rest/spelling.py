"""Refuses words of descriptions that are not known, with the word that was probably meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from heatlite.language import diagnostics


def hint(word: object, known: Iterable[str]) -> str:
    """`; did you mean "..."?`, or nothing if no known word resembles `word`."""
    found = diagnostics.did_you_mean(word, known)
    return f'; {found}' if found else ''


def unknown(written: Iterable[object], known: Collection[str], why: str = 'not known') -> list[str]:
    """Return a message for each word that is not in `known`: `WORD: WHY`, and the hint. Sorted."""
    return [f'{word}: {why}{hint(word, known)}' for word in sorted(map(str, written)) if word not in known]


def refuse(written: Iterable[object], known: Collection[str], why: str = 'not known') -> None:
    """Raise ValueError, which names all words that are not in `known`."""
    mistakes = unknown(written, known, why)
    if mistakes:
        raise ValueError('; '.join(mistakes))
