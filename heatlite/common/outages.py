"""Services that this process needs and that are away: one line when that begins, one when it ends.

While one is away every thread that needs it fails, several times a second. Only the change of state is news.
"""

from __future__ import annotations

import logging
import time

LOG = logging.getLogger(__name__)

DATABASE, BROKER, CACHE = 'database', 'message broker', 'cache'
REMINDER = 60.0                 # seconds; an outage that lasts, or comes and goes, is a line in each
_OF_NO_REQUEST = {'context': None}


class _Outage:
    def __init__(self, now: float) -> None:
        self.since = now
        self.told = now
        self.failures = 0


current: dict[str, _Outage] = {}        # empty as long as all is well: what happens often looks here first
_told: dict[str, float] = {}


def away(service: str, reason: object) -> None:
    """The service did not do what it was asked for. A line for the first time, and once a minute."""
    now = time.monotonic()
    found = current.get(service)
    if found is None:
        found = current[service] = _Outage(now)
        found.told = _told.get(service, now - REMINDER)     # it may come and go several times a second
    found.failures += 1
    if now - found.told >= REMINDER:
        found.told = _told[service] = now
        LOG.warning('Work waits for the %s: %s', service, reason, extra=_OF_NO_REQUEST)
    else:
        LOG.debug('Work waits for the %s: %s', service, reason)


def back(service: str) -> None:
    """The service did what it was asked for."""
    found = current.pop(service, None)
    if found is not None and _told.get(service, -REMINDER) >= found.since:
        LOG.warning('The %s answers again after %.1f s (%d failures)', service, time.monotonic() - found.since,
                    found.failures, extra=_OF_NO_REQUEST)


def forget() -> None:
    """Nothing is known of any service: the next failure is news."""
    current.clear()
    _told.clear()
