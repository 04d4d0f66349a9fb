"""What the service answers to a question for an explanation, as the commands read it."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Place(TypedDict):
    """Where something is written. `file` None: in the template itself, whose lines only the client knows."""

    file: str | None
    path: str
    line: int | None
    column: int | None


class Cause(TypedDict):
    path: list[str]
    type: str
    action: str
    time: str
    reason: str
    place: Place
    advice: str | None


class LastAnswer(TypedDict):
    at: str
    service: str
    method: str
    path: str
    status: int | None
    said: str
    request_id: str | None


class Waiting(TypedDict):
    """A resource that is waited for. A service of the previous release tells no `call`, `next_at`, `last_answer`."""

    path: list[str]
    type: str
    action: str
    seconds: float
    physical_resource_id: str | None
    call: NotRequired[str | None]
    next_at: NotRequired[str | None]
    last_answer: NotRequired[LastAnswer | None]


class Run(TypedDict):
    since: str
    action: str
    status: str
    seconds: float


class Explanation(TypedDict):
    """What the explanations of a stack and of a resource have in common."""

    action: str
    status: str
    since: str
    causes: list[Cause]
    waiting_for: list[Waiting]
    not_started: list[list[str]]
    place: NotRequired[Place]               # of a resource


class OfResource(Explanation):
    path: list[str]
    type: str
    state: str
    status_reason: str | None
    physical_resource_id: str | None
    waits_for: list[list[str]]
    gives_up_at: NotRequired[str | None]
    runs: list[Run]


class Blocked(TypedDict):
    path: list[str]
    waits_for: list[list[str]]


class Span(TypedDict):
    path: list[str]
    seconds: float
    seconds_before: NotRequired[float | None]


class CauseInWords(TypedDict):
    text: str


class Replaced(TypedDict):
    """`cause`: a service of the previous release tells none."""

    path: list[str]
    cause: NotRequired[CauseInWords | None]
    properties: list[str]
    because_of: list[list[str]]


class OfStack(Explanation):
    stack_name: str
    summary: str
    blocked: list[Blocked]
    gives_up_at: str | None
    critical_path: list[Span]
    replaced: NotRequired[list[Replaced]]
