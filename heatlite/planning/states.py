"""Actions, statuses, and the values that a stack's journal stores: rows, lines of history, changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from heatlite.common import exception


class Action(StrEnum):
    INIT = 'INIT'                       # resources only: the row exists, no action was started yet
    CREATE = 'CREATE'
    DELETE = 'DELETE'
    UPDATE = 'UPDATE'
    ROLLBACK = 'ROLLBACK'
    SUSPEND = 'SUSPEND'
    RESUME = 'RESUME'
    ADOPT = 'ADOPT'
    SNAPSHOT = 'SNAPSHOT'
    CHECK = 'CHECK'
    RESTORE = 'RESTORE'                 # stacks only


MAKING = frozenset({Action.CREATE, Action.ADOPT})       # what a row begins with
APPLYING = frozenset({*MAKING, Action.UPDATE})          # these store a new definition


class Status(StrEnum):
    IN_PROGRESS = 'IN_PROGRESS'
    COMPLETE = 'COMPLETE'
    FAILED = 'FAILED'



class _NoHandle:
    __slots__ = ()

    def __repr__(self) -> str:
        return 'NO_HANDLE'

    def __reduce__(self) -> str:        # a copy, also one from another process, is the same object
        return 'NO_HANDLE'


NO_HANDLE = _NoHandle()                 # handle_<action> has not returned yet; None is a valid handle
NO_REQUIREMENTS: Mapping[str, int] = {}
NO_COLUMNS: Mapping[str, object] = {}


class ResourceState(NamedTuple):
    """The part of one resource row that planning uses, without properties, metadata and attributes.

    A name may have several rows while a replacement is under way. It is a named tuple because each step makes four or
    five of them: `_replace` takes 2 us, `dataclasses.replace` of a frozen class with these fields 8 us.
    """

    id: int                             # number within its stack, from 1, never reused
    name: str
    uuid: str                           # random; feeds the physical name
    type: str
    action: Action = Action.INIT
    status: Status = Status.COMPLETE
    reason: str = ''
    physical_id: str | None = None
    requires: Mapping[str, int] = NO_REQUIREMENTS       # name -> row it was last applied against
    replaces: int | None = None         # row this one took over from
    replaced_by: int | None = None      # row that took over from this one
    template_id: str | None = None      # template under which it was last applied
    fingerprint: str = ''               # of the definition last applied, functions resolved; see `marks`
    handle: object = NO_HANDLE             # return value of handle_<action>, if it is plain JSON
    created_at: datetime | None = None
    updated_at: datetime | None = None  # None until the first action after CREATE

    @property
    def exists(self) -> bool:
        """Whether the cloud may have an object for this row."""
        return self.action not in (Action.INIT, Action.DELETE) or (
            self.action is Action.DELETE and self.status is not Status.COMPLETE)

    @property
    def state(self) -> tuple[str, str]:
        return self.action, self.status

    @property
    def in_progress(self) -> bool:
        return self.status is Status.IN_PROGRESS

    @property
    def failed(self) -> bool:
        return self.status is Status.FAILED


class Event(NamedTuple):
    """One line of a stack's history. `action` is 'SIGNAL' for signals. Times are UTC."""

    uuid: str
    created_at: datetime
    resource_name: str
    resource_type: str
    physical_id: str | None
    action: str
    status: str
    reason: str
    resource_id: int | None = None                  # row number; None for events of the stack itself
    properties: Mapping[str, object] | None = None     # given only if they changed since the last event


@dataclass(frozen=True, slots=True)
class Datum:
    """One entry of a resource's data; `value` None removes it. `redact`: store it encrypted."""

    key: str
    value: str | None
    redact: bool = False


@dataclass(frozen=True, slots=True)
class Revision:
    """One definition that was accepted for a root stack, as stored. `number`: 1, 2, ... within the stack.

    `action`: the one that brought it in, `author`: the user who requested it; None: not known, and for rollbacks that
    follow from a failure. `preceding`: the outcome of the revision before, see `planning.revisions`. `digest`: equal
    for equal content; None: not known. `parameters`: as users see them, hidden ones masked.
    """

    stack_id: str
    number: int
    action: str | None
    preceding: str | None
    author_id: str | None
    author: str | None
    plan_id: str | None
    template_id: str
    digest: str | None
    parameters: Mapping[str, object] | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StackChange:
    """New values for a stack's own row; only the fields that are not None are written.

    `generation`: the request the writer works for. If the row has a newer one, nothing of this is written and
    `changes.write` reports it as superseded.
    """

    generation: int
    action: Action | None = None
    status: Status | None = None
    reason: str | None = None
    template_id: str | None = None
    previous_template_id: str | None = None
    outputs: str | None = None                      # JSON list of {output_key, description, output_value...}
    parameters: str | None = None                   # JSON, as users see them; changes with the template
    description: str | None = None
    next_generation: int | None = None              # the writer itself starts another request (rollback)
    revision: int | None = None                     # number of the definition that this request brings in
    outcome: str | None = None                      # of the present definition, if it is not the status
    revisions: tuple[Revision, ...] = ()            # to be recorded with it
    updated_at: datetime | None = None
    deleted_at: datetime | None = None              # marks the row as deleted and frees the name
    settled: str | None = None                      # what the stack was brought to (db.settled_stacks)
    release: bool = False                           # release the lease, no work is left


@dataclass(frozen=True, slots=True)
class SignalError:
    """Why a signal was refused, for the request that waits for its outcome. `error`: JSON."""

    mark: str
    error: exception.WireError
    at: datetime


class Change(NamedTuple):
    """One transition to store, with everything that must become visible in the same transaction.

    `row`: the new state of the row (inserted or overwritten); `columns`: those of its large columns that change now,
    any of `properties`, `metadata`, `attributes`, `definition` (JSON values); `remove`: number of the row to delete.

    It is a named tuple because a replacement makes seven of them, as `ResourceState`.
    """

    stack_id: str
    epoch: int                                      # of the lease; an old one is refused by the database
    row: ResourceState | None = None
    columns: Mapping[str, object] = NO_COLUMNS
    data: tuple[Datum, ...] = ()                    # for `row`
    remove: int | None = None
    events: tuple[Event, ...] = ()
    stack: StackChange | None = None
    signals: tuple[int, ...] = ()                   # numbers of the signals that this change completes
    signal_error: SignalError | None = None         # of the signal that this change refuses
