"""Counts, for each thread, the transactions that came to their commit, also those that another thread commits for it.

A request that failed before its first one has stored nothing: another engine may be asked instead.
"""

from __future__ import annotations

from contextvars import ContextVar

from heatlite.common import allowance

_begun: ContextVar[int] = ContextVar('commits', default=0)


def begun() -> int:
    """How many commits were begun for this thread; whether they were done is not known here."""
    return _begun.get()


def begin() -> None:
    """Note that a transaction with what this thread stores is about to be committed, or was."""
    _begun.set(_begun.get() + 1)
    allowance.note_commit()
