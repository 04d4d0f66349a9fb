"""What a traversal asks for, and what it is told. Values one can print and compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from heatlite.planning.decide import Verdict
from heatlite.planning.states import Action, ResourceState, Status
from heatlite.planning.steps import Step

# --- commands --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Persist:
    """Make `row` durable. `wait`: answer with Durable once it is; else nobody waits for it.

    `event`: a line of history goes with it; `applied`: so does the definition that was just applied.
    """

    step: Step
    row: ResourceState
    event: bool = True
    wait: bool = False
    applied: bool = False


@dataclass(frozen=True, slots=True)
class Remove:
    """The row goes away with everything stored for it; `row` is its last state, for the event."""

    step: Step
    row: ResourceState
    event: bool = True


@dataclass(frozen=True, slots=True)
class Inspect:
    """Work out the wanted definition and ask the type how to get there: Inspected or Failed comes back."""

    step: Step
    row: ResourceState


@dataclass(frozen=True, slots=True)
class Call:
    """Call handle_<verb>: Called or Failed comes back."""

    step: Step
    row: ResourceState
    verb: Action


@dataclass(frozen=True, slots=True)
class Poll:
    """Call check_<verb>_complete(handle) after `turns` poll intervals: Polled or Failed comes back."""

    step: Step
    row: ResourceState
    verb: Action
    handle: Any
    turns: int


@dataclass(frozen=True, slots=True)
class Recover:
    """`row` was found in progress and no call is known to have returned: Recovered comes back."""

    step: Step
    row: ResourceState


@dataclass(frozen=True, slots=True)
class Abort:
    """End what runs for `step` at its next turn; Failed with that text comes back, if nothing else did before."""

    step: Step
    row: ResourceState
    why: str


@dataclass(frozen=True, slots=True)
class Preempt:
    """Tell the type that a step of the present target waits for what runs for `step`, of an older one: Preempted comes
    back."""

    step: Step
    row: ResourceState


@dataclass(frozen=True, slots=True)
class Pause:
    """A breakpoint of the user: Cleared comes back when somebody has let the step go on."""

    step: Step
    row: ResourceState
    hook: str


@dataclass(frozen=True, slots=True)
class ReleaseHook:
    """Nobody waits at that breakpoint any more. `why`: a line of history, when it was not cleared by the user."""

    step: Step
    row: ResourceState
    hook: str
    why: str = ''


@dataclass(frozen=True, slots=True)
class Note:
    """A line of history that looks like `row`; what is stored of it does not change."""

    step: Step
    row: ResourceState


@dataclass(frozen=True, slots=True)
class StartTimer:
    """Due comes back after `seconds`."""

    step: Step
    seconds: float


@dataclass(frozen=True, slots=True)
class ReportFailure:
    """Tell that the stack has failed; with `rollback`, go back to the previous definition from here."""

    reason: str
    rollback: bool


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing is left to do. `status` None: the end was told before."""

    status: Status | None
    reason: str


Command = (Persist | Remove | Inspect | Call | Poll | Recover | Abort | Preempt | Pause | ReleaseHook | Note
           | StartTimer | ReportFailure | Finish)

# --- events ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Persisted:
    step: Step


@dataclass(frozen=True, slots=True)
class Inspected:
    step: Step
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class HandlerReturned:
    """`handle`: what the handler returned. `done`: no check is needed, or the first one said yes."""

    step: Step
    handle: Any
    done: bool = False
    unsupported: bool = False           # the type has no handler for this (matters for CHECK)


@dataclass(frozen=True, slots=True)
class CheckReturned:
    """`turns`: poll intervals until the next question (a check may ask for more than one)."""

    step: Step
    done: bool
    turns: int = 1


class Outcome(Enum):
    AGAIN = 'call the handler again'
    FOUND = 'the object exists'
    UNDO = 'take the unfinished object away and begin anew'
    LOST = 'nobody can tell'


@dataclass(frozen=True, slots=True)
class Recovered:
    step: Step
    outcome: Outcome
    physical_id: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """`retry`: the service was busy or the object went bad, another try may help.

    `replace`: the type found that only a new one will do.
    """

    step: Step
    reason: str
    replace: bool = False
    retry: bool = False


@dataclass(frozen=True, slots=True)
class TimerFired:
    step: Step


@dataclass(frozen=True, slots=True)
class Away:
    """The service behind the step does not answer: nothing was done, or what was done can be found again. `reason`: the
    failure it would have been."""

    step: Step
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Preempted:
    """`ends`: the type leaves it to us to end what runs; else it runs until the type says that it is done."""

    step: Step
    ends: bool


@dataclass(frozen=True, slots=True)
class Cleared:
    step: Step


@dataclass(frozen=True, slots=True)
class TimedOut:
    """`why`: row number -> text for the resource at work on it."""

    why: Mapping[int, str]


Event = (Persisted | Inspected | HandlerReturned | CheckReturned | Recovered | Failed | TimerFired | Away | Preempted
         | Cleared | TimedOut)
