"""A stack this engine owns: its row, its lease, its definition, and what is known of its resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heatlite.common.context import RequestContext
from heatlite.db.leases import Lease
from heatlite.db.stacks import Stack
from heatlite.engine.reconcile import implicit_dependencies
from heatlite.language.definition import StackDefinition
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Desired
from heatlite.planning.traversal import Traversal


class LeasedStack:
    """Mutable, and touched by one runner only. `row` is the newest row of the stack itself that was read."""

    def __init__(self, row: Stack, lease: Lease, definition: StackDefinition, context: RequestContext,
                 traversal: Traversal) -> None:
        self.row = row
        self.lease = lease
        self.definition = definition
        self.context = context
        self.traversal = traversal
        self.secrets: set[str] = set()                          # data that its types called secret, in this process
        self.kept: dict[int, Mapping[str, Any]] = {}            # row -> values kept with it, see `attribute_cache`

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def rows(self) -> dict[int, ResourceState]:
        return self.traversal.rows

    def current(self, name: str) -> ResourceState | None:
        return self.traversal.current(name)


def desired(definition: StackDefinition, action: str) -> dict[str, Desired]:
    """What planning must know of the target; nothing is wanted of a stack that is deleted."""
    if action == Action.DELETE:
        return {}
    return {name: Desired(resource.type, resource.requires, external=resource.is_external)
            for name, resource in implicit_dependencies.complete(definition).resources.items()}
