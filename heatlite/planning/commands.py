"""The commands that a traversal returns and the events that it takes: values that can be printed and compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from heatlite.planning.decide import Verdict
from heatlite.planning.states import Action, ResourceState, Status
from heatlite.planning.steps import Step

# --- commands --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Persist:
    """Store `row`. With `wait`, Persisted comes back after the commit; without it no event does.

    `event`: store a line of history, too; `applied`: store the definition that was just applied, too;
    `adopts_definition`: store the wanted definition although nothing was called for it, as the object is like that
    already; `begun`: the row at the begin of an action that has ended at once, for a line of history before.
    """

    step: Step
    row: ResourceState
    event: bool = True
    wait: bool = False
    applied: bool = False
    adopts_definition: bool = False
    begun: ResourceState | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete the row with everything stored for it. `row`: its last state, for the event."""

    step: Step
    row: ResourceState
    event: bool = True


@dataclass(frozen=True, slots=True)
class Inspect:
    """Resolve the wanted definition and compare it with the stored one: Inspected or Failed comes back."""

    step: Step
    row: ResourceState


@dataclass(frozen=True, slots=True)
class CallHandler:
    """Call handle_<action>: HandlerReturned, Away or Failed comes back.

    `first`: the row was made in this traversal, and nothing but its intent is stored of it; `recreating`: the delete
    takes away what an unfinished create has left, whatever the deletion policy.
    """

    step: Step
    row: ResourceState
    action: Action
    first: bool = False
    recreating: bool = False


@dataclass(frozen=True, slots=True)
class Poll:
    """Call check_<action>_complete(handle) after `poll_intervals` of them: CheckReturned or Failed comes back."""

    step: Step
    row: ResourceState
    action: Action
    handle: object
    poll_intervals: int


@dataclass(frozen=True, slots=True)
class Recover:
    """Find out the result of a call that may have been interrupted, for a row in progress: Recovered or Failed
    comes back."""

    step: Step
    row: ResourceState


@dataclass(frozen=True, slots=True)
class Abort:
    """End the work of `step`, at once if it only waits, else when its call returns: Failed with the reason `why` comes
    back, unless another event came first."""

    step: Step
    row: ResourceState
    why: str


@dataclass(frozen=True, slots=True)
class Preempt:
    """Notify the type that a step of the current target waits for `step`, which belongs to an older target: Preempted
    comes back."""

    step: Step
    row: ResourceState


@dataclass(frozen=True, slots=True)
class Pause:
    """Hold the step at a breakpoint (hook) of the user: Cleared comes back when it is cleared."""

    step: Step
    row: ResourceState
    hook: str


@dataclass(frozen=True, slots=True)
class ReleaseHook:
    """Stop holding the step at its breakpoint. `why`: text of a line of history, if the user did not clear it."""

    step: Step
    row: ResourceState
    hook: str
    why: str = ''


@dataclass(frozen=True, slots=True)
class Note:
    """Add a line of history with the state in `row`. The stored row does not change."""

    step: Step
    row: ResourceState


@dataclass(frozen=True, slots=True)
class StartTimer:
    """TimerFired comes back after `seconds`."""

    step: Step
    row: ResourceState
    seconds: float


@dataclass(frozen=True, slots=True)
class ReportFailure:
    """The action has failed, while steps may be under way. With `rollback`, retarget to the previous definition."""

    reason: str
    rollback: bool


@dataclass(frozen=True, slots=True)
class Finish:
    """No step is left: the action ends in this state."""

    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Leave:
    """No step is left, and the end of the action was stored before: there is nothing more to do for the stack."""


Command = (Persist | Remove | Inspect | CallHandler | Poll | Recover | Abort | Preempt | Pause | ReleaseHook | Note
           | StartTimer | ReportFailure | Finish | Leave)


def stores_only(command: Command, following: Command | None) -> bool:
    """Return whether `command` only stores a result or ends the action, so that a draining runner may perform it.

    `following`: the next command, or None. A row that names its replacement is stored together with the intent for that
    one, and so not without it."""
    match command:
        case Persist(row=row, wait=wait):
            is_replaced = isinstance(following, Persist) and following.wait and following.row.id == row.replaced_by
            return not (wait or is_replaced)
        case Remove() | Note() | ReleaseHook() | ReportFailure() | Finish():
            return True
    return False


# --- events ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Persisted:
    step: Step


@dataclass(frozen=True, slots=True)
class Inspected:
    """`fingerprint`: of the wanted definition, if the object needs no call to be as it says; '' if that is stored."""

    step: Step
    verdict: Verdict
    fingerprint: str = ''


@dataclass(frozen=True, slots=True)
class HandlerReturned:
    """handle_<action> returned `handle`. `done`: there is no check, or the first check reported completion.

    `fingerprint`: of the definition that was applied.
    """

    step: Step
    handle: object
    done: bool = False
    unsupported: bool = False           # the type has no handler for this (matters for CHECK)
    fingerprint: str = ''


@dataclass(frozen=True, slots=True)
class CheckReturned:
    """check_<action>_complete returned. `poll_intervals`: until the next check (a check may ask for several);
    `fingerprint`: of the definition that was applied, if `done`."""

    step: Step
    done: bool
    poll_intervals: int = 1
    fingerprint: str = ''


class Outcome(Enum):
    RETRY = 'call the handler again'
    FOUND = 'the object exists'
    RECREATE = 'take the unfinished object away and begin anew'
    UNKNOWN = 'no way to find out'


@dataclass(frozen=True, slots=True)
class Recovered:
    step: Step
    outcome: Outcome
    physical_id: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The step failed. `retry`: the service was busy or the object went into error, so a retry may help.

    `replace`: the type requires a replacement.
    """

    step: Step
    reason: str
    replace: bool = False
    retry: bool = False


@dataclass(frozen=True, slots=True)
class ReplacedSince:
    """The stack was restored from a backup, and there is an object of the row that replaced the row of the step."""

    step: Step


@dataclass(frozen=True, slots=True)
class TimerFired:
    step: Step


@dataclass(frozen=True, slots=True)
class Away:
    """The service of the step does not answer, and repeating the call is safe. `reason`: the failure to report if it
    is not repeated; `seconds`: until the next try."""

    step: Step
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Preempted:
    """The type was notified. `ends`: the engine is to abort the step; otherwise the step runs until its check reports
    completion."""

    step: Step
    ends: bool


@dataclass(frozen=True, slots=True)
class Cleared:
    step: Step


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The action timed out. `why`: row number -> reason for the step that works on the row."""

    why: Mapping[int, str]


# What a step has learned of a call, or of the commit of its intent.
RESULTS = (Persisted, HandlerReturned, CheckReturned, Recovered, Failed, ReplacedSince, Away)

Event = (Persisted | Inspected | HandlerReturned | CheckReturned | Recovered | Failed | ReplacedSince | TimerFired
         | Away | Preempted | Cleared | TimedOut)
