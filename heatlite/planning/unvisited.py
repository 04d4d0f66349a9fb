"""Finds the resources that an update need not visit: they, and all that they require, are as it wants them.

The greatest such set is closed: none of it requires a resource outside of it. So the other steps need not wait for one
of them, and no value that one of them uses can change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set

from heatlite.common import turns
from heatlite.planning import graph, marks
from heatlite.planning.states import Action, ResourceState, Status

ROWS_A_STEP = 8                                     # rows that are looked at in one step of `turns`
GONE = frozenset({Action.INIT, Action.DELETE})      # rows without an object


def find(same: Set[str], rows: Iterable[ResourceState], stays: Callable[[ResourceState], bool],
         others: Set[str] = frozenset()) -> frozenset[str]:
    """Return the names of the resources that are not visited.

    `same`: resources whose definition is the applied one, with equal requirements, and only uses values that are as
    they were unless a required resource changes; `stays(row)`: whether an equal definition means that nothing is to do;
    `others`: resources without a row in `rows` that are known to be unvisited, and are part of the answer.
    """
    unvisited: dict[str, Mapping[str, int]] = {}    # name -> what it requires
    seen: set[str] = set()
    for number, row in enumerate(rows):
        if not number % ROWS_A_STEP:
            turns.spend(1)
        name = row.name
        if name in seen:                            # a replacement has left another row
            unvisited.pop(name, None)
            continue
        seen.add(name)
        if (name in same and row.status is Status.COMPLETE and row.action not in GONE and row.replaced_by is None
                and marks.applied(row.fingerprint) and stays(row)):
            unvisited[name] = row.requires
    outside = [name for name, needed in unvisited.items() if needed and not unvisited.keys() >= needed.keys() - others]
    if outside:
        behind = graph.dependents(unvisited.items())
        while outside:
            name = outside.pop()
            if unvisited.pop(name, None) is not None:
                outside += behind.get(name, ())
    return frozenset(others).union(unvisited)
