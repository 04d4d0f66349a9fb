"""Logs outages of services that this process needs: one line at the beginning, one at the end.

During an outage every thread that needs the service fails, several times a second. Only the change of state is logged.
"""

from __future__ import annotations

import logging
import time

from heatlite.common import metrics

LOG = logging.getLogger(__name__)

DATABASE, BROKER, CACHE, IDENTITY = 'database', 'message broker', 'cache', 'identity service'
TABLES = 'tables'
_BACK = {TABLES: 'are there'}   # instead of "answers again"
REMINDER = 60.0                 # seconds; a longer or recurring outage is logged again after each
_OF_NO_REQUEST = {'context': None}


class _Outage:
    def __init__(self, now: float) -> None:
        self.since = now
        self.reported = now
        self.failures = 0


current: dict[str, _Outage] = {}        # empty without an outage: callers check this first, since it is fast
_reported: dict[str, float] = {}


def away(service: str, reason: object) -> None:
    """Record a failure of the service. Logs it the first time, and once a minute."""
    now = time.monotonic()
    found = current.get(service)
    if found is None:
        found = current[service] = _Outage(now)
        metrics.outage.labels(service).set(1)
        found.reported = _reported.get(service, now - REMINDER)     # it may come and go several times a second
    found.failures += 1
    if now - found.reported >= REMINDER:
        found.reported = _reported[service] = now
        LOG.warning('Work waits for the %s: %s', service, reason, extra=_OF_NO_REQUEST)
    else:
        LOG.debug('Work waits for the %s: %s', service, reason)


def seconds(service: str) -> float:
    """Return for how long the service has been away, as far as this process knows; 0 if it is not."""
    found = current.get(service)
    return 0.0 if found is None else time.monotonic() - found.since


def back(service: str) -> None:
    """Record a success of the service."""
    found = current.pop(service, None)
    if found is not None:
        metrics.outage.labels(service).set(0)
    if found is not None and _reported.get(service, -REMINDER) >= found.since:
        LOG.warning('The %s %s after %.1f s (%d failures)', service, _BACK.get(service, 'answers again'),
                    time.monotonic() - found.since, found.failures, extra=_OF_NO_REQUEST)


def forget() -> None:
    """Forget all outages: the next failure is logged again."""
    for service in current:
        metrics.outage.labels(service).set(0)
    current.clear()
    _reported.clear()
