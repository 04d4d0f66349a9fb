"""Times as the API writes them, and the present time."""

from __future__ import annotations

from datetime import UTC, datetime

from heatlite.common import runtime


def now() -> float:
    """Seconds since 1970, by this machine's clock."""
    return (runtime.current().now() - runtime.EPOCH).total_seconds()


def moment(seconds: float) -> datetime:
    """Return a time with its zone."""
    return datetime.fromtimestamp(seconds, UTC)


def plain(seconds: float) -> datetime:
    """Return a time as the database holds it: UTC without a zone."""
    return moment(seconds).replace(tzinfo=None)
