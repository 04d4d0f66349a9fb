"""Verdicts of policies about a plan: values that are stored with it, shown, and decide whether it is applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MOST_REASONS = 20                       # of one verdict
REASON = 500                            # characters of a reason


class Decision(StrEnum):
    ALLOW = 'allow'
    WARN = 'warn'                       # shown; the plan can be applied
    DENY = 'deny'


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a policy says about a plan."""

    policy: str
    decision: Decision
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.policy}: {self.decision}" + (f": {'; '.join(self.reasons)}" if self.reasons else '')

    def to_json(self) -> dict[str, Any]:
        return {'policy': self.policy, 'verdict': str(self.decision), 'reasons': list(self.reasons)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Verdict:
        return cls(stored['policy'], Decision(stored['verdict']), tuple(stored['reasons']))


def answered(policy: str, answer: Any) -> Verdict:
    """Return the verdict in the answer of a policy server: {verdict, reasons}. Raises ValueError for any other."""
    decision = answer.get('verdict') if isinstance(answer, dict) else None
    if not isinstance(decision, str) or decision not in set(Decision):
        raise ValueError('the answer has no verdict')
    reasons = answer.get('reasons', [])
    if not isinstance(reasons, list) or not all(isinstance(each, str) for each in reasons):
        raise ValueError('its reasons are not a list of texts')
    return Verdict(policy, Decision(decision), tuple(each[:REASON] for each in reasons[:MOST_REASONS]))


def denials(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts for which a plan must not be applied."""
    return [each for each in verdicts if each.decision is Decision.DENY]
