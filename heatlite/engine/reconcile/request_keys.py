"""The keys of the column `request` of a stack: what the action of a stack needs besides the definition.

A request of a stack replaces the column. What another request left in it must neither change the new one, nor be lost
while the stack still needs it: the table says of each key which requests it outlasts. `durability.request_ids` has the
keys of any request.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from heatlite.db.stacks import StoredStack
from heatlite.planning.revisions import DEFINING
from heatlite.planning.states import Action, Status

ADOPT = 'adopt'                     # of an adopt: resource -> its entry in the export
FACADE = 'facade'                   # of a nested stack: what `resource_facade` reads of the parent's resource
INPUTS = 'inputs'                   # of a nested stack: digest of the influences on it, see `reconcile.settled`
TOLERANCE = 'tolerance'             # of a nested stack: number of members that may fail while the others go on
WAITING = 'waiting'                 # of a nested stack: {name: true} of members of a group whose batch comes later
UNDOING = 'undoing'                 # of a nested stack: it follows a rollback
SNAPSHOT = 'snapshot'               # of a snapshot: its id; of what takes its place: that of one that was being made
SUSPENDED = 'suspended'             # of a check or snapshot: the stack was suspended, and still is
RESTORE = 'restore'                 # of a restore: the id of the snapshot
CANCELLED = 'cancelled'             # the action was cancelled without a rollback; former releases do not store it
ABANDON = 'abandon'                 # of a delete: the objects of the resources stay
TAKEN_OVER = 'taken_over'           # of the root of a tree that was taken over: the mark of the tree in Heat

ALWAYS = frozenset(Action)
NEVER: frozenset[Action] = frozenset()
KEEPS_DEFINITION = frozenset({Action.CHECK, Action.SUSPEND, Action.RESUME, Action.SNAPSHOT})

LASTING: Mapping[str, frozenset[Action]] = {        # key -> the requests that it outlasts
    ADOPT: ALWAYS - {Action.DELETE},                # until the stack has reached a definition, see `lasting`
    FACADE: ALWAYS,
    INPUTS: KEEPS_DEFINITION,
    TOLERANCE: KEEPS_DEFINITION | {Action.ROLLBACK},
    WAITING: NEVER,
    UNDOING: NEVER,
    SNAPSHOT: ALWAYS - {Action.SNAPSHOT},           # until it has ended, see `lasting`
    SUSPENDED: frozenset({Action.CHECK, Action.SNAPSHOT}),      # which begin with it, see `lasting`
    RESTORE: NEVER,
    CANCELLED: NEVER,
    ABANDON: NEVER,                                 # a plain delete that follows deletes what is left
    TAKEN_OVER: KEEPS_DEFINITION - {Action.SNAPSHOT},   # else another take-over would remove what was made here
}


def lasting(row: StoredStack, action: Action, names: Collection[str] | None = None) -> dict[str, object]:
    """Return what the request of `action` takes over from the request in `row`, the row of its stack before.

    `names`: of the resources of the definition that the request brings, if that is at hand: what is not among them is
    not adopted later either, when its object may have been deleted. Nor is anything after a rollback."""
    kept = {key: value for key, value in (row.request or {}).items() if action in LASTING.get(key, NEVER)}
    if row.status == Status.COMPLETE:
        kept.pop(SNAPSHOT, None)
    if is_suspended(row) and action in LASTING[SUSPENDED]:
        kept[SUSPENDED] = True
    if ADOPT in kept:
        given = kept.pop(ADOPT)
        is_over = row.action == Action.ROLLBACK or (row.status == Status.COMPLETE and row.action in DEFINING)
        if isinstance(given, Mapping) and not is_over:
            kept[ADOPT] = {name: entry for name, entry in given.items() if names is None or name in names}
    return kept


def is_suspended(row: StoredStack) -> bool:
    """Whether a stack was suspended and not resumed since. A check or a snapshot does not resume it."""
    return row.action == Action.SUSPEND or (
        row.action in LASTING[SUSPENDED] and SUSPENDED in (row.request or {}))


def is_cancelled(row: StoredStack) -> bool:
    """Return whether the last action of a stack was cancelled without a rollback. False if a former release did it, by
    which the nested stacks go on."""
    return row.status == Status.FAILED and CANCELLED in (row.request or {})


def of_definition(row: StoredStack) -> dict[str, object]:
    """Return what a repeated update takes over, as its parent has brought it with the definition."""
    return {key: value for key, value in (row.request or {}).items() if key in (INPUTS, TOLERANCE)}


def entry_to_adopt(row: StoredStack, name: str) -> object:
    """Return the entry of a resource in the export from which the stack is adopted, or None."""
    given = (row.request or {}).get(ADOPT)
    return given.get(name) if isinstance(given, Mapping) else None


def adopted(row: StoredStack) -> frozenset[str]:
    """Return the resources for which the request names an object, also by the export of a nested stack."""
    given = (row.request or {}).get(ADOPT)
    if not isinstance(given, Mapping):
        return frozenset()
    return frozenset(name for name, entry in given.items() if isinstance(entry, Mapping)
                     and (entry.get('resource_id') or 'resources' in entry))
