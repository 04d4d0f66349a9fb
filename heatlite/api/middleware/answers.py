"""Lets a layer see the status and the headers of an answer on its way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias
from wsgiref.types import StartResponse

if TYPE_CHECKING:
    from types import TracebackType

Headers = list[tuple[str, str]]
ExcInfo: TypeAlias = 'tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]'
Write = Callable[[bytes], object]       # the function of old applications that `start_response` returns


def seen_by(look: Callable[[str, Headers], None], start_response: StartResponse) -> StartResponse:
    """Return `start_response` with a call of `look(status, headers)` before it. `status`: three digits."""
    def start(line: str, headers: Headers, exc_info: ExcInfo | None = None) -> Write:
        look(line.split(' ', 1)[0], headers)
        return start_response(line, headers, exc_info) if exc_info else start_response(line, headers)

    return start
