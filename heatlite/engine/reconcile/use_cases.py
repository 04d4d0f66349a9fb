"""The use cases of requests (`engine.requests`) that driving a stack needs, as interfaces.

A resource of a stack may create a nested stack or a software config, and the end of an action may complete a snapshot.
Those use cases need the controller themselves, so the parts of the controller get a provider of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from heatlite.db import snapshots, stacks
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.nesting import Nesting
from heatlite.engine.resource_services import AlarmUseCases, SoftwareConfigs
from heatlite.planning.states import Status


class SnapshotStore(Protocol):
    """The use cases of snapshots (`engine.requests.snapshots.Snapshots`) that follow from the end of an action."""

    def finished(self, row: stacks.StoredStack, status: Status, reason: str) -> None: ...

    def remove(self, row: stacks.StoredStack, found: Sequence[snapshots.Snapshot], check: Callable[[], None],
               ) -> str | None: ...


@dataclass(frozen=True)
class UseCases:
    """`nest(stack)`: makes the nested stacks of a parent stack."""

    snapshots: SnapshotStore
    software: SoftwareConfigs
    alarms: AlarmUseCases
    nest: Callable[[LeasedStack], Nesting]


Provider = Callable[[], UseCases]
"""Returns the use cases. It is called when a stack is driven or read, not before the engine is complete."""
