"""Rulings of policies about a plan: values that are stored with it, shown, and decide whether it is applied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypedDict

MOST_REASONS = 20                       # of one ruling
REASON = 500                            # characters of a reason


class Effect(StrEnum):
    ALLOW = 'allow'
    WARN = 'warn'                       # shown; the plan can be applied
    DENY = 'deny'


class RulingDocument(TypedDict):
    policy: str
    effect: str
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a policy says about a plan."""

    policy: str
    effect: Effect
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.policy}: {self.effect}" + (f": {'; '.join(self.reasons)}" if self.reasons else '')

    def to_json(self) -> RulingDocument:
        return {'policy': self.policy, 'effect': str(self.effect), 'reasons': list(self.reasons)}

    @classmethod
    def from_json(cls, stored: RulingDocument) -> Ruling:
        return cls(stored['policy'], Effect(stored['effect']), tuple(stored['reasons']))


def answered(policy: str, answer: object) -> Ruling:
    """Return the ruling in the answer of a policy server: {effect, reasons}. Raises ValueError for any other."""
    if not isinstance(answer, dict):
        raise ValueError('the answer has no ruling')
    effect = answer.get('effect')
    if not isinstance(effect, str) or effect not in set(Effect):
        raise ValueError('the answer has no ruling')
    reasons = answer.get('reasons', [])
    if not isinstance(reasons, list) or not all(isinstance(each, str) for each in reasons):
        raise ValueError('its reasons are not a list of texts')
    return Ruling(policy, Effect(effect), tuple(each[:REASON] for each in reasons[:MOST_REASONS]))


def denials(rulings: Iterable[Ruling]) -> list[Ruling]:
    """Return the rulings for which a plan must not be applied."""
    return [each for each in rulings if each.effect is Effect.DENY]
