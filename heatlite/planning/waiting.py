"""What a resource waits for while an action on it lasts: the next call of its type, and what the service said last.

It is noted when the wait has become long, and again when the service says something else, at most once in a minute
otherwise: a stack of many resources that are soon ready writes nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypedDict

from heatlite.common.service_answers import ServiceAnswer
from heatlite.planning.states import ResourceState

LONG = timedelta(seconds=10)            # an action that lasts longer is noted
REPEAT_INTERVAL = timedelta(seconds=60)  # until a note is written again though the service says the same
SHORTEST = timedelta(seconds=5)         # until it is though the service says something else


class WaitDocument(TypedDict):
    """A wait as stored; times in ISO 8601."""

    call: str
    every: float
    at: str
    answer: ServiceAnswer | None
    row_at: str | None


@dataclass(frozen=True, slots=True)
class Wait:
    """`call`: the method of the type that is called next, every `every` seconds; `at`: when the last call returned;
    `row_at`: when the action has changed the row, which tells it from other actions. `answer`: what the service said
    last, as JSON; None: no service was asked."""

    call: str
    every: float
    at: datetime
    row_at: datetime | None
    answer: ServiceAnswer | None = None

    def is_news(self, noted: Wait) -> bool:
        """Whether it is to be noted after `noted`, of the same action."""
        said, before = self._said(), noted._said()
        return self.at - noted.at >= (SHORTEST if said != before else REPEAT_INTERVAL)

    def _said(self) -> object:
        """Return what counts of the answer: request ids and paths differ each time."""
        return None if self.answer is None else (self.answer['status'], self.answer['said'])

    def next_at(self, now: datetime) -> datetime:
        """Return when the type is called next, as far as the last note tells."""
        every = max(self.every, 0.001)
        passed = max((now - self.at).total_seconds(), 0.0)
        return now + timedelta(seconds=every - passed % every)

    def to_json(self) -> WaitDocument:
        return {'call': self.call, 'every': self.every, 'at': self.at.isoformat(), 'answer': self.answer,
                'row_at': None if self.row_at is None else self.row_at.isoformat()}

    @classmethod
    def from_json(cls, stored: WaitDocument) -> Wait:
        row_at = stored['row_at']
        return cls(stored['call'], stored['every'], datetime.fromisoformat(stored['at']),
                   None if row_at is None else datetime.fromisoformat(row_at), stored['answer'])


def may_be_noted(now: datetime, first: datetime, noted: Wait | None) -> bool:
    """Whether a wait is to be noted if the service says something else than before. `first`: the time of the first
    check."""
    return now - first >= LONG if noted is None else now - noted.at >= SHORTEST


def changed_at(row: ResourceState) -> datetime | None:
    return row.updated_at or row.created_at


def first_call(action: str) -> str:
    """Return the method that was called first and may not have returned yet."""
    return f'handle_{action.lower()}'
