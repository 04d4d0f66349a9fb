"""Generates random texts from rules: a minimum number of characters of each class.

Randomness comes from UUIDs of the runtime: the operating system's generator in production, a seeded one in tests.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

from heatlite.common import runtime as runtimes
from heatlite.common import turns

CHARACTER_CLASSES = (LETTERS_DIGITS, LETTERS, LOWERCASE, UPPERCASE, DIGITS, HEXDIGITS, OCTDIGITS) = (
    'lettersdigits', 'letters', 'lowercase', 'uppercase', 'digits', 'hexdigits', 'octdigits')
MEMBERS = {
    LETTERS_DIGITS: string.ascii_letters + string.digits,
    LETTERS: string.ascii_letters,
    LOWERCASE: string.ascii_lowercase,
    UPPERCASE: string.ascii_uppercase,
    DIGITS: string.digits,
    HEXDIGITS: string.digits + 'ABCDEF',
    OCTDIGITS: string.octdigits,
}
SPECIAL = '!@#%^&*'


@dataclass(frozen=True)
class CharClass:
    """A set of characters, and the minimum number of them."""

    allowed_chars: str
    min_count: int = 0


class RandomSource:
    """Draws unbiased numbers from the random bits of UUIDs."""

    def __init__(self, runtime: runtimes.Runtime) -> None:
        self._runtime = runtime
        self._bits = 0
        self._left = 0

    def below(self, bound: int) -> int:
        """Draw a number from 0 up to, not including, `bound` (which is at least 1)."""
        width = (bound - 1).bit_length()
        while True:
            value = self._take(width)
            if value < bound:
                return value

    def choice(self, options: Sequence[str]) -> str:
        return options[self.below(len(options))]

    def shuffle(self, items: list[str]) -> None:
        for last in range(len(items) - 1, 0, -1):
            turns.spend()
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]

    def _take(self, width: int) -> int:
        while self._left < width:
            text = self._runtime.uuid().replace('-', '')
            fresh = text[:12] + text[13:16] + text[17:]         # without the version and variant digits
            self._bits = self._bits << 4 * len(fresh) | int(fresh, 16)
            self._left += 4 * len(fresh)
        self._left -= width
        value = self._bits >> self._left
        self._bits &= (1 << self._left) - 1
        return value


def named_char_class(char_class: str, min_count: int = 0) -> CharClass:
    """One of CHARACTER_CLASSES by name; raises KeyError for an unknown one."""
    return CharClass(MEMBERS[char_class], min_count)


def special_char_class(allowed_chars: str, min_count: int = 0) -> CharClass:
    return CharClass(allowed_chars, min_count)


def generate_password(length: int, char_classes: Sequence[CharClass], runtime: runtimes.Runtime | None = None) -> str:
    """Generate `length` characters, at least `min_count` of each class, the rest of any, in random order.

    The result is longer than `length` if the sum of the minimums is.
    """
    source = RandomSource(runtime or runtimes.current())
    chosen = [source.choice(kind.allowed_chars) for kind in char_classes
              for _ in turns.paced(range(kind.min_count))]
    everything = ''.join(kind.allowed_chars for kind in char_classes)
    chosen += [source.choice(everything) for _ in turns.paced(range(length - len(chosen)))]
    source.shuffle(chosen)
    return ''.join(chosen)


def generate_openstack_password() -> str:
    """Generate 32 characters that Keystone's usual password rules accept."""
    return generate_password(32, [named_char_class('lowercase', 1), named_char_class('uppercase', 1),
                                  named_char_class('digits', 1), special_char_class(SPECIAL, 1)])
