"""Tells defects of code from expected errors, and limits how often one place is reported.

An error that a tenant, a cloud or a full quota causes is expected: one line at INFO, its traceback at DEBUG. An
exception that only a mistake in code raises is a defect: its traceback is logged at ERROR, but once an hour for each
place, so that a plug-in with a defect does not flood the log.
"""

from __future__ import annotations

import logging
import traceback

from heatlite.common.expiring_cache import ExpiringCache

AGAIN_AFTER = 3600.0            # seconds
MOST_PLACES = 1000              # remembered

# No answer of a service and no template of a tenant raises one of these.
DEFECTS = (AttributeError, TypeError, LookupError, NameError, ArithmeticError, AssertionError, ImportError,
           NotImplementedError, RecursionError, SyntaxError, UnboundLocalError)

_reported: ExpiringCache[bool] = ExpiringCache(MOST_PLACES, AGAIN_AFTER)


def is_defect(error: BaseException) -> bool:
    """Whether the error is a defect of code, not of its input. Subclasses that libraries define report the latter."""
    return isinstance(error, DEFECTS) and type(error).__module__ == 'builtins'


def is_news(error: BaseException) -> bool:
    """Whether this place has not been reported within the hour; marks it as reported."""
    frames = traceback.extract_tb(error.__traceback__)
    place = (frames[-1].filename, frames[-1].lineno or 0, type(error).__name__) if frames else (
        '', 0, type(error).__name__)
    return _reported.add(place)


def text(error: BaseException) -> str:
    """Return the text of an error, or the name of its class if it cannot make one, as some libraries' cannot."""
    try:
        return str(error)
    except Exception:
        return type(error).__name__


def log(logger: logging.Logger, error: BaseException, message: str, *arguments: object) -> None:
    """Log a failure of foreign code: one line at INFO, or ERROR with the traceback for a defect not reported
    recently."""
    if is_defect(error) and is_news(error):
        logger.error(f'{message}: %s: %s (a defect; not reported again for an hour)', *arguments,
                     type(error).__name__, text(error), exc_info=error)
        return
    logger.info(f'{message}: %s: %s', *arguments, type(error).__name__, text(error))
    logger.debug(message, *arguments, exc_info=error)
