"""Which call of an API a request is. A change is accepted once, although its message may reach two engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

# After how long a message is sent to a second engine if one has ended: most likely it is the one that has it.
REPEATED_AFTER_SECONDS = 3.0
# How long after its end an engine may still have messages: the broker leaves the connection of one that stands still
# after 15 s, and gives what it had to others.
ENDED_SECONDS = 30.0


class SentCall(TypedDict):
    """As it is sent. `sent_at`: ISO 8601 in UTC."""

    id: str
    sent_at: str


@dataclass(frozen=True)
class ApiCall:
    """A call that the API sends to a second engine when the one that has it may have ended.

    `id`: the same in both messages; `sent_at`: UTC, of the first one, by the clock of the API; `is_repeated`: this is
    the second one; `has_lapsed()`: whether this engine has counted as ended since it received the message.
    """

    id: str
    sent_at: datetime
    is_repeated: bool
    has_lapsed: Callable[[], bool]

    @classmethod
    def received(cls, sent: SentCall, is_repeated: bool, has_lapsed: Callable[[], bool]) -> ApiCall:
        return cls(sent['id'], datetime.fromisoformat(sent['sent_at']), is_repeated, has_lapsed)

    def is_elsewhere(self, now: datetime, any_ended: Callable[[], bool]) -> bool:
        """Whether another engine may have it, too. `any_ended()`: whether one has ended of late."""
        if self.is_repeated or self.has_lapsed():
            return True
        return (now - self.sent_at).total_seconds() > REPEATED_AFTER_SECONDS / 2 and any_ended()
