"""Removes metric data and history that are older than they are kept, in bounded slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Final

import sqlalchemy as sa

from heatlite.db import alarms, metrics
from heatlite.db.metrics import LENGTHS

SLICE: Final = 1_000                        # rows in one transaction
DAY: Final = 86_400.0


def steps(now: float, kept: Sequence[int], history: timedelta) -> Iterator[Callable[[sa.Connection], int]]:
    """Functions that remove or move at most SLICE rows each, and return how many: call each, in a new transaction,
    until it returns 0.

    `now`: seconds since 1970. `kept`: seconds that data in periods of each of LENGTHS are kept.
    """
    # The longest periods first, so that no row moves twice in one go.
    for length, seconds in sorted(zip(LENGTHS, kept, strict=True), reverse=True):
        yield lambda tx, length=length, seconds=seconds: (          # type: ignore[misc]
            metrics.fold(tx, length, now - seconds, SLICE))
    # A day later than the data: `seen_at` is behind, and writers remember metrics for a while.
    yield lambda tx: metrics.purge(tx, now - max(kept) - DAY, SLICE)
    yield lambda tx: alarms.purge_history(tx, metrics.moment(now) - history, SLICE)
