"""The settings of the controller and of the parts that it is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReconcileSettings:
    """`action_timeout`: seconds, for stacks without a timeout."""

    action_timeout: int = 3600
    retry_limit: int = 5
    interval: float = 1.0               # seconds between two polls
    patience: float = 240.0             # seconds that an aborted call has to return
    events: int = 0                     # the most events in the history of one stack; 0: no limit
    observe: bool = False               # every update compares with the state that the services report
