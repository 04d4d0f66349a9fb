"""Explains the state of a tree of stacks from its rows and events: what it waits for, why it failed, what took long.

Paths are names of resources from the explained stack down. Times are datetimes of one clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from heatlite.common import turns
from heatlite.planning import graph
from heatlite.planning.replacement import ReplacementCause
from heatlite.planning.states import Action, Status

Path = tuple[str, ...]
WAITING, FAILED, SETTLED = 'waiting', 'failed', 'settled'
BLOCKED = 'blocked'                     # of a resource: not begun


@dataclass(frozen=True, slots=True)
class Row:
    """A resource. `requires`: paths of the resources that it needs, in the same stack; `is_replacement`: it was made in
    place of another one."""

    path: Path
    type: str
    action: str
    status: str
    reason: str
    physical_id: str | None
    requires: tuple[Path, ...]
    changed_at: datetime
    is_replacement: bool = False


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of a resource."""

    path: Path
    type: str
    action: str
    status: str
    reason: str
    physical_id: str | None
    at: datetime
    attempts: int = 1           # of a failure: how many of the action there were, up to and with this one


@dataclass(frozen=True, slots=True)
class TimedResource:
    """A resource that took time. `seconds`: from the beginning of its action to its end, or until now."""

    path: Path
    seconds: float


@dataclass(frozen=True, slots=True)
class Blocked:
    """A resource whose action has not begun, and the resources that it waits for."""

    path: Path
    waits_for: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """An action on a resource. `ended` None: it goes on, or its end is not recorded."""

    action: str
    status: str
    reason: str
    began: datetime
    ended: datetime | None


def runs(events: Iterable[Happened]) -> list[Run]:
    """Return the actions on a resource, the newest first. `events`: its own ones, oldest first."""
    found: list[Run] = []
    for event in events:
        if event.status == Status.IN_PROGRESS:
            found.append(Run(event.action, event.status, event.reason, event.at, None))
        elif found and found[-1].ended is None and found[-1].action == event.action:
            found[-1] = replace(found[-1], status=event.status, reason=event.reason, ended=event.at)
    return found[::-1]


def state_of(row: Row, lacking: Sequence[Path] | None) -> str:
    """Return the state of a resource. `lacking`: the resources it waits for, if it was not begun."""
    if lacking is not None:
        return BLOCKED
    return {Status.IN_PROGRESS: WAITING, Status.FAILED: FAILED}.get(Status(row.status), SETTLED)


def is_within(path: Path, above: Path) -> bool:
    """Whether `path` is `above` or below it."""
    return path[:len(above)] == above


def working(rows: Iterable[Row]) -> list[Row]:
    """Return the resources in progress that no other one below accounts for, the longest running first."""
    found = [row for row in rows if row.status == Status.IN_PROGRESS]
    above = {row.path[:length] for row in found for length in range(1, len(row.path))}
    return sorted((row for row in found if row.path not in above), key=lambda row: row.changed_at)


def blocked(rows: Sequence[Row]) -> list[Blocked]:
    """Return the resources that were not begun, with those of their requirements that are not complete."""
    incomplete = {row.path for row in rows if row.status != Status.COMPLETE or row.action == 'INIT'}
    found = []
    for row in rows:
        if row.action == 'INIT':
            turns.spend(1 + len(row.requires) // graph.NEEDED_A_STEP)
            found.append(Blocked(row.path, tuple(path for path in row.requires if path in incomplete)))
    return found


def first_causes(events: Sequence[Happened]) -> list[Happened]:
    """Return the failures that others follow from, in the order in which they began.

    The failure of a resource with a nested stack follows from what failed inside, and an abort from the failure
    before it. A creation that was tried again is one failure, that of its last attempt, with their number; what fails
    again in a rollback is not. `events`: the failed ones of one action of the stack, in their order.
    """
    above = {event.path[:length] for event in turns.paced(events) for length in range(1, len(event.path))}
    inner = [event for event in events if event.path not in above]
    first = [event for event in turns.paced(inner) if not _says(ABORTED, event.reason)]
    found: dict[Path, Happened] = {}
    for event in first or inner:
        before = found.get(event.path)
        if before is None:
            found[event.path] = event
        elif before.action == event.action == Action.CREATE:        # no other action tells of each attempt
            found[event.path] = replace(event, attempts=before.attempts + 1)
    return list(found.values())


def waited_for(cause: Happened, rows: Iterable[Row]) -> list[Happened]:
    """Return what a failure that is a time-out waited for: the resources inside that were not made when it came.

    Other failures, and those of resources with nothing inside, are returned as they are.
    """
    if not _says(TIMED_OUT, cause.reason):
        return [cause]
    length = len(cause.path)
    open_rows = [row for row in turns.paced(rows) if is_within(row.path, cause.path) and len(row.path) > length and (
        row.status == Status.IN_PROGRESS or (row.status == Status.FAILED and _says(ABORTED, row.reason)))]
    above = {row.path[:end] for row in open_rows for end in range(length, len(row.path))}
    inside = sorted((row for row in open_rows if row.path not in above), key=lambda row: row.changed_at)
    return [replace(cause, path=row.path, type=row.type, action=row.action, physical_id=row.physical_id)
            for row in inside] or [cause]


TIMED_OUT = re.compile(r'\b[Tt]imed out\b')
ABORTED = re.compile(r'\baborted \(|preempted by a newer update|Stack \w{1,20} cancelled')
LONGEST_SEARCHED = 1000                 # characters of a reason, which may be a text of a guest or a service


def _says(pattern: re.Pattern[str], reason: str) -> bool:
    return pattern.search(reason, 0, LONGEST_SEARCHED) is not None


def critical_path(rows: Iterable[Row], events: Iterable[Happened], now: datetime) -> list[TimedResource]:
    """Return the chain of resources that the end of the action waited for, first one first.

    `events`: of one action on the stack itself, without nested ones. It goes back from the resource that ended last to
    the one of its requirements that ended last.
    """
    began: dict[Path, datetime] = {}
    ended: dict[Path, datetime] = {}
    for event in events:
        if event.status == Status.IN_PROGRESS:
            began.setdefault(event.path, event.at)
        else:
            ended[event.path] = event.at
    requires = {row.path: row.requires for row in rows}
    chain: list[TimedResource] = []
    path = max(began, key=lambda each: (each not in ended, ended.get(each, began[each])), default=None)
    while path is not None:
        chain.append(TimedResource(path, max((ended.get(path, now) - began[path]).total_seconds(), 0.0)))
        path = max((each for each in requires.get(path, ()) if each in began and each in ended),
                   key=lambda each: ended[each], default=None)
    return chain[::-1]


def last_seconds(events: Iterable[Happened], action: str, before: datetime) -> float | None:
    """Return how long this action on a resource took when it was completed last, before `before`. `events`: its own
    ones, oldest first; None: it never was, or its events are gone."""
    return next(((run.ended - run.began).total_seconds() for run in runs(events)
                 if run.ended is not None and run.began < before and (run.action, run.status) == (
                     action, Status.COMPLETE)), None)


@dataclass(frozen=True, slots=True)
class Replaced:
    """A resource that an update made anew. `properties`: those of which the definition changed; `cause`: why it was
    made anew though no property required it; without both, `because_of`: the replaced resources that it needs, else the
    updated ones."""

    path: Path
    properties: tuple[str, ...]
    because_of: tuple[Path, ...]
    cause: ReplacementCause | None = None


def replaced(events: Sequence[Happened], rows: Mapping[Path, Row], changed: Mapping[Path, Sequence[str]],
             causes: Mapping[Path, ReplacementCause]) -> list[Replaced]:
    """Return the resources that an update made anew, in the order in which it did.

    `events`: of the update; `changed`: properties whose definition changed; `causes`: as stored.
    """
    made = dict.fromkeys(event.path for event in events if event.path in rows and rows[event.path].is_replacement
                         and (event.action, event.status) == (Action.CREATE, Status.IN_PROGRESS))
    updated = {event.path for event in events if event.action == Action.UPDATE}
    found = []
    for path in made:
        own, cause = tuple(changed.get(path, ())), causes.get(path)
        needs = () if own or cause is not None else rows[path].requires
        found.append(Replaced(path, own, tuple(each for each in needs if each in made)
                              or tuple(each for each in needs if each in updated), cause))
    return found


# What a failure's text says -> what to do.
ADVICE = tuple((re.compile(pattern, re.IGNORECASE), text) for pattern, text in (
    (r'quota|limit.{0,200}exceeded|exceeds', 'Delete what is not needed, or have the quota raised, and try again.'),
    (r'no valid host', 'No host has room for the server: take a smaller flavor or another availability zone.'),
    (r'timed out|timeout', 'Raise timeout_mins of the stack, or find out why the object does not become ready.'),
    (r'\bProtected: ', 'Change the template so that it leaves the resource alone, or remove the protection.'),
    (r'is restricted for resource',
     'The environment restricts it (restricted_actions): change that, or leave the resource as it is.'),
    (r'NotPlanned', 'The cloud was not as planned: make a new plan.'),
    (r'could not be found|not found|NotFound',
     'The object is not there, or not visible to the stack: check its name or id.'),
    (r'already (exists|in use)|in use|conflict',
     'Something else has it: take another name or address, or release it.'),
    (r'forbidden|not authorized|unauthorized|policy',
     'The user of the stack lacks a right, or its trust has ended: check its roles.'),
    (r'engine went down',
     'An engine ended during the call, and its result is not known: update the stack again.'),
    (r'connect|unavailable|50[234]', 'The service did not answer: update the stack again when it does.'),
    (r'WaitCondition|signal', 'The server did not signal: look at its console log.'),
    (r'validation|invalid|must be|schema', 'A value is wrong: see the property that the message names.'),
))


def advice(reason: str) -> str | None:
    """Return what to do about a failure with this text, or None."""
    return next((text for pattern, text in ADVICE if _says(pattern, reason)), None)


def not_started(rows: Mapping[Path, Row], causes: Iterable[Path]) -> list[Path]:
    """Return the resources that were not begun because they need, directly or not, one of `causes`."""
    needed_by = graph.dependents((row.path, row.requires) for row in rows.values())
    unstarted: dict[Path, None] = {}
    waiting = [path[:length] for path in causes for length in range(len(path), 0, -1)]
    seen = set(waiting)
    while waiting:
        for path in needed_by.get(waiting.pop(), ()):
            if path not in seen:
                seen.add(path)
                waiting.append(path)
                if path in rows and rows[path].action == 'INIT':
                    unstarted[path] = None
    return list(unstarted)
