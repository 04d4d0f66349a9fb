"""Bounds log lines that one cause writes again and again: the first at once, then one a minute, with a count of others.

For failures that a service which is away causes at each request, resource or event. All of them are logged at DEBUG.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable

from heatlite.common.expiring_cache import ExpiringCache

INTERVAL = 60.0             # seconds between two lines of one cause
REMEMBERED = 600.0          # seconds until lines that were left out are forgotten, if no more are
MOST_CAUSES = 1000          # remembered
MORE = ' (%d more of this kind since the last such line)'

_passed: ExpiringCache[bool] = ExpiringCache(MOST_CAUSES, INTERVAL)
_left_out: ExpiringCache[int] = ExpiringCache(MOST_CAUSES, REMEMBERED)


def log(logger: logging.Logger, level: int, cause: Hashable, message: str, *arguments: object,
        extra: dict[str, object] | None = None) -> None:
    """Log a line, unless one of the same logger and cause was logged within a minute: then at DEBUG.

    `cause`: has few values, such as the class of an error; never an id, nor a text that a user chooses.
    """
    key = logger.name, cause
    if not _passed.add(key):
        _left_out.put(key, _left_out.get(key, 0) + 1)
        logger.debug(message, *arguments, extra=extra, stacklevel=2)
        return
    more = _left_out.get(key, 0)
    if more:
        _left_out.remove(key)
        message, arguments = message + MORE, (*arguments, more)
    logger.log(level, message, *arguments, extra=extra, stacklevel=2)


def forget() -> None:
    """Forget what was logged: the next line of each cause is logged again."""
    _passed.clear()
    _left_out.clear()
