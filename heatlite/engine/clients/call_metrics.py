"""The time of requests to other services, by service and outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from heatlite.common import metrics
from heatlite.engine.clients.call_spans import service_of

T = TypeVar('T')
NO_ANSWER = 'none'          # refused, too late, cut off


def timed(kwargs: Mapping[str, object], send: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> T:
    """Return `send()`, the answer to a request, and record how long it took. Raises what `send` raises.

    `kwargs`: those of a session's request. `clock`: seconds. Outcomes are the first digit of the status, as in `4xx`.
    """
    service = metrics.service_label(service_of(kwargs))
    began, outcome = clock(), NO_ANSWER
    try:
        answer = send()
        outcome = outcome_of(getattr(answer, 'status_code', None))
        return answer
    except Exception as error:
        outcome = outcome_of(getattr(error, 'http_status', None))
        raise
    finally:
        metrics.service_seconds.labels(service, outcome).observe(clock() - began)


def outcome_of(status: object) -> str:
    """`2xx` to `5xx`; NO_ANSWER without a status. Errors of connections have the status 0 or none."""
    return f'{status // 100}xx' if isinstance(status, int) and 200 <= status < 600 else NO_ANSWER
