"""Remembers the last answer of a service to the green thread, for explanations of what is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heatlite.common.service_answers import ServiceAnswer

if TYPE_CHECKING:
    from requests import Response

LONGEST = 300                           # characters of a path, and of what was said
STATES = ('status', 'provisioning_status', 'stack_status', 'state')     # fields of an object that say how it is


@dataclass(frozen=True, slots=True)
class Answer:
    """`response`: of a request; None: there was none, and `error` says why."""

    service: str
    method: str
    path: str
    response: Response | None = None
    error: str = ''

    def to_json(self) -> ServiceAnswer:
        """Return it as stored: what the service said is the state of the object that it answered with, or its error.
        Nothing else of the object is, as it may hold secrets."""
        response = self.response
        return {'service': self.service, 'method': self.method, 'path': self.path.partition('?')[0][:LONGEST],
                'status': getattr(response, 'status_code', None),
                'said': (self.error or _state(response) or '')[:LONGEST],
                'request_id': getattr(response, 'headers', {}).get('x-openstack-request-id')}


_last: ContextVar[Answer | None] = ContextVar('answer', default=None)


def note(answer: Answer | None) -> None:
    _last.set(answer)


def last() -> Answer | None:
    """Return the last answer since `note(None)`."""
    return _last.get()


def _state(response: Response | None) -> str | None:
    """Return the state in an answer with one object."""
    if response is None:
        return None
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return None
    inside = next(iter(body.values())) if isinstance(body, Mapping) and len(body) == 1 else body
    if not isinstance(inside, Mapping):
        return None
    found = next((inside[name] for name in STATES if isinstance(inside.get(name), str)), None)
    return None if found is None else str(found)
