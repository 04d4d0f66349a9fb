"""What the service answers to a question for an explanation, as the commands read it."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class ShownPlace(TypedDict):
    """Where something is written. `file` None: in the template itself, whose lines only the client knows."""

    file: str | None
    path: str
    line: int | None
    column: int | None


class ShownCause(TypedDict):
    path: list[str]
    type: str
    action: str
    time: str
    reason: str
    place: ShownPlace
    advice: str | None
    attempts: NotRequired[int]                  # a service of the previous release tells none


class ShownAnswer(TypedDict):
    at: str
    service: str
    method: str
    path: str
    status: int | None
    said: str
    request_id: str | None


class ShownWaiting(TypedDict):
    """A resource that is waited for. A service of the previous release tells no `call`, `next_at`, `last_answer`."""

    path: list[str]
    type: str
    action: str
    seconds: float
    physical_resource_id: str | None
    call: NotRequired[str | None]
    next_at: NotRequired[str | None]
    last_answer: NotRequired[ShownAnswer | None]


class ShownRun(TypedDict):
    since: str
    action: str
    status: str
    seconds: float


class Explanation(TypedDict):
    """What the explanations of a stack and of a resource have in common."""

    action: str
    status: str
    since: str
    causes: list[ShownCause]
    waiting_for: list[ShownWaiting]
    not_started: list[list[str]]
    place: NotRequired[ShownPlace]               # of a resource


class OfResource(Explanation):
    path: list[str]
    type: str
    state: str
    status_reason: str | None
    physical_resource_id: str | None
    waits_for: list[list[str]]
    gives_up_at: NotRequired[str | None]
    runs: list[ShownRun]


class ShownBlocked(TypedDict):
    path: list[str]
    waits_for: list[list[str]]


class ShownSpan(TypedDict):
    path: list[str]
    seconds: float
    seconds_before: NotRequired[float | None]


class CauseInWords(TypedDict):
    text: str


class ShownReplaced(TypedDict):
    """`cause`: a service of the previous release tells none."""

    path: list[str]
    cause: NotRequired[CauseInWords | None]
    properties: list[str]
    because_of: list[list[str]]


class OfStack(Explanation):
    stack_name: str
    summary: str
    blocked: list[ShownBlocked]
    engine: str | None
    engine_host: NotRequired[str | None]         # for administrators
    gives_up_at: str | None
    critical_path: list[ShownSpan]
    replaced: NotRequired[list[ShownReplaced]]
