"""Changes the row of a resource: one function for each change of its state.

Each returns the changed row; columns that it does not name stay as they are. `traversal` decides which change is made,
and when, and stores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from heatlite.planning import marks, text
from heatlite.planning.states import (
    APPLYING,
    NO_HANDLE,
    NO_REQUIREMENTS,
    Action,
    ResourceState,
    Status,
)

# --- an action ----------------------------------------------------------------------------------------------


def begun(row: ResourceState, action: Action, template_id: str, now: datetime, *, resource_type: str = '',
          requires: Mapping[str, int] = NO_REQUIREMENTS) -> ResourceState:
    """Return the row of an action that has begun.

    `template_id`: of the target; `resource_type`, `requires`: of the definition to which the action brings the
    resource. Until it is applied, the row requires the old ones, too."""
    return row._replace(
        action=action, status=Status.IN_PROGRESS, reason=text.CHANGED, handle=NO_HANDLE,
        requires={**row.requires, **requires} if requires else row.requires,
        template_id=template_id if action in APPLYING else row.template_id,
        type=resource_type or row.type,
        fingerprint=marks.at_begin(row, action),
        updated_at=row.updated_at if action is Action.CREATE else now)


def called(row: ResourceState, handle: object) -> ResourceState:
    """Return the row of an action whose first call has returned: polling can go on with `handle` after a crash."""
    return row._replace(handle=handle)


def completed(row: ResourceState, *, unsupported: bool, requires: Mapping[str, int] | None,
              fingerprint: str) -> ResourceState:
    """Return the row of an action that has completed.

    `unsupported`: its type does not have this action; `requires`: what the resource requires now, None: as before;
    `fingerprint`: of the definition that was applied, '': as before."""
    if fingerprint:
        applied = marks.after_update(row.fingerprint, fingerprint)
    else:
        finds_well = row.action is Action.CHECK and not unsupported
        applied = marks.healthy(row) if finds_well else row.fingerprint
    return row._replace(status=Status.COMPLETE, handle=NO_HANDLE,
                        reason=text.check_unsupported(row.type) if unsupported else text.CHANGED,
                        requires=row.requires if requires is None else requires,
                        fingerprint=applied)


def failed(row: ResourceState, reason: str, action: Action | None = None) -> ResourceState:
    """Return the row of an action that has failed: `action`, or the one in the row."""
    return row._replace(action=action or row.action, status=Status.FAILED, reason=reason, handle=NO_HANDLE)


def refused(row: ResourceState, why: str) -> ResourceState:
    """Return what the history says of an update that is refused before it begins; it is not stored."""
    return row._replace(action=Action.UPDATE, status=Status.FAILED, reason=why)


def removed(row: ResourceState) -> ResourceState:
    """Return the last state of a row, which is deleted."""
    return row._replace(action=Action.DELETE, status=Status.COMPLETE, reason=text.CHANGED)


def repeated_later(row: ResourceState) -> ResourceState:
    """Return the row of an action whose call has failed, and is made again."""
    return row._replace(handle=NO_HANDLE)


# --- no action ----------------------------------------------------------------------------------------------


def unchanged(row: ResourceState, requires: Mapping[str, int], *, heals: bool, fingerprint: str,
              template_id: str) -> ResourceState:
    """Return the row of a resource that is as the target wants it: `row` itself if nothing is to be written.

    `requires`: what it requires now; `heals`: a failure in the row is over; `fingerprint`: of the target's definition,
    if the object is like that and not like the stored one; else ''."""
    found = row if row.requires.keys() == requires.keys() else row._replace(requires=requires)
    if found.replaced_by is not None:               # a rollback returned to this row
        found = found._replace(replaced_by=None)
    if heals:
        found = found._replace(status=Status.COMPLETE, reason=text.HEALED, handle=NO_HANDLE)
    if fingerprint:
        found = found._replace(fingerprint=marks.after_update(row.fingerprint, fingerprint), template_id=template_id)
    return found


# --- a replacement ------------------------------------------------------------------------------------------


def replaced_by(row: ResourceState, number: int) -> ResourceState:
    """Return a row from which another one takes over. It is deleted later."""
    return row._replace(replaced_by=number)


def announced(row: ResourceState, because: str, now: datetime) -> tuple[ResourceState, ResourceState]:
    """Return the row at the begin and at the end of an update that only finds that the resource is to be replaced."""
    begins = row._replace(action=Action.UPDATE, status=Status.IN_PROGRESS, reason=text.CHANGED, updated_at=now)
    return begins, begins._replace(status=Status.COMPLETE, reason=because)


def not_updatable(row: ResourceState) -> ResourceState:
    """Return the row of an update in which the type has found that the resource is to be replaced."""
    return row._replace(status=Status.COMPLETE, handle=NO_HANDLE, reason=text.requires_replacement(row.name))


# --- another try, and what is found out after a crash --------------------------------------------------------


def identified(row: ResourceState, physical_id: str | None) -> ResourceState:
    """Return the row of an object whose id was not stored and has been found. None: it was not."""
    return row._replace(physical_id=physical_id or row.physical_id)


def recreating(row: ResourceState, now: datetime) -> ResourceState:
    """Return the row of an unfinished object that is deleted, before another one is made in its place."""
    return row._replace(action=Action.DELETE, status=Status.IN_PROGRESS, reason=text.CHANGED, handle=NO_HANDLE,
                        updated_at=now)


def without_object(row: ResourceState) -> ResourceState:
    """Return the row once the unfinished object is deleted."""
    return row._replace(status=Status.COMPLETE, physical_id=None, handle=NO_HANDLE)


def not_recreated(row: ResourceState, reason: str) -> ResourceState:
    """Return the row if no other object is made then. `reason`: the first failure."""
    return row._replace(action=Action.CREATE, status=Status.FAILED, reason=reason)
