"""The form in which the last answer of a service is stored and shown."""

from __future__ import annotations

from typing import TypedDict


class ServiceAnswer(TypedDict):
    """`status`: of HTTP, None without a response; `said`: the message of a response or of the failed call."""

    service: str
    method: str
    path: str
    status: int | None
    said: str
    request_id: str | None
