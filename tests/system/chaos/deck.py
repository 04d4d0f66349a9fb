"""Chooses from a few possibilities so that a short run meets all of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar('T')


class Deck(Generic[T]):
    """Deals each card once, in a random order, before any comes again. `often`: cards that come more often."""

    def __init__(self, cards: Sequence[T], dice: random.Random, often: Sequence[T] = ()) -> None:
        self._cards, self._dice, self._often = list(cards), dice, list(often)
        self._coming: list[T] = []
        self.unseen = list(cards)               # those that have not come yet

    def deal(self) -> T:
        if not self._coming:
            self._coming = [*self._cards, *self._often]
            self._dice.shuffle(self._coming)
        card = self._coming.pop()
        if card in self.unseen:
            self.unseen.remove(card)
        return card


class Decks:
    """A deck for each choice, by its possibilities."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._decks: dict[tuple[str, tuple[float, ...]], Deck[float]] = {}

    def deal(self, who: str, seconds: Sequence[float]) -> float:
        """`who` asks: each gets all of them in turn."""
        key = who, tuple(seconds)
        if key not in self._decks:
            self._decks[key] = Deck(key[1], self._dice)
        return self._decks[key].deal()
