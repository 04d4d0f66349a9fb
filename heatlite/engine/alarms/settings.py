"""The options of [alarms], as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from heatlite.db.metrics import LENGTHS

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

HOUR: Final = 3_600
DAY: Final = 86_400


@dataclass(frozen=True)
class AlarmSettings:
    """Seconds, unless a field says otherwise."""

    tick: float                             # between two looks of a shard, at most
    delay: float                            # that data may be late
    batch: int                              # alarms in one transaction
    max_metrics: int                        # of a project, or UNLIMITED
    max_alarms: int                         # of a project, or UNLIMITED
    kept: tuple[int, ...]                   # data in periods of each of metrics.LENGTHS
    history: timedelta
    webhook_timeout: float

    @classmethod
    def of(cls, conf: ConfigOpts) -> AlarmSettings:
        found = conf.alarms
        return cls(tick=found.tick, delay=found.delay, batch=found.batch_size,
                   max_metrics=found.max_metrics_per_project, max_alarms=found.max_alarms_per_project,
                   kept=(found.keep_10 * HOUR, *(found[f'keep_{length}'] * DAY for length in LENGTHS[1:])),
                   history=timedelta(days=found.keep_history), webhook_timeout=found.webhook_timeout)
