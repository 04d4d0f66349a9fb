"""The steps of a traversal that have started and not ended: how far each has come, and on which row it works."""

from __future__ import annotations

from collections.abc import Iterable

from heatlite.planning.states import NO_HANDLE
from heatlite.planning.steps import Step


class StepState:
    """How far a step has come. Kept from the start of a step until it ends."""

    __slots__ = ('action', 'attempt', 'away', 'cleared', 'delete_attempts', 'error', 'first', 'handle', 'hook',
                 'is_unknown', 'preempted', 'recreating', 'resumed', 'row_id', 'unsupported')

    def __init__(self, step: Step) -> None:
        self.row_id = step.row_id                   # 0: none yet
        self.action = step.action
        self.resumed = False                        # an earlier owner has begun to make its object
        self.is_unknown = False                     # and what became of the call is being found out
        self.first = False                          # nothing but the intent of its row is stored
        self.hook = ''                              # breakpoint at which it is held
        self.cleared: frozenset[str] = frozenset()  # breakpoints it has passed
        self.attempt = 0                            # number of retries of its creation
        self.delete_attempts = 0                    # number of retries of its deletion
        self.recreating = False                     # the delete under way is followed by another create
        self.error = ''                             # the first failure
        self.preempted = ''                         # why its type was asked to end it early
        self.away = ''                              # failure text while it waits for a service that does not answer
        self.handle: object = NO_HANDLE
        self.unsupported = False


class StepsUnderWay:
    """At most one step works on a row, the others for it wait until that step ends."""

    def __init__(self) -> None:
        self._states: dict[Step, StepState] = {}
        self.busy: dict[int, Step] = {}             # row -> the step that works on it
        self._blocked: dict[int, list[Step]] = {}   # row -> steps that wait for the busy one to end
        self.inspecting: set[Step] = set()
        self.unanswered: set[Step] = set()          # their first call has not returned: it waits, or is under way

    def of(self, step: Step) -> StepState:
        """Return the state of the step, which begins now if there is none."""
        state = self._states.get(step)
        if state is None:
            state = self._states[step] = StepState(step)
            self.unanswered.add(step)
        return state

    def occupy(self, step: Step, row_id: int) -> StepState:
        """Note that the step works on that row, so that no other step does."""
        state = self.of(step)
        state.row_id = row_id
        self.busy[row_id] = step
        return state

    def renew(self, step: Step) -> None:
        """Forget how far the step has come, but for the breakpoints it has passed: it makes another row, or decides
        anew about the one it had, which it does not occupy any more."""
        former = self.of(step)
        if self.busy.get(former.row_id) == step:
            del self.busy[former.row_id]
        state = self._states[step] = StepState(step)
        state.row_id, state.cleared = former.row_id, former.cleared

    def is_busy(self, step: Step) -> bool:
        """Whether `step` still works on its row."""
        state = self._states.get(step)
        return state is not None and self.busy.get(state.row_id) == step

    def has_ended(self, step: Step) -> bool:
        """Whether `step` has ended, or was dropped with its target."""
        return step not in self._states

    def block(self, step: Step, row_id: int) -> Step:
        """Make `step` wait for the busy step of that row, which is returned."""
        self.unanswered.discard(step)
        self._blocked.setdefault(row_id, []).append(step)
        return self.busy[row_id]

    def end(self, step: Step) -> Iterable[Step]:
        """Note that the step has ended. Returns the steps that waited for its row."""
        state = self._states.pop(step, None)
        self.unanswered.discard(step)
        if state is None or self.busy.get(state.row_id) != step:
            return ()
        del self.busy[state.row_id]
        return self._blocked.pop(state.row_id, ())

    def drop_idle(self) -> None:
        """Drop the steps of a former target, but those that work on a row: they go on to their end."""
        self.inspecting.clear()
        self._blocked.clear()
        self._states = {step: self._states[step] for step in self.busy.values()}
        self.unanswered &= self._states.keys()
