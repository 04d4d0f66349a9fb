"""Patterns of names, given by users: matched in proportion to their length, neither compiled nor cached.

The standard library compiles each pattern to a regular expression, and holds on to thousands of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from heatlite.common import turns

CHARACTERS_A_STEP = 16          # of patterns, read in one step of `turns`
BITS_A_STEP = 4096              # of states, computed in one step
SIGNS, STAR = re.compile(r'[*?[]'), re.compile(r'\*')


class Sign(Enum):
    STAR = auto()               # any text
    ANY = auto()                # any character


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """`[...]`: one of the characters or within one of the ranges, or with `is_negated` any other character."""

    characters: frozenset[str]
    ranges: tuple[tuple[str, str], ...]
    is_negated: bool

    def has(self, character: str) -> bool:
        found = character in self.characters or any(low <= character <= high for low, high in self.ranges)
        return found is not self.is_negated


Token = str | Sign | CharacterSet
"""What fits one character of a name: the same character, any, one of a set. STAR fits any number of them."""


def matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern with `*`, `?`, `[abc]`, `[a-z]` and `[!a]`, as `fnmatch.fnmatchcase` has it."""
    return _matches(pattern, name, SIGNS, _tokens)


def matches_stars(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern in which `*` stands for any text, and all other characters for themselves."""
    return _matches(pattern, name, STAR, _stars)


def _matches(pattern: str, name: str, signs: re.Pattern[str], tokens: Callable[[str], Iterator[Token]]) -> bool:
    turns.spend(1 + len(pattern) // CHARACTERS_A_STEP)
    first = signs.search(pattern)
    if first is None:
        return pattern == name
    if not name.startswith(pattern[:first.start()]):
        return False
    return (pattern.endswith('*') and first.end() == len(pattern)) or _fits(tokens(pattern), name)


def _fits(tokens: Iterable[Token], name: str) -> bool:
    """Follow all ways through the pattern at once: bit N of `states` says that N tokens fit what was read so far."""
    wanted: list[Token] = []                # without stars
    stays = 0                               # bit N: a star follows on N tokens
    for token in tokens:
        if token is Sign.STAR:
            stays |= 1 << len(wanted)
        elif len(wanted) == len(name):
            return False                    # more tokens than characters
        else:
            wanted.append(token)
    fitting = _places(wanted, frozenset(name))
    states = 1
    for character in name:
        turns.spend(len(wanted) // BITS_A_STEP)
        states = (states & fitting[character]) << 1 | states & stays
        if not states:
            return False
    return bool(states >> len(wanted) & 1)


def _places(wanted: list[Token], characters: frozenset[str]) -> dict[str, int]:
    """Return for each of the characters bit N for each token N that it fits."""
    found = dict.fromkeys(characters, 0)
    for place, token in enumerate(wanted):
        turns.spend(place // BITS_A_STEP)
        if isinstance(token, str):
            fitting: Iterable[str] = (token,) if token in found else ()
        elif isinstance(token, CharacterSet):
            turns.spend(len(found) // CHARACTERS_A_STEP)
            fitting = filter(token.has, characters)
        else:
            fitting = characters
        for character in fitting:
            found[character] |= 1 << place
    return found


def _stars(pattern: str) -> Iterator[Token]:
    return (Sign.STAR if character == '*' else character for character in pattern)


def _tokens(pattern: str) -> Iterator[Token]:
    """Yield the tokens of a pattern of a shell. A bracket that is not closed is itself."""
    at = 0
    is_closed = True                        # whether there may be a `]` further on
    while at < len(pattern):
        sign = pattern[at]
        at += 1
        end = _end_of_set(pattern, at) if sign == '[' and is_closed else -1
        if end >= 0:
            yield _set(pattern[at:end])
            at = end + 1
        else:
            is_closed = is_closed and sign != '['
            yield Sign.STAR if sign == '*' else Sign.ANY if sign == '?' else sign


def _end_of_set(pattern: str, start: int) -> int:
    """Return the place of the bracket that closes a set whose content starts here; -1 without one. The first character
    may be a bracket itself."""
    first = start + pattern.startswith('!', start)
    return pattern.find(']', first + pattern.startswith(']', first))


def _set(content: str) -> CharacterSet:
    """Return the set of the text between brackets. A range whose ends are in the wrong order is empty."""
    is_negated = content.startswith('!')
    characters: set[str] = set()
    ranges = []
    at = int(is_negated)
    while at < len(content):
        if content[at + 1:at + 2] == '-' and at + 2 < len(content):
            ranges.append((content[at], content[at + 2]))
            at += 3
        else:
            characters.add(content[at])
            at += 1
    return CharacterSet(frozenset(characters), tuple(ranges), is_negated)
