"""Limits of what a project may have, for transactions that make more of it: those that run at once do not exceed them
together. Never opens, commits or retries a transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import sqlalchemy as sa

from heatlite.common import limits
from heatlite.db import presence

AT_ONCE: Final = 250                        # things that all engines together make for a project at a time


def is_near(most: int, found: int) -> bool:
    """Whether those that are being made may exceed a limit of a project that has `found` of a thing. `most`: not
    UNLIMITED."""
    return found + AT_ONCE > most


def has_room(tx: sa.Connection, project_id: str, most: int, count: Callable[[], int]) -> bool:
    """Whether a project may have one more of a thing, at `most` so many, or UNLIMITED. `count()`: how many there are.

    Near the limit, others that ask this for the project wait for the end of `tx`, and it counts again. Call it before
    `presence.enter`."""
    if most == limits.UNLIMITED or not is_near(most, count()):
        return True
    presence.lock(tx, project_id)
    return limits.has_room(most, count)
