"""Breakpoints that users set for resources, such as `pre-create` and `post-delete`, and the steps held at them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from heatlite.planning.commands import Pause
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Step, StepKind
from heatlite.planning.steps_under_way import StepState

Hooks = Callable[[str], Collection[str]]
"""Returns the breakpoints of a resource, by its name."""


def no_hooks(_name: str) -> Collection[str]:
    return ()


class Breakpoints:
    def __init__(self, held: Mapping[int, str]) -> None:
        """`held`: row number -> breakpoint at which the row was held when the previous owner was interrupted."""
        self._hooks: Hooks = no_hooks
        self._held_before = dict(held)
        self._held: dict[Step, ResourceState] = {}

    def __bool__(self) -> bool:
        """Whether a step is held."""
        return bool(self._held)

    def use(self, hooks: Hooks) -> None:
        """Use the breakpoints of a newer definition."""
        self._hooks = hooks

    def has(self, name: str, hook: str) -> bool:
        """Whether the user has set this breakpoint for that resource."""
        return hook in self._hooks(name)

    def held_before(self, row: ResourceState) -> str:
        """Return the breakpoint that held the row when the previous owner was interrupted, once; or ''."""
        return self._held_before.pop(row.id, '')

    def take_before(self) -> dict[int, str]:
        """Return and clear the breakpoints that the previous owner had reached: row number -> name of the hook."""
        held, self._held_before = self._held_before, {}
        return held

    @property
    def was_holding(self) -> bool:
        """Whether rows were held when the previous owner was interrupted that are not held again."""
        return bool(self._held_before)

    def hold(self, step: Step, state: StepState, row: ResourceState, hook: str) -> Pause:
        state.row_id, state.hook = row.id, hook
        self._held[step] = row
        return Pause(step, row, hook)

    def take(self, step: Step) -> ResourceState | None:
        """Return the row of a held step, which is held no longer; None if the breakpoint was released before."""
        return self._held.pop(step, None)

    def take_all(self) -> dict[Step, ResourceState]:
        held, self._held = self._held, {}
        return held


def before(step: Step, row: ResourceState) -> Action:
    """Return the action that the step would begin on `row`: its breakpoint is `pre-ACTION`."""
    if step.kind is StepKind.DELETE:
        return Action.DELETE
    return Action.CREATE if row.action is Action.INIT else Action.UPDATE
