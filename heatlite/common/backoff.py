"""How long to wait before the next attempt of what has failed. Pure: `planning` uses it, too."""

from __future__ import annotations

from typing import Final

MOST_DOUBLINGS: Final = 60          # more would make numbers beyond those of the interpreter


def backoff(attempt: int, longest: float) -> float:
    """Return the seconds to wait after `attempt` (from 1) has failed: 1, 2, 4 ..., at most `longest`."""
    return min(2.0 ** min(attempt - 1, MOST_DOUBLINGS), longest)
