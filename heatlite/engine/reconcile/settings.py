"""The settings of the controller and of the parts that it is made of."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_config import cfg


@dataclass(frozen=True)
class ReconcileSettings:
    """`action_timeout`: seconds, for stacks without a timeout."""

    action_timeout: int
    retry_limit: int
    interval: float                     # seconds between two polls, unless the type sets its own
    patience: float                     # seconds that an aborted call has to return
    observe: bool                       # every update compares with the state that the services report

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> ReconcileSettings:
        return cls(action_timeout=conf.stack_action_timeout, retry_limit=conf.action_retry_limit,
                   interval=conf.engine.poll_interval, patience=conf.error_wait_time,
                   observe=conf.observe_on_update)
