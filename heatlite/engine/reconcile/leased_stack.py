"""A stack whose lease this engine holds: its row, its lease, its definition, its traversal."""

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
    """The state in memory of one leased stack. Mutable. `row`: the newest row of the stack itself that was read."""

    def __init__(self, row: Stack, lease: Lease, definition: StackDefinition, context: RequestContext,
                 traversal: Traversal) -> None:
        self.row = row
        self.lease = lease
        self.definition = definition
        self.context = context
        self.traversal = traversal
        self.secrets: set[str] = set()                          # data stored as secret by its types in this process
        self.kept: dict[int, Mapping[str, Any]] = {}            # row -> its cached values, see `attribute_cache`
        self.traced = 0                                         # generation whose action has ended for traces
        self.signalled = 0                                      # generation in which the last signal was handled

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def rows(self) -> Mapping[int, ResourceState]:
        """Row number -> row, read-only: changes go through `record`."""
        return self.traversal.rows

    def record(self, row: ResourceState) -> None:
        """Take over a row that a resource type has changed."""
        self.traversal.record(row)

    def current(self, name: str) -> ResourceState | None:
        return self.traversal.current(name)


def desired(definition: StackDefinition, action: str) -> dict[str, Desired]:
    """Return the target of a traversal: name -> Desired. It is empty for a DELETE."""
    if action == Action.DELETE:
        return {}
    environment = definition.environment
    return {name: Desired(resource.type, resource.requires, external=resource.is_external,
                          imported=environment.import_of(name) is not None)
            for name, resource in implicit_dependencies.complete(definition).resources.items()}
