"""The steps of one stack that its engine executes: one record for each, which says where the step is.

These threads begin and end the phases of a step, through `StepCalls` and `StepStore`:

- The runner's performs the commands, does what is due, and aborts. It begins STORING, CALLING and PAUSING, and WAITING
  for the next check.
- One of the pool executes the call, and ends CALLING: with REPORTED and its event, or, while the database is away, with
  WAITING for another try.
- The journal's ends STORING, with REPORTED.
- Any thread that kills the calls of a runner that was stopped ends CALLING, with REPORTED and no event.

A phase begins together with what belongs to it (the call in the pool, the timer, the event in the inbox): no other
thread runs in between. A result counts only while the record has its call, and a timer only while the record has what
was to be done then: so both are void once the step has gone on in another way.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from heatlite.planning import commands
from heatlite.planning.states import ResourceState
from heatlite.planning.steps import Step


class StepPhase(Enum):
    """Where a step is. Whether a call waits for capacity, `StackCapacity` alone knows: it starts the call."""

    REPORTED = 'its event is in the inbox, or the commands that follow from it are performed'
    STORING = 'its intent is in the journal, and not committed yet'
    CALLING = 'a call of it is in the pool, or waits for capacity'
    WAITING = 'for the time of its next call, which may be made earlier'
    PAUSING = 'for the time of its next event'


class PoolCall:
    """A call for the pool. Not a function: one that refers to itself is freed by the garbage collector only, with the
    whole stack that it belongs to."""

    __slots__ = ('execute', 'has_waited', 'is_handler', 'perform', 'recovers', 'row', 'step')

    def __init__(self, execute: Callable[[PoolCall], None], step: Step, row: ResourceState,
                 perform: Callable[[], commands.Event], is_handler: bool, recovers: bool) -> None:
        self.execute, self.step, self.row, self.perform, self.is_handler = execute, step, row, perform, is_handler
        self.recovers = recovers                    # its result precedes another try of the handler
        self.has_waited = False                     # for capacity for a nested stack

    def __call__(self) -> None:
        self.execute(self)


class ActiveStep:
    """The record of a step. `ActiveSteps.enter` alone writes `phase`, `call` and `due`; the thread that executes a call
    writes `refusals`. The runner's thread writes `aborted`, and the thread that ends the step for it deletes it."""

    __slots__ = ('aborted', 'call', 'due', 'phase', 'refusals')

    def __init__(self) -> None:
        self.phase = StepPhase.REPORTED
        self.call: PoolCall | None = None           # in CALLING
        self.due: Callable[[], None] | None = None  # what is done when the time has come, in WAITING and PAUSING
        self.aborted = ''                           # why the step ends as soon as it can; '': it goes on
        self.refusals = 0                           # its tries in a row that the database refused


class ActiveSteps:
    """The records of all steps that have begun and not ended. No method lets other threads run."""

    def __init__(self) -> None:
        self._of_resources: dict[str, dict[Step, ActiveStep]] = {}      # by the name of the resource
        self._touched: list[Step] = []
        self.storing = 0                            # steps in STORING
        self.calling = 0                            # steps in CALLING

    def get(self, step: Step) -> ActiveStep | None:
        return self._of_resources.get(step.name, {}).get(step)

    def of(self, step: Step) -> ActiveStep:
        """Return the record of the step, made at the first call."""
        active = self.get(step)
        if active is None:
            active = self._of_resources.setdefault(step.name, {})[step] = ActiveStep()
        return active

    def enter(self, step: Step, phase: StepPhase, *, call: PoolCall | None = None,
              due: Callable[[], None] | None = None) -> ActiveStep:
        """Begin a phase, and end the one before it with what belonged to it. Return the record."""
        active = self.of(step)
        if active.phase is not phase:
            self.storing += (phase is StepPhase.STORING) - (active.phase is StepPhase.STORING)
            self.calling += (phase is StepPhase.CALLING) - (active.phase is StepPhase.CALLING)
        active.phase, active.call, active.due = phase, call, due
        return active

    def is_making(self, call: PoolCall) -> bool:
        """Whether the step makes that call: it was not withdrawn, nor killed."""
        active = self.get(call.step)
        return active is not None and active.call is call

    def calls(self) -> list[PoolCall]:
        """Return the calls of all steps in CALLING."""
        return [active.call for steps in self._of_resources.values() for active in steps.values()
                if active.call is not None]

    def due_of(self, name: str) -> list[Callable[[], None]]:
        """Return what the steps of a resource in WAITING do next."""
        return [active.due for active in self._of_resources.get(name, {}).values()
                if active.phase is StepPhase.WAITING and active.due is not None]

    # --- the end ----------------------------------------------------------------------------------------

    def touch(self, step: Step) -> None:
        """Note that the step may have ended: an event of it was handled, or a command performed."""
        self._touched.append(step)

    def take_touched(self) -> list[Step]:
        """Return the steps that were touched since the last call."""
        touched, self._touched = self._touched, []
        return touched

    def forget(self, step: Step) -> None:
        """Drop the record of a step that has ended, with its timer."""
        if self.get(step) is not None:
            self.enter(step, StepPhase.REPORTED)
            of_resource = self._of_resources[step.name]
            del of_resource[step]
            if not of_resource:
                del self._of_resources[step.name]
