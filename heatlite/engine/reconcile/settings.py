"""The settings of the controller and of the parts that it is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReconcileSettings:
    """`action_timeout`: seconds, for stacks without a timeout."""

    action_timeout: int
    retry_limit: int
    interval: float                     # seconds between two polls
    patience: float                     # seconds that an aborted call has to return
    events: int                         # the most events in the history of one stack; 0: no limit
    observe: bool                       # every update compares with the state that the services report
