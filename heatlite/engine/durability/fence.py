"""Checks the lease before each request that an action of a resource sends.

An action, or the handler of a signal, may stall between two of its requests for longer than its engine's lease lasts:
the process was stopped, or the database did not answer. Another engine then acts in its place, and the remaining
requests must not be sent. A database cannot fence a cloud, so the moment between check and request is not covered.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from heatlite.common import exception
from heatlite.common.i18n import _

T = TypeVar('T')

_check: ContextVar[Callable[[], None] | None] = ContextVar('fence', default=None)


def behind(check: Callable[[], None], work: Callable[[], T]) -> T:
    """Return `work()`. `check`, which raises LeaseLost or the like, is called first, and by each `pass_through` of
    this green thread until `work` returns."""
    check()
    token = _check.set(check)
    try:
        return work()
    finally:
        _check.reset(token)


def without_requests(work: Callable[[], T]) -> T:
    """Return `work()`. Each request that it would send to a service raises Error instead."""
    token = _check.set(_refuse)
    try:
        return work()
    finally:
        _check.reset(token)


def _refuse() -> None:
    raise exception.Error(_('A service would have to be asked'))


def pass_through() -> None:
    """Check the lease; call this right before a request to a service. Does nothing outside of `behind`."""
    check = _check.get()
    if check is not None:
        check()
