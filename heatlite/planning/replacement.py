"""Why a resource is replaced although no property of its definition requires it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypedDict

from heatlite.common import exception


class Reason(StrEnum):
    UNHEALTHY = 'unhealthy'             # a user, an alarm or a check says so
    DRIFT = 'drift'                     # its object was changed in the cloud, and the policy is to replace it
    GONE = 'gone'                       # the service does not know its object any more
    FAILED = 'failed'                   # its last action failed
    TYPE = 'type'                       # it is of another type now, or the name of its type means another one
    RULE = 'rule'                       # its type requires it, whatever has changed


MARKED: Final = 'marked'                # key of the stored column: what the next update replaces the resource for
MADE: Final = 'made'                    # ... what the resource was made for, in place of another one


class ReplacementDocument(TypedDict):
    kind: str
    what: str
    by: str | None
    at: str | None


@dataclass(frozen=True, slots=True)
class ReplacementCause:
    """`what`: the text given with it, the id of the object, or the types; `by`: the user who marked the resource;
    `at`: when that was, or when it was found, as ISO 8601 in UTC. None: not known."""

    reason: Reason
    what: str = ''
    by: str | None = None
    at: str | None = None

    def to_json(self) -> ReplacementDocument:
        return {'kind': str(self.reason), 'what': exception.shortened(self.what), 'by': self.by, 'at': self.at}

    @classmethod
    def from_json(cls, stored: ReplacementDocument) -> ReplacementCause:
        return cls(Reason(stored['kind']), stored['what'], stored['by'], stored['at'])


WORDS: Mapping[Reason, str] = {
    Reason.UNHEALTHY: 'it is marked as unhealthy', Reason.DRIFT: 'it was changed in the cloud',
    Reason.GONE: 'its object is gone in the cloud', Reason.FAILED: 'its last action failed',
    Reason.TYPE: 'its type has changed', Reason.RULE: 'its type requires it'}

KINDS = frozenset(map(str, Reason))


def as_text(cause: ReplacementDocument) -> str:
    """Return a cause, as JSON, in words."""
    by = f" by {cause['by']}" if cause['by'] else ''
    at = f" at {cause['at']}" if cause['at'] else ''
    what = f": {cause['what']}" if cause['what'] else ''
    return f"{WORDS[Reason(cause['kind'])]}{by}{at}{what}"
