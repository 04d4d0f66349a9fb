"""The state of a traversal: its target, its rows, and how far its steps have come.

The rules of single steps are functions of it: `step_starts`, `step_actions`, `step_results` and `step_failures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heatlite.planning.breakpoints import Breakpoints
from heatlite.planning.ending import Ending
from heatlite.planning.rows import Rows
from heatlite.planning.schedule import Schedule
from heatlite.planning.steps import Step
from heatlite.planning.steps_under_way import StepsUnderWay
from heatlite.planning.target import Target
from heatlite.planning.tolerance import Tolerance


class TraversalState:
    """The parts of a traversal, each with rules of its own. Which threads may change and read them: `Traversal`."""

    __slots__ = ('breakpoints', 'ending', 'is_restored', 'random', 'retry_limit', 'rows', 'schedule', 'steps', 'target',
                 'tolerance')

    def __init__(self, target: Target, rows: Rows, held: Mapping[int, str], random: Callable[[], float],
                 retry_limit: int, is_restored: bool) -> None:
        """`held`, `is_restored`: as of `Traversal`; `random()`: from 0 to 1, for pauses; `retry_limit`: tries after the
        first one."""
        self.rows = rows
        self.random = random
        self.retry_limit = retry_limit
        self.is_restored = is_restored
        self.steps = StepsUnderWay()
        self.schedule = Schedule(self.steps)
        self.breakpoints = Breakpoints(held, self.steps)
        self.use(target)

    def use(self, target: Target) -> None:
        """Take over a target. Steps that work on a row go on, all others are dropped."""
        self.target = target
        self.breakpoints.use(target.hooks, target.action)
        self.ending = Ending(target.action, target.rollback)
        self.choose_current()
        self.tolerance = Tolerance(target.tolerance, target.template_id)
        if target.tolerance:
            self._recall_failures()
        self.schedule.clear()

    def choose_current(self) -> None:
        """Choose the current row of each name, as `Rows.choose_current`."""
        self.rows.choose_current(self.target.template_id, self.target.avoid_template_id)

    def _recall_failures(self) -> None:
        """Count what had failed when the previous owner was interrupted. It is current as before the interruption: the
        former row of a replacement that has failed ranks higher, and would be replaced again."""
        for row in self.rows.by_number.values():
            if row.replaced_by is None and self.tolerance.recall(row):
                self.rows.current_numbers[row.name] = row.id

    def requirements(self, name: str) -> Mapping[str, int]:
        """Return the current requirements of that resource: {name: row number}. Raises NotRead."""
        return self.rows.requirements(self.target.desired[name])

    def is_pursued(self, step: Step) -> bool:
        """Whether the step belongs to the current target, and the action goes on."""
        return self.schedule.is_wanted(step) and not self.ending.is_stopped
