"""The parts of an engine that serve all stacks which it drives: each runner uses them, none belongs to one stack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from heatlite.db.leases import Lease
from heatlite.engine.durability.event_history import EventHistory
from heatlite.engine.durability.journal import Journal
from heatlite.engine.durability.pool import Pool
from heatlite.engine.durability.timers import Timers
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.reconcile.capacity import StackCapacity
from heatlite.engine.reconcile.settings import ReconcileSettings


@dataclass(frozen=True)
class DrivingParts:
    """There is one for each engine. `pool`: runs the calls into resource types; `may_act(lease)`: returns once the
    lease is certainly valid, or raises LeaseLost."""

    journal: Journal
    pool: Pool
    capacity: StackCapacity
    timers: Timers
    history: EventHistory
    sinks: EventSinks
    settings: ReconcileSettings
    may_act: Callable[[Lease], None]
