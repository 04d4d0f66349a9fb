"""Breakpoints that users set for resources, such as `pre-create` and `post-delete`, and the steps held at them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from heatlite.planning.commands import Pause
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Step, StepKind
from heatlite.planning.steps_under_way import StepsUnderWay

Hooks = Callable[[str], Collection[str]]
"""Returns the breakpoints of a resource, by its name."""


def no_hooks(_name: str) -> Collection[str]:
    return ()


class Breakpoints:
    def __init__(self, held: Mapping[int, str], under_way: StepsUnderWay) -> None:
        """`held`: row number -> breakpoint at which the row was held when the previous owner was interrupted."""
        self._under_way = under_way
        self._hooks: Hooks = no_hooks
        self._action = Action.INIT                  # of the stack
        self._held_before = dict(held)
        self._held: dict[Step, ResourceState] = {}

    def __bool__(self) -> bool:
        """Whether a step is held."""
        return bool(self._held)

    def use(self, hooks: Hooks, action: Action) -> None:
        """Use the breakpoints of a newer target. `action`: of the stack."""
        self._hooks, self._action = hooks, action

    def holds(self, step: Step, action: Action, hook: str) -> bool:
        """Whether the step is to be held at this breakpoint of `action`: the user has set it, the stack is in that
        action, and the step has not passed it yet."""
        return (self._action is action and hook in self._hooks(step.name)
                and hook not in self._under_way.of(step).cleared)

    def before(self, step: Step, row: ResourceState) -> str:
        """Return the breakpoint that holds the step before it begins its action on `row`, or ''."""
        if step.kind is StepKind.DELETE:
            action = Action.DELETE
        else:
            action = Action.CREATE if row.action is Action.INIT else Action.UPDATE
        hook = f'pre-{action.lower()}'
        return hook if self.holds(step, action, hook) else ''

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

    def hold(self, step: Step, row: ResourceState, hook: str) -> Pause:
        """Hold the step. After an action the row stays busy, so steps that wait for it do not start."""
        state = self._under_way.of(step)
        state.row_id, state.hook = row.id, hook
        self._under_way.unanswered.discard(step)
        self._held[step] = row
        return Pause(step, row, hook)

    def take(self, step: Step) -> ResourceState | None:
        """Return the row of a held step, which is held no longer; None if the breakpoint was released before."""
        return self._held.pop(step, None)

    def take_all(self) -> dict[Step, ResourceState]:
        held, self._held = self._held, {}
        return held
