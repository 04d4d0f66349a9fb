"""What one request may use: the time until its caller gives up, and some URLs. Known to the green thread that answers
it, so that code far below the request keeps to it.

At its deadline a request ends where it waits, unless it has begun to store something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.shared_errors import SharedError

if TYPE_CHECKING:
    from heatlite.common.runtime import Runtime

MOST_URLS = 20                  # different URLs of templates that a request may fetch
GRACE = 1.0                     # seconds after the deadline: the caller's own time-out comes first
POLL_SECONDS = 2.0              # between two checks whether a late request may be ended
AGAIN = 30.0                    # seconds between two attempts to end it: its clean-up may wait for a service


class DeadlinePassed(BaseException):
    """Ends a request that is past its deadline, where it waits. No Exception: code that handles the errors of services
    and of plug-ins must not handle this one."""


class Allowance:
    """Of one request. `reads`: it stores nothing that its caller could miss."""

    def __init__(self, runtime: Runtime, seconds: float, reads: bool = False) -> None:
        self._runtime = runtime
        self._until = runtime.monotonic() + seconds
        self._reads = reads
        self._held = 0
        self._ends_from = self._until           # not before this time
        self._has_stored = False
        self._fetched: dict[str, str | SharedError] = {}
        self._counted = 0

    def left(self) -> float:
        """Seconds until the deadline. Raises TooLate after it."""
        seconds = self._until - self._runtime.monotonic()
        if seconds <= 0 and not self._has_stored:
            raise exception.TooLate
        return max(seconds, 0.0)

    def may_end(self) -> bool:
        """Whether the request may be ended now: it is in no transaction, and has committed none that matters."""
        return not self._held and (self._reads or not self._has_stored)

    def end(self) -> DeadlinePassed | None:
        """Return the error that ends the late request now, or None. It had time to clean up after the one before."""
        now = self._runtime.monotonic()
        if now < self._ends_from or not self.may_end():
            return None
        self._ends_from = now + AGAIN
        return DeadlinePassed()

    @contextmanager
    def held(self) -> Iterator[None]:
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    def note_commit(self) -> None:
        self._has_stored = True

    def fetched(self, url: str, fetch: Callable[[float], str], longest: float, counts: bool = True) -> str:
        """Return `fetch(seconds)`, the text at `url`, or what it was before in this request. Raises its error, TooLate,
        or RequestLimitExceeded for one URL too many. `longest`: seconds; `counts`: the URL is not the operator's."""
        if url not in self._fetched:
            self._counted += counts
            if self._counted > MOST_URLS:
                raise exception.RequestLimitExceeded(
                    _('A request may fetch at most %d templates from URLs.') % MOST_URLS)
            seconds = min(self.left(), longest)
            try:
                self._fetched[url] = fetch(seconds)
            except Exception as error:
                self.left()                     # the deadline is the cause, not the URL
                self._fetched[url] = SharedError(error)
        result = self._fetched[url]
        if isinstance(result, SharedError):
            raise result.again()
        return result


_current: ContextVar[Allowance | None] = ContextVar('allowance', default=None)


def current() -> Allowance | None:
    """Return that of the request that this green thread answers; None for other work."""
    return _current.get()


@contextmanager
def limited(runtime: Runtime, seconds: float, reads: bool) -> Iterator[None]:
    """End the block soon after so many seconds, where it waits. Raises TooLate then."""
    request = Allowance(runtime, seconds, reads)
    token = _current.set(request)
    alarm = runtime.interrupt(seconds + GRACE, POLL_SECONDS, request.end)
    try:
        yield
    except DeadlinePassed:
        raise exception.TooLate from None
    finally:
        alarm.kill()
        _current.reset(token)


@contextmanager
def held() -> Iterator[None]:
    """In this block the request of this green thread, if any, is not ended: what it stores may be stored already."""
    request = _current.get()
    if request is None:
        yield
        return
    with request.held():
        yield


def note_commit() -> None:
    """Note that the request of this green thread, if any, stores something now: from here on it is not ended."""
    request = _current.get()
    if request is not None:
        request.note_commit()
