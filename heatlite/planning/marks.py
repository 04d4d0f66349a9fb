"""Reads and writes the fingerprint of a row: what was last applied to the resource, and marks before it.

An action on what exists ends with a state of its own. The marks keep what the state before it meant: whether the
resource can be resumed, and which failure the next update has to deal with (docs/spec/engine.rst, "Other actions of a
resource").
"""

from __future__ import annotations

from typing import NamedTuple

from heatlite.planning.states import APPLYING, Action, ResourceState, Status

LOOKING = frozenset({Action.CHECK, Action.SNAPSHOT})            # these change nothing in the cloud
ON_EXISTING = LOOKING | {Action.SUSPEND, Action.RESUME}

MARK = '~'                                          # in any fingerprint after which the next update has to act
DIRTY = '~'                                         # applied: an update was begun and has not completed
FAILED_BEFORE = '~failed'                           # applied: nothing, a create or an update had failed
SUSPENDED = '^'                                     # first: the resource is suspended
RESUMED = '>'                                       # first: the last action but those of LOOKING is a RESUME
UNKNOWN = frozenset({'', SUSPENDED, RESUMED})       # fingerprints that have no mark, and do not say what was applied

_UNHEALTHY = '~unhealthy'                           # after that: a check, or a user, has found it unhealthy
_UNHEALTHY_STATE = Action.CHECK, Status.FAILED


class Marks(NamedTuple):
    """The parts of a fingerprint.

    `resumes`: SUSPENDED, RESUMED or '', where the state does not say it; `applied`: the hash of the definition that was
    last applied, '' if it is not known, DIRTY or FAILED_BEFORE."""

    resumes: str
    is_unhealthy: bool
    applied: str

    def written(self) -> str:
        return f"{self.resumes}{_UNHEALTHY if self.is_unhealthy else ''}{self.applied}"


def read(fingerprint: str) -> Marks:
    resumes = fingerprint[:1] if fingerprint.startswith((SUSPENDED, RESUMED)) else ''
    rest = fingerprint.removeprefix(resumes)
    return Marks(resumes, rest.startswith(_UNHEALTHY), rest.removeprefix(_UNHEALTHY))


# --- what a row says ----------------------------------------------------------------------------------------


def applied(fingerprint: str) -> str:
    """Return the hash of the definition that the resource has; '' if that is not known, or the next update has to act
    though its definition is the same."""
    return '' if MARK in fingerprint else fingerprint.lstrip(SUSPENDED + RESUMED)


def is_uncertain(fingerprint: str) -> bool:
    """Whether it is not known what of a definition has reached the service."""
    return read(fingerprint).applied in (DIRTY, FAILED_BEFORE)


def can_resume(row: ResourceState) -> bool:
    return bool(_resumes(row))


def is_unhealthy(row: ResourceState) -> bool:
    """Whether a check or a user has found a resource unhealthy. A check that fails because the resource is suspended,
    as that of a server, says nothing about the time after its resume."""
    marks = read(row.fingerprint)
    return marks.is_unhealthy or (row.state == _UNHEALTHY_STATE and marks.resumes != SUSPENDED)


def as_for_update(row: ResourceState) -> ResourceState:
    """Return the row in the state that the next update has to deal with, whatever action on what exists came since. Its
    reason is '' if that state was another one."""
    if row.action not in ON_EXISTING:
        return row
    if is_unhealthy(row):
        state = _UNHEALTHY_STATE
    elif read(row.fingerprint).applied == FAILED_BEFORE:
        state = Action.UPDATE, Status.FAILED
    elif row.state == _UNHEALTHY_STATE:             # of a suspended resource
        state = Action.SUSPEND, Status.COMPLETE
    else:
        return row
    return row if row.state == state else row._replace(action=state[0], status=state[1], reason='')


# --- what is written ----------------------------------------------------------------------------------------


def at_begin(row: ResourceState, action: Action) -> str:
    """Return the fingerprint of `row` from the begin of `action` on."""
    if action is Action.UPDATE:
        return DIRTY
    return _looked_at(row, action).written() if action in ON_EXISTING else row.fingerprint


def unhealthy(row: ResourceState) -> str:
    """Return the fingerprint of a resource that is marked as unhealthy, in CHECK_FAILED."""
    return _looked_at(row, Action.CHECK)._replace(is_unhealthy=True).written()


def healthy(row: ResourceState) -> str:
    """Return the fingerprint of a resource that is well, in CHECK_COMPLETE: a failed create or update is not over."""
    return _looked_at(row, Action.CHECK)._replace(is_unhealthy=False).written()


def uncertain(fingerprint: str) -> str:
    """Return the fingerprint of a resource that the next update has to compare with reality."""
    marks = read(fingerprint)
    return fingerprint if marks.applied == FAILED_BEFORE else marks._replace(applied=DIRTY).written()


def after_update(fingerprint: str, definition: str) -> str:
    """Return the fingerprint of a resource that has become as `definition`, a hash, says, or is like that already."""
    return Marks(read(fingerprint).resumes, is_unhealthy=False, applied=definition).written()


def with_definition(fingerprint: str, definition: str) -> str:
    """Replace the hash of the applied definition by one that means the same; nothing if none is known."""
    marks = read(fingerprint)
    return fingerprint if MARK in marks.applied or not marks.applied else marks._replace(applied=definition).written()


# --- helpers ------------------------------------------------------------------------------------------------


def _looked_at(row: ResourceState, action: Action) -> Marks:
    return Marks(_resumes(row) if action in LOOKING else '', is_unhealthy(row),
                 FAILED_BEFORE if row.failed and row.action in APPLYING else read(row.fingerprint).applied)


def _resumes(row: ResourceState) -> str:
    if row.action is Action.RESUME:
        return RESUMED
    return SUSPENDED if row.state == (Action.SUSPEND, Status.COMPLETE) else read(row.fingerprint).resumes
