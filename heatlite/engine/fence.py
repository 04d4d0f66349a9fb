"""The right to change a cloud, asked for again before each request that an action of a resource sends.

An action may be held up between two of its requests for longer than its engine's lease lasts: the process stood still,
or the database did not answer. Another engine then acts in its place, and the rest of the requests must not be sent. A
database cannot fence a cloud, so what remains is the moment between the check and the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], None] | None] = ContextVar('fence', default=None)


@contextmanager
def behind(check: Callable[[], None]) -> Iterator[None]:
    """In the block, `pass_through` of this green thread calls `check`, which raises LeaseLost."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def pass_through() -> None:
    """To be called right before a request to a service. Outside of actions it does nothing."""
    check = _check.get()
    if check is not None:
        check()
