"""Moves of resources between names and stacks, as changes of rows: no object is made, changed or deleted for them.

A row that goes to another stack gets a number of that stack. Numbers are never reused, so events, which stay with the
old stack, and rows cannot be mistaken for others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from heatlite.planning.protection import Denial, Path, Protection, denying, fit
from heatlite.planning.states import Action, ResourceState, Status


@dataclass(frozen=True, slots=True)
class ResourcePlace:
    """Where a resource is. `stack`: the id of its stack."""

    stack: str
    name: str


@dataclass(frozen=True, slots=True)
class Move:
    source: ResourcePlace
    target: ResourcePlace


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a resource cannot be moved."""

    place: ResourcePlace
    reason: str


@dataclass(frozen=True, slots=True)
class Arranged:
    """A row after the moves. `stack`, `before`: the stack and the row that it is until then. `is_separated`: a row that
    it requires is in another stack then."""

    stack: str
    before: ResourceState
    row: ResourceState
    is_moved: bool
    is_separated: bool = False


@dataclass(frozen=True)
class Arrangement:
    """The rows of stacks after moves: stack -> rows, by number. `next_resource`: stack -> its next free number."""

    rows: Mapping[str, Sequence[Arranged]]
    next_resource: Mapping[str, int]


def problems(rows: Mapping[str, Sequence[ResourceState]], moves: Sequence[Move]) -> list[Problem]:
    """Return all reasons for which the moves are not possible. `rows`: stack -> its rows, of all stacks concerned."""
    by_place: dict[ResourcePlace, list[ResourceState]] = {}
    for stack, each in rows.items():
        for row in each:
            by_place.setdefault(ResourcePlace(stack, row.name), []).append(row)
    sources, targets = Counter(move.source for move in moves), Counter(move.target for move in moves)
    reasons = []
    for move in moves:
        source, target = move.source, move.target
        if source == target:
            reasons.append(Problem(source, 'it is there already'))
            continue
        if sources[source] > 1:
            reasons.append(Problem(source, 'it is moved more than once'))
        if targets[target] > 1:
            reasons.append(Problem(target, 'several resources are moved to it'))
        reasons += [Problem(source, reason) for reason in _unmovable(by_place.get(source, ()))]
        if target in by_place and target not in sources:
            reasons.append(Problem(target, 'there is a resource of this name already'))
    return list(dict.fromkeys(reasons))


def _unmovable(rows: Sequence[ResourceState]) -> Iterable[str]:
    """Yield why the resource with these rows cannot be moved."""
    if not rows:
        yield 'there is no such resource'
    elif len(rows) > 1:
        yield 'a replacement of it has not ended'
    else:
        row = rows[0]
        if row.action in (Action.INIT, Action.DELETE) or row.status is not Status.COMPLETE:
            yield f'it is {row.action}_{row.status}, not complete'


def arranged(rows: Mapping[str, Sequence[ResourceState]], moves: Sequence[Move],
             next_resource: Mapping[str, int]) -> Arrangement:
    """Return the rows after moves without `problems`. `next_resource`: stack -> its next free number."""
    to = {move.source: move.target for move in moves}
    free = {stack: max([next_resource[stack], *(row.id + 1 for row in each)]) for stack, each in rows.items()}
    numbers: dict[tuple[str, int], tuple[str, int]] = {}            # (stack, number) before -> after
    arranged_rows: dict[str, list[Arranged]] = {stack: [] for stack in rows}
    for stack, each in rows.items():
        for row in each:
            target = to.get(ResourcePlace(stack, row.name))
            if target is None or target.stack == stack:
                numbers[stack, row.id] = stack, row.id
                continue
            numbers[stack, row.id] = target.stack, free[target.stack]
            free[target.stack] += 1
    for stack, each in rows.items():
        for row in each:
            target = to.get(ResourcePlace(stack, row.name))
            place, number = numbers[stack, row.id]
            after = row._replace(id=number, requires=_required(stack, row, place, numbers, to))
            if target is not None:
                after = after._replace(name=target.name)
            if place != stack:
                after = after._replace(replaces=None, replaced_by=None)     # what it took over from is gone
            separated = any(numbers.get((stack, other), (place, 0))[0] != place for other in row.requires.values())
            arranged_rows[place].append(Arranged(stack, row, after, target is not None, separated))
    return Arrangement({stack: sorted(each, key=lambda one: one.row.id) for stack, each in arranged_rows.items()}, free)


def _required(stack: str, row: ResourceState, place: str, numbers: Mapping[tuple[str, int], tuple[str, int]],
              to: Mapping[ResourcePlace, ResourcePlace]) -> Mapping[str, int]:
    """Return the requirements of a row after the moves: those in the stack where it is then."""
    found: dict[str, int] = {}
    for name, number in row.requires.items():
        other, after = numbers.get((stack, number), (stack, number))
        if other == place:
            moved = to.get(ResourcePlace(stack, name))
            found[name if moved is None else moved.name] = after
    return found if found != row.requires else row.requires


def with_requirements(arranged: Sequence[Arranged],
                      requires: Mapping[str, Collection[str]]) -> list[Arranged]:
    """Return the rows of one stack with the requirements that its definition gives to those that were moved, or whose
    requirements were. `requires`: name -> names that it requires."""
    current = [each for each in arranged if each.row.replaced_by is None]
    numbers = {each.row.name: each.row.id for each in current}
    moved = {each.row.name for each in current if each.is_moved}
    found = []
    for each in arranged:
        wanted = {name: numbers[name] for name in sorted(requires.get(each.row.name, ())) if name in numbers}
        is_touched = (each.is_moved or each.row.requires is not each.before.requires
                      or not moved.isdisjoint(wanted))
        found.append(replace(each, row=each.row._replace(requires=wanted))
                     if is_touched and each.row.replaced_by is None else each)
    return found


def mismatches(arranged: Sequence[Arranged], wanted: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (name, action) of the resources that a definition would create, or delete, after the moves. `wanted`: the
    resources of the definition, name -> type."""
    present = {each.row.name for each in arranged}
    return [*((name, 'create') for name in wanted if name not in present),
            *((name, 'delete') for name in dict.fromkeys(each.row.name for each in arranged) if name not in wanted)]


def lost_denials(before: Sequence[Protection], path: Path, after: Sequence[Protection], target: Path) -> list[Denial]:
    """Return what protections deny on a resource at its former path, or inside it, and would not at its next path."""
    inside = [each for each in before if len(each.path) > len(path) and fit(each.path, path)
              and not any(_covers(other, target, each, len(path)) for other in after)]
    return [action for action in Denial if (denying(before, path, action) and not denying(after, target, action))
            or any(action in each.deny for each in inside)]


def _covers(protection: Protection, path: Path, other: Protection, depth: int) -> bool:
    """Whether a protection denies inside the resource at `path` at least what `other` denies inside one at `depth`."""
    return (len(protection.path) > len(path) and fit(protection.path, path)
            and protection.path[len(path):] == other.path[depth:] and protection.deny >= other.deny)
