"""When the steps of a target start: once the steps that they require have completed, and no other works on their row.

`steps` builds them, `walk` counts what each one waits for, `steps_under_way` has those that have started.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping

from heatlite.planning.steps import Step, StepKind
from heatlite.planning.steps_under_way import StepsUnderWay
from heatlite.planning.walk import Walk

# Steps that have begun and whose first call has not returned. More than the calls that run at once (256), so that none
# waits for the next to begin; and few, so that begin and end of a short step are stored by one write of its row, and an
# engine keeps contexts for a part of a large stack only.
MOST_UNANSWERED = 400


class Schedule:
    """The steps of one target that have not started. Those of a former target that work on a row go on to their end."""

    def __init__(self, under_way: StepsUnderWay) -> None:
        self._under_way = under_way
        self._walk: Walk[Step] | None = None        # of the target, once it has started
        self._to_apply = 0                          # resources that its steps have not brought to the target yet
        self.target_number = 0                      # of the steps of the target
        self.ready: deque[Step] = deque()

    def clear(self) -> None:
        """Drop the steps of a former target. Those of the next one are not known yet."""
        self.target_number += 1
        self._walk = None
        self.ready.clear()
        self._under_way.drop_idle()

    def fill(self, built: Mapping[Step, Collection[Step]]) -> None:
        """Take over the steps of the target: step -> steps that it waits for."""
        self._walk = Walk(built)
        self._to_apply = sum(step.kind is StepKind.APPLY for step in built)
        self.ready.extend(self._walk.ready())

    @property
    def has_applied(self) -> bool:
        """Whether all resources are as the target wants them."""
        return self._walk is not None and self._to_apply == 0

    @property
    def is_finished(self) -> bool:
        """Whether all steps of the target have completed."""
        return self._walk is not None and self._walk.is_finished

    def is_wanted(self, step: Step) -> bool:
        """Whether the step belongs to the current target."""
        return step.target == self.target_number and step.kind is not StepKind.CONCLUDE

    def has_room(self) -> bool:
        """Whether one more step may start: less than MOST_UNANSWERED wait for their first call, or none is under way
        that would start the next one at its end."""
        under_way = self._under_way
        return len(under_way.unanswered) < MOST_UNANSWERED or not (under_way.busy or under_way.inspecting)

    def complete(self, step: Step) -> None:
        """Note that the step has done its work: steps that waited for it, or for its row, become ready."""
        self.end(step)
        if self._walk is not None and self.is_wanted(step):
            self._to_apply -= step.kind is StepKind.APPLY
            self.ready.extend(self._walk.finish(step))

    def end(self, step: Step) -> None:
        """Note that the step has ended: steps that waited for its row become ready."""
        self.ready.extend(self._under_way.end(step))
