"""How long an action of a stack may take."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 10 * 365 * 86_400      # seconds


def action_seconds(timeout_mins: int | None, default: int) -> int:
    """Return the seconds after which an action fails. `timeout_mins`: of the stack; None or 0: the stack has none, and
    `default` (seconds, option stack_action_timeout) is used. At most LONGEST: the end of the action is a date."""
    return min(timeout_mins * 60 if timeout_mins else default, LONGEST)
