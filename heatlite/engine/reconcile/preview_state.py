"""What a preview knows of the future state of a stack's resources."""

from __future__ import annotations

from dataclasses import dataclass, field

from heatlite.engine.resource import Resource
from heatlite.planning.states import ResourceState


@dataclass
class PreviewState:
    """Mutable: filled while the preview goes on, and empty for a stack that is driven or read."""

    to_make: set[int] = field(default_factory=set)      # rows that the update would create
    changed: set[int] = field(default_factory=set)      # rows that the update would change
    objects: dict[int, Resource] = field(default_factory=dict)  # changed row -> object that reads its future attributes

    def is_future(self, row: ResourceState, attribute: bool) -> bool:
        """Whether the reference of the row, or with `attribute` its attributes, are known only during the update."""
        return row.id in self.to_make or (attribute and row.id in self.changed and row.id not in self.objects)
