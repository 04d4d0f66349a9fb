"""Which failed actions of resources are retried, and after how long (docs/spec/engine.rst, "Retries")."""

from __future__ import annotations

from collections.abc import Callable

from heatlite.common.backoff import backoff
from heatlite.planning.states import Action
from heatlite.planning.steps_under_way import StepState

LONGEST_PAUSE = 300.0           # seconds, before the part by chance


def attempts(state: StepState) -> int | None:
    """Return how often the present action of the step was retried; None if such an action is not retried."""
    if state.action is Action.CREATE:
        return state.attempt
    return state.delete_attempts if state.action is Action.DELETE else None


def is_left(state: StepState, limit: int) -> bool:
    """Whether the present action of the step may be retried once more. `limit`: of retries."""
    made = attempts(state)
    return made is not None and made < limit


def pause(attempt: int, random: Callable[[], float]) -> float:
    """Return the seconds before retry number `attempt` (from 1): 2, 4, 8 ..., at most LONGEST_PAUSE, with up to 2 more
    by chance.

    `random()`: from 0 to 1."""
    return backoff(attempt + 1, LONGEST_PAUSE) + 2 * random()
