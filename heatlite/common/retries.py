"""Repeats operations that fail for a while, by named policies. Pauses are those of the runtime, so time may be virtual.

A policy says how long to pause and how often to try; the caller says after which errors. Loops that wait for something
to happen, without an operation that fails, do not belong here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from heatlite.common import metrics, runtime

E = TypeVar('E', bound=Exception)
T = TypeVar('T')


@dataclass(frozen=True)
class RetryPolicy:
    """The pauses between attempts, and how many attempts there are. `kind`: of these retries, in metrics."""

    kind: str
    wait: tenacity.wait.wait_base
    stop: tenacity.stop.stop_base = tenacity.stop_never


def _each(*seconds: float) -> tenacity.wait.wait_base:
    """Return these pauses in order; the last one again and again."""
    return tenacity.wait_chain(*map(tenacity.wait_fixed, seconds))


# A transaction that met a deadlock: 0, 0.01 ... 0.09 seconds.
CONTENTION = RetryPolicy('contention', tenacity.wait_incrementing(start=0, increment=0.01),
                         tenacity.stop_after_attempt(11))
# Work that has begun and can only wait for the database.
DATABASE = RetryPolicy('database', tenacity.wait_fixed(0.5))
# A request to an API that has changed nothing yet: 0.1, 0.2, 0.5, 0.7, 1 seconds.
REQUEST = RetryPolicy('request', _each(0.1, 0.2, 0.5, 0.7, 1.0), tenacity.stop_after_attempt(6))
# The journal: everything that the engine does waits for it.
JOURNAL = RetryPolicy('journal', _each(0.05, 0.1, 0.2, 0.5, 1.0, 2.0))
# The start of a program, while the database does not answer.
START = RetryPolicy('start', tenacity.wait_fixed(2.0))
# A request of which no byte was sent, because a service accepts no connection: 0.5, 1, 2, 4 seconds.
CONNECTION = RetryPolicy('service', tenacity.wait_exponential(multiplier=0.5), tenacity.stop_after_attempt(5))
# A migration that waits for a table: others get it in between. A backup may hold it for minutes.
MIGRATION = RetryPolicy('migration', tenacity.wait_fixed(2.0), tenacity.stop_after_attempt(120))
# Events of one stack that are to be sent: nothing else waits for their thread, but the end of the stack's lease.
EVENTS = RetryPolicy('events', tenacity.wait_fixed(1.0), tenacity.stop_after_attempt(5))
# A message that no engine takes.
ENGINE = RetryPolicy('message', tenacity.wait_fixed(0.25))
# A change of a project that is being moved to another cell.
MOVE = RetryPolicy('move', tenacity.wait_fixed(0.2))


def call(function: Callable[[], T], policy: RetryPolicy, errors: type[E] | tuple[type[E], ...], *,
         gives_up: Callable[[E], bool] | None = None, before_pause: Callable[[E, float], None] | None = None,
         sleep: Callable[[float], None] | None = None) -> T:
    """Return `function()`, called again after each of `errors`. Raises the error of the last attempt.

    `gives_up(error)`: whether that attempt was the last one; `before_pause(error, seconds)`: for logs; `sleep`: the
    current runtime's by default.
    """
    try:
        return function()               # not by the library, which takes 20 us for a success
    except errors as error:
        failures = [error]
    return _repeat(function, policy, errors, failures, gives_up, before_pause, sleep or runtime.current().sleep)


def _repeat(function: Callable[[], T], policy: RetryPolicy, errors: type[E] | tuple[type[E], ...],
            failures: list[E], gives_up: Callable[[E], bool] | None,
            before_pause: Callable[[E, float], None] | None, sleep: Callable[[float], None]) -> T:
    """As `call`, after a first attempt that has failed with the error in `failures`."""
    def attempt() -> T:
        if failures:
            raise failures.pop()
        return function()

    def stop(state: tenacity.RetryCallState) -> bool:
        error = _error(state)
        return policy.stop(state) or (gives_up is not None and isinstance(error, errors) and gives_up(error))

    def tell(state: tenacity.RetryCallState) -> None:
        metrics.retries.labels(policy.kind).inc()
        error = _error(state)
        if before_pause is not None and isinstance(error, errors):
            before_pause(error, state.upcoming_sleep)

    return tenacity.Retrying(retry=tenacity.retry_if_exception_type(errors), wait=policy.wait, stop=stop,
                             before_sleep=tell, sleep=sleep, reraise=True)(attempt)


def _error(state: tenacity.RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None
