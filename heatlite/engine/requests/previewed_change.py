"""What becomes of one resource in a preview, and what the dry run of its stack has found about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from heatlite.common import exception
from heatlite.db.stacks import StoredStack
from heatlite.engine.reconcile.diff import PropertyChange
from heatlite.engine.reconcile.unknowns import Doubt
from heatlite.planning.plan import MeasuredResource, PlanAction
from heatlite.planning.replacement import ReplacementCause
from heatlite.planning.states import Action, ResourceState


@dataclass(slots=True)
class PreviewedChange:
    """The record of one resource. The executor and the dry run fill it; it is final when the dry run has ended."""

    name: str
    action: PlanAction = PlanAction.NONE
    row: ResourceState | None = None    # as stored; None for a resource that would be added
    why: str = ''                       # reason of a replacement, or why the change is unknown
    properties: Mapping[str, PropertyChange] = field(default_factory=dict)      # those that differ
    new_properties: Mapping[str, object] = field(default_factory=dict)  # properties of a resource that would be made
    cause: ReplacementCause | None = None   # of a replacement that no changed property requires
    stored: Mapping[str, object] = field(default_factory=dict)  # properties of the resource that `cause` replaces
    imported: str | None = None         # the physical id of the object that would be imported
    nested: StoredStack | None = None   # the row of the nested stack
    inside: str = ''                    # why the changes in its nested stack are unknown
    begun: set[Action] = field(default_factory=set)     # actions that the traversal began
    place: float = inf                  # position in the order in which they began
    measured_before: MeasuredResource | None = None     # what counts of its present object
    measured_after: MeasuredResource | None = None      # ... and of its future one
    is_gone: bool = False               # the service does not know its object
    import_error: exception.HeatException | None = None     # why nothing can be imported into it
    why_not_moved: str = ''             # why a refactor cannot move it

    # From these, the dry run concludes whether the change is unknown.
    is_reached: bool = False
    is_settled: bool = False            # it stays as it is, and the update would not visit its nested stack
    doubt: Doubt | None = None          # its verdict is uncertain
    failure: str | None = None          # an action on it would fail

    def become(self, action: PlanAction, row: ResourceState | None) -> None:
        """Note the first change of the resource, and that an update turns out to be a replacement."""
        if self.action is PlanAction.NONE:
            self.action, self.row = action, row
        elif self.action is PlanAction.UPDATE and action is PlanAction.REPLACE:
            self.action = action

    def conclude(self, row: ResourceState | None) -> None:
        """Drop what was found but means no change. `row`: the present row."""
        if self.is_settled:
            self.action = PlanAction.NONE
        if self.action is PlanAction.NONE:
            self.row, self.properties = row, {}
        if self.action is not PlanAction.REPLACE:
            self.cause, self.stored = None, {}

    def become_unknown(self, row: ResourceState | None, why: str) -> None:
        """Drop what holds for a certain change only: not the properties that differ."""
        self.action, self.row, self.why, self.inside = PlanAction.UNKNOWN, row, why, why
        self.new_properties, self.cause, self.stored, self.imported = {}, None, {}, None


class PreviewedChanges(dict[str, PreviewedChange]):
    """The records of the resources of one stack, by name. One that is asked for is there."""

    def __missing__(self, name: str) -> PreviewedChange:
        change = self[name] = PreviewedChange(name)
        return change
